//! Words that a kernel file may not hold, and may not paste together.

use std::collections::BTreeSet;

use kgen_record::Finding;

use super::source::{finding_at, is_word};

/// A word, and its hint.
const WORDS: [(&str, &str); 8] = [
    ("__has_include", "include what is needed; see the list of available headers"),
    ("_HAS_INCLUDE", "include what is needed; see the list of available headers"),
    ("__has_embed", "data cannot be embedded"),
    ("__TIME__", "equal files must compile to equal code"),
    ("__DATE__", "equal files must compile to equal code"),
    ("__TIMESTAMP__", "equal files must compile to equal code"),
    ("nv_mangled_name", "kgen looks the kernels' names up itself"),
    ("__nv_name_map", "kgen looks the kernels' names up itself"),
];

/// Source whose lines that a backslash continues are joined.
pub(super) struct Spliced {
    text: String,
    /// Offset in the source of each byte.
    offsets: Vec<usize>,
}

impl Spliced {
    /// Joins lines. Blanks between a backslash and the end of its line are taken for a continuation
    /// too, as the compiler does.
    pub(super) fn new(code: &str) -> Self {
        let mut spliced = Self { text: String::with_capacity(code.len()), offsets: Vec::new() };
        let mut at = 0;
        for line in code.split_inclusive('\n') {
            let kept = match line.trim_end().strip_suffix('\\') {
                Some(continued) if line.ends_with('\n') => continued,
                _ => line,
            };
            spliced.text.push_str(kept);
            spliced.offsets.extend(at..at + kept.len());
            at += line.len();
        }
        spliced
    }

    /// Returns where a `#` is spelt `%:` where it has a meaning: first on its line, or pasting.
    pub(super) fn digraph(&self) -> Option<usize> {
        let found = self.text.match_indices("%:").find(|(at, _)| {
            let line = self.text[..*at].rfind('\n').map_or(0, |end| end + 1);
            self.text[line..*at].trim().is_empty() || self.text[*at..].starts_with("%:%:")
        });
        found.map(|(at, _)| self.offsets[at])
    }

    /// Returns the words of the text that stand in no string, with their offsets.
    fn identifiers(&self) -> Vec<(usize, &str)> {
        let bytes = self.text.as_bytes();
        let mut found = Vec::new();
        let (mut at, mut quote) = (0, None);
        while at < bytes.len() {
            match (bytes[at], quote) {
                (b'\\', Some(_)) => at += 2,
                (b'\n', _) => (quote, at) = (None, at + 1),
                (byte, Some(open)) => {
                    quote = quote.filter(|_| byte != open);
                    at += 1;
                }
                (byte @ (b'"' | b'\''), None) => (quote, at) = (Some(byte), at + 1),
                (byte, None) if is_word(byte) => {
                    let len = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
                    if !self.is_directive(at) {
                        found.push((at, &self.text[at..at + len]));
                    }
                    // A separator of digits is no quote.
                    let separates = byte.is_ascii_digit() && bytes.get(at + len) == Some(&b'\'');
                    at += len + usize::from(separates);
                }
                _ => at += 1,
            }
        }
        found
    }

    /// Whether a word follows the `#` that its line begins with.
    fn is_directive(&self, at: usize) -> bool {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        self.text[line..at].trim() == "#"
    }

    /// Whether words may be pasted together: by the operator, or by a macro of a header.
    fn may_paste(&self, identifiers: &[(usize, &str)]) -> bool {
        let pasting = ["cat", "paste", "join", "glue", "concat"];
        self.text.contains("##")
            || identifiers.iter().any(|(_, word)| {
                let word = word.to_ascii_lowercase();
                pasting.iter().any(|part| word.contains(part))
            })
    }
}

/// Refuses words that read the file system or the time, or forge kgen's own questions to the
/// compiler, and the pieces of such words where they may be pasted.
pub(super) fn refuse_words(source: &str, logical: &Spliced) -> Result<(), Box<Finding>> {
    for (word, hint) in WORDS {
        if let Some(at) = logical.text.find(word) {
            let message = format!("`{word}` is not accepted");
            return Err(finding_at(source, logical.offsets[at], message, hint));
        }
    }
    let identifiers = logical.identifiers();
    if !logical.may_paste(&identifiers) {
        return Ok(());
    }
    let own: BTreeSet<&str> = identifiers.iter().map(|(_, word)| *word).collect();
    // Headers have macros that stand for underscores.
    let all: BTreeSet<&str> = own.iter().copied().chain(["_", "__"]).collect();
    for (word, hint) in WORDS {
        let pieces = if word.contains("HAS") || word.contains("has") { &all } else { &own };
        if let Some(piece) = pasted_from(word, pieces) {
            let at = identifiers.iter().find(|(_, found)| *found == piece).map_or(0, |(at, _)| *at);
            let message = format!("`{word}` can be pasted together here from `{piece}` and others");
            return Err(finding_at(source, logical.offsets[at], message, hint));
        }
    }
    Ok(())
}

/// Returns the longest of the pieces that a word can be put together from; `None` if it cannot.
fn pasted_from<'a>(word: &str, pieces: &BTreeSet<&'a str>) -> Option<&'a str> {
    // For each length of the word's start: the longest piece used to get there.
    let mut reached: Vec<Option<&str>> = vec![None; word.len() + 1];
    reached[0] = Some("");
    for start in 0..word.len() {
        let Some(longest) = reached[start] else { continue };
        for piece in pieces.iter().filter(|piece| word[start..].starts_with(**piece)) {
            let best = if piece.len() > longest.len() { piece } else { longest };
            let end = &mut reached[start + piece.len()];
            if end.is_none_or(|old| best.len() > old.len()) {
                *end = Some(best);
            }
        }
    }
    reached[word.len()].and_then(|best| pieces.get(best).copied())
}
