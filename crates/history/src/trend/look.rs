//! The frame of the page: that of the pages of a comparison.

use base64::{Engine, engine::general_purpose::STANDARD};
use kgen_compare::html::frame::{self, Frame, SORTING_AND_FILTER, Script};
use maud::Markup;
use sha2::{Digest, Sha256};

use super::series;

/// Rows that a filter hides.
const OWN_STYLE: &str = "
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
    let hash = hash(OWN_SCRIPT);
    let scripts = [SORTING_AND_FILTER, Script { source: OWN_SCRIPT, hash: &hash }];
    let style = format!("{}{OWN_STYLE}", series::STYLE);
    let frame = Frame { command: "kgen history trend", title, style: &style, scripts: &scripts };
    frame::document(&frame, &[], body)
}

/// The hash by which a content policy names a script.
pub(crate) fn hash(script: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(script)))
}
