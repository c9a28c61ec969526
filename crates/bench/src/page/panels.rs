//! Drawings that a reader chooses from: those at the largest values of the other axes are shown at first.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::{
    choose::{Choice, form, position},
    figure,
};
use crate::draw::{Context, Group, Panel, Quantity, Shape};

/// Bytes of the drawings of a section at most.
const MOST_BYTES: usize = 3 << 19;

/// The drawings of a section, below its selects; nothing without any.
pub(super) fn section(
    context: &Context<'_>,
    groups: &[Group<'_>],
    panels: &[Panel<'_, '_>],
    id: &str,
) -> Markup {
    let (drawn, left_out) = drawn(context, panels, id);
    if drawn.iter().all(Option::is_none) {
        return Markup::default();
    }
    let (mut ops, mut dtypes) = (Vec::new(), Vec::new());
    let blocks: Vec<Markup> = groups
        .iter()
        .map(|group| {
            let (op, dtype) = (position(&mut ops, group.op), position(&mut dtypes, group.dtype));
            let of_group = panels.iter().zip(&drawn);
            let of_group = of_group.filter(|(panel, _)| std::ptr::eq(panel.group, group));
            let of_group: Vec<_> =
                of_group.filter_map(|(panel, drawn)| Some((panel, drawn.as_ref()?))).collect();
            block(group, &of_group, &format!("op-{op} type-{dtype}"))
        })
        .collect();
    let mut choices = choices(context, panels);
    choices.splice(0..0, Choice::among("type", "Type", &dtypes));
    choices.splice(0..0, Choice::among("op", "Op", &ops));
    html! {
        (form(&choices, "drawings"))
        @for block in blocks { (block) }
        @if 0 < left_out {
            p.note {
                "To keep this page small, " (left_out) " drawings are left out; CSV and JSON have their numbers."
            }
        }
    }
}

/// Draws panels until their room is used up, those that are shown at first before others. Returns a
/// figure or nothing per panel, and the number of those without room.
fn drawn(
    context: &Context<'_>,
    panels: &[Panel<'_, '_>],
    id: &str,
) -> (Vec<Option<Markup>>, usize) {
    let mut order: Vec<usize> = (0..panels.len()).collect();
    order.sort_by_key(|at| !panels[*at].slice.is_default);
    let mut drawn: Vec<Option<Markup>> = vec![None; panels.len()];
    let (mut left, mut left_out) = (MOST_BYTES, 0);
    for at in order {
        if left == 0 {
            left_out += 1;
            continue;
        }
        let Some(picture) = panels[at].draw(context) else { continue };
        let figure = figure(id, at, &picture);
        left = left.saturating_sub(figure.0.len());
        drawn[at] = Some(figure);
    }
    (drawn, left_out)
}

/// The drawings of one group.
fn block(group: &Group<'_>, panels: &[(&Panel<'_, '_>, &Markup)], tokens: &str) -> Markup {
    html! {
        @if !panels.is_empty() {
            div.group-of {
                h3 { (group.op) " " small { (group.dtype) " " (group.call.unwrap_or_default()) } }
                div.plots {
                    @for (panel, figure) in panels {
                        div hidden[!panel.slice.is_default]
                            data-is={ (tokens) " " (panel.tokens().join(" ")) } { (figure) }
                    }
                }
            }
        }
    }
}

/// The selects that concern some of the panels.
fn choices(context: &Context<'_>, panels: &[Panel<'_, '_>]) -> Vec<Choice> {
    let axes = &context.bench.axes;
    let has_lines = panels.iter().any(|panel| matches!(panel.shape, Shape::Lines { .. }));
    let mut choices = Vec::new();
    if has_lines {
        let kinds = Quantity::ALL.map(|one| (format!("kind-{}", one.id()), one.name().to_owned()));
        choices.push(("kind", "Quantity", kinds.into()));
    }
    let mut along: Vec<(String, String)> = Vec::new();
    let mut implementations: Vec<(String, String)> = Vec::new();
    for panel in panels {
        let (token, name) = match panel.shape {
            Shape::Lines { axis, .. } => (format!("along-{axis}"), axes[axis].name.clone()),
            Shape::Heat { axes: (up, right), implementation } => {
                let name = context.name(implementation).to_owned();
                add(&mut implementations, (format!("impl-{implementation}"), name));
                let name = format!("{} and {}", axes[up].name, axes[right].name);
                (format!("along-{up}x{right}"), name)
            }
        };
        add(&mut along, (token, name));
    }
    choices.push(("along", "Over", along));
    choices.push(("impl", "Implementation", implementations));
    let all = || (String::new(), "all".to_owned());
    let choices = choices.into_iter().filter(|(.., options)| 1 < options.len());
    let choice = |(name, label, options): (&str, &str, Vec<_>)| Choice {
        name: name.to_owned(),
        label: label.to_owned(),
        options: [all()].into_iter().chain(options).collect(),
    };
    choices
        .map(choice)
        .chain((0..axes.len()).filter_map(|at| values(context, panels, at)))
        .collect()
}

fn add(options: &mut Vec<(String, String)>, option: (String, String)) {
    if !options.contains(&option) {
        options.push(option);
    }
}

/// The value of an axis that some panels do not run along.
fn values(context: &Context<'_>, panels: &[Panel<'_, '_>], axis: usize) -> Option<Choice> {
    let fixed = panels.iter().flat_map(|panel| &panel.slice.fixed);
    let values: BTreeSet<i64> =
        fixed.filter(|fixed| fixed.axis == axis).map(|fixed| fixed.value).collect();
    let largest = [(format!("at{axis}-max"), "largest".to_owned())];
    let options = values.iter().map(|value| (format!("at{axis}-{value}"), value.to_string()));
    let all = [(String::new(), "all".to_owned())];
    (1 < values.len()).then(|| Choice {
        name: format!("at{axis}"),
        label: context.bench.axes[axis].name.clone(),
        options: largest.into_iter().chain(options).chain(all).collect(),
    })
}
