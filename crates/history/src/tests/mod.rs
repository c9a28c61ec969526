//! Entries made by hand, in files of their own.

mod change;
mod dashboard;
mod export;
mod files;
mod regress;
mod scale;
mod simulation;
mod store;
mod trend;

use std::path::PathBuf;

use jiff::Timestamp;
use kgen_measure::{Fingerprint, Mode, Timing};
use tempfile::TempDir;

use crate::{Added, Entry, History, Kind, NewEntry, NewResult, PASSED, Series};

/// A history in a folder that vanishes with it.
pub(crate) struct Fixture {
    pub(crate) history: History,
    pub(crate) path: PathBuf,
    _folder: TempDir,
}

pub(crate) fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out/history.sqlite");
    Fixture { history: History::create(&path).unwrap(), path, _folder: folder }
}

pub(crate) fn series(op: &str) -> Series {
    Series {
        op: op.to_owned(),
        dtype: "f32".to_owned(),
        args: "input = [16, 1024]".to_owned(),
        implementation: "builtin".to_owned(),
    }
}

/// A result that passed, with the samples given.
pub(crate) fn timed(op: &str, samples_us: &[f64]) -> NewResult {
    NewResult {
        series: series(op),
        case: "f32[4]/normal".to_owned(),
        outcome: PASSED.to_owned(),
        reason: None,
        timing: Some((Mode::Cold, Timing::of(samples_us.to_vec()).unwrap())),
        source_hash: None,
    }
}

/// A result without a time.
pub(crate) fn untimed(op: &str, outcome: &str, reason: &str) -> NewResult {
    NewResult {
        series: series(op),
        case: "f32[4]/normal".to_owned(),
        outcome: outcome.to_owned(),
        reason: Some(reason.to_owned()),
        timing: None,
        source_hash: None,
    }
}

pub(crate) fn fingerprint() -> Fingerprint {
    Fingerprint {
        gpu_uuid: Some("GPU-1".to_owned()),
        name: Some("NVIDIA H200".to_owned()),
        driver: Some("580.159.04".to_owned()),
        clocks_locked: Some(false),
        power_limit_w: Some(700.0),
        ..Fingerprint::default()
    }
}

/// A bench of the `day`th of January.
pub(crate) fn bench(day: u32, results: Vec<NewResult>) -> NewEntry {
    NewEntry {
        source: format!("bench_202701{day:02}_101500"),
        kind: Kind::Bench,
        created: format!("2027-01-{day:02}T10:15:00Z"),
        device: "NVIDIA H200".to_owned(),
        fingerprint: Some(fingerprint()),
        results,
    }
}

pub(crate) fn now() -> Timestamp {
    "2027-02-01T00:00:00Z".parse().unwrap()
}

pub(crate) fn add(history: &mut History, entry: &NewEntry, tag: Option<&str>) -> Entry {
    let added = history.add(entry, tag, now()).unwrap();
    assert!(matches!(added, Added::New(_)), "{added:?}");
    added.entry().clone()
}
