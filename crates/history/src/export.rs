//! All results as rows.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Entry, Error, History, StoredResult};

/// A result with its entry. Numbers that were not measured, or are not known, are `None`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExportRow {
    /// Number of the entry.
    pub entry: i64,
    /// Its tag.
    pub tag: Option<String>,
    /// ID of its bench or run.
    pub id: String,
    /// When it was measured, RFC 3339.
    pub created: String,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// Its UUID.
    pub gpu_uuid: Option<String>,
    /// Version of its driver.
    pub driver: Option<String>,
    /// The op.
    pub op: String,
    /// The element type.
    pub dtype: String,
    /// Name of the case.
    pub case: String,
    /// The arguments.
    pub args: String,
    /// The implementation.
    pub implementation: String,
    /// `passed`, a verdict, `not_offered` or `not_run`.
    pub outcome: String,
    /// Why there is no time.
    pub reason: Option<String>,
    /// Timing mode: `cold`, `hot` or `graph`.
    pub mode: Option<String>,
    /// Median, in milliseconds.
    pub time_ms: Option<f64>,
    /// Lower end of its 95 % interval.
    pub time_low_ms: Option<f64>,
    /// Upper end.
    pub time_high_ms: Option<f64>,
    /// First quartile.
    pub q1_ms: Option<f64>,
    /// Third quartile.
    pub q3_ms: Option<f64>,
    /// Samples.
    pub n_samples: Option<u32>,
    /// Hash of the kernel's source.
    pub source_hash: Option<String>,
}

impl ExportRow {
    /// Names of the columns of CSV, in the order of [`ExportRow::fields`].
    pub const COLUMNS: [&str; 22] = [
        "entry",
        "tag",
        "id",
        "created",
        "device",
        "gpu_uuid",
        "driver",
        "op",
        "dtype",
        "case",
        "args",
        "implementation",
        "outcome",
        "reason",
        "mode",
        "time_ms",
        "time_low_ms",
        "time_high_ms",
        "q1_ms",
        "q3_ms",
        "n_samples",
        "source_hash",
    ];

    /// The fields of CSV, not quoted yet; what is `None` is empty.
    #[must_use]
    pub fn fields(&self) -> [String; 22] {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
        [
            self.entry.to_string(),
            text(&self.tag),
            self.id.clone(),
            self.created.clone(),
            self.device.clone(),
            text(&self.gpu_uuid),
            text(&self.driver),
            self.op.clone(),
            self.dtype.clone(),
            self.case.clone(),
            self.args.clone(),
            self.implementation.clone(),
            self.outcome.clone(),
            text(&self.reason),
            text(&self.mode),
            number(self.time_ms),
            number(self.time_low_ms),
            number(self.time_high_ms),
            number(self.q1_ms),
            number(self.q3_ms),
            self.n_samples.map(|n| n.to_string()).unwrap_or_default(),
            text(&self.source_hash),
        ]
    }

    fn new(entry: &Entry, result: StoredResult) -> Self {
        let StoredResult { series, case, outcome, reason, time, source_hash } = result;
        let fingerprint = entry.fingerprint.as_ref();
        let ms = |us: f64| us / 1e3;
        let interval = time.and_then(|time| time.interval_us);
        Self {
            entry: entry.number,
            tag: entry.tag.clone(),
            id: entry.source.clone(),
            created: entry.created.to_string(),
            device: entry.device.clone(),
            gpu_uuid: fingerprint.and_then(|fingerprint| fingerprint.gpu_uuid.clone()),
            driver: fingerprint.and_then(|fingerprint| fingerprint.driver.clone()),
            op: series.op,
            dtype: series.dtype,
            case,
            args: series.args,
            implementation: series.implementation,
            outcome,
            reason,
            mode: time.map(|time| time.mode.name().to_owned()),
            time_ms: time.map(|time| ms(time.median_us)),
            time_low_ms: interval.map(|[low, _]| ms(low)),
            time_high_ms: interval.map(|[_, high]| ms(high)),
            q1_ms: time.map(|time| ms(time.q1_us)),
            q3_ms: time.map(|time| ms(time.q3_us)),
            n_samples: time.map(|time| time.n_samples),
            source_hash,
        }
    }
}

impl History {
    /// Returns all results, oldest entry first, of which one entry is in memory at a time.
    ///
    /// # Errors
    ///
    /// Those of the file, here and per entry.
    pub fn export(&self) -> Result<impl Iterator<Item = Result<ExportRow, Error>>, Error> {
        let entries = self.entries()?;
        Ok(entries.into_iter().rev().flat_map(|entry| {
            let (rows, error) = match self.export_entry(&entry) {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(error)
        }))
    }

    /// Returns the results of one entry.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn export_entry(&self, entry: &Entry) -> Result<Vec<ExportRow>, Error> {
        let results = self.results(entry.number)?;
        Ok(results.into_iter().map(|result| ExportRow::new(entry, result)).collect())
    }
}
