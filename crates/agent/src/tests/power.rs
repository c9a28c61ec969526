//! The power goes at any instant: nothing that was reported as done is missing, and the run ends the same.
//!
//! After a loss of power a file has any of the versions that its folder was not flushed after, and one whose
//! contents were not flushed has any part of them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use kgen_record::{AttemptId, OpKey};
use kgen_store::{
    Run,
    testing::{
        folder,
        journal::{self, Change, Kept, Write},
    },
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::every_step::{check_cut, essence, script, searches};

/// Cuts of each way to search.
const CUTS: usize = 100;

/// Makes the folder that a loss of power leaves after some writes.
fn cut(dir: &Path, writes: &[Write], rng: &mut ChaCha8Rng) {
    let mut files: BTreeMap<&PathBuf, Vec<usize>> = BTreeMap::new();
    for (index, write) in writes.iter().enumerate() {
        files.entry(&write.path).or_default().push(index);
    }
    for (path, versions) in files {
        // The last flush of its folder: names that are older stay.
        let flushed = writes
            .iter()
            .rposition(|write| write.kept == Kept::Name && write.path.parent() == path.parent());
        let sure = versions.iter().rposition(|version| Some(*version) <= flushed);
        // One more than there are versions: it may not be there.
        let first = sure.map_or(0, |sure| sure + 1);
        let Some(chosen) = rng.random_range(first..=versions.len()).checked_sub(1) else {
            continue;
        };
        let bytes = match &writes[versions[chosen]].change {
            Change::Whole(bytes) => bytes.clone(),
            Change::Appended(_) => {
                let parts = versions[..=chosen].iter().map(|version| &writes[*version].change);
                parts
                    .flat_map(|(Change::Whole(part) | Change::Appended(part))| part.clone())
                    .collect()
            }
        };
        let n_kept = match writes[versions[chosen]].kept {
            Kept::Nothing => rng.random_range(0..=bytes.len()),
            Kept::Contents | Kept::Name => bytes.len(),
        };
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), &bytes[..n_kept]).unwrap();
    }
}

/// Returns the attempts that were reported as finished.
fn reported(writes: &[Write]) -> Vec<u32> {
    let number = |write: &Write| {
        let name = write.path.file_name()?.to_str()?;
        name.strip_prefix("relu_attempt_")?.strip_suffix(".json")?.parse().ok()
    };
    writes.iter().filter_map(number).collect()
}

#[tokio::test]
async fn the_power_goes_five_hundred_times_and_nothing_that_was_reported_is_missing() {
    for (index, search) in searches().into_iter().enumerate() {
        let root = folder();
        let whole_dir = root.path().join("whole");
        let whole = script(search).run_in(&whole_dir).await;
        let expected = essence(&whole_dir);
        let writes = journal::below(&whole_dir);
        let mut rng = ChaCha8Rng::seed_from_u64(index as u64);
        for _ in 0..CUTS {
            // Before the first file is flushed there is no run.
            let n_writes = rng.random_range(2..=writes.len());
            let dir = root.path().join("cut");
            cut(&dir, &writes[..n_writes], &mut rng);
            let run = Run::open(&dir).unwrap();
            for number in reported(&writes[..n_writes]) {
                let id = AttemptId { op: OpKey("relu".to_owned()), number };
                assert!(run.record(&id).unwrap().is_some(), "{id} is missing");
            }
            check_cut(search, &dir, &whole, &writes[n_writes - 1].path).await;
            let (records, files) = essence(&dir);
            let what = format!("{search:?}, cut after {n_writes} writes");
            assert_eq!(
                files.keys().collect::<Vec<_>>(),
                expected.1.keys().collect::<Vec<_>>(),
                "{what}"
            );
            for (name, bytes) in &files {
                assert!(*bytes == expected.1[name], "{what}: {name}");
            }
            assert_eq!(records, expected.0, "{what}");
            fs::remove_dir_all(dir).unwrap();
        }
    }
}
