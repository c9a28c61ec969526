//! The frame of the page: that of the pages of a comparison.

use base64::{Engine, engine::general_purpose::STANDARD};
use kgen_compare::html::frame::{self, Frame, SORTING_AND_FILTER, Script};
use maud::Markup;
use sha2::{Digest, Sha256};

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
    let hash = format!("sha256-{}", STANDARD.encode(Sha256::digest(OWN_SCRIPT)));
    let scripts = [SORTING_AND_FILTER, Script { source: OWN_SCRIPT, hash: &hash }];
    let frame = Frame { command: "kgen history trend", title, style: OWN_STYLE, scripts: &scripts };
    frame::document(&frame, &[], body)
}
