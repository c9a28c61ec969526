//! The distribution of samples in one case: a row of strokes for the kernel and for each baseline.

use maud::Markup;

use crate::{
    data::TimedCase,
    html::plot::{self, About, samples::Row},
};

/// Colours of the style sheet.
const COLOURS: usize = 6;

/// The drawing of a case; nothing where it has no samples. `id` is unique on the page.
pub(super) fn figure(id: &str, case: &TimedCase) -> Markup {
    let baselines =
        case.baselines.iter().filter_map(|one| Some((&*one.name, one.timing.as_ref()?)));
    let rows: Vec<Row<'_>> = [("kernel", &case.kernel)]
        .into_iter()
        .chain(baselines)
        .enumerate()
        .map(|(at, (name, timing))| Row { name, class: format!("s{}", at % COLOURS), timing })
        .collect();
    let Some(drawing) = plot::samples::drawing(&rows) else { return Markup::default() };
    let about =
        About { id, nth: 0, title: &case.args, caption: "A stroke per sample; heavy: the median." };
    plot::figure(&about, drawing.height, &drawing.markup, &Markup::default())
}
