//! Parts of rows in all tables: attributes to filter by, links, dates, numbers that may be missing.

use std::fmt::Write as _;

use kgen_compare::html::{cell, number::times};
use maud::{Markup, html};

use super::{filter::Keys, moment};

/// A row with the values to filter by; `days`: the first and last day, or one, or an empty text.
pub(super) fn row(keys: &Keys, days: &str, cells: &Markup) -> Markup {
    html! {
        tr data-days=(days) data-op=[&keys.ops] data-gpu=[keys.gpu]
            data-implementation=[&keys.implementations] { (cells) }
    }
}

/// The day of a time, by UTC; empty where it is not known.
pub(super) fn day(created: &str) -> String {
    moment(created).map(|moment| moment.strftime("%Y-%m-%d").to_string()).unwrap_or_default()
}

/// A date with its time of day; a text that is none as it is.
pub(super) fn date(created: &str) -> Markup {
    html! {
        @match moment(created) {
            Some(moment) => td data-v=(moment.as_second()) {
                (moment.strftime("%Y-%m-%d").to_string())
                small { (moment.strftime("%H:%M").to_string()) }
            },
            None => td.text { (created) },
        }
    }
}

/// A name that leads to its page where there is one.
pub(super) fn linked(name: &str, link: Option<&str>) -> Markup {
    html! {
        @match link {
            Some(link) => a href=(href(link)) { (name) },
            None => (name),
        }
    }
}

/// A relative path as an address: of whatever characters, it names no scheme and no host.
fn href(path: &str) -> String {
    let mut href = "./".to_owned();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => href.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => href.push(char::from(byte)),
            byte => _ = write!(href, "%{byte:02X}"),
        }
    }
    href
}

/// A speedup with a line below; `missing` where there is none.
pub(super) fn speedup(speedup: Option<f64>, below: Option<&str>, missing: &str) -> Markup {
    html! {
        @match speedup.filter(|speedup| speedup.is_finite()) {
            Some(speedup) => td data-v=(speedup) {
                (times(speedup))
                @if let Some(below) = below { small { (below) } }
            },
            None => (cell::none(missing)),
        }
    }
}

/// The first names of a list, and how many there are beyond.
pub(super) fn few(names: &[String]) -> String {
    const MOST: usize = 4;
    let (shown, others) = names.split_at(names.len().min(MOST));
    let shown = shown.join(", ");
    if others.is_empty() { shown } else { format!("{shown} and {} more", others.len()) }
}

#[cfg(test)]
mod tests {
    use super::{few, href};

    #[test]
    fn links_stay_in_the_folder() {
        assert_eq!(href("run_1/report.html"), "./run_1/report.html");
        assert_eq!(href("../a b/#?.html"), "./../a%20b/%23%3F.html");
        assert_eq!(href("javascript:alert(1)"), "./javascript%3Aalert%281%29");
        assert_eq!(href("//host/µ"), ".///host/%C2%B5");
    }

    #[test]
    fn long_lists_are_counted() {
        let names = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        assert_eq!(few(&names[..4]), "a, b, c, d");
        assert_eq!(few(&names), "a, b, c, d and 2 more");
    }
}
