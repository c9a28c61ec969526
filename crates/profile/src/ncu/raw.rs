//! The page `raw`: one row per launch, one column per metric.

use std::collections::BTreeMap;

use crate::{
    csv::Table,
    number::{factor, number},
};

/// A profiled launch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks along x, y, z.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block along x, y, z.
    pub block: Option<[u32; 3]>,
    /// Compute capability, for example `9.0`.
    pub cc: Option<String>,
    /// Metrics with a value, in base units: bytes, nanoseconds, hertz.
    metrics: BTreeMap<String, f64>,
}

impl Launch {
    /// Returns a metric's value; `None` where it was not measured.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }

    /// Returns the sum of two metrics where both were measured.
    pub(crate) fn sum(&self, a: &str, b: &str) -> Option<f64> {
        Some(self.metric(a)? + self.metric(b)?)
    }

    /// Returns the quotient of two metrics where both were measured and the second is positive.
    pub(crate) fn ratio(&self, a: &str, b: &str) -> Option<f64> {
        let (a, b) = (self.metric(a)?, self.metric(b)?);
        (0.0 < b).then(|| a / b)
    }
}

/// Reads the page; empty where there is none in `text`.
///
/// Its first row has names, the second units, every further one a launch. Columns before the first
/// metric name the launch.
#[must_use]
pub fn launches(text: &str) -> Vec<Launch> {
    let Some(table) = Table::find(text, "ID") else { return Vec::new() };
    let mut records = table.records();
    let Some(units) = records.next() else { return Vec::new() };
    let facts = ["Kernel Name", "Grid Size", "Block Size", "CC"].map(|name| table.column(name));
    let read = |record: Vec<String>| {
        let fact = |index: usize| facts[index].and_then(|at| record.get(at));
        let columns = table.columns().iter().zip(&units).zip(&record);
        let metrics = columns.filter(|((name, _), _)| is_metric(name));
        let metrics = metrics.filter_map(|((name, unit), value)| {
            Some((name.clone(), number(value)? * factor(unit)))
        });
        Launch {
            kernel: fact(0).cloned().unwrap_or_default(),
            grid: fact(1).and_then(|text| dims(text)),
            block: fact(2).and_then(|text| dims(text)),
            cc: fact(3).cloned().filter(|text| !text.is_empty()),
            metrics: metrics.collect(),
        }
    };
    records.map(read).filter(|launch| !launch.metrics.is_empty()).collect()
}

/// Metrics have two underscores in their names, all other columns have blanks or capitals.
fn is_metric(name: &str) -> bool {
    !name.contains(|c: char| c.is_ascii_uppercase() || c == ' ') && name.contains('_')
}

/// Reads `(256, 1, 1)`.
fn dims(text: &str) -> Option<[u32; 3]> {
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let numbers: Vec<u32> =
        inside.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}
