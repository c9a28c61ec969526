//! How an arm is recognised everywhere on the page: a letter, a colour with a dash pattern and a
//! mark, and the distinguishing part of its name. Never the colour alone.

use maud::{Markup, html};

use crate::compare::letter;

/// Colours of the style sheet, `s0` to `s5`; further arms repeat them with other dashes.
const COLOURS: usize = 6;

/// Dash patterns of the style sheet, `d0` to `d2`.
const DASHES: usize = 3;

/// Characters of a name beside a line.
const SHORT: usize = 14;

/// The looks of an arm.
pub struct Key {
    /// `A`, `B`, ... `Z`, `AA`, ...
    pub(crate) letter: String,
    /// The parts of its name that not all arms share.
    pub(crate) own: String,
    /// The same where it is short enough to stand beside a line, else empty.
    pub(crate) short: String,
    index: usize,
}

impl Key {
    /// The looks of the arm at a position that its name alone stands for.
    #[must_use]
    pub fn of_name(name: &str, index: usize) -> Self {
        Self { letter: String::new(), own: name.to_owned(), short: shorten(name, SHORT), index }
    }

    /// The parts of its name that not all arms share, in full.
    #[must_use]
    pub fn own(&self) -> &str {
        &self.own
    }

    /// Whether the name beside a line is not cut.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.short == self.own
    }

    /// Its letter, or its name where it has none.
    pub(crate) fn title(&self) -> &str {
        if self.letter.is_empty() { &self.own } else { &self.letter }
    }

    /// Classes that set its colour and its dashes.
    #[must_use]
    pub fn class(&self) -> String {
        format!("s{} d{}", self.index % COLOURS, self.index / COLOURS % DASHES)
    }

    /// Its letter and short name, as beside a line.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.letter, self.short).trim().to_owned()
    }

    /// Its letter with its mark in its colour.
    #[must_use]
    pub fn swatch(&self) -> Markup {
        html! {
            span class={ "key " (self.class()) } {
                svg viewBox="-5 -5 10 10" aria-hidden="true" { path.mark d=(self.mark()) {} }
                (self.letter)
            }
            " "
        }
    }

    /// Its letter with its mark, and where there is room for more, the part of its name.
    pub(crate) fn named(&self) -> Markup {
        html! { (self.swatch()) span.own { (self.short) } }
    }

    /// Its mark around the origin, as the data of an SVG path about 8 units across.
    #[must_use]
    pub fn mark(&self) -> &'static str {
        match self.index % COLOURS {
            0 => "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",
            1 => "M-3.2-3.2h6.4v6.4h-6.4z",
            2 => "M0-4.2L4 3H-4z",
            3 => "M0-4.5L4.5 0L0 4.5L-4.5 0z",
            4 => "M0 4.2L4-3H-4z",
            _ => "M-1.3-4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",
        }
    }
}

/// Gives every arm its key, in order.
pub(crate) fn keys<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Key> {
    let names: Vec<&str> = names.into_iter().collect();
    let parts: Vec<Vec<&str>> = names.iter().map(|name| parts_of(name)).collect();
    let is_shared = |part: &&str| 1 < parts.len() && parts.iter().all(|of| of.contains(part));
    let own = |parts: &[&str]| {
        parts.iter().copied().filter(|part| !is_shared(part)).collect::<Vec<_>>().join(", ")
    };
    let key = |(index, name): (usize, &&str)| {
        let own = Some(own(&parts[index])).filter(|own| !own.is_empty());
        let own = own.unwrap_or_else(|| (*name).to_owned());
        // Half a name says less than its letter, which the legend explains.
        let short = if own.chars().count() <= SHORT { own.clone() } else { String::new() };
        Key { letter: letter(index), short, own, index }
    };
    names.iter().enumerate().map(key).collect()
}

/// The parts of a name, between commas, semicolons, slashes, bars and dots in the middle.
fn parts_of(name: &str) -> Vec<&str> {
    name.split([',', ';', '/', '|', '·']).map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Keeps both ends of a long text.
#[must_use]
pub fn shorten(text: &str, most: usize) -> String {
    let n_chars = text.chars().count();
    if n_chars <= most {
        return text.to_owned();
    }
    let head = (most - 1).div_ceil(2);
    let tail = most - 1 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(n_chars - tail).collect();
    format!("{}…{}", start.trim_end(), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorts(names: &[&str]) -> Vec<String> {
        keys(names.iter().copied()).into_iter().map(|key| key.short).collect()
    }

    #[test]
    fn names_keep_what_sets_them_apart() {
        let names = ["gpt-5, beam, all", "gpt-5, repair, all", "gpt-5, repair, none"];
        assert_eq!(shorts(&names), ["beam, all", "repair, all", "repair, none"]);
        assert_eq!(shorts(&["repair", "repair, plan"]), ["repair", "plan"]);
        assert_eq!(shorts(&["a / x y", "b / x y"]), ["a", "b"]);
        assert_eq!(shorts(&["same", "same"]), ["same", "same"]);
        assert_eq!(shorts(&["only, one"]), ["only, one"]);
        assert_eq!(shorts(&["", "·", "é, ü"]), ["", "·", "é, ü"]);
        assert_eq!(shorts(&["short", "a name of fifteen"]), ["short", ""]);
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("a-very-long-model-name-2026", 17), "a-very-l…ame-2026");
        assert_eq!(shorten("ééééé", 5), "ééééé");
    }

    #[test]
    fn every_arm_has_its_letter_and_look() {
        assert_eq!([0, 25, 26, 51, 52].map(letter), ["A", "Z", "AA", "AZ", "BA"]);
        let keys = keys(["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(keys[0].class(), "s0 d0");
        assert_eq!(keys[6].class(), "s0 d1");
        let marks: std::collections::BTreeSet<_> = keys.iter().map(Key::mark).collect();
        assert_eq!(marks.len(), 6);
    }
}
