//! The medium that a text is made for: its width, and whether it shows colours.

use console::{Style, measure_text_width, truncate_str};

/// A terminal, or anything else that takes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Screen {
    /// Columns of a line; `None` where lines may have any length.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub color: bool,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    /// Neither: nothing is known, or only a part.
    Open,
}

impl Screen {
    /// A file or a pipe: nothing is cut there, and nothing coloured.
    pub const FILE: Self = Self { width: None, color: false };

    /// Returns a text in the colour of its meaning, where there are colours.
    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Good => Style::new().green(),
            Tone::Bad => Style::new().red(),
            Tone::Open => Style::new().yellow(),
        };
        style.force_styling(true).apply_to(text).to_string()
    }

    /// Returns a line cut to the width.
    #[must_use]
    pub fn cut(self, line: &str) -> String {
        match self.width {
            Some(width) => truncate_str(line, width, "…").into_owned(),
            None => line.to_owned(),
        }
    }

    /// Returns lines broken between words where they are wider than the screen; a broken line goes on
    /// below its own beginning.
    #[must_use]
    pub fn wrap(self, text: &str) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let lines: Vec<String> = text.split('\n').map(|line| wrap_line(line, width)).collect();
        lines.join("\n")
    }
}

fn wrap_line(line: &str, width: usize) -> String {
    if measure_text_width(line) <= width {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let margin = " ".repeat(indent.min(width / 4));
    let mut wrapped = line[..indent].to_owned();
    let mut used = indent;
    for (at, word) in line[indent..].split(' ').enumerate() {
        let length = measure_text_width(word);
        if at > 0 && used + 1 + length > width {
            wrapped = format!("{}\n{margin}{word}", wrapped.trim_end());
            used = margin.len() + length;
        } else {
            let space = if at > 0 { " " } else { "" };
            wrapped = format!("{wrapped}{space}{word}");
            used += space.len() + length;
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(width: usize) -> Screen {
        Screen { width: Some(width), color: false }
    }

    #[test]
    fn lines_are_broken_between_words_and_never_in_a_file() {
        let text = "short\n  saved in a/rather/long/path of a run";
        let broken = "short\n  saved in\n  a/rather/long/path\n  of a run";
        assert_eq!(screen(20).wrap(text), broken);
        assert_eq!(Screen::FILE.wrap(text), text);
        assert_eq!(screen(8).cut("0123456789"), "0123456…");
        assert_eq!(Screen::FILE.cut("0123456789"), "0123456789");
    }

    #[test]
    fn colours_take_no_room_and_are_only_where_they_show() {
        let painted = Screen { width: None, color: true }.paint(Tone::Good, "passed");
        assert_eq!(painted, "\u{1b}[32mpassed\u{1b}[0m");
        assert_eq!(measure_text_width(&painted), 6);
        assert_eq!(Screen::FILE.paint(Tone::Bad, "fault"), "fault");
    }
}
