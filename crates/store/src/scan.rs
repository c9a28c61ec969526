//! State of a run: how far each attempt got, and which work is left.

use std::collections::{BTreeMap, BTreeSet};

use kgen_record::{AttemptId, OpKey};
use rayon::prelude::*;

use super::{AttemptRecord, CallFile, Confirmation, Error, Run, StageFile, layout::AttemptFile};

/// State of a whole run in its files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunState {
    /// One entry per op that has a folder.
    pub ops: BTreeMap<OpKey, OpState>,
    /// Damaged files that are made anew, in words.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpState {
    /// Its attempts by number.
    pub attempts: BTreeMap<u32, AttemptState>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct AttemptState {
    /// Its calls by number.
    pub calls: BTreeMap<u32, CallState>,
    /// The files of its stages that are there and readable.
    pub files: BTreeSet<StageFile>,
    /// Its record, if it is over.
    pub record: Option<AttemptRecord>,
    /// How it fared when it was judged again, if it was; without the times of its cases, which
    /// [`Run::confirmation`] reads.
    pub confirmation: Option<Confirmation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It was sent and nothing came back: lost if nobody waits for it any more.
    InFlight,
    /// Its reply is stored.
    Replied,
    /// Only the text of its reply is there: the process ended before it stored the rest, or a
    /// person put it there. Whoever takes the reply completes its record.
    TextOnly,
    /// It ended without a reply.
    Failed,
    /// It was recorded as lost.
    Lost,
}

/// How far an attempt got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptStage {
    /// No usable call was made.
    Begun,
    /// A call waits for its reply.
    InFlight {
        call: u32,
    },
    /// The reply is stored.
    Replied {
        call: u32,
    },
    Extracted,
    /// The evaluation is stored.
    Judged,
    Done,
}

impl CallState {
    /// Returns whether the text of a reply is there.
    #[must_use]
    pub const fn has_reply(self) -> bool {
        match self {
            Self::Replied | Self::TextOnly => true,
            Self::InFlight | Self::Failed | Self::Lost => false,
        }
    }
}

impl AttemptState {
    /// Returns how far the attempt got.
    #[must_use]
    pub fn stage(&self) -> AttemptStage {
        if self.record.is_some() {
            return AttemptStage::Done;
        }
        if self.files.contains(&StageFile::Eval) {
            return AttemptStage::Judged;
        }
        if self.files.contains(&StageFile::Kernel) || self.files.contains(&StageFile::Module) {
            return AttemptStage::Extracted;
        }
        if let Some(call) = self.replied_call() {
            return AttemptStage::Replied { call };
        }
        match self.calls.last_key_value() {
            Some((&call, CallState::InFlight)) => AttemptStage::InFlight { call },
            Some((
                _,
                CallState::Replied | CallState::TextOnly | CallState::Failed | CallState::Lost,
            ))
            | None => AttemptStage::Begun,
        }
    }

    /// Returns the last call whose reply is stored.
    #[must_use]
    pub fn replied_call(&self) -> Option<u32> {
        self.calls.iter().rev().find(|(_, state)| state.has_reply()).map(|(call, _)| *call)
    }

    /// Returns the number that the next call gets.
    #[must_use]
    pub fn next_call(&self) -> u32 {
        self.calls.last_key_value().map_or(1, |(call, _)| call + 1)
    }

    /// Counts its calls in a state.
    #[must_use]
    pub fn n_calls(&self, state: CallState) -> u32 {
        let n_calls = self.calls.values().filter(|call| **call == state).count();
        u32::try_from(n_calls).expect("an attempt has few calls")
    }
}

impl AttemptState {
    /// Notes that a file is there.
    pub(super) fn note(&mut self, file: AttemptFile) {
        match file {
            AttemptFile::Stage(file) => _ = self.files.insert(file),
            AttemptFile::Call(call, file) => note_call(self, call, file),
        }
    }
}

impl RunState {
    /// Reads how far a run got.
    ///
    /// Files that cannot be read and can be made anew are treated as missing, with a note.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn scan(run: &Run) -> Result<Self, Error> {
        Self::scan_with(run, &|op| run.attempt_files(op))
    }

    /// Reads how far a run got, given how the files of an op are listed.
    pub(super) fn scan_with(run: &Run, list: List<'_>) -> Result<Self, Error> {
        let mut state = Self::default();
        let ops = run.ops()?;
        let scan = |op: &OpKey| OpState::scan(run, op, list);
        let found: Vec<_> = ops.par_iter().map(scan).collect();
        for (op, found) in ops.into_iter().zip(found) {
            let (found, notes) = found?;
            state.notes.extend(notes);
            if !found.attempts.is_empty() {
                state.ops.insert(op, found);
            }
        }
        Ok(state)
    }

    /// Counts the calls that were made, lost ones included.
    #[must_use]
    pub fn n_calls(&self) -> u32 {
        let attempts = self.ops.values().flat_map(|op| op.attempts.values());
        let n_calls: usize = attempts.map(|attempt| attempt.calls.len()).sum();
        u32::try_from(n_calls).expect("a run has fewer than 2^32 calls")
    }
}

pub(super) type List<'a> = &'a (dyn Fn(&OpKey) -> Result<Vec<(u32, AttemptFile)>, Error> + Sync);

impl OpState {
    /// Reads how far an op got; the notes are about damaged files.
    fn scan(run: &Run, op: &OpKey, list: List<'_>) -> Result<(Self, Vec<String>), Error> {
        let (mut found, mut notes) = (Self::default(), Vec::new());
        for (number, file) in list(op)? {
            found.attempts.entry(number).or_default().note(file);
        }
        for (&number, attempt) in &mut found.attempts {
            let id = AttemptId { op: op.clone(), number };
            read_attempt(run, &id, attempt, &mut notes)?;
        }
        Ok((found, notes))
    }
}

pub(super) fn calls(run: &Run, id: &AttemptId) -> Result<BTreeMap<u32, CallState>, Error> {
    let mut attempt = AttemptState::default();
    for (number, file) in run.attempt_files(&id.op)? {
        if number == id.number {
            attempt.note(file);
        }
    }
    Ok(attempt.calls)
}

fn note_call(attempt: &mut AttemptState, call: u32, file: CallFile) {
    let state = match file {
        CallFile::Request => CallState::InFlight,
        CallFile::Reply => CallState::Replied,
        CallFile::ReplyText => CallState::TextOnly,
        CallFile::Failure => CallState::Failed,
        CallFile::Lost => CallState::Lost,
        // Written before the request itself: the call was not made yet.
        CallFile::RequestText => return,
        // The record read out of it follows; without that it is evidence and no reply.
        CallFile::Response => return,
    };
    let weight = |state| match state {
        CallState::InFlight => 0,
        CallState::Failed => 1,
        CallState::Lost => 2,
        CallState::TextOnly => 3,
        CallState::Replied => 4,
    };
    let known = attempt.calls.entry(call).or_insert(state);
    if weight(*known) < weight(state) {
        *known = state;
    }
}

fn read_attempt(
    run: &Run,
    id: &AttemptId,
    attempt: &mut AttemptState,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    if attempt.files.contains(&StageFile::Record) {
        attempt.record = readable(run.record(id), notes, "it is made anew")?;
    }
    if attempt.record.is_none() {
        attempt.files.remove(&StageFile::Record);
        let consequence = "the kernel is judged again";
        if readable(run.short_evaluation(id), notes, consequence)?.is_none()
            || readable(run.evaluation(id), notes, consequence)?.is_none()
        {
            attempt.files.remove(&StageFile::Eval);
        }
    }
    if attempt.files.contains(&StageFile::Confirm) {
        let confirmation = run.short_confirmation(id);
        attempt.confirmation = readable(confirmation, notes, "the kernel is judged again")?;
    }
    Ok(())
}

fn readable<T>(
    result: Result<Option<T>, Error>,
    notes: &mut Vec<String>,
    consequence: &str,
) -> Result<Option<T>, Error> {
    match result {
        Err(Error::Damaged { path, source }) => {
            notes.push(format!("{} is damaged ({source}); {consequence}", path.display()));
            Ok(None)
        }
        other => other,
    }
}
