//! The table of the run's ops.

use maud::{Markup, html};

use crate::{
    data::{Op, Run},
    html::{
        cell,
        context::Context,
        number::{cost, plain, times},
        ops::filter,
    },
};

/// Every op with its verdict, speedups, share of the floor, attempts and cost. In the order of the
/// details below, whose anchors it links to.
pub(super) fn ops(context: &Context<'_>, run: &Run) -> Markup {
    let baselines = &context.comparison.baselines;
    let head = html! {
        tr {
            th scope="col" { "Op" }
            th.text scope="col" { "Verdict" }
            @for name in baselines { th scope="col" { "Over " (name) } }
            @if baselines.is_empty() { th scope="col" { "Speedup" } }
            th scope="col" { "Of the floor" }
            th scope="col" { "Attempts" }
            th scope="col" { "Cost" }
        }
    };
    let rows = html! {
        @for (index, row) in context.comparison.ops.iter().enumerate() {
            @if let Some(op) = run.ops.iter().find(|op| op.name == row.op) {
                (one(op, index, baselines))
            }
        }
    };
    html! { (filter()) (cell::table("sortable ops", "Every op, by its best attempt", head, rows)) }
}

fn one(op: &Op, index: usize, baselines: &[String]) -> Markup {
    let spend = op.spend();
    let floor = of_floor(op);
    html! {
        tr {
            th scope="row" data-v=(op.name) { a href={ "#op-" (index) } { (op.name) } }
            (verdict(op))
            @for name in baselines { (speedup(op, name)) }
            @if baselines.is_empty() { (cell::none("not measured")) }
            @match floor {
                Some(percent) => td data-v=(percent) { (plain(percent)) " %" },
                None => (cell::none("not measured")),
            }
            td data-v=(op.attempts.len()) { (op.attempts.len()) }
            @match cost(&spend) {
                Some(cost) => td data-v=(spend.usd) { (cost) },
                None => (cell::none("unpriced")),
            }
        }
    }
}

/// Verdict and device of the best attempt.
fn verdict(op: &Op) -> Markup {
    let best = op.best_attempt();
    let name = best.map_or("not reached", |best| &best.verdict);
    let place = match (&op.gpu, best) {
        (_, None) => None,
        (Some(_), _) => Some("on a GPU"),
        (None, Some(_)) => Some("on the emulator"),
    };
    html! {
        td.text data-v=(u8::from(op.solved)) {
            span class=(if op.solved { "good" } else { "bad" }) {
                (if op.solved { "✓ " } else { "✗ " }) (name)
            }
            small {
                @if let Some(best) = best { "attempt " (best.number) }
                @if let Some(place) = place { ", " (place) }
                @if op.solved && !op.confirmed { ", not confirmed" }
            }
        }
    }
}

fn speedup(op: &Op, baseline: &str) -> Markup {
    let Some(speedup) = op.speedup(baseline).filter(|_| op.solved) else {
        return cell::none("not measured");
    };
    html! {
        td data-v=(speedup.shown()) {
            (times(speedup.shown()))
            @if let Some([low, high]) = speedup.interval { small { (plain(low)) "–" (plain(high)) } }
            @if speedup.long.is_none() { small { "launch overhead only" } }
        }
    }
}

/// Geometric mean, in percent, over the cases that launch overhead does not dominate.
fn of_floor(op: &Op) -> Option<f64> {
    let is_long = |case: &&crate::TimedCase| {
        let primary = case.baselines.iter().find(|baseline| baseline.comparison.is_some());
        primary.is_none_or(|baseline| !baseline.overhead_dominated)
    };
    let cases = op.timed.iter().filter(|_| op.solved).filter(is_long);
    let percents = cases
        .filter_map(|case| Some(case.roofline.as_ref()?.percent_of_floor(case.kernel.median_us)));
    kgen_measure::geometric_mean(&percents.collect::<Vec<_>>())
}
