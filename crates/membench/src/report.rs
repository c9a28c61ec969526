//! Results as rows, and rows as CSV.

use kgen_measure::Timing;
use kgen_record::Target;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Kind, Measured, Test, size_text};

/// All results of one GPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Name of the GPU.
    pub device: String,
    /// Its UUID as nvidia-smi writes it.
    pub uuid: Option<String>,
    /// Bytes of its L2 cache: kernels on smaller sizes are served from there.
    pub l2_bytes: u64,
    /// Microseconds of an empty kernel among others, which each kernel takes at least.
    pub launch_us: Option<f64>,
    /// Per test its latency and its highest bandwidth.
    pub summary: Vec<Summary>,
    pub rows: Vec<Row>,
    pub left_out: Vec<LeftOut>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Name of the test; `nvbandwidth:` and a name for those of that tool.
    pub test: String,
    /// The allocator, the direction between GPUs, or the number that a pattern varies.
    pub parameter: Option<String>,
    /// Bytes of each buffer.
    pub bytes: Option<u64>,
    /// Median of one call, in microseconds; of `latency` that of one load.
    pub time_us: Option<f64>,
    /// First quartile.
    pub q1_us: Option<f64>,
    /// Third quartile.
    pub q3_us: Option<f64>,
    /// 10^9 bytes per second, bytes read and written; of patterns only those that are used.
    pub gbps: Option<f64>,
    /// Samples; each is the mean of calls that take 50 us together where one takes less.
    pub n_samples: Option<usize>,
}

/// A test over all sizes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    pub test: String,
    pub parameter: Option<String>,
    /// The smallest size that was measured.
    pub smallest_bytes: u64,
    /// Median time there.
    pub latency_us: f64,
    /// The highest bandwidth, and the size that has it.
    pub best_gbps: Option<f64>,
    pub best_bytes: Option<u64>,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    pub test: String,
    pub parameter: Option<String>,
    /// The size; `null` where all are left out.
    pub bytes: Option<u64>,
    pub reason: String,
}

impl LeftOut {
    /// Returns it in one line.
    #[must_use]
    pub fn text(&self) -> String {
        let size = self.bytes.map(size_text);
        let name = [Some(self.test.clone()), self.parameter.clone(), size];
        let name: Vec<String> = name.into_iter().flatten().collect();
        format!("{}: {}", name.join(" "), self.reason)
    }
}

/// The columns of the CSV.
const COLUMNS: &str = "test,parameter,bytes,time_us,q1_us,q3_us,gbps,n_samples";

impl Row {
    /// Returns the row of samples in microseconds; `None` without samples.
    #[must_use]
    pub fn of(
        test: Test,
        parameter: Option<String>,
        bytes: u64,
        traffic: Option<u64>,
        samples_us: Vec<f64>,
    ) -> Option<Self> {
        let n_samples = samples_us.len();
        let timing = Timing::of(samples_us)?;
        let gbps = |traffic: u64| traffic as f64 / (timing.median_us * 1e3);
        Some(Self {
            test: test.name().to_owned(),
            parameter,
            bytes: Some(bytes),
            time_us: Some(timing.median_us),
            q1_us: Some(timing.q1_us),
            q3_us: Some(timing.q3_us),
            gbps: traffic.filter(|_| timing.median_us > 0.0).map(gbps),
            n_samples: Some(n_samples),
        })
    }

    fn line(&self) -> String {
        let whole = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let cells = [
            self.test.clone(),
            self.parameter.clone().unwrap_or_default(),
            whole(self.bytes),
            digits(self.time_us),
            digits(self.q1_us),
            digits(self.q3_us),
            digits(self.gbps),
            whole(self.n_samples.map(|n| n as u64)),
        ];
        kgen_compare::csv::line(cells)
    }
}

impl Report {
    /// Returns the report of a GPU.
    ///
    /// `launch_us`: microseconds of an empty kernel.
    #[must_use]
    pub fn new(target: &Target, launch_us: Option<f64>, measured: Measured) -> Self {
        let Measured { rows, left_out } = measured;
        Self {
            device: target.name.clone(),
            uuid: target.uuid.clone(),
            l2_bytes: target.l2_bytes,
            launch_us,
            summary: summarise(&rows),
            rows,
            left_out,
        }
    }

    /// Returns the rows as CSV; a cell of something that was not measured is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = format!("{COLUMNS}\n");
        for row in &self.rows {
            text.push_str(&row.line());
        }
        text
    }

    /// Returns the rows of tests of a kind, in order.
    pub fn rows_of(&self, kind: Kind) -> impl Iterator<Item = &Row> {
        let is_of = move |row: &&Row| Test::find(&row.test).is_some_and(|test| test.kind() == kind);
        self.rows.iter().filter(is_of)
    }
}

/// Returns the summary of each test and parameter over its sizes.
fn summarise(rows: &[Row]) -> Vec<Summary> {
    let mut all: Vec<Summary> = Vec::new();
    for row in rows {
        let kind = Test::find(&row.test).map(Test::kind);
        let is_sized = matches!(kind, Some(Kind::Transfer | Kind::Kernel | Kind::Allocation));
        let (Some(bytes), Some(time_us), true) = (row.bytes, row.time_us, is_sized) else {
            continue;
        };
        let same = |one: &&mut Summary| one.test == row.test && one.parameter == row.parameter;
        let Some(summary) = all.iter_mut().find(same) else {
            all.push(Summary {
                test: row.test.clone(),
                parameter: row.parameter.clone(),
                smallest_bytes: bytes,
                latency_us: time_us,
                best_gbps: row.gbps,
                best_bytes: row.gbps.map(|_| bytes),
            });
            continue;
        };
        if bytes < summary.smallest_bytes {
            (summary.smallest_bytes, summary.latency_us) = (bytes, time_us);
        }
        if summary.best_gbps < row.gbps {
            (summary.best_gbps, summary.best_bytes) = (row.gbps, Some(bytes));
        }
    }
    all
}

/// Writes a number with six significant digits; nothing where there is none.
fn digits(value: Option<f64>) -> String {
    let rounded = |value: f64| format!("{value:.5e}").parse().unwrap_or(value).to_string();
    value.map(rounded).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A report with something of everything.
    pub(crate) fn report() -> Report {
        let row = |test, parameter: Option<&str>, bytes, traffic, us: f64| {
            let samples = vec![us * 0.9, us, us * 1.1];
            Row::of(test, parameter.map(str::to_owned), bytes, traffic, samples).unwrap()
        };
        let mut rows = Vec::new();
        for bytes in [4096, 1 << 20, 1 << 30] {
            let us = |gbps: f64| 2.0 + bytes as f64 / (gbps * 1e3);
            rows.push(row(Test::H2dPinned, None, bytes, Some(bytes), us(55.0)));
            rows.push(row(Test::P2p, Some("cuda:0->cuda:1"), bytes, Some(bytes), us(380.0)));
            rows.push(row(Test::Copy, None, bytes, Some(2 * bytes), us(2000.0)));
            rows.push(row(Test::Latency, None, bytes, None, 0.6));
            rows.push(row(Test::Alloc, Some("cuMemAlloc"), bytes, None, 90.0));
            rows.push(row(Test::Free, Some("cuMemAlloc"), bytes, None, 120.0));
        }
        rows.push(row(Test::Stride, Some("1"), 1 << 28, Some(1 << 28), 70.0));
        rows.push(row(Test::Vector, Some("16"), 1 << 28, Some(1 << 28), 65.0));
        rows.push(Row {
            test: "nvbandwidth:host_to_device_memcpy_ce".to_owned(),
            parameter: Some("0,0".to_owned()),
            bytes: Some(1 << 28),
            time_us: None,
            q1_us: None,
            q3_us: None,
            gbps: Some(55.3),
            n_samples: Some(3),
        });
        let reason = "the GPU has 20.1GiB free".to_owned();
        let test = "triad".to_owned();
        let target =
            Target { name: "NVIDIA H200".to_owned(), l2_bytes: 60 << 20, ..Target::h100_class() };
        let left_out = vec![LeftOut { test, parameter: None, bytes: Some(8 << 30), reason }];
        Report::new(&target, Some(1.6), Measured { rows, left_out })
    }

    #[test]
    fn a_row_has_median_quartiles_and_bandwidth() {
        let samples = vec![4.0, 2.0, 1.0, 3.0, 5.0];
        let row = Row::of(Test::Copy, None, 1500, Some(3000), samples).unwrap();
        let times = [row.time_us, row.q1_us, row.q3_us, row.gbps];
        assert_eq!((times, row.n_samples), ([3.0, 2.0, 4.0, 1.0].map(Some), Some(5)));
        assert_eq!(Row::of(Test::Copy, None, 1, Some(2), Vec::new()), None);
        let instant = Row::of(Test::Copy, None, 1, Some(2), vec![0.0]).unwrap();
        assert_eq!(instant.gbps, None);
    }

    #[test]
    fn csv_has_empty_cells_for_what_was_not_measured() {
        let csv = report().csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], COLUMNS);
        assert_eq!(lines[1], "h2d_pinned,,4096,2.07447,1.97075,2.1782,1.97448,3");
        assert_eq!(
            *lines.last().unwrap(),
            "nvbandwidth:host_to_device_memcpy_ce,\"0,0\",268435456,,,,55.3,3"
        );
    }

    #[test]
    fn a_summary_has_the_latency_and_the_best_bandwidth() {
        let report = report();
        let copy = report.summary.iter().find(|summary| summary.test == "copy").unwrap();
        assert_eq!((copy.smallest_bytes, copy.best_bytes), (4096, Some(1 << 30)));
        assert!(copy.latency_us < 2.01 && copy.best_gbps > Some(3900.0), "{copy:?}");
        let alloc = report.summary.iter().find(|summary| summary.test == "alloc").unwrap();
        assert_eq!((alloc.latency_us, alloc.best_gbps), (90.0, None));
        let tests: Vec<&str> = report.summary.iter().map(|one| one.test.as_str()).collect();
        assert_eq!(tests, ["h2d_pinned", "p2p", "copy", "latency", "alloc", "free"]);
    }

    #[test]
    fn something_left_out_is_named() {
        assert_eq!(report().left_out[0].text(), "triad 8GiB: the GPU has 20.1GiB free");
    }
}
