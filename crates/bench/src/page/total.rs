//! The machine, the grid, and a summary of the cells of each implementation.

use std::collections::BTreeSet;

use kgen_compare::html::{
    cell,
    number::{count, times},
};
use maud::{Markup, html};

use crate::{Bench, ImplementationSummary, draw::Context, summary};

/// The section.
pub(super) fn overall(context: &Context<'_>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts(context.bench) { div { dt { (name) } dd { (value) } } }
        }
        (table(context))
    }
}

/// The implementations with their marks.
pub(super) fn names(context: &Context<'_>) -> Markup {
    html! {
        p.keys {
            @for (at, key) in context.keys.iter().enumerate() {
                span { (key.swatch()) (context.name(at)) } " "
            }
        }
    }
}

fn facts(bench: &Bench) -> Vec<(String, String)> {
    let mut facts = vec![("Device", bench.device.clone()), ("Date", bench.created.clone())];
    if let Some(gpu) = &bench.fingerprint {
        let known = [("Driver", &gpu.driver), ("CUDA", &gpu.cuda), ("NVRTC", &gpu.nvrtc)];
        facts.extend(known.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        let locked = gpu.clocks_locked.map(|is| if is { "locked" } else { "not locked" });
        facts.extend(locked.map(|locked| ("Clocks", locked.to_owned())));
        facts.extend(gpu.power_limit_w.map(|watts| ("Power limit", format!("{watts:.0} W"))));
        facts.extend(gpu.kgen.clone().map(|version| ("kgen", version)));
    }
    let timings = bench.cells.iter().filter_map(|cell| cell.timing.as_ref());
    let modes: BTreeSet<&str> = timings.map(|timing| timing.mode.name()).collect();
    if !modes.is_empty() {
        facts.push(("Timing", modes.into_iter().collect::<Vec<_>>().join(", ")));
    }
    facts.push(("Cells", count(bench.cells.len() as u64)));
    let named = facts.into_iter().map(|(name, value)| (name.to_owned(), value));
    let axis = |axis: &crate::Axis| {
        let values: Vec<String> = axis.values.iter().map(i64::to_string).collect();
        (format!("Axis {}", axis.name), values.join(", "))
    };
    named.chain(bench.axes.iter().map(axis)).collect()
}

/// A row per implementation.
fn table(context: &Context<'_>) -> Markup {
    let titles = ["Passed", "Wrong", "Not offered", "Not run", "Speedup"];
    let verdicts = ["Faster", "Same", "Slower", "Ambiguous"];
    let head = html! {
        tr {
            th scope="col" { "Implementation" }
            @for title in titles.iter().chain(&verdicts) { th scope="col" { (title) } }
        }
    };
    let all = summary(context.bench);
    let rows = html! { @for (at, one) in all.iter().enumerate() { (row(context, at, one)) } };
    html! {
        (cell::table("totals", "Cells per implementation", head, rows))
        p.note {
            "Speedups are over the first implementation that passed a case: their geometric mean, without cells "
            "that launch overhead dominates."
        }
    }
}

fn row(context: &Context<'_>, at: usize, one: &ImplementationSummary) -> Markup {
    let counts = [one.passed, one.wrong, one.not_offered, one.not_run];
    let verdicts = [one.faster, one.same, one.slower, one.ambiguous];
    let is_compared = verdicts.iter().any(|n| 0 < *n);
    html! {
        tr {
            th scope="row" { (context.keys[at].swatch()) (context.name(at)) }
            @for (nth, n) in counts.into_iter().enumerate() {
                td class=[(nth == 1 && 0 < n).then_some("bad")] { (count(n as u64)) }
            }
            @match one.speedup_geomean {
                Some(mean) => td {
                    (times(mean))
                    small { "of " (count(one.n_speedups as u64)) }
                },
                None => td { "–" },
            }
            @for n in verdicts { td { @if is_compared { (count(n as u64)) } @else { "–" } } }
        }
    }
}
