//! Python literals.

use std::fmt::Write as _;

/// Writes a string: raw and over several lines where that is readable, else with escapes.
pub(super) fn text(text: &str) -> String {
    // A raw string cannot hold its own quotes, nor end in a backslash or a quote.
    let is_plain = !text.contains("'''")
        && !text.ends_with(['\\', '\''])
        && text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control());
    if is_plain && text.contains('\n') { format!("r'''{text}'''") } else { string(text) }
}

/// Writes a string on one line.
pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("a string takes any text");
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// Writes a floating-point number.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        "float(\"nan\")".to_owned()
    } else if value.is_infinite() {
        format!("float(\"{}inf\")", if value < 0.0 { "-" } else { "" })
    } else {
        format!("{value:?}")
    }
}

/// Writes a truth value.
pub(super) const fn boolean(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// Writes a tuple of literals.
pub(super) fn tuple(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    let comma = if items.len() == 1 { "," } else { "" };
    format!("({}{comma})", items.join(", "))
}

/// Writes a tuple of integers.
pub(super) fn numbers<T: ToString>(values: &[T]) -> String {
    tuple(values.iter().map(T::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_what_python_reads() {
        assert_eq!(text("a\n\\b"), "r'''a\n\\b'''");
        assert_eq!(text("a\n'''"), "\"a\\n'''\"");
        assert_eq!(text("a\nb'"), "\"a\\nb'\"");
        assert_eq!(text("\"\\\u{7}é"), "\"\\\"\\\\\\u0007é\"");
        assert_eq!(
            (float(1e-5), float(f64::NEG_INFINITY)),
            ("1e-5".into(), "float(\"-inf\")".into())
        );
        assert_eq!((numbers(&[3]), numbers::<u8>(&[])), ("(3,)".into(), "()".into()));
    }
}
