//! Arms against each other: differences with intervals and the p values of paired tests.

use std::collections::BTreeMap;

use super::{
    cell::{self, Unit},
    context::Context,
    markup::Markup,
    number::Probability,
    overall::swatch,
};
use crate::summary::{Pair, PairTest, Quantity};

/// Rows without a significant difference that are shown at once; more of them are folded.
const MOST_EQUAL: usize = 24;

/// Below this, a corrected p value is set in bold.
const SIGNIFICANT: f64 = 0.05;

/// Writes the section; nothing with a single arm.
pub(crate) fn section(markup: &mut Markup, context: &Context<'_>) {
    let pairs = &context.comparison.pairs;
    if pairs.is_empty() {
        return;
    }
    markup.raw("<section id=\"pairs\" aria-labelledby=\"pairs-h\"><h2 id=\"pairs-h\">");
    markup
        .raw("Paired tests</h2><p>Over the ops that both arms worked on. <i>p</i> is two-sided, ");
    markup.raw("and corrected by Holm's method over all pairs of a quantity.</p>\n");
    let mut rows: Vec<(&Pair, &PairTest)> =
        pairs.iter().flat_map(|pair| pair.tests.iter().map(move |test| (pair, test))).collect();
    rows.sort_by_key(|(_, test)| test.quantity);
    let (different, equal): (Vec<_>, Vec<_>) =
        rows.iter().copied().partition(|(_, test)| test.p_holm < SIGNIFICANT);
    if equal.len() <= MOST_EQUAL {
        table(markup, context, &title(context), &rows);
    } else {
        if !different.is_empty() {
            table(markup, context, "Differences with a corrected p below 0.05", &different);
        }
        markup.raw("<details><summary>").text(equal.len());
        markup.raw(" comparisons without a significant difference</summary>");
        table(markup, context, "Differences with a corrected p of 0.05 or more", &equal);
        markup.raw("</details>");
    }
    notes(markup, context, pairs);
    markup.raw("</section>\n");
}

/// Writes why some pairs lack a quantity, pairs with the same reason together.
fn notes(markup: &mut Markup, context: &Context<'_>, pairs: &[Pair]) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in pairs {
        if let Some(note) = &pair.note {
            let named = format!("{}–{}", letter(context, pair.b), letter(context, pair.a));
            reasons.entry(note).or_default().push(named);
        }
    }
    for (reason, named) in reasons {
        markup.raw("<p class=\"note\">").text(named.join(", ")).raw(": ").text(reason);
        markup.raw(".</p>");
    }
}

/// What the differences are about.
fn title(context: &Context<'_>) -> String {
    let baseline = context.primary().unwrap_or("a baseline");
    format!("Differences between arms; fast and speedup are over {baseline}")
}

fn table(markup: &mut Markup, context: &Context<'_>, title: &str, rows: &[(&Pair, &PairTest)]) {
    cell::open_table(markup, "numbers", title);
    let titles = [
        cell::text("Quantity", ""),
        cell::text("Compared", ""),
        cell::number("Difference", "Of shares: in percentage points; of speedups: their ratio"),
        cell::number("Ops better", "Ops in which the first named is better"),
        cell::number("Ops worse", "Ops in which the first named is worse"),
        cell::number("<i>p</i>", ""),
        cell::number("<i>p</i> corrected", "By Holm's method"),
        cell::text("Test", ""),
    ];
    cell::head(markup, &titles);
    markup.raw("<tbody>\n");
    for (pair, test) in rows {
        let (quantity, unit) = match test.quantity {
            Quantity::Correct => ("correct", Unit::Points),
            Quantity::Fast1 => ("fast<sub>1</sub>", Unit::Points),
            Quantity::Speedup => ("speedup", Unit::Times),
        };
        markup.raw("<tr><td class=\"text\">").raw(quantity).raw("<th scope=\"row\">");
        arm(markup, context, pair.b);
        markup.raw("against ");
        arm(markup, context, pair.a);
        markup.raw("</th>");
        cell::estimate(markup, Some(&test.estimate), unit);
        markup.raw("<td>").text(test.n_better).raw("<td>").text(test.n_worse);
        markup.raw("<td>").text(Probability(test.p));
        markup.raw(if test.p_holm < SIGNIFICANT { "<td class=\"strong\"" } else { "<td" });
        markup.attr("data-v", test.p_holm).raw(">").text(Probability(test.p_holm));
        markup.raw("<td class=\"text\">").raw(test.test).raw("\n");
    }
    markup.raw("</tbody>");
    cell::close_table(markup);
}

/// Writes an arm's mark, letter and short name.
fn arm(markup: &mut Markup, context: &Context<'_>, index: usize) {
    if let Some(key) = context.keys.get(index) {
        swatch(markup, key);
        markup.text(&key.own).raw(" ");
    }
}

fn letter<'a>(context: &'a Context<'_>, index: usize) -> &'a str {
    context.keys.get(index).map_or("?", |key| &key.letter)
}
