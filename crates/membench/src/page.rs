//! The results as one HTML file that needs nothing else: no network, no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{Kind, Report, Row, size_text};

const STYLE: &str = include_str!("page.css");

/// Width and height of a drawing, and the room around its area: left, top, right, below.
const DRAWING: (f64, f64) = (720.0, 300.0);
const MARGIN: (f64, f64, f64, f64) = (64.0, 12.0, 160.0, 40.0);

/// Height of a line of a legend.
const LINE: f64 = 18.0;

/// Classes of lines; later lines begin again.
const N_COLORS: usize = 8;

/// The quantity that a drawing has upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    /// GB/s, from 0.
    Bandwidth,
    /// Microseconds, on a logarithmic axis.
    Time,
}

/// One line of a drawing: its name, and places from left to right.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Returns the page of a report.
#[must_use]
pub fn page(report: &Report) -> String {
    let title = format!("Memory of {}", report.device);
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { p { "kgen bench memory" } h1 { (title) } p { (about(report)) } }
                main {
                    (section("Transfers", report, Kind::Transfer, Quantity::Bandwidth))
                    (section("Kernels", report, Kind::Kernel, Quantity::Bandwidth))
                    (section("Latency of dependent loads", report, Kind::Kernel, Quantity::Time))
                    (section("Allocation", report, Kind::Allocation, Quantity::Time))
                    (section("Access patterns", report, Kind::Pattern, Quantity::Bandwidth))
                    (summary(report))
                    (rows(report))
                    (left_out(report))
                }
            }
        }
    };
    page.into_string()
}

fn about(report: &Report) -> String {
    let l2 = size_text(report.l2_bytes);
    let launch = match report.launch_us {
        Some(us) => format!("{} us", digits(us)),
        None => "not measured".to_owned(),
    };
    format!(
        "Medians. GB/s are 10^9 bytes read and written per second. Sizes are those of each buffer; kernels on \
         less than {l2} are served by the L2 cache. An empty kernel takes: {launch}."
    )
}

fn section(title: &str, report: &Report, kind: Kind, quantity: Quantity) -> Markup {
    let lines = lines(report, kind, quantity);
    let is_pattern = kind == Kind::Pattern;
    html! {
        @if !lines.is_empty() { section { h2 { (title) } (drawing(title, &lines, quantity, is_pattern)) } }
    }
}

/// Returns a line per test, or per test and parameter, over the logarithms of sizes; of patterns over the
/// parameter.
fn lines(report: &Report, kind: Kind, quantity: Quantity) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in report.rows_of(kind) {
        let parameter = row.parameter.as_deref();
        let (name, x) = if kind == Kind::Pattern {
            (row.test.clone(), parameter.and_then(|number| number.parse().ok()))
        } else {
            let name = [Some(row.test.as_str()), parameter];
            let name: Vec<&str> = name.into_iter().flatten().collect();
            (name.join(" "), row.bytes.map(|bytes| (bytes as f64).log2()))
        };
        let y = match quantity {
            Quantity::Bandwidth => row.gbps,
            // Kernels that have a bandwidth are in its drawing.
            Quantity::Time => row.time_us.filter(|us| row.gbps.is_none() && 0.0 < *us),
        };
        let Some(point) = x.zip(y) else { continue };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    lines
}

/// A linear map of a range of values to a range of places.
#[derive(Clone, Copy)]
struct Scale {
    values: (f64, f64),
    places: (f64, f64),
}

impl Scale {
    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let part = if low < high { (value - low) / (high - low) } else { 0.5 };
        self.places.0 + part * (self.places.1 - self.places.0)
    }
}

fn drawing(title: &str, lines: &[Line], quantity: Quantity, is_pattern: bool) -> Markup {
    let upwards = |y: f64| if quantity == Quantity::Time { y.log10() } else { y };
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (low, high) = range(&mut points().map(|point| upwards(point.1)));
    let (low, high) = match quantity {
        Quantity::Bandwidth => (0.0, high * 1.05),
        Quantity::Time => (low.floor(), high.ceil()),
    };
    let (left, top, right, below) = MARGIN;
    let x = Scale {
        values: range(&mut points().map(|point| point.0)),
        places: (left, DRAWING.0 - right),
    };
    let y = Scale { values: (low, high), places: (DRAWING.1 - below, top) };
    html! {
        figure {
            svg viewBox={ "0 0 " (DRAWING.0) " " (DRAWING.1) } role="img" aria-label=(title) {
                (left_axis(y, quantity))
                (lower_axis(x, is_pattern))
                @for (at, line) in lines.iter().enumerate() {
                    (drawn(at, line, |point| (x.place(point.0), y.place(upwards(point.1)))))
                }
            }
        }
    }
}

fn drawn(at: usize, line: &Line, place: impl Fn(&(f64, f64)) -> (f64, f64)) -> Markup {
    let class = format!("c{}", at % N_COLORS);
    let places: Vec<(f64, f64)> = line.points.iter().map(place).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let (x, y) = (DRAWING.0 - MARGIN.2 + 14.0, MARGIN.1 + 12.0 + at as f64 * LINE);
    html! {
        g class=(class) {
            polyline points=(path.join(" ")) {}
            @for (x, y) in &places { circle cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="2.2" {} }
            rect x=(x) y=(y - 8.0) width="10" height="10" {}
            text x=(x + 15.0) y=(y + 1.0) { (line.name) }
        }
    }
}

fn left_axis(y: Scale, quantity: Quantity) -> Markup {
    let (low, high) = y.values;
    let ticks: Vec<(f64, String)> = match quantity {
        Quantity::Bandwidth => {
            let step = round_step(high / 5.0);
            let count = (1..).map(|n| f64::from(n) * step).take_while(|value| *value <= high);
            std::iter::once(0.0).chain(count).map(|value| (value, value.to_string())).collect()
        }
        Quantity::Time => {
            let count = (0..20).map(|n| low + f64::from(n)).take_while(|value| *value <= high);
            count.map(|value| (value, digits(10_f64.powf(value)))).collect()
        }
    };
    let unit = if quantity == Quantity::Bandwidth { "GB/s" } else { "us" };
    let (from, to) = (MARGIN.0, DRAWING.0 - MARGIN.2);
    html! {
        @for (value, name) in ticks {
            @let at = format!("{:.1}", y.place(value));
            line.grid x1=(from) x2=(to) y1=(at) y2=(at) {}
            text.left x=(from - 6.0) y=(at) { (name) }
        }
        text x="2" y=(MARGIN.1 + 2.0) { (unit) }
    }
}

fn lower_axis(x: Scale, is_pattern: bool) -> Markup {
    let (low, high) = x.values;
    // Every second size, as there is no room for all.
    let step = if is_pattern { 4 } else { 2 };
    let ticks = (0..40).map(|n| low + f64::from(n * step)).take_while(|value| *value <= high);
    let name = |value: f64| {
        if is_pattern { value.to_string() } else { log_size(value) }
    };
    let bottom = DRAWING.1 - MARGIN.3;
    html! {
        @for value in ticks {
            text.below x=(format!("{:.1}", x.place(value))) y=(bottom + 16.0) { (name(value)) }
        }
        @if is_pattern {
            text.below x=(f64::midpoint(x.places.0, x.places.1)) y=(bottom + 34.0) {
                "elements of 4 bytes; of vector bytes"
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the logarithm of a 64-bit number of bytes"
)]
fn log_size(log2: f64) -> String {
    size_text(log2.exp2().round() as u64)
}

/// Returns 1, 2 or 5 times a power of ten, at least as large as the wish.
fn round_step(wish: f64) -> f64 {
    let power = 10_f64.powf(wish.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|step| step * power);
    steps.into_iter().find(|step| wish <= *step).unwrap_or(10.0 * power)
}

fn summary(report: &Report) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(String::new, digits);
    html! {
        section {
            h2 { "Summary" }
            div.scroll { table {
                thead { tr {
                    th { "test" } th { "parameter" } th { "smallest" } th { "time, us" } th { "best GB/s" } th { "at" }
                } }
                tbody {
                    @for one in &report.summary {
                        tr {
                            th scope="row" { (one.test) }
                            td { (one.parameter.as_deref().unwrap_or_default()) }
                            td { (size_text(one.smallest_bytes)) }
                            td { (digits(one.latency_us)) }
                            td { (number(one.best_gbps)) }
                            td { (one.best_bytes.map(size_text).unwrap_or_default()) }
                        }
                    }
                }
            } }
        }
    }
}

fn rows(report: &Report) -> Markup {
    html! {
        section {
            h2 { "All measurements" }
            div.scroll { table {
                thead { tr {
                    th { "test" } th { "parameter" } th { "bytes" } th { "median, us" } th { "quartiles, us" }
                    th { "GB/s" } th { "samples" }
                } }
                tbody { @for row in &report.rows { (row_of(row)) } }
            } }
        }
    }
}

fn row_of(row: &Row) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
    let quartiles = row.q1_us.zip(row.q3_us);
    let quartiles = quartiles.map(|(q1, q3)| format!("{} to {}", digits(q1), digits(q3)));
    html! {
        tr {
            th scope="row" { (row.test) }
            td { (row.parameter.as_deref().unwrap_or_default()) }
            td { (row.bytes.map(size_text).unwrap_or_default()) }
            td { (number(row.time_us)) }
            td { (quartiles.unwrap_or_else(|| "–".to_owned())) }
            td { (number(row.gbps)) }
            td { (row.n_samples.map(|n| n.to_string()).unwrap_or_default()) }
        }
    }
}

fn left_out(report: &Report) -> Markup {
    html! {
        @if !report.left_out.is_empty() {
            section {
                h2 { "Not measured" }
                ul { @for one in &report.left_out { li { (one.text()) } } }
            }
        }
    }
}

/// Writes a number with four significant digits.
fn digits(value: f64) -> String {
    format!("{value:.3e}").parse().unwrap_or(value).to_string()
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
            "<h2>Transfers</h2>",
            "p2p cuda:0-&gt;cuda:1",
            "<h2>Latency of dependent loads</h2>",
            "<h2>Access patterns</h2>",
            "triad 8GiB: the GPU has 20.1GiB free",
            "An empty kernel takes: 1.6 us.",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("http:") && !page.contains("<script"));
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn a_report_without_rows_has_a_page() {
        let empty = Report { rows: Vec::new(), summary: Vec::new(), launch_us: None, ..report() };
        let page = page(&empty);
        assert!(page.contains("not measured") && !page.contains("<svg"), "{page}");
    }

    #[test]
    fn steps_of_an_axis_are_round() {
        let steps = [0.7, 11.0, 40.0, 930.0].map(|wish| round_step(wish).to_string());
        assert_eq!(steps, ["1", "20", "50", "1000"]);
    }
}
