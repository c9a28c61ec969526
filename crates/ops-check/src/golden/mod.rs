//! Replays of the golden vectors: PyTorch's results for small cases of every op.
//!
//! The files under `golden/` are described in `python/README.md`. A record is turned into a case;
//! inference must give the recorded types and shapes, the reference the recorded f64 values, and
//! the reference rounded to the storage dtype PyTorch's result there.

mod read;
mod replay;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    panic::{self, AssertUnwindSafe},
    path::Path,
};

use kgen_ops::op::{OpDef, all};

use read::Record;

/// Complaints of one op that are printed; the rest are counted.
const SHOWN: usize = 4;

/// The records of each file by its stem, each line with its number.
fn files() -> BTreeMap<String, Vec<(usize, Record)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ops/golden");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let stem = path.file_name().unwrap().to_str().unwrap().strip_suffix(".jsonl").unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().enumerate().map(|(index, line)| {
                let record = serde_json::from_str(line);
                let record = record.unwrap_or_else(|error| {
                    panic!("{stem}.jsonl, line {}: {error}", index + 1);
                });
                (index + 1, record)
            });
            (stem.to_owned(), lines.collect())
        })
        .collect()
}

/// Returns the disagreements of an op, each with its line.
fn complaints(op: &OpDef, records: &[(usize, Record)]) -> Vec<String> {
    let complaint = |(line, record): &(usize, Record)| {
        // One panic must not hide the disagreements of other ops.
        let replayed = panic::catch_unwind(AssertUnwindSafe(|| replay::replay(op, record)));
        let found = replayed.unwrap_or_else(|_| Err("panicked".to_owned())).err()?;
        Some(format!("line {line}: {found}"))
    };
    records.iter().filter_map(complaint).collect()
}

#[test]
fn references_agree_with_the_golden_vectors() {
    let mut files = files();
    let mut report = String::new();
    for op in all() {
        let found = match files.remove(&op.name) {
            None => vec!["no golden file".to_owned()],
            Some(records) => complaints(op, &records),
        };
        if !found.is_empty() {
            writeln!(report, "{}: {} complaints", op.name, found.len()).unwrap();
            for text in found.iter().take(SHOWN) {
                writeln!(report, "    {text}").unwrap();
            }
        }
    }
    for name in files.keys() {
        writeln!(report, "{name}: a golden file of no op").unwrap();
    }
    assert!(report.is_empty(), "{report}");
}
