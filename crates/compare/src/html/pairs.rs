//! Arms against each other: differences with intervals and the p values of paired tests.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};

use super::{
    cell::{self, Unit},
    context::Context,
    number::probability,
    section as framed,
};
use crate::summary::{Pair, PairTest, Quantity};

/// Rows without a significant difference that are shown at once; more of them are folded.
const MOST_EQUAL: usize = 24;

/// Below this, a corrected p value is set in bold.
const SIGNIFICANT: f64 = 0.05;

/// The section; nothing with a single arm.
pub(crate) fn section(context: &Context<'_>) -> Markup {
    let pairs = &context.comparison.pairs;
    if pairs.is_empty() {
        return Markup::default();
    }
    let mut rows: Vec<(&Pair, &PairTest)> =
        pairs.iter().flat_map(|pair| pair.tests.iter().map(move |test| (pair, test))).collect();
    rows.sort_by_key(|(_, test)| test.quantity);
    let (different, equal): (Vec<_>, Vec<_>) =
        rows.iter().copied().partition(|(_, test)| test.p_holm < SIGNIFICANT);
    let baseline = context.primary().unwrap_or("a baseline");
    let title = format!("Differences between arms; fast and speedup are over {baseline}");
    framed(
        "pairs",
        "Paired tests",
        html! {
            p {
                "Over the ops that both arms worked on. " i { "p" } " is two-sided, and corrected by "
                "Holm's method over all pairs of a quantity."
            }
            @if equal.len() <= MOST_EQUAL {
                (table(context, &title, &rows))
            } @else {
                @if !different.is_empty() {
                    (table(context, "Differences with a corrected p below 0.05", &different))
                }
                details {
                    summary { (equal.len()) " comparisons without a significant difference" }
                    (table(context, "Differences with a corrected p of 0.05 or more", &equal))
                }
            }
            (notes(context, pairs))
        },
    )
}

/// Why some pairs lack a quantity, pairs with the same reason together.
fn notes(context: &Context<'_>, pairs: &[Pair]) -> Markup {
    let letter = |index: usize| context.keys.get(index).map_or("?", |key| &key.letter);
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in pairs {
        if let Some(note) = &pair.note {
            let named = format!("{}–{}", letter(pair.b), letter(pair.a));
            reasons.entry(note).or_default().push(named);
        }
    }
    html! {
        @for (reason, named) in reasons { p.note { (named.join(", ")) ": " (reason) "." } }
    }
}

fn table(context: &Context<'_>, title: &str, rows: &[(&Pair, &PairTest)]) -> Markup {
    let head = cell::head(&[
        cell::text("Quantity", ""),
        cell::text("Compared", ""),
        cell::number("Difference", "Of shares: in percentage points; of speedups: their ratio"),
        cell::number("Ops better", "Ops in which the first named is better"),
        cell::number("Ops worse", "Ops in which the first named is worse"),
        cell::number("<i>p</i>", ""),
        cell::number("<i>p</i> corrected", "By Holm's method"),
        cell::text("Test", ""),
    ]);
    let rows = html! {
        @for (pair, test) in rows {
            @let (quantity, unit) = match test.quantity {
                Quantity::Correct => ("correct", Unit::Points),
                Quantity::Fast1 => ("fast<sub>1</sub>", Unit::Points),
                Quantity::Speedup => ("speedup", Unit::Times),
            };
            @let is_significant = test.p_holm < SIGNIFICANT;
            tr {
                td.text { (PreEscaped(quantity)) }
                th scope="row" { (arm(context, pair.b)) "against " (arm(context, pair.a)) }
                (cell::estimate(Some(&test.estimate), unit))
                td { (test.n_better) }
                td { (test.n_worse) }
                td { (probability(test.p)) }
                td class=[is_significant.then_some("strong")] data-v=(test.p_holm) {
                    (probability(test.p_holm))
                }
                td.text { (test.test) }
            }
        }
    };
    cell::table("numbers", title, head, rows)
}

/// An arm's mark, letter and the part of its name.
fn arm(context: &Context<'_>, index: usize) -> Markup {
    html! { @if let Some(key) = context.keys.get(index) { (key.swatch()) span.own { (key.short) } " " } }
}
