//! A benchmark as a JSON document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Axis, Bench, ImplementationSummary, Row, rows, summary};

/// The `data` of the document of `kgen bench --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Name of its folder.
    pub id: String,
    /// Version of the stored format.
    pub format: u32,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// Axes of the grid in order; none where a suite without a grid was timed.
    pub axes: Vec<Axis>,
    /// As given to `--impl`; the first one that passes a case is what the others are compared with.
    pub implementations: Vec<String>,
    /// One row per cell that is finished.
    pub results: Vec<Row>,
    /// One entry per implementation, in order.
    pub summary: Vec<ImplementationSummary>,
}

impl Document {
    /// Makes the document of a benchmark.
    #[must_use]
    pub fn new(bench: &Bench) -> Self {
        Self {
            id: bench.id.clone(),
            format: bench.format,
            device: bench.device.clone(),
            axes: bench.axes.clone(),
            implementations: bench.implementations.clone(),
            results: rows(bench),
            summary: summary(bench),
        }
    }
}
