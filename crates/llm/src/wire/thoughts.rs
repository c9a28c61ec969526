//! Thoughts that a server left in the text of a reply.

/// Splits a text into the thoughts it begins with and the rest.
///
/// Thoughts stand between `<think>` and `</think>`; the first may be missing, where the prompt ended
/// with it, and so may the second, where the token limit came first.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        let begun = text.trim_start().strip_prefix(open);
        let inner = begun.unwrap_or(text);
        match inner.split_once(close) {
            // Behind a fence it is a part of somebody's code.
            Some((thoughts, rest)) if begun.is_some() || !thoughts.contains("```") => {
                return (Some(thoughts.trim()), rest.trim_start());
            }
            None if begun.is_some() => return (Some(inner.trim()), ""),
            Some(_) | None => {}
        }
    }
    (None, text)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn thoughts_leave_the_text() {
        for (text, expected) in [
            ("<think>\nhm\n</think>\n\ncode", (Some("hm"), "code")),
            ("\n<thinking>hm</thinking>code", (Some("hm"), "code")),
            ("hm, so:\n</think>\n\ncode", (Some("hm, so:"), "code")),
            ("<think>```\nx\n```</think>code", (Some("```\nx\n```"), "code")),
            ("<think>cut off", (Some("cut off"), "")),
            ("code", (None, "code")),
            ("```\n// </think>\n```", (None, "```\n// </think>\n```")),
            ("I <think> so", (None, "I <think> so")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
