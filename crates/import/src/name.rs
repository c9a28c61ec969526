//! Names that the format takes.

/// Returns a text in lower case letters, digits and underscores, at most 60.
#[must_use]
pub fn spelled(text: &str) -> String {
    let part = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    text.chars().map(part).take(60).collect()
}

/// Returns a name as the definition spells it: lower case, no name of an output.
pub(crate) fn name(text: &str) -> String {
    let name = spelled(text);
    let is_output =
        name.strip_prefix("out").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
    match name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() || is_output {
        true => format!("v_{name}"),
        false => name,
    }
}
