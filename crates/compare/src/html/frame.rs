//! The frame of all pages: head, title, links to their parts, and no network.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::style::{SCRIPT, SCRIPT_HASH, SORT, SORT_HASH, STYLE};

/// The command that makes a page, its title, and its own rules beside the style of all pages.
pub struct Frame<'a> {
    /// Name of the command, above the title.
    pub command: &'a str,
    /// Title of the page.
    pub title: &'a str,
    /// Rules after those of all pages.
    pub style: &'a str,
    /// Scripts that may run, in order.
    pub scripts: &'a [Script<'a>],
}

/// A script, which runs because the content policy names its hash.
pub struct Script<'a> {
    /// Its text.
    pub source: &'a str,
    /// The output of `openssl dgst -sha256 -binary FILE | base64`, behind `sha256-`.
    pub hash: &'a str,
}

/// Sorts tables of the class `sortable` by the attribute `data-v` of their cells.
pub const SORTING: Script<'static> = Script { source: SORT, hash: SORT_HASH };

/// Does that, and filters rows by a part of a name.
pub const SORTING_AND_FILTER: Script<'static> = Script { source: SCRIPT, hash: SCRIPT_HASH };

/// The scripts of the pages of a comparison and of a run.
pub(crate) const SCRIPTS: &[Script<'static>] = &[SORTING_AND_FILTER];

/// Returns a whole page: its head, the title below the name of the command, links to the parts that are
/// there, and the parts.
///
/// `parts`: whether it is there, its `id`, and its name.
#[must_use]
pub fn document(frame: &Frame<'_>, parts: &[(bool, &str, &str)], body: &Markup) -> String {
    let hashes: Vec<String> =
        frame.scripts.iter().map(|script| format!("'{}'", script.hash)).collect();
    let policy =
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src {}", hashes.join(" "));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (frame.title) }
                style { (PreEscaped(STYLE)) (PreEscaped(frame.style)) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                header {
                    p.eyebrow { (frame.command) }
                    h1 { (frame.title) }
                    nav aria-label="Sections" {
                        ul {
                            @for (_, id, name) in parts.iter().filter(|(is_there, ..)| *is_there) {
                                li { a href={ "#" (id) } { (name) } }
                            }
                        }
                    }
                }
                main #main { (body) }
                @for script in frame.scripts { script { (PreEscaped(script.source)) } }
            }
        }
    };
    visible(page.into_string())
}

/// Returns a part of a page that the navigation leads to.
#[must_use]
pub fn section(id: &str, title: &str, body: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } { h2 id={ (id) "-h" } { (title) } (body) }
    }
}

/// Replaces characters that no document may hold, and those that make text read otherwise than it is
/// (direction marks, the byte order mark). Nothing that this crate writes has any.
#[must_use]
pub fn visible(page: String) -> String {
    let is_hidden = |c: char| match c {
        '\n' | '\t' => false,
        '\0'..' ' | '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => false,
    };
    if !page.contains(is_hidden) {
        return page;
    }
    let shown = |c: char| match c {
        // Its picture in Unicode: ␀ for NUL and so on.
        '\0'..' ' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(c).to_string(),
        _ => format!("\\u{{{:x}}}", u32::from(c)),
    };
    let mut visible = String::with_capacity(page.len());
    for c in page.chars() {
        if is_hidden(c) { visible.push_str(&shown(c)) } else { visible.push(c) }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(visible("a\0b\r\n\tc".to_owned()), "a␀b␍\n\tc");
        assert_eq!(visible("x\u{202e}y\u{feff}".to_owned()), "x\\u{202e}y\\u{feff}");
        assert_eq!(visible("µs × ∞".to_owned()), "µs × ∞");
    }
}
