//! The arms by their letters, and what sets them apart. Tables and drawings name an arm by its letter.

use maud::{Markup, html};

use super::{context::Context, key::Key, number::count};
use crate::summary::ArmSummary;

/// Runs of an arm that are named.
const MOST_RUNS: usize = 4;

/// The legend; nothing for a single arm.
pub(crate) fn legend(context: &Context<'_>) -> Markup {
    html! {
        @if 1 < context.keys.len() {
            dl.legend aria-label="Arms" {
                @for (key, arm) in context.summaries() { (entry(key, arm, &context.comparison.differing)) }
            }
        }
    }
}

/// One arm: the settings that differ, or its name where none does, and its runs.
fn entry(key: &Key, arm: &ArmSummary, differing: &[String]) -> Markup {
    let settings = || differing.iter().filter_map(|name| Some((name, arm.fact(name)?)));
    let named = arm.runs.iter().take(MOST_RUNS).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = arm.runs.len().saturating_sub(MOST_RUNS);
    html! {
        div {
            dt { (key.swatch()) }
            dd {
                @if settings().next().is_none() { (arm.name) }
                @for (at, (name, value)) in settings().enumerate() {
                    @if 0 < at { " · " }
                    span.setting { (name) " " b { (value) } }
                }
                small {
                    (arm.runs.len()) @if arm.runs.len() == 1 { " run" } @else { " runs" }
                    " (" (named) @if 0 < more { ", " (more) " more" } "), "
                    (count(arm.n_ops as u64)) @if arm.n_ops == 1 { " op, " } @else { " ops, " }
                    (arm.devices.join(", "))
                    @for word in arm.marks.words() { ", " (word) }
                }
            }
        }
    }
}
