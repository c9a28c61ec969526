//! Markup into one string. Only literals of this crate go in as they are: whatever comes from a run
//! (names, sources, feedback) is text or the value of an attribute, and is escaped here.

use std::fmt::{self, Display, Write};

/// A growing piece of HTML or SVG.
#[derive(Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// Starts with room for `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    /// Appends markup as it is written in this crate.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text, escaped.
    pub(crate) fn text(&mut self, text: impl Display) -> &mut Self {
        write!(Escape(&mut self.0), "{text}").expect("a string takes all that is written");
        self
    }

    /// Appends an attribute with its leading space; the value is escaped.
    pub(crate) fn attr(&mut self, name: &'static str, value: impl Display) -> &mut Self {
        self.0.push(' ');
        self.0.push_str(name);
        self.0.push_str("=\"");
        self.text(value).raw("\"")
    }

    /// Appends what was made apart.
    pub(crate) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Length so far, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the markup.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// Escapes what is written through it, for text and for quoted attributes alike.
struct Escape<'a>(&'a mut String);

impl fmt::Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(is_special) {
            self.0.push_str(&rest[..at]);
            let special = rest[at..].chars().next().expect("`find` points at a character");
            match special {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\0'..' ' => {
                    // Its picture in Unicode: ␀ for NUL and so on.
                    let picture = char::from_u32(0x2400 + u32::from(special));
                    self.0.extend(picture);
                }
                other => write!(self.0, "\\u{{{:x}}}", u32::from(other))?,
            }
            rest = &rest[at + special.len_utf8()..];
        }
        self.0.push_str(rest);
        Ok(())
    }
}

/// Characters with a meaning in HTML, those that no document may hold, and those that make text read
/// otherwise than it is (direction marks, the byte order mark).
fn is_special(c: char) -> bool {
    match c {
        '&' | '<' | '>' | '"' | '\'' => true,
        '\n' | '\t' => false,
        '\0'..' ' | '\u{7f}'..='\u{9f}' => true,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{feff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Markup;

    fn text(text: &str) -> String {
        let mut markup = Markup::default();
        markup.text(text);
        markup.into_string()
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(text("a < b && c > d"), "a &lt; b &amp;&amp; c &gt; d");
        let hostile = "</script><img src=x onerror='alert(1)'>\"";
        assert_eq!(
            text(hostile),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&quot;"
        );
        let mut markup = Markup::default();
        markup.raw("<td").attr("title", "\"><script>").raw(">");
        assert_eq!(markup.into_string(), "<td title=\"&quot;&gt;&lt;script&gt;\">");
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(text("a\0b\r\n\tc"), "a␀b␍\n\tc");
        assert_eq!(text("x\u{202e}y\u{feff}"), "x\\u{202e}y\\u{feff}");
        assert_eq!(text("µs × ∞"), "µs × ∞");
    }
}
