//! Makes a large history: `large FILE [ENTRIES [SERIES]]`, by default a thousand of each.
//!
//! All entries are copies of the first, a day apart. Medians differ a little, and from the middle on by a
//! tenth in every tenth series.

use std::{error::Error, path::Path};

use kgen_history::{History, Kind, NewEntry, NewResult, PASSED, Series};
use kgen_measure::{Fingerprint, Mode, Timing};
use rusqlite::Connection;

const NUMBERS: &str = "
CREATE TEMP TABLE numbers AS WITH RECURSIVE n (value) AS
    (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value + 1 < ?1) SELECT value FROM n";

const ENTRIES: &str = "
INSERT INTO entries SELECT NULL, 'copy_' || value, kind, NULL, created + 86400000 * value, added, device,
    fingerprint, n_results, digest FROM entries, numbers WHERE number = 1";

const RESULTS: &str = "
INSERT INTO results SELECT NULL, value + 1, series, outcome, reason, mode,
    median_us * (1 + 0.01 * ((value * 37 + series * 11) % 101) / 101.0)
        * (CASE WHEN ?1 < 2 * value AND series % 10 = 0 THEN 1.1 ELSE 1 END),
    q1_us, q3_us, low_us, high_us, n_samples, source_hash FROM numbers, results WHERE entry = 1";

const SAMPLES: &str = "
INSERT INTO samples SELECT results.id, samples.samples FROM results
    JOIN results AS first ON first.entry = 1 AND first.series = results.series
    JOIN samples ON samples.result = first.id WHERE 1 < results.entry";

/// Fills a history that has no entry with `n_entries`, each with a result of every one of `n_series`.
pub(crate) fn fill(path: &Path, n_entries: u32, n_series: u32) -> Result<History, Box<dyn Error>> {
    let mut history = History::create(path)?;
    history.add(&first(n_series), None, "2027-02-01T00:00:00Z".parse()?)?;
    let mut connection = Connection::open(path)?;
    let transaction = connection.transaction()?;
    for statement in [NUMBERS, ENTRIES, RESULTS, SAMPLES] {
        transaction.execute_batch(&statement.replace("?1", &n_entries.to_string()))?;
    }
    transaction.commit()?;
    Ok(history)
}

fn first(n_series: u32) -> NewEntry {
    let samples: Vec<f64> = (0..60).map(|at| 20.0 + f64::from(at * 7 % 20) / 100.0).collect();
    let result = |op: u32| NewResult {
        series: Series {
            op: format!("op_{op}"),
            dtype: "f32".to_owned(),
            args: "input = [16, 1024]".to_owned(),
            implementation: "builtin".to_owned(),
        },
        case: "f32[16,1024]/normal".to_owned(),
        outcome: PASSED.to_owned(),
        reason: None,
        timing: Timing::of(samples.clone()).map(|time| (Mode::Cold, time)),
        source_hash: None,
    };
    let gpu_uuid = Some("GPU-1".to_owned());
    NewEntry {
        source: "bench_20270101_101500".to_owned(),
        kind: Kind::Bench,
        created: "2027-01-01T10:15:00Z".to_owned(),
        device: "NVIDIA H200".to_owned(),
        fingerprint: Some(Fingerprint { gpu_uuid, ..Fingerprint::default() }),
        results: (0..n_series).map(result).collect(),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args.first().ok_or("large FILE [ENTRIES [SERIES]]")?;
    let number = |at: usize| args.get(at).map_or(Ok(1000), |text| text.parse());
    fill(Path::new(path), number(1)?, number(2)?)?;
    Ok(())
}
