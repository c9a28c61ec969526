//! Heat maps of the speedup: over two axes for one implementation, or by case for all of them.

use std::collections::BTreeSet;

use kgen_compare::html::{
    key::shorten,
    number::{plain, times},
    plot::{self, Drawing, WIDTH, px},
};
use maud::{Markup, html};

use super::{Context, Picture, groups, panel::Panel};
use crate::{Cell, case::Case, text::state};

/// Height of a cell.
const ROW: f64 = 26.0;

/// Widest cell.
const MOST_WIDTH: f64 = 64.0;

/// Narrowest cell with room for its number.
const LEAST_WIDTH: f64 = 30.0;

/// Upper edge of the cells.
const TOP: f64 = 26.0;

/// Room for the values of an axis left of the cells.
const LEFT: f64 = 52.0;

/// Room for the names of cases left of the cells, and the letters that fit into it.
const NAMES: (f64, usize) = (190.0, 28);

/// Rows of a map of cases at most.
const MOST_ROWS: usize = 40;

/// Speedups at which the colour changes, above 1; below, their reciprocals.
const STEPS: [f64; 4] = [1.01, 1.1, 1.33, 2.0];

/// How to read a map.
const WORDS: &str = "Blue is faster than the first implementation that passed, red slower.";

/// Cells of a map: a name per column and row, and the cell of an implementation at each place.
struct Map<'a> {
    left: f64,
    columns: Vec<Markup>,
    rows: Vec<String>,
    cells: Vec<Vec<Option<&'a Cell>>>,
    /// Names of the two directions: upwards, to the right.
    titles: [&'a str; 2],
}

/// A map over two axes for one implementation; `None` where it was compared nowhere.
pub(super) fn over_axes(
    context: &Context<'_>,
    panel: &Panel<'_, '_>,
    (up, right): (usize, usize),
    implementation: usize,
) -> Option<Picture> {
    let (up, right) = (context.axis(up), context.axis(right));
    let value = |case: &Case<'_>, axis: &str| case.axes.get(axis).copied();
    let values = |axis: &str| -> BTreeSet<i64> {
        panel.slice.cases.iter().filter_map(|case| value(case, axis)).collect()
    };
    let (rows, columns) = (values(up), values(right));
    let at = |y: i64, x: i64| {
        let is = |case: &&&Case<'_>| value(case, up) == Some(y) && value(case, right) == Some(x);
        panel.slice.cases.iter().find(is).and_then(|case| case.cells[implementation])
    };
    // Large values at the top, as on an axis.
    let cells: Vec<Vec<Option<&Cell>>> =
        rows.iter().rev().map(|y| columns.iter().map(|x| at(*y, *x)).collect()).collect();
    let map = Map {
        left: LEFT,
        columns: columns.iter().map(|x| column_label(&x.to_string())).collect(),
        rows: rows.iter().rev().map(i64::to_string).collect(),
        cells,
        titles: [up, right],
    };
    let name = context.name(implementation);
    let (op, dtype) = (panel.group.op, panel.group.dtype);
    Some(Picture {
        title: format!("{name}: speedup over {up} and {right}"),
        place: panel.place(context),
        words: WORDS.to_owned(),
        file: format!("{op}_{dtype}_speedup_{name}_over_{up}_{right}"),
        drawing: map.draw()?,
        needs_legend: false,
    })
}

/// Maps of the cases that no map over two axes has: a row per case, a column per implementation.
pub(crate) fn by_case(context: &Context<'_>) -> Vec<Picture> {
    let groups = groups(&context.cases);
    let groups = groups.iter().filter(|group| group.long_axes(&context.bench.axes).len() < 2);
    let compared = |cell: &Option<&Cell>| cell.is_some_and(|cell| speedup(cell).is_some());
    let cases: Vec<&Case<'_>> = groups
        .flat_map(|group| group.cases.iter().copied())
        .filter(|case| case.cells.iter().any(compared))
        .collect();
    let has_any = |at: &usize| cases.iter().any(|case| compared(&case.cells[*at]));
    let implementations: Vec<usize> = (0..context.keys.len()).filter(has_any).collect();
    let pictures = cases.chunks(MOST_ROWS).enumerate();
    pictures.filter_map(|(nth, cases)| map_of(context, nth, cases, &implementations)).collect()
}

fn map_of(
    context: &Context<'_>,
    nth: usize,
    cases: &[&Case<'_>],
    implementations: &[usize],
) -> Option<Picture> {
    let row = |case: &&Case<'_>| {
        let place = case.place(&context.bench.axes);
        shorten(&format!("{} {} {place}", case.op, case.dtype), NAMES.1)
    };
    let mark = |at: &usize| {
        let key = &context.keys[*at];
        html! { g class=(key.class()) { (plot::mark(key, (0.0, -4.0), context.name(*at))) } }
    };
    let map = Map {
        left: NAMES.0,
        columns: implementations.iter().map(mark).collect(),
        rows: cases.iter().map(row).collect(),
        cells: cases
            .iter()
            .map(|case| implementations.iter().map(|at| case.cells[*at]).collect())
            .collect(),
        titles: ["", ""],
    };
    Some(Picture {
        title: "Speedup by case".to_owned(),
        place: String::new(),
        words: WORDS.to_owned(),
        file: format!("speedup_by_case_{}", nth + 1),
        drawing: map.draw()?,
        needs_legend: true,
    })
}

impl Map<'_> {
    /// `None` where no cell has a speedup.
    fn draw(&self) -> Option<Drawing> {
        let has_any = self.cells.iter().flatten().flatten().any(|cell| speedup(cell).is_some());
        if !has_any {
            return None;
        }
        let n_columns = self.columns.len().max(1) as f64;
        let width = ((WIDTH - 14.0 - self.left) / n_columns).min(MOST_WIDTH);
        let bottom = TOP + ROW * self.rows.len() as f64;
        let right = self.left + width * n_columns;
        let [up, along] = self.titles;
        let middle = |column: usize| self.left + width * (column as f64 + 0.5);
        let markup = html! {
            (plot::label("title", (0.0, TOP - 14.0), up))
            @for (at, name) in self.rows.iter().enumerate() {
                @let y = TOP + ROW * (at as f64 + 0.5) + 4.0;
                (plot::label("tick end", (self.left - 6.0, y), name))
            }
            @for (row, cells) in self.cells.iter().enumerate() {
                @for (column, cell) in cells.iter().enumerate() {
                    @let at = (self.left + width * column as f64, TOP + ROW * row as f64);
                    (draw_cell(at, width, *cell))
                }
            }
            @for (at, name) in self.columns.iter().enumerate() {
                g transform={ "translate(" (px(middle(at))) " " (px(bottom + 16.0)) ")" } { (name) }
            }
            (plot::label("title end", (right, bottom + 32.0), along))
        };
        Some(Drawing { height: bottom + 38.0, markup })
    }
}

fn column_label(text: &str) -> Markup {
    plot::label("tick mid", (0.0, 0.0), text)
}

fn draw_cell((x, y): (f64, f64), width: f64, cell: Option<&Cell>) -> Markup {
    let ratio = cell.and_then(speedup);
    let class = ratio.map_or("heat".to_owned(), |ratio| format!("heat h{}", step(ratio)));
    let text = ratio.map_or("–".to_owned(), plain);
    let title = match (cell, ratio) {
        (Some(cell), Some(ratio)) => format!("{} {}", times(ratio), verdict(cell)),
        (Some(cell), None) => state(cell),
        (None, _) => "not finished".to_owned(),
    };
    html! {
        rect class=(class) x=(px(x + 1.0)) y=(px(y + 1.0)) width=(px(width - 2.0))
            height=(px(ROW - 2.0)) { title { (title) } }
        @if LEAST_WIDTH <= width {
            (plot::label("ratio mid", (x + width / 2.0, y + ROW / 2.0 + 4.0), &text))
        }
    }
}

fn speedup(cell: &Cell) -> Option<f64> {
    let ratio = cell.timing.as_ref()?.comparison.as_ref()?.speedup;
    (ratio.is_finite() && 0.0 < ratio).then_some(ratio)
}

fn verdict(cell: &Cell) -> &'static str {
    let comparison = cell.timing.as_ref().and_then(|timing| timing.comparison.as_ref());
    comparison.map_or("", |comparison| comparison.verdict.name())
}

/// The colour of a speedup: 0 is slowest, 4 the same, 8 fastest.
fn step(ratio: f64) -> usize {
    let above = |ratio: f64| STEPS.iter().filter(|step| **step <= ratio).count();
    if ratio < 1.0 { 4 - above(1.0 / ratio) } else { 4 + above(ratio) }
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn colours_are_even_around_one() {
        let ratios = [0.4, 0.5, 0.7, 0.8, 0.95, 0.995, 1.0, 1.005, 1.05, 1.2, 1.5, 2.0, 9.0];
        assert_eq!(ratios.map(step), [0, 0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 8]);
    }
}
