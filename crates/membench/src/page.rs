//! The results as one HTML file that needs nothing else, of the same look as the page of a benchmark.

use kgen_compare::{
    Estimate,
    html::{
        cell,
        frame::{Frame, SORTING, document, section},
        key::Key,
        plot::{
            self, About, Axis, Drawing, Scale,
            lines::{Series, area_for},
            log_domain, tick,
        },
    },
};
use maud::{Markup, html};

use crate::{Kind, Report, Row, size_text};

/// Named sizes below a drawing at most: a size has up to seven characters.
const MOST_SIZES: usize = 4;

/// A drawing: a line per test over sizes, or over the parameter of patterns.
struct Figure {
    id: &'static str,
    title: &'static str,
    caption: &'static str,
    kind: Kind,
    quantity: Quantity,
}

/// The quantity that a drawing has upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    /// GB/s, from 0.
    Bandwidth,
    /// Microseconds, on a logarithmic axis.
    Time,
}

const FIGURES: [Figure; 5] = [
    Figure {
        id: "transfers",
        title: "Transfers",
        caption: "Copies by the driver.",
        kind: Kind::Transfer,
        quantity: Quantity::Bandwidth,
    },
    Figure {
        id: "kernels",
        title: "Kernels",
        caption: "Bytes read and written.",
        kind: Kind::Kernel,
        quantity: Quantity::Bandwidth,
    },
    Figure {
        id: "latency",
        title: "Latency of dependent loads",
        caption: "Time of one load.",
        kind: Kind::Kernel,
        quantity: Quantity::Time,
    },
    Figure {
        id: "allocation",
        title: "Allocation",
        caption: "Time of one call.",
        kind: Kind::Allocation,
        quantity: Quantity::Time,
    },
    Figure {
        id: "patterns",
        title: "Access patterns",
        caption: "Strides and offsets in elements of 4 bytes, vectors in bytes.",
        kind: Kind::Pattern,
        quantity: Quantity::Bandwidth,
    },
];

/// Returns the page of a report.
#[must_use]
pub fn page(report: &Report) -> String {
    let title = format!("Memory of {}", report.device);
    let figures: Vec<Markup> = FIGURES.iter().filter_map(|figure| figure.markup(report)).collect();
    let parts = [
        (true, "about", "About"),
        (!figures.is_empty(), "drawings", "Drawings"),
        (!report.summary.is_empty(), "summary", "Summary"),
        (!report.rows.is_empty(), "rows", "All measurements"),
        (!report.left_out.is_empty(), "left-out", "Not measured"),
    ];
    let bodies = [
        html! { p { (about(report)) } },
        html! { div.plots { @for figure in &figures { (figure) } } },
        summary(report),
        rows(report),
        html! { ul { @for one in &report.left_out { li { (one.text()) } } } },
    ];
    let body = html! {
        @for ((is_there, id, title), body) in parts.iter().zip(bodies) {
            @if *is_there { (section(id, title, body)) }
        }
    };
    let command = "kgen bench memory";
    let frame = Frame { command, title: &title, style: "", scripts: &[SORTING] };
    document(&frame, &parts, &body)
}

fn about(report: &Report) -> String {
    let l2 = size_text(report.l2_bytes);
    let launch = match report.launch_us {
        Some(us) => format!("{} us", tick(us)),
        None => "not measured".to_owned(),
    };
    format!(
        "Medians. GB/s are 10^9 bytes read and written per second. Sizes are those of each buffer; kernels on \
         less than {l2} are served by the L2 cache. An empty kernel takes: {launch}."
    )
}

impl Figure {
    /// Draws the lines; `None` without any.
    fn markup(&self, report: &Report) -> Option<Markup> {
        let lines = self.lines(report);
        let keys: Vec<Key> =
            lines.iter().enumerate().map(|(at, (name, _))| Key::of_name(name, at)).collect();
        let series: Vec<Series<'_>> =
            keys.iter().zip(lines).map(|(key, (_, points))| Series { key, points }).collect();
        let Drawing { height, markup } = self.drawing(&series)?;
        let about = About { id: self.id, nth: 0, title: self.title, caption: self.caption };
        let figure = plot::figure(&about, height, &markup, &Markup::default());
        // Beside the figure: in it, marks would be as wide as the drawing.
        Some(html! {
            div {
                (figure)
                @if keys.iter().any(|key| !key.is_whole()) {
                    p.keys { @for key in &keys { span { (key.swatch()) (key.own()) } " " } }
                }
            }
        })
    }

    /// Returns the points of each test, or of each test and parameter, ascending.
    fn lines(&self, report: &Report) -> Vec<(String, Vec<(f64, Estimate)>)> {
        let mut lines: Vec<(String, Vec<(f64, Estimate)>)> = Vec::new();
        for row in report.rows_of(self.kind) {
            let (name, place) = self.place(row);
            let value = match self.quantity {
                Quantity::Bandwidth => row.gbps,
                // Kernels that have a bandwidth are in its drawing.
                Quantity::Time => row.time_us.filter(|_| row.gbps.is_none()),
            };
            let is_drawn = |value: &f64| value.is_finite() && 0.0 < *value;
            let Some((place, value)) = place.filter(is_drawn).zip(value.filter(is_drawn)) else {
                continue;
            };
            let point = (place, Estimate { value, low: None, high: None, n_ops: 1 });
            match lines.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push(point),
                None => lines.push((name, vec![point])),
            }
        }
        for (_, points) in &mut lines {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        lines
    }

    /// Returns the line of a row and its place on the horizontal axis.
    fn place(&self, row: &Row) -> (String, Option<f64>) {
        let parameter = row.parameter.as_deref();
        if self.kind == Kind::Pattern {
            return (row.test.clone(), parameter.and_then(|number| number.parse().ok()));
        }
        let name = parameter.map_or_else(|| row.test.clone(), |of| format!("{} {of}", row.test));
        (name, row.bytes.map(|bytes| bytes as f64))
    }

    fn drawing(&self, series: &[Series<'_>]) -> Option<Drawing> {
        let area = area_for(series);
        let all = || series.iter().flat_map(|one| &one.points);
        let mut places: Vec<f64> = all().map(|(place, _)| *place).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let scale = Scale::log((*places.first()?, *places.last()?), area.x);
        let is_pattern = self.kind == Kind::Pattern;
        let (title, show): (_, &dyn Fn(f64) -> String) =
            if is_pattern { ("stride, offset, vector", &tick) } else { ("bytes", &size) };
        let x = Axis { scale, ticks: spaced(&places), show, title };
        let values = || all().map(|(_, one)| one.value);
        let most = values().fold(0.0, f64::max);
        let (scale, title) = match self.quantity {
            Quantity::Bandwidth => (Scale::linear((0.0, 1.05 * most), area.up()), "GB/s"),
            Quantity::Time => (Scale::log(log_domain(values(), &[])?, area.up()), "us, log scale"),
        };
        let y = Axis { scale, ticks: scale.ticks(6), show: &tick, title };
        Some(plot::lines::drawing((&x, &y), series))
    }
}

/// Returns places with room between their names, the last among them.
fn spaced(places: &[f64]) -> Vec<f64> {
    let step = places.len().div_ceil(MOST_SIZES).max(1);
    let mut ticks: Vec<f64> = places.iter().rev().step_by(step).copied().collect();
    ticks.reverse();
    ticks
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was a whole number of bytes"
)]
fn size(bytes: f64) -> String {
    size_text(bytes as u64)
}

/// A cell with a number, which sorts; a dash without one.
fn number(value: Option<f64>) -> Markup {
    html! {
        @match value {
            Some(value) => td data-v=(value) { (tick(value)) },
            None => td.none { "–" },
        }
    }
}

/// A cell with a size, which sorts by its bytes.
fn size_cell(bytes: Option<u64>) -> Markup {
    html! { td data-v=[bytes] { (bytes.map(size_text).unwrap_or_default()) } }
}

fn head(titles: &[&str]) -> Markup {
    html! { tr { @for title in titles { th scope="col" { (title) } } } }
}

fn summary(report: &Report) -> Markup {
    let titles = ["Test", "Parameter", "Smallest", "Time, us", "Best GB/s", "At"];
    let rows = html! {
        @for one in &report.summary {
            tr {
                th scope="row" data-v=(one.test) { (one.test) }
                td { (one.parameter.as_deref().unwrap_or_default()) }
                (size_cell(Some(one.smallest_bytes)))
                (number(Some(one.latency_us)))
                (number(one.best_gbps))
                (size_cell(one.best_bytes))
            }
        }
    };
    let title = "Time at the smallest size, and the best bandwidth";
    cell::table("sortable", title, head(&titles), rows)
}

fn rows(report: &Report) -> Markup {
    let titles = ["Test", "Parameter", "Bytes", "Median, us", "Quartiles, us", "GB/s", "Samples"];
    let rows = html! { @for row in &report.rows { (row_of(row)) } };
    cell::table("sortable", "Measurements in order", head(&titles), rows)
}

fn row_of(row: &Row) -> Markup {
    let quartiles = row.q1_us.zip(row.q3_us);
    let quartiles = quartiles.map(|(q1, q3)| format!("{} to {}", tick(q1), tick(q3)));
    html! {
        tr {
            th scope="row" data-v=(row.test) { (row.test) }
            td { (row.parameter.as_deref().unwrap_or_default()) }
            (size_cell(row.bytes))
            (number(row.time_us))
            td data-v=[row.q1_us] { (quartiles.unwrap_or_else(|| "–".to_owned())) }
            (number(row.gbps))
            td data-v=[row.n_samples] { (row.n_samples.map(|n| n.to_string()).unwrap_or_default()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    #[test]
    fn the_page_draws_what_was_measured_and_needs_nothing_else() {
        let page = page(&report());
        for part in [
            "<title>Memory of NVIDIA H200</title>",
            "<b>Transfers</b>",
            "p2p cuda:0-&gt;cuda:1",
            "<b>Latency of dependent loads</b>",
            "<b>Access patterns</b>",
            "triad 8GiB: the GPU has 20.1GiB free",
            "An empty kernel takes: 1.6 us.",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("http:") && !page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn a_report_without_rows_has_a_page() {
        let empty = Report { rows: Vec::new(), summary: Vec::new(), launch_us: None, ..report() };
        let page = page(&empty);
        assert!(page.contains("not measured") && !page.contains("<svg"), "{page}");
    }

    #[test]
    fn few_sizes_are_named_and_the_last_is_one_of_them() {
        let places: Vec<f64> = (0..22).map(f64::from).collect();
        assert_eq!(spaced(&places), [3.0, 9.0, 15.0, 21.0]);
        assert_eq!(spaced(&places[..2]), [0.0, 1.0]);
        assert!(spaced(&[]).is_empty());
    }
}
