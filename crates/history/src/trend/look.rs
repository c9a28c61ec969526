//! The frame of the page: that of the pages of a comparison, with their style sheet and their script.

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// Colours, type and layout of kgen's pages.
const STYLE: &str = include_str!("../../../compare/src/html/page.css");

/// Their sorting, and their filter by a part of a name.
const SCRIPT: &str = include_str!("../../../compare/src/html/page.js");

/// Sparklines and rows that a filter hides.
const OWN_STYLE: &str = "
.spark { display: block; width: 10rem; height: 2rem; overflow: visible; }
.spark .line { stroke-width: 1.2; }
.spark .change { fill: none; stroke: var(--c2); stroke-width: 1; stroke-dasharray: 2 2; }
.case { min-width: 14rem; max-width: 24rem; }
.case small { white-space: normal; overflow-wrap: anywhere; }
.out { display: none; }
#choose { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; max-width: none; }
#choose[hidden] { display: none; }
#choose select { font: inherit; max-width: 14rem; }
#left-out { columns: 20rem; font-size: 0.85rem; }
";

/// Filters by the values that rows carry.
const OWN_SCRIPT: &str = include_str!("trend.js");

/// The page out of its title and its body.
pub(super) fn document(title: &str, body: &Markup) -> String {
    let hash = |script: &str| STANDARD.encode(Sha256::digest(script));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}' 'sha256-{}'",
        hash(SCRIPT),
        hash(OWN_SCRIPT)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(OWN_STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                header { p.eyebrow { "kgen history trend" } h1 { (title) } }
                main #main { (body) }
                script { (PreEscaped(SCRIPT)) }
                script { (PreEscaped(OWN_SCRIPT)) }
            }
        }
    };
    page.into_string().replace(is_hidden, "\u{fffd}")
}

/// Characters that no document may hold, and those that make text read otherwise than it is.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\0'..' ' | '\u{7f}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        _ => matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
    }
}
