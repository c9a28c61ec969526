//! Suggestions for misspelt names.

/// Similarity below which a suggestion is noise.
const MIN_SIMILARITY: f64 = 0.8;

/// Bytes of a name at most: the comparison takes time by the product of lengths.
const MAX_LENGTH: usize = 256;

/// Returns the known names that resemble `name`, the most similar first, `most` of them at most.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    if MAX_LENGTH < name.len() {
        return Vec::new();
    }
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(known, name), known));
    let mut scored: Vec<_> = scored.filter(|(score, _)| MIN_SIMILARITY <= *score).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(most).map(|(_, known)| known).collect()
}

/// Returns the known name that resembles `name` most, if any does.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(name, known, 1).pop()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["builtin", "pregenerated", "llm"];
        assert_eq!(nearest("buildin", known), Some("builtin"));
        assert_eq!(nearest("pregen", known), Some("pregenerated"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest(&"builtin".repeat(1_000_000), known), None);
    }
}
