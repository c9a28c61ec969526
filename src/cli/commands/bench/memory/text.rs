//! The measurements as tables of text.

use kgen_membench::{Report, Row, Test, size_text};

use crate::report::{NOT_MEASURED, Screen, TextTable, significant};

/// The quantity of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    /// Median times in microseconds.
    Time,
    /// Bandwidths in GB/s.
    Bandwidth,
}

impl Quantity {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Time => row.time_us,
            Self::Bandwidth => row.gbps,
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Time => "us",
            Self::Bandwidth => "GB/s",
        }
    }
}

/// Tests that share a table: as many as 80 columns hold.
const TRANSFERS: &[Test] =
    &[Test::H2dPageable, Test::D2hPageable, Test::H2dPinned, Test::D2hPinned, Test::D2d];
const PEERS: &[Test] = &[Test::P2p];
const KERNELS: &[Test] = &[Test::Read, Test::Write, Test::Copy, Test::Triad, Test::Random];

/// Returns all tables. Times of transfers and kernels are among them where lines may have any length.
pub(super) fn tables(report: &Report, screen: Screen) -> String {
    use Quantity::{Bandwidth, Time};
    let mut parts = vec![screen.wrap(&head(report)), summary(report, screen)];
    let mut add = |title: &str, tests: &[Test], quantity: Quantity| {
        parts.extend(matrix(report, title, tests, quantity, screen));
    };
    add("Transfers", TRANSFERS, Bandwidth);
    add("Between GPUs", PEERS, Bandwidth);
    add("Kernels", KERNELS, Bandwidth);
    if screen.width.is_none() {
        add("Transfers", TRANSFERS, Time);
        add("Between GPUs", PEERS, Time);
        add("Kernels", KERNELS, Time);
    }
    add("A load that needs the one before", &[Test::Latency], Time);
    add("Allocating", &[Test::Alloc], Time);
    add("Freeing", &[Test::Free], Time);
    add("Every n-th element, and from the n-th on", &[Test::Stride, Test::Offset], Bandwidth);
    add("Loads of n bytes", &[Test::Vector], Bandwidth);
    parts.extend(tool(report, screen));
    parts.extend(left_out(report, screen));
    parts.join("\n\n")
}

fn head(report: &Report) -> String {
    let launch_us =
        report.launch_us.map_or(NOT_MEASURED.to_owned(), |us| format!("{} us", significant(us)));
    format!(
        "{}: medians; GB/s are 10^9 bytes read and written per second.\nA size is that of each buffer; kernels \
         on less than {} are served by the L2 cache. An empty kernel takes: {launch_us}.",
        report.device,
        size_text(report.l2_bytes)
    )
}

fn summary(report: &Report, screen: Screen) -> String {
    let headers = ["test", "parameter", ">smallest", ">us", ">best GB/s", ">at"];
    let mut table = TextTable::new(&headers).yielding(&[("parameter", 12)]);
    for one in &report.summary {
        table.row(vec![
            one.test.clone(),
            one.parameter.clone().unwrap_or_default(),
            size_text(one.smallest_bytes),
            significant(one.latency_us),
            one.best_gbps.map(significant).unwrap_or_default(),
            one.best_bytes.map(size_text).unwrap_or_default(),
        ]);
    }
    table.fit(screen)
}

/// A line of a table: a size, or the number that a pattern varies.
type Key = (u64, String);

fn key(row: &Row) -> Option<Key> {
    let is_pattern =
        Test::find(&row.test).is_some_and(|test| test.kind() == kgen_membench::Kind::Pattern);
    if is_pattern {
        let number = row.parameter.clone()?;
        return Some((number.parse().ok()?, number));
    }
    row.bytes.map(|bytes| (bytes, size_text(bytes)))
}

/// Returns a column's header: the test, or the parameter where the tests of the table are one.
fn column(row: &Row, tests: &[Test]) -> String {
    let is_size = key(row).is_some_and(|key| row.parameter.as_ref() != Some(&key.1));
    match &row.parameter {
        Some(parameter) if tests.len() == 1 && is_size => parameter.clone(),
        _ => row.test.clone(),
    }
}

/// Returns a table with a line per size or number and a column per test or parameter; `None` without rows.
fn matrix(
    report: &Report,
    title: &str,
    tests: &[Test],
    quantity: Quantity,
    screen: Screen,
) -> Option<String> {
    let is_asked = |row: &&Row| tests.iter().any(|test| test.name() == row.test);
    let rows: Vec<&Row> = report.rows.iter().filter(is_asked).collect();
    let mut keys: Vec<Key> = rows.iter().filter_map(|row| key(row)).collect();
    keys.sort();
    keys.dedup();
    let mut columns: Vec<String> = Vec::new();
    for row in &rows {
        let column = column(row, tests);
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    if columns.is_empty() {
        return None;
    }
    let is_pattern = rows.first().is_some_and(|row| key(row).map(|key| key.1) == row.parameter);
    let first = if is_pattern { ">n" } else { ">size" };
    let headers: Vec<String> = std::iter::once(first.to_owned())
        .chain(columns.iter().map(|name| format!(">{name}")))
        .collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&headers);
    for line in &keys {
        let cell = |name: &String| {
            let is_cell =
                |row: &&&Row| key(row).as_ref() == Some(line) && column(row, tests) == *name;
            let found = rows.iter().find(is_cell).and_then(|row| quantity.of(row));
            found.map_or(NOT_MEASURED.to_owned(), significant)
        };
        table.row(std::iter::once(line.1.clone()).chain(columns.iter().map(cell)).collect());
    }
    Some(format!("{title}, {}\n{}", quantity.unit(), table.fit(screen)))
}

/// The numbers of NVIDIA's tool.
fn tool(report: &Report, screen: Screen) -> Option<String> {
    let mut table = TextTable::new(&["nvbandwidth", "from,to", ">GB/s", ">us"]);
    let mut is_empty = true;
    for row in &report.rows {
        let Some(name) = row.test.strip_prefix("nvbandwidth:") else { continue };
        is_empty = false;
        let number = |value: Option<f64>| value.map(significant).unwrap_or_default();
        let place = row.parameter.clone().unwrap_or_default();
        table.row(vec![name.to_owned(), place, number(row.gbps), number(row.time_us)]);
    }
    (!is_empty).then(|| table.fit(screen))
}

fn left_out(report: &Report, screen: Screen) -> Option<String> {
    let lines: Vec<String> =
        report.left_out.iter().map(|one| format!("  {}", one.text())).collect();
    (!lines.is_empty()).then(|| screen.wrap(&format!("Not measured:\n{}", lines.join("\n"))))
}

#[cfg(test)]
mod tests {
    use kgen_membench::{LeftOut, Measured};
    use kgen_record::Target;

    use super::*;

    fn row(test: Test, parameter: Option<&str>, bytes: u64, traffic: Option<u64>, us: f64) -> Row {
        let parameter = parameter.map(str::to_owned);
        Row::of(test, parameter, bytes, traffic, vec![us; 3]).unwrap()
    }

    fn report() -> Report {
        let mut rows = Vec::new();
        for bytes in [4096_u64, 1 << 30] {
            let us = |gbps: f64| 2.0 + bytes as f64 / (gbps * 1e3);
            for test in TRANSFERS.iter().chain(KERNELS) {
                // The largest size of one test is missing.
                if *test != Test::Triad || bytes == 4096 {
                    rows.push(row(*test, None, bytes, Some(bytes), us(1234.5)));
                }
            }
            for direction in ["cuda:0->cuda:1", "cuda:1->cuda:0"] {
                rows.push(row(Test::P2p, Some(direction), bytes, Some(bytes), us(380.0)));
            }
            for allocator in ["cuMemAlloc", "cuMemAllocAsync", "pytorch"] {
                rows.push(row(Test::Alloc, Some(allocator), bytes, None, 90.0));
            }
            rows.push(row(Test::Latency, None, bytes, None, 0.612));
        }
        rows.push(row(Test::Stride, Some("2"), 1 << 28, Some(1 << 27), 70.0));
        for n in [0, 1, 2, 10] {
            let n = n.to_string();
            rows.push(row(Test::Offset, Some(&n), 1 << 28, Some(1 << 28), 70.0));
        }
        rows.push(row(Test::Vector, Some("16"), 1 << 28, Some(1 << 28), 65.0));
        rows.push(Row {
            test: "nvbandwidth:device_to_device_bidirectional_memcpy_read_ce".to_owned(),
            parameter: Some("0,1".to_owned()),
            gbps: Some(391.8),
            time_us: None,
            ..rows[0].clone()
        });
        let left_out = vec![LeftOut {
            test: "triad".to_owned(),
            parameter: None,
            bytes: Some(1 << 30),
            reason: "the GPU has 2.1GiB free".to_owned(),
        }];
        let target = Target { name: "NVIDIA H200".to_owned(), ..Target::h100_class() };
        Report::new(&target, None, Measured { rows, left_out })
    }

    #[test]
    fn tables_fit_80_columns_and_nothing_in_them_is_cut() {
        let text = tables(&report(), Screen { width: Some(80), color: false });
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80 && !text.contains('…'), "{widest}\n{text}");
        for line in [
            "NVIDIA H200: medians; GB/s are 10^9 bytes read and written per second.",
            " size        read       write        copy         triad      random",
            " 1GiB        1232        1232        1232  not measured        1232",
            " size  cuda:0->cuda:1  cuda:1->cuda:0",
            "10  not measured    3835",
            "Not measured:",
            "  triad 1GiB: the GPU has 2.1GiB free",
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_there = text.lines().any(|other| squeezed(other) == squeezed(line));
            assert!(is_there, "`{line}` is not in\n{text}");
        }
        assert!(!text.contains("Transfers, us"));
    }

    #[test]
    fn times_are_shown_where_there_is_room() {
        let text = tables(&report(), Screen::FILE);
        assert!(text.contains("\nTransfers, us\n") && text.contains("\nKernels, us\n"), "{text}");
    }
}
