//! Entries of a history and their results, as they are added and as they are read.

use jiff::Timestamp;
use kgen_bench::{Bench, Cell, Outcome};
use kgen_measure::{Fingerprint, Mode, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outcome of a result that was judged right.
pub const PASSED: &str = "passed";

/// The origin of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A bench.
    Bench,
    /// A run.
    Run,
}

impl Kind {
    /// Its name in tables and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bench => "bench",
            Self::Run => "run",
        }
    }
}

/// The unit that is measured again and again: one case with one implementation.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Series {
    /// Name of the op.
    pub op: String,
    /// Its element type.
    pub dtype: String,
    /// The arguments in one line.
    pub args: String,
    /// The implementation by its name.
    pub implementation: String,
}

/// An entry to be added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewEntry {
    /// ID of the bench or run.
    pub source: String,
    /// Which of the two it is.
    pub kind: Kind,
    /// RFC 3339.
    pub created: String,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// The GPU and its software; `None` on the emulator.
    pub fingerprint: Option<Fingerprint>,
    /// At most one of each series counts: the first that has a time, else the first.
    pub results: Vec<NewResult>,
}

/// A result to be added.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewResult {
    /// The case with its implementation.
    pub series: Series,
    /// Name of the case, for example `f32[16,1024]/normal`.
    pub case: String,
    /// [`PASSED`], a verdict, `not_offered` or `not_run`.
    pub outcome: String,
    /// The finding of the verdict, why nothing was judged, or why there is no time.
    pub reason: Option<String>,
    /// How samples were taken, with all of them; `None` is "not measured".
    pub timing: Option<(Mode, Timing)>,
    /// Hash of the kernel's source, where there is one.
    pub source_hash: Option<String>,
}

/// Of kernels no hash is known to a bench's cells: whoever has their sources fills it in.
impl From<&Bench> for NewEntry {
    fn from(bench: &Bench) -> Self {
        Self {
            source: bench.id.clone(),
            kind: Kind::Bench,
            created: bench.created.clone(),
            device: bench.device.clone(),
            fingerprint: bench.fingerprint.clone(),
            results: bench.cells.iter().map(NewResult::from).collect(),
        }
    }
}

impl From<&Cell> for NewResult {
    fn from(cell: &Cell) -> Self {
        let (outcome, reason) = match &cell.outcome {
            Outcome::Passed => (PASSED, cell.note.as_ref()),
            Outcome::Failed { verdict, finding } => (&**verdict, Some(finding)),
            Outcome::NotOffered { reason } => ("not_offered", Some(reason)),
            Outcome::NotRun { reason } => ("not_run", Some(reason)),
        };
        Self {
            series: Series {
                op: cell.op.clone(),
                dtype: cell.dtype.clone(),
                args: cell.args.clone(),
                implementation: cell.implementation.clone(),
            },
            case: cell.case.clone(),
            outcome: outcome.to_owned(),
            reason: reason.cloned(),
            timing: cell.timing.as_ref().map(|timing| (timing.mode, timing.time.clone())),
            source_hash: None,
        }
    }
}

/// An entry of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number, from 1, never used again.
    pub number: i64,
    /// ID of its bench or run.
    pub source: String,
    /// Which of the two it is.
    pub kind: Kind,
    /// Its name among people.
    pub tag: Option<String>,
    /// When it was measured.
    pub created: Timestamp,
    /// When it was added.
    pub added: Timestamp,
    /// Name of the GPU, or of the emulated one.
    pub device: String,
    /// The GPU and its software; `None` on the emulator.
    pub fingerprint: Option<Fingerprint>,
    /// Results, those without a time among them.
    pub n_results: u64,
}

impl Entry {
    /// Whether both were measured on one GPU: that of one UUID, or of one name where a UUID is not known.
    #[must_use]
    pub fn is_on_gpu_of(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (&self.fingerprint, &other.fingerprint) else { return false };
        match (&a.gpu_uuid, &b.gpu_uuid) {
            (Some(a), Some(b)) => a == b,
            _ => self.device == other.device,
        }
    }
}

/// A result of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResult {
    /// The case with its implementation.
    pub series: Series,
    /// Name of the case, for example `f32[16,1024]/normal`.
    pub case: String,
    /// [`PASSED`], a verdict, `not_offered` or `not_run`.
    pub outcome: String,
    /// The finding of the verdict, why nothing was judged, or why there is no time.
    pub reason: Option<String>,
    /// `None` is "not measured".
    pub time: Option<StoredTime>,
    /// Hash of the kernel's source, where there is one.
    pub source_hash: Option<String>,
}

/// A distribution of times, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredTime {
    /// How the samples were taken.
    pub mode: Mode,
    /// Median.
    pub median_us: f64,
    /// First quartile.
    pub q1_us: f64,
    /// Third quartile.
    pub q3_us: f64,
    /// The 95 % interval of the median; `None` of few samples.
    pub interval_us: Option<[f64; 2]>,
    /// Samples.
    pub n_samples: u32,
}

/// An entry with all of its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The entry.
    pub entry: Entry,
    /// Its results, each with its samples in microseconds, in the order taken; none where nothing was
    /// measured.
    pub results: Vec<(StoredResult, Vec<f64>)>,
}
