//! The run directory: formats, atomic writes, resume. The only code that writes into a run.
//!
//! Files are the truth. Each is written beside its place and renamed into it, so a stage of an
//! attempt is done when its file exists, and a process that is killed at any instant leaves a run
//! that [`RunState::scan`] can go on from. Requests and replies are flushed to the disk before
//! anything is done with them. Derived data (`metadata.json`, `<op>.cu`, `index.jsonl`) can be
//! rebuilt. This module prints nothing and knows neither the agent nor the command line.

mod atomic;
mod blocking;
mod calls;
mod check;
mod confirmed;
mod derived;
mod error;
mod evaluation_summary;
mod experiment;
mod find;
mod format;
mod layout;
mod lock;
mod refresh;
mod reply_cache;
mod reserve;
mod run;
mod run_index;
mod scan;
mod spend;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod writer;

pub use calls::RecordedRun;
pub use check::{FileProblem, Remedy, check_run, repair_run};
pub use derived::{best, effective_verdict, rank};
pub use error::Error;
pub use evaluation_summary::{
    EVAL_LIMIT_BYTES, StoredBaseline, StoredEvaluation, StoredTiming, summarise,
};
pub use experiment::{
    ComparisonFile, ExperimentInfo, ExperimentStore, experiment_runs, read_experiment,
};
pub use find::{RunEntry, find_run, latest_run, list_runs};
pub use format::{
    AttemptRecord, AttemptStatus, Confirmation, ConfirmedSeed, Counts, DeviceInfo, Format,
    LostCall, OpMetadata, Purpose, RunInfo, RunStatus, Totals,
};
pub use layout::{CallFile, StageFile, TopFile};
pub use reply_cache::ReplyCacheFolder;
pub use run::Run;
pub use scan::{AttemptStage, AttemptState, CallState, OpState, RunState};
pub use spend::{CallsSpend, Spent, spent};
pub use writer::RunStore;
