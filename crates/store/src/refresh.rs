//! Keeping derived data (`metadata.json`, `<op>.cu`, `index.jsonl`) up to date.

use std::{collections::BTreeSet, fs};

use kgen_record::{AttemptId, OpKey};
use rayon::prelude::*;

use super::{
    AttemptRecord, Error, OpMetadata, OpState, RunState, RunStore, StageFile,
    atomic::{self, Durability},
    derived::{self, Finished},
    layout::{INDEX, METADATA},
    writer::write_json,
};

impl RunStore {
    /// Brings all that is derived up to date, after a process ended between two writes.
    pub(super) fn refresh_derived(&self) -> Result<(), Error> {
        let state = self.state();
        let ops: Vec<_> = state.ops.iter().collect();
        let refresh = |(op, state): &(&OpKey, &OpState)| self.refresh_op(op, state);
        for mended in ops.par_iter().map(refresh).collect::<Vec<_>>() {
            // The state has a note on a damaged file, with its consequence.
            unless_damaged(mended)?;
        }
        self.refresh_index(&state)
    }

    fn refresh_op(&self, op: &OpKey, state: &OpState) -> Result<(), Error> {
        let Some(wanted) = derived::metadata(&finished(op, state)) else { return Ok(()) };
        let stored = unless_damaged(self.run.metadata(op))?.flatten();
        let is_current = stored.is_some_and(|stored| {
            // Those of a confirmed winner need its samples; they are as old as the confirmation.
            if wanted.confirmed {
                let OpMetadata { speedup, speedups, .. } = wanted.clone();
                OpMetadata { speedup, speedups, ..stored } == wanted
            } else {
                stored == wanted
            }
        });
        if is_current && self.has_copy(op, wanted.best_attempt)? {
            self.index.copies().insert(op.clone(), wanted.best_attempt);
            return Ok(());
        }
        self.refresh(op)
    }

    /// Returns whether `<op>.cu` is that of an attempt.
    fn has_copy(&self, op: &OpKey, number: u32) -> Result<bool, Error> {
        let id = AttemptId { op: op.clone(), number };
        let Some((file, text)) = self.run.source(&id)? else { return Ok(true) };
        let copy = self.run.dir().join(&op.0).join(copy_name(op, file));
        Ok(fs::read(copy).is_ok_and(|copy| copy == text.as_bytes()))
    }

    /// Rebuilds `metadata.json` and `<op>.cu` from an op's finished attempts.
    pub(super) fn refresh(&self, op: &OpKey) -> Result<(), Error> {
        // One at a time: of two attempts that end together the later one knows of both.
        let mut copies = self.index.copies();
        let mut finished = self.index.with_op(op, |state| finished(op, state)).unwrap_or_default();
        let best = derived::best(finished.iter().map(|a| (&a.record, a.confirmation.as_ref())));
        let Some(number) = best.map(|best| best.attempt) else { return Ok(()) };
        let id = AttemptId { op: op.clone(), number };
        if let Some(best) = finished.iter_mut().find(|a| a.record.attempt == number)
            && best.confirmation.is_some()
        {
            // With its samples, which no memory is spent on.
            best.confirmation = self.run.confirmation(&id)?;
        }
        let folder = self.run.dir().join(&op.0);
        if copies.get(op) != Some(&number) {
            if let Some((file, text)) = self.run.source(&id)? {
                let path = folder.join(copy_name(op, file));
                atomic::write(&path, text.as_bytes(), Durability::Process)?;
            }
            copies.insert(op.clone(), number);
        }
        let metadata = derived::metadata(&finished);
        write_json(&folder.join(METADATA), &metadata, Durability::Process)
    }

    /// Rebuilds the index unless it has a line for every finished attempt and nothing else.
    fn refresh_index(&self, state: &RunState) -> Result<(), Error> {
        let text = self.run.index_text()?;
        let lines: BTreeSet<&str> = text.lines().collect();
        let attempts = state.ops.values().flat_map(|op| op.attempts.values());
        let mut records: Vec<_> = attempts.filter_map(|attempt| attempt.record.as_ref()).collect();
        let line =
            |record: &AttemptRecord| serde_json::to_string(record).expect("a record is plain data");
        let is_whole = text.is_empty() || text.ends_with('\n');
        let has_all = records.iter().all(|record| lines.contains(line(record).as_str()));
        if is_whole && has_all && lines.len() == records.len() {
            return Ok(());
        }
        records.sort_by(|a, b| a.finished_at.cmp(&b.finished_at));
        let text: String = records.iter().map(|record| line(record) + "\n").collect();
        atomic::write(&self.run.dir().join(INDEX), text.as_bytes(), Durability::Process)
    }
}

/// Returns the contents of `metadata.json`.
fn finished(op: &OpKey, state: &OpState) -> Vec<Finished> {
    let finished = state.attempts.iter().filter_map(|(&number, attempt)| {
        let sources = [StageFile::Kernel, StageFile::Module];
        let source = sources.into_iter().find(|file| attempt.files.contains(file));
        let id = AttemptId { op: op.clone(), number };
        Some(Finished {
            record: attempt.record.clone()?,
            confirmation: attempt.confirmation.clone(),
            source: source.map(|file| format!("{id}{}", file.suffix())),
        })
    });
    finished.collect()
}

fn copy_name(op: &OpKey, file: StageFile) -> String {
    format!("{op}{}", file.suffix())
}

fn unless_damaged<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
