//! Contents of a run's files, held in memory by the process that writes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use kgen_record::{AttemptId, OpKey};

use super::{
    AttemptRecord, AttemptState, Confirmation, Error, OpState, Run, RunState, atomic,
    layout::{self, AttemptFile},
    run::entries,
};

/// How far a run got, kept up to date with every write.
#[derive(Debug, Default)]
pub(super) struct RunIndex {
    state: Mutex<RunState>,
    /// Ops whose folders are known to be there.
    folders: Mutex<BTreeSet<OpKey>>,
    /// The attempts that the ops' `<op>.cu` are copies of.
    copies: Mutex<BTreeMap<OpKey, u32>>,
}

impl RunIndex {
    /// Reads how far a run got, and removes the left-overs of interrupted writes; `notes` go before those of
    /// the scan.
    pub(super) fn of(run: &Run, notes: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        for entry in entries(run.dir())? {
            if entry.file_name().to_str().is_some_and(atomic::is_left_over) {
                atomic::remove_left_over(&entry.path())?;
            }
        }
        let mut state = RunState::scan_with(run, &|op| swept(run, op))?;
        state.notes.splice(0..0, notes);
        Ok(Self { state: Mutex::new(state), ..Self::default() })
    }

    /// Returns how far the run got.
    pub(super) fn state(&self) -> RunState {
        lock(&self.state).clone()
    }

    pub(super) fn with_op<T>(&self, op: &OpKey, look: impl FnOnce(&OpState) -> T) -> Option<T> {
        lock(&self.state).ops.get(op).map(look)
    }

    /// Notes that a file was written.
    pub(super) fn note(&self, attempt: &AttemptId, file: AttemptFile) {
        self.change(attempt, |state| state.note(file));
    }

    /// Notes that an attempt is over.
    pub(super) fn finished(&self, attempt: &AttemptId, record: &AttemptRecord) {
        self.change(attempt, |state| state.record = Some(record.clone()));
    }

    /// Notes how an attempt fared when it was judged again.
    pub(super) fn confirmed(&self, attempt: &AttemptId, confirmation: &Confirmation) {
        let short = confirmation.without_timings();
        self.change(attempt, |state| state.confirmation = Some(short));
    }

    pub(super) fn has_folder(&self, op: &OpKey) -> bool {
        lock(&self.folders).contains(op)
    }

    pub(super) fn made_folder(&self, op: &OpKey) {
        lock(&self.folders).insert(op.clone());
    }

    /// Returns which attempts the ops' `<op>.cu` are copies of; whoever holds this writes the
    /// derived files.
    pub(super) fn copies(&self) -> MutexGuard<'_, BTreeMap<OpKey, u32>> {
        lock(&self.copies)
    }

    fn change(&self, attempt: &AttemptId, change: impl FnOnce(&mut AttemptState)) {
        let mut state = lock(&self.state);
        // Nearly always the op is known: its name is cloned only if not.
        if !state.ops.contains_key(&attempt.op) {
            state.ops.insert(attempt.op.clone(), OpState::default());
        }
        let op = state.ops.get_mut(&attempt.op).expect("it was put there");
        change(op.attempts.entry(attempt.number).or_default());
    }
}

/// Lists an op's files, and removes the left-overs of interrupted writes among them.
fn swept(run: &Run, op: &OpKey) -> Result<Vec<(u32, AttemptFile)>, Error> {
    let mut files = Vec::new();
    for entry in entries(&run.dir().join(&op.0))? {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if atomic::is_left_over(name) {
            atomic::remove_left_over(&entry.path())?;
        }
        files.extend(layout::parse(op, name));
    }
    Ok(files)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
