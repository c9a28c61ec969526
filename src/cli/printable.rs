//! Text that cannot act on a terminal: control characters of models, providers and files are escaped.

use std::{borrow::Cow, fmt::Write as _};

/// Returns a text with its control characters spelled out, but for line ends and tabs.
///
/// Where the screen has `color`, the sequences that set colours stay: kgen's own are among them.
pub(crate) fn printable(text: &str, color: bool) -> Cow<'_, str> {
    if !text.contains(|c| acts(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let n_style = if color && first == '\x1b' { style_len(rest) } else { 0 };
        if n_style > 0 {
            shown.push_str(&rest[..n_style]);
            rest = &rest[n_style..];
            continue;
        }
        match first {
            '\n' | '\t' => shown.push(first),
            c if acts(c) => write!(shown, "{}", c.escape_default()).expect("a string grows"),
            c => shown.push(c),
        }
        rest = &rest[first.len_utf8()..];
    }
    Cow::Owned(shown)
}

/// Returns JSON with control characters inside its strings as JSON escapes them.
pub(crate) fn printable_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        // Those of ASCII are escaped already, and line ends are the layout.
        if acts(c) && !c.is_ascii() {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                write!(shown, "\\u{unit:04x}").expect("a string grows");
            }
        } else if c == '\x7f' {
            shown.push_str("\\u007f");
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns whether a terminal acts on a character, or shows text in another order for it.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the length of a sequence that sets colours at the beginning of a text; 0 where there is none.
fn style_len(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
    end.filter(|end| rest[*end..].starts_with('m')).map_or(0, |end| end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_colours_reaches_a_terminal() {
        for (text, pipe, terminal) in [
            ("plain\n\ttext", "plain\n\ttext", "plain\n\ttext"),
            ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m", "\x1b[31mred\x1b[0m"),
            ("\x1b[2Jgone", "\\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\rb\x08\0\u{9b}1m", "a\\rb\\u{8}\\u{0}\\u{9b}1m", "a\\rb\\u{8}\\u{0}\\u{9b}1m"),
            ("\u{202e}cba é", "\\u{202e}cba é", "\\u{202e}cba é"),
            ("\x1b[31", "\\u{1b}[31", "\\u{1b}[31"),
        ] {
            assert_eq!(printable(text, false), pipe);
            assert_eq!(printable(text, true), terminal);
        }
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a": "\u{9b}1m\u{202e}\x7f\x1b\n"});
        let text = printable_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.is_ascii() && !text.contains('\x7f'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
