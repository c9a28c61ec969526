//! Writing a run.

use std::{fs, io, path::Path};

use kgen_llm::{CallKey, ReplyRecord, ResponseRecord};
use kgen_record::{AttemptId, Evaluation, Implementation, KernelProfile, OpKey, RunId};
use serde::Serialize;

use super::{
    AttemptRecord, CallFile, Confirmation, Error, FileProblem, LostCall, Run, RunInfo, RunState,
    RunStatus, StageFile, TopFile, Totals,
    atomic::{self, Durability},
    blocking::wait_for_disk,
    check,
    evaluation_summary::summarise,
    find,
    layout::{AttemptFile, INDEX, LOCK, RUN_JSON},
    lock::RunLock,
    reserve::Reserves,
    run_index::RunIndex,
};

/// A run that this process works on; nobody else can while this lives.
///
/// The contents of the run's files are held in memory as well: who writes need not read.
#[derive(Debug)]
pub struct RunStore {
    pub(super) run: Run,
    pub(super) index: RunIndex,
    reserves: Reserves,
    _lock: RunLock,
}

impl RunStore {
    /// Makes a new run below `root` and takes its lock.
    ///
    /// Without an id the run is named after the time, with a suffix where that is taken. The
    /// closure returns the contents of `run.json`. A folder of a given id in which a process ended before
    /// it wrote that is used again.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] for a given id that is taken, or [`Error::Io`].
    pub fn create(
        root: &Path,
        id: Option<RunId>,
        info: impl FnOnce(RunId) -> RunInfo,
    ) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(|source| Error::io("create", root, source))?;
        let id = match id {
            Some(id) => {
                let dir = root.join(id.as_str());
                if !make_folder(&dir)? && !is_unwritten(&dir)? {
                    return Err(Error::Exists { path: dir });
                }
                id
            }
            None => make_dated_folder(root)?,
        };
        let dir = root.join(id.as_str());
        let lock = RunLock::acquire(&dir)?;
        // Another process may have held it until now, and written it.
        if !is_unwritten(&dir)? {
            return Err(Error::Exists { path: dir });
        }
        let info = info(id);
        write_json(&dir.join(RUN_JSON), &info, Durability::Disk)?;
        check::write_copy(&dir, &info)?;
        Ok(Self {
            run: Run::from_parts(dir, info),
            index: RunIndex::default(),
            reserves: Reserves::default(),
            _lock: lock,
        })
    }

    /// Opens a run to go on with it: takes its lock, mends damaged files or sets them aside, removes the
    /// left-overs of interrupted writes, and brings derived data up to date with the attempts' files.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process works on it, and the errors of [`Run::open`].
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let run = Run::open(dir)?;
        let lock = RunLock::acquire(dir)?;
        let mended = check::mend_run(dir)?;
        let index = RunIndex::of(&run, mended.iter().map(FileProblem::describe))?;
        let store = Self { run, index, reserves: Reserves::default(), _lock: lock };
        store.refresh_derived()?;
        Ok(store)
    }

    /// Returns how far the run got: the result of [`RunState::scan`] at its opening, and the files
    /// written since. Reads no file.
    #[must_use]
    pub fn state(&self) -> RunState {
        self.index.state()
    }

    /// Returns the run for reading.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Writes how the run stands into `run.json`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn set_status(&self, status: RunStatus, totals: Option<Totals>) -> Result<(), Error> {
        let over = status != RunStatus::Running;
        let info = RunInfo {
            status,
            finished_at: over.then(|| jiff::Timestamp::now().to_string()),
            totals,
            ..self.run.info().clone()
        };
        write_json(&self.run.dir().join(RUN_JSON), &info, Durability::Disk)
    }

    /// Writes one of the files that summarise the run.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_top(&self, file: TopFile, contents: &str) -> Result<(), Error> {
        let path = self.run.dir().join(file.name());
        atomic::write(&path, contents.as_bytes(), Durability::Process)
    }

    /// Writes a request, first for people, then exactly; the second is on disk on return.
    pub(super) fn write_request(
        &self,
        attempt: &AttemptId,
        call: u32,
        request: &impl Serialize,
        markdown: &str,
    ) -> Result<(), Error> {
        self.ensure_folder(&attempt.op)?;
        let path = |file| self.run.call_path(attempt, call, file);
        wait_for_disk(|| {
            atomic::write(&path(CallFile::RequestText), markdown.as_bytes(), Durability::Process)?;
            write_json(&path(CallFile::Request), request, Durability::Disk)
        })?;
        self.index.note(attempt, AttemptFile::Call(call, CallFile::Request));
        Ok(())
    }

    /// Makes sure that the reply to a call can be written, whatever else fills the disk meanwhile.
    pub(super) fn reserve(&self, key: &CallKey) -> Result<(), Error> {
        self.ensure_folder(&key.attempt.op)?;
        let reply = self.run.call_path(&key.attempt, key.call, CallFile::ReplyText);
        self.reserves.take(key, &reply)
    }

    /// Writes a reply, first its text, then the response, then the rest; text and rest are on disk on
    /// return.
    ///
    /// The text has its name as early as can be: it was paid for. The rest of a reply
    /// that was interrupted in between comes from [`Self::complete_reply`].
    pub(super) fn write_reply(&self, key: &CallKey, reply: &ReplyRecord) -> Result<(), Error> {
        let path = |file| self.run.call_path(&key.attempt, key.call, file);
        let record = || write_json(&path(CallFile::Reply), reply, Durability::Disk);
        let whole = || {
            let text = reply.text.as_bytes();
            atomic::write(&path(CallFile::ReplyText), text, Durability::Contents)?;
            self.write_response(key, reply.response.as_ref())?;
            record()
        };
        wait_for_disk(|| match whole() {
            Err(error) if error.is_disk_full() => {
                match self.reserves.fill(key, &path(CallFile::ReplyText), &reply.text) {
                    // The response is evidence alone, and the largest of the three.
                    Some(filled) => filled.and_then(|()| record()),
                    None => Err(error),
                }
            }
            written => written,
        })?;
        self.reserves.release(key);
        self.index.note(&key.attempt, AttemptFile::Call(key.call, CallFile::Reply));
        Ok(())
    }

    /// Writes the response for a call, byte for byte; it is on disk with the next file that is.
    pub(super) fn write_response(
        &self,
        key: &CallKey,
        response: Option<&ResponseRecord>,
    ) -> Result<(), Error> {
        let Some(response) = response else { return Ok(()) };
        let path = self.run.call_path(&key.attempt, key.call, CallFile::Response);
        atomic::write(&path, &response.body, Durability::Contents)
    }

    /// Puts on record the facts of a reply of which only the text was stored.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn complete_reply(&self, reply: &ReplyRecord) -> Result<(), Error> {
        self.write_call(&reply.key.attempt, reply.key.call, CallFile::Reply, reply)
    }

    /// Writes that a call ended without a reply.
    pub(super) fn write_failure(
        &self,
        attempt: &AttemptId,
        call: u32,
        failure: &impl Serialize,
    ) -> Result<(), Error> {
        self.reserves.release(&CallKey { attempt: attempt.clone(), call });
        let path = self.run.call_path(attempt, call, CallFile::Failure);
        write_json(&path, failure, Durability::Process)?;
        self.index.note(attempt, AttemptFile::Call(call, CallFile::Failure));
        Ok(())
    }

    /// Records that a call was in flight when kgen ended.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_lost(&self, attempt: &AttemptId, call: u32, lost: &LostCall) -> Result<(), Error> {
        self.write_call(attempt, call, CallFile::Lost, lost)
    }

    /// Writes one file of a call, which is on disk on return.
    fn write_call(
        &self,
        attempt: &AttemptId,
        call: u32,
        file: CallFile,
        record: &impl Serialize,
    ) -> Result<(), Error> {
        let path = self.run.call_path(attempt, call, file);
        wait_for_disk(|| write_json(&path, record, Durability::Disk))?;
        self.index.note(attempt, AttemptFile::Call(call, file));
        Ok(())
    }

    /// Writes the text of the implementation of an attempt, where it has one.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_source(
        &self,
        attempt: &AttemptId,
        implementation: &Implementation,
    ) -> Result<(), Error> {
        match (StageFile::of(implementation), implementation.source()) {
            (Some(file), Some(source)) => self.write_stage(attempt, file, source),
            _ => Ok(()),
        }
    }

    /// Writes the evaluation of an attempt: whole, as a log for people, and in short. The last of
    /// these says that the attempt was judged.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_evaluation(
        &self,
        attempt: &AttemptId,
        evaluation: &Evaluation,
        log: &str,
    ) -> Result<(), Error> {
        let whole = match &evaluation.profile {
            None => serde_json::to_string(evaluation),
            Some(profile) => {
                self.write_stage(attempt, StageFile::Profile, &json(profile))?;
                // Output of the tools is large, and there already.
                let short = KernelProfile { raw: Vec::new(), ..(**profile).clone() };
                let profile = Some(Box::new(short));
                serde_json::to_string(&Evaluation { profile, ..evaluation.clone() })
            }
        };
        let whole = whole.expect("an evaluation is plain data");
        self.write_stage(attempt, StageFile::Samples, &whole)?;
        if !log.is_empty() {
            self.write_stage(attempt, StageFile::Log, log)?;
        }
        let (_, short) = summarise(evaluation);
        self.write_stage(attempt, StageFile::Eval, &short)
    }

    /// Writes the part of the next prompt about an attempt.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn write_feedback(&self, attempt: &AttemptId, feedback: &str) -> Result<(), Error> {
        self.write_stage(attempt, StageFile::Feedback, feedback)
    }

    /// Writes how an attempt fared when it was judged again, and the op's derived files.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn write_confirmation(
        &self,
        attempt: &AttemptId,
        confirmation: &Confirmation,
    ) -> Result<(), Error> {
        // The samples first: `.confirm.json` says that the stage is done.
        let timings: Vec<_> = confirmation.seeds.iter().map(|seed| &seed.timings).collect();
        if timings.iter().any(|timings| !timings.is_empty()) {
            let text = serde_json::to_string(&timings).expect("records are plain data");
            self.write_stage(attempt, StageFile::ConfirmSamples, &text)?;
        }
        self.write_stage(attempt, StageFile::Confirm, &json(confirmation))?;
        self.index.confirmed(attempt, confirmation);
        self.refresh(&attempt.op)
    }

    /// Closes an attempt: writes its record, its line in the index, and the op's derived files.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn finish_attempt(&self, attempt: &AttemptId, record: &AttemptRecord) -> Result<(), Error> {
        self.write_stage(attempt, StageFile::Record, &json(record))?;
        let line = serde_json::to_string(record).expect("a record is plain data");
        atomic::append_line(&self.run.dir().join(INDEX), &line)?;
        self.index.finished(attempt, record);
        self.refresh(&attempt.op)
    }

    fn write_stage(&self, attempt: &AttemptId, file: StageFile, text: &str) -> Result<(), Error> {
        self.ensure_folder(&attempt.op)?;
        let path = self.run.path(attempt, file);
        // An attempt that is reported as finished is there after a loss of power.
        let durability = match file {
            StageFile::Eval | StageFile::Record | StageFile::Confirm => Durability::Disk,
            _ => Durability::Contents,
        };
        wait_for_disk(|| atomic::write(&path, text.as_bytes(), durability))?;
        self.index.note(attempt, AttemptFile::Stage(file));
        Ok(())
    }

    fn ensure_folder(&self, op: &OpKey) -> Result<(), Error> {
        if !self.index.has_folder(op) {
            if make_folder(&self.run.dir().join(&op.0))? {
                // A file on disk is lost if the folder's own name is not there.
                wait_for_disk(|| atomic::sync_folder(self.run.dir()))?;
            }
            self.index.made_folder(op);
        }
        Ok(())
    }
}

/// Makes a folder; `false` where it was there already.
fn make_folder(path: &Path) -> Result<bool, Error> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(Error::io("create", path, source)),
    }
}

/// Returns whether a folder has nothing but left-overs of a process that ended before it wrote `run.json`.
fn is_unwritten(dir: &Path) -> Result<bool, Error> {
    let failed = |source| Error::io("read", dir, source);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name.to_str().is_none_or(|name| name != LOCK && !atomic::is_left_over(name)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn make_dated_folder(root: &Path) -> Result<RunId, Error> {
    let now = jiff::Zoned::now();
    let mut n_taken = 0;
    loop {
        let id = find::dated_id(&now, n_taken);
        if make_folder(&root.join(id.as_str()))? {
            return Ok(id);
        }
        n_taken += 1;
    }
}

pub(super) fn write_json(
    path: &Path,
    value: &impl Serialize,
    durability: Durability,
) -> Result<(), Error> {
    atomic::write(path, json(value).as_bytes(), durability)
}

pub(super) fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("records are plain data");
    text.push('\n');
    text
}
