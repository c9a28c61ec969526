//! Files of a run that are damaged or lost: found, rebuilt from others, or set aside.
//!
//! A damaged file is renamed to `*.damaged` beside its place and never deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use kgen_llm::{ReplyRecord, RequestRecord};
use kgen_record::{AttemptId, Evaluation, OpKey, Verdict};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    AttemptRecord, CallFile, Confirmation, Error, OpMetadata, Run, RunInfo, RunStatus, RunStore,
    StageFile, StoredEvaluation, TopFile,
    atomic::{self, Durability},
    evaluation_summary::summarise,
    layout::{AttemptFile, METADATA, RUN_COPY, RUN_JSON},
    run::{read_bytes, read_json, read_text},
    writer::{json, write_json},
};

/// A file that is not as kgen wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    pub path: PathBuf,
    /// How it is damaged, or that it is missing.
    pub problem: String,
    pub remedy: Remedy,
}

/// The way back to a run that can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Other files hold its contents.
    Rebuild(Vec<u8>),
    /// It is derived from other files, and written again whenever the run is opened for writing.
    Derive,
    /// It is set aside, with this consequence.
    SetAside(&'static str),
    /// Nothing can be done about it; this remains.
    Accept(String),
}

impl FileProblem {
    /// Describes the problem and its remedy in one line.
    #[must_use]
    pub fn describe(&self) -> String {
        let remedy = match &self.remedy {
            Remedy::Rebuild(_) | Remedy::Derive => "it is rebuilt from other files",
            Remedy::SetAside(consequence) => consequence,
            Remedy::Accept(remains) => remains,
        };
        format!("{} {}; {remedy}", self.path.display(), self.problem)
    }

    /// Returns whether kgen can do something about it.
    #[must_use]
    pub const fn can_be_mended(&self) -> bool {
        !matches!(self.remedy, Remedy::Accept(_))
    }
}

/// Looks for damaged and lost files; changes nothing.
///
/// # Errors
///
/// [`Error::Io`], and the errors of [`Run::open`] where neither `run.json` nor its copy can be read.
pub fn check_run(dir: &Path) -> Result<Vec<FileProblem>, Error> {
    let mut found = Vec::new();
    let run = match Run::open(dir) {
        Ok(run) => run,
        Err(error @ (Error::NotARun { .. } | Error::Damaged { .. })) => {
            let Some(info) = copy_of_info(dir)? else { return Err(error) };
            let problem = match &error {
                Error::Damaged { source, .. } => format!("is damaged ({source})"),
                _ => "is missing".to_owned(),
            };
            let remedy = Remedy::Rebuild(json(&info).into_bytes());
            found.push(FileProblem { path: dir.join(RUN_JSON), problem, remedy });
            Run::from_parts(dir.to_owned(), info)
        }
        Err(error) => return Err(error),
    };
    let index = run.index()?;
    let ops = run.ops()?;
    let of_ops: Vec<_> =
        ops.par_iter().map(|op| OpCheck::new(&run, op, &index.0)?.find()).collect();
    for of_op in of_ops {
        found.extend(of_op?);
    }
    let in_index = |record: &AttemptRecord| index.0.iter().any(|line| line == record);
    let records = ops.iter().map(|op| run.attempts(op).unwrap_or_default());
    let lacks = !records.flatten().all(|record| in_index(&record));
    if index.1 > 0 || lacks {
        let problem = "lacks lines of finished attempts".to_owned();
        let path = dir.join(super::layout::INDEX);
        found.push(FileProblem { path, problem, remedy: Remedy::Derive });
    }
    for file in [TopFile::FullResults, TopFile::FailedTests] {
        let path = dir.join(file.name());
        if let Ok(Err(problem)) = read::<Value>(&path) {
            found.push(FileProblem { path, problem, remedy: Remedy::Derive });
        }
    }
    Ok(found)
}

/// Mends the files of a run that can be mended, and rebuilds those that are derived.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Locked`], and the errors of [`check_run`].
pub fn repair_run(dir: &Path) -> Result<RunStore, Error> {
    let found = check_run(dir)?;
    if let Some(of_run) = found.iter().find(|problem| problem.path == dir.join(RUN_JSON)) {
        mend(of_run)?;
    }
    RunStore::open(dir)
}

/// Restores or sets aside the damaged files of a run whose lock is held; returns what was found.
pub(super) fn mend_run(dir: &Path) -> Result<Vec<FileProblem>, Error> {
    let found = check_run(dir)?;
    for problem in &found {
        mend(problem)?;
    }
    Ok(found)
}

fn mend(problem: &FileProblem) -> Result<(), Error> {
    match &problem.remedy {
        Remedy::Rebuild(bytes) => {
            set_aside(&problem.path)?;
            atomic::write(&problem.path, bytes, Durability::Disk)
        }
        Remedy::SetAside(_) => set_aside(&problem.path),
        // It is noted, so that it is not missed again.
        Remedy::Accept(_) if !problem.path.exists() => {
            let noted = aside(&problem.path);
            fs::write(&noted, "").map_err(|source| Error::io("write", &noted, source))
        }
        Remedy::Derive | Remedy::Accept(_) => Ok(()),
    }
}

/// Renames a file so that nothing reads it, under a name that no other one has.
fn set_aside(path: &Path) -> Result<(), Error> {
    if !path.exists() {
        return Ok(());
    }
    fs::rename(path, aside(path)).map_err(|source| Error::io("set aside", path, source))
}

/// Returns whether a file was found to be damaged or lost before.
fn was_noted(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    Path::new(&name).exists()
}

/// Returns the first free name for a damaged file.
fn aside(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(if number == 1 { ".damaged".to_owned() } else { format!(".damaged{number}") });
        PathBuf::from(name)
    };
    (1..).map(named).find(|path| !path.exists()).expect("numbers are without end")
}

/// Reads the copy of `run.json` that the run began with.
fn copy_of_info(dir: &Path) -> Result<Option<RunInfo>, Error> {
    let Some(text) = read_text(&dir.join(RUN_COPY))? else { return Ok(None) };
    let info = serde_json::from_str::<RunInfo>(&text).ok();
    Ok(info.map(|info| RunInfo { status: RunStatus::Stopped, ..info }))
}

/// Returns the contents of a JSON file, or how it is damaged.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Result<Option<T>, String>, Error> {
    match read_json(path) {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Damaged { source, .. }) => Ok(Err(format!("is damaged ({source})"))),
        Err(error) => Err(error),
    }
}

/// The files of an op.
struct OpCheck<'a> {
    run: &'a Run,
    op: &'a OpKey,
    attempts: BTreeMap<u32, BTreeSet<AttemptFile>>,
    metadata: Option<OpMetadata>,
    /// Records of finished attempts, as `metadata.json` and `index.jsonl` have them.
    copies: BTreeMap<u32, AttemptRecord>,
    found: Vec<FileProblem>,
}

impl<'a> OpCheck<'a> {
    fn new(run: &'a Run, op: &'a OpKey, index: &[AttemptRecord]) -> Result<Self, Error> {
        let mut attempts: BTreeMap<u32, BTreeSet<AttemptFile>> = BTreeMap::new();
        for (number, file) in run.attempt_files(op)? {
            attempts.entry(number).or_default().insert(file);
        }
        let of_op = index.iter().filter(|record| is_of(op, record));
        let mut copies: BTreeMap<u32, AttemptRecord> =
            of_op.map(|record| (record.attempt, record.clone())).collect();
        let mut found = Vec::new();
        let path = run.dir().join(&op.0).join(METADATA);
        let metadata = read::<OpMetadata>(&path)?.unwrap_or_else(|problem| {
            found.push(FileProblem { path, problem, remedy: Remedy::Derive });
            None
        });
        let records = metadata.iter().flat_map(|metadata| &metadata.attempts);
        copies.extend(records.map(|record| (record.attempt, record.clone())));
        Ok(Self { run, op, attempts, metadata, copies, found })
    }

    fn find(mut self) -> Result<Vec<FileProblem>, Error> {
        let lost: Vec<u32> = self
            .copies
            .keys()
            .filter(|number| !self.attempts.contains_key(number))
            .copied()
            .collect();
        for number in self.attempts.keys().copied().chain(lost).collect::<Vec<_>>() {
            let id = AttemptId { op: self.op.clone(), number };
            let files = self.attempts.get(&number).cloned().unwrap_or_default();
            self.record(&id, &files)?;
            self.evaluation(&id, &files)?;
            self.source(&id, &files)?;
            for file in [StageFile::Confirm, StageFile::ConfirmSamples, StageFile::Profile] {
                self.other(&id, &files, file)?;
            }
            for file in &files {
                if let AttemptFile::Call(call, file) = *file {
                    self.call(&id, call, file, &files)?;
                }
            }
        }
        self.copy()?;
        self.confirmed();
        Ok(self.found)
    }

    /// Compares `<op>.cu` with the kernel of the best attempt.
    fn copy(&mut self) -> Result<(), Error> {
        let Some(metadata) = &self.metadata else { return Ok(()) };
        let id = AttemptId { op: self.op.clone(), number: metadata.best_attempt };
        let path = self.run.dir().join(&self.op.0).join(format!("{}.cu", self.op));
        if let (Some(kernel), Some(copy)) = (self.run.kernel(&id)?, read_bytes(&path)?)
            && !copy.starts_with(kernel.as_bytes())
        {
            self.note(path, "is not the kernel of the best attempt", Remedy::Derive);
        }
        Ok(())
    }

    /// Looks for the confirmation that the derived data are from.
    fn confirmed(&mut self) {
        let Some(metadata) = &self.metadata else { return };
        let id = AttemptId { op: self.op.clone(), number: metadata.best_attempt };
        let path = self.run.path(&id, StageFile::Confirm);
        if metadata.confirmed && !path.exists() {
            let consequence = "`kgen resume` evaluates the winner with fresh seeds again";
            self.note(path, "is missing", Remedy::SetAside(consequence));
        }
    }

    fn note(&mut self, path: PathBuf, problem: impl Into<String>, remedy: Remedy) {
        self.found.push(FileProblem { path, problem: problem.into(), remedy });
    }

    fn record(&mut self, id: &AttemptId, files: &BTreeSet<AttemptFile>) -> Result<(), Error> {
        let path = self.run.path(id, StageFile::Record);
        let copy = self.copies.get(&id.number).map(|copy| json(copy).into_bytes());
        let problem = match read::<AttemptRecord>(&path)? {
            Ok(Some(_)) => return Ok(()),
            Ok(None)
                if copy.is_none() && !files.contains(&AttemptFile::Stage(StageFile::Confirm)) =>
            {
                // The attempt is not over.
                return Ok(());
            }
            Ok(None) => "is missing".to_owned(),
            Err(problem) => problem,
        };
        let remedy = match copy {
            Some(copy) => Remedy::Rebuild(copy),
            None => Remedy::SetAside("the attempt is finished anew from its stored files"),
        };
        self.note(path, problem, remedy);
        Ok(())
    }

    fn evaluation(&mut self, id: &AttemptId, files: &BTreeSet<AttemptFile>) -> Result<(), Error> {
        let (eval, samples) =
            (self.run.path(id, StageFile::Eval), self.run.path(id, StageFile::Samples));
        let short = read::<StoredEvaluation>(&eval)?;
        let whole = read::<Evaluation>(&samples)?;
        let is_over = files.contains(&AttemptFile::Stage(StageFile::Record))
            || self.copies.contains_key(&id.number);
        match (&short, &whole) {
            (Err(_) | Ok(None), Ok(Some(evaluation))) if short.is_err() || is_over => {
                let problem = short.err().unwrap_or_else(|| "is missing".to_owned());
                let text = summarise(evaluation).1;
                self.note(eval, problem, Remedy::Rebuild(text.into_bytes()));
                return Ok(());
            }
            (Err(problem), _) => {
                self.note(eval, problem.clone(), Remedy::SetAside(consequence(is_over)));
            }
            (Ok(_), _) => {}
        }
        match whole {
            Err(problem) => self.note(samples, problem, Remedy::SetAside(consequence(is_over))),
            Ok(None) if is_over && matches!(short, Ok(Some(_))) && !was_noted(&samples) => {
                let remains = "its verdict and its times in short are in .eval.json".to_owned();
                self.note(samples, "is missing", Remedy::Accept(remains));
            }
            Ok(_) => {}
        }
        Ok(())
    }

    /// Looks at the text of the implementation, which every evaluation has but one of a library.
    fn source(&mut self, id: &AttemptId, files: &BTreeSet<AttemptFile>) -> Result<(), Error> {
        let has = |file| files.contains(&AttemptFile::Stage(file));
        let path = self.run.path(id, StageFile::Kernel);
        let was_judged = self.copies.get(&id.number).is_some_and(|record| {
            record.verdict != Verdict::NoCode && self.run.info().backend != "cublas"
        });
        let copy = self.copy_of_best(id)?;
        let is_part = |bytes: &[u8]| {
            copy.as_ref().is_some_and(|copy| bytes.len() < copy.len() && copy.starts_with(bytes))
        };
        let problem = match read_bytes(&path)? {
            Some(bytes) if bytes.is_empty() => "is empty",
            Some(bytes) if is_part(&bytes) => "is torn",
            Some(bytes) if std::str::from_utf8(&bytes).is_err() => "is no text",
            None if was_judged && has(StageFile::Eval) && !has(StageFile::Module) => {
                if was_noted(&path) {
                    return Ok(());
                }
                "is missing"
            }
            Some(_) | None => return Ok(()),
        };
        let remedy = match copy {
            Some(bytes) => Remedy::Rebuild(bytes),
            None if problem == "is missing" => {
                Remedy::Accept("the kernel is in the reply of the attempt".to_owned())
            }
            None if has(StageFile::Record) => {
                Remedy::SetAside("the kernel is in the reply of the attempt")
            }
            None => Remedy::SetAside("it is taken from the stored reply anew"),
        };
        self.note(path, problem, remedy);
        Ok(())
    }

    /// Returns the kernel of the best attempt, if that is this one.
    fn copy_of_best(&self, id: &AttemptId) -> Result<Option<Vec<u8>>, Error> {
        let path = self.run.dir().join(&self.op.0).join(METADATA);
        let metadata = read::<Value>(&path)?.ok().flatten();
        let is_best = metadata.is_some_and(|of| of["best_attempt"] == id.number);
        let copy = self.run.dir().join(&self.op.0).join(format!("{}.cu", self.op));
        Ok(read_bytes(&copy)?
            .filter(|bytes| is_best && std::str::from_utf8(bytes).is_ok_and(|t| !t.is_empty())))
    }

    fn other(
        &mut self,
        id: &AttemptId,
        files: &BTreeSet<AttemptFile>,
        file: StageFile,
    ) -> Result<(), Error> {
        if !files.contains(&AttemptFile::Stage(file)) {
            return Ok(());
        }
        let path = self.run.path(id, file);
        let (damage, consequence) = match file {
            StageFile::Confirm => (
                read::<Confirmation>(&path)?.err(),
                "`kgen resume` evaluates the winner with fresh seeds again",
            ),
            StageFile::ConfirmSamples => (
                read::<Value>(&path)?.err(),
                "the samples of the confirmation are lost, its verdict is not",
            ),
            _ => (read::<Value>(&path)?.err(), "the profile is lost"),
        };
        if let Some(problem) = damage {
            self.note(path, problem, Remedy::SetAside(consequence));
        }
        Ok(())
    }

    fn call(
        &mut self,
        id: &AttemptId,
        call: u32,
        file: CallFile,
        files: &BTreeSet<AttemptFile>,
    ) -> Result<(), Error> {
        let path = self.run.call_path(id, call, file);
        let has = |file| files.contains(&AttemptFile::Call(call, file));
        let (damage, consequence) = match file {
            CallFile::Request => {
                (read::<RequestRecord>(&path)?.err(), "its prompt is in the .request.md beside it")
            }
            CallFile::Reply if !has(CallFile::ReplyText) => {
                (Some("has no text beside it".to_owned()), "the call is made again")
            }
            CallFile::Reply => (
                read::<ReplyRecord>(&path)?.err(),
                "the text of the reply is kept, its usage is unknown",
            ),
            CallFile::Failure | CallFile::Lost => {
                (read::<Value>(&path)?.err(), "the call counts as lost")
            }
            CallFile::RequestText | CallFile::ReplyText | CallFile::Response => (None, ""),
        };
        if let Some(problem) = damage {
            self.note(path, problem, Remedy::SetAside(consequence));
        } else if file == CallFile::ReplyText {
            let is_over = files.contains(&AttemptFile::Stage(StageFile::Record));
            for (lost, remains) in [
                (CallFile::Request, "the reply to it is kept"),
                (
                    CallFile::Reply,
                    "the text of the reply is kept, and its cost in the attempt's record",
                ),
            ] {
                let path = self.run.call_path(id, call, lost);
                if is_over && !has(lost) && !was_noted(&path) {
                    self.note(path, "is missing", Remedy::Accept(remains.to_owned()));
                }
            }
        }
        Ok(())
    }
}

/// Returns whether a record is of an op, whose folder has its name with other signs for dots.
fn is_of(op: &OpKey, record: &AttemptRecord) -> bool {
    record.op.replace('.', "__") == op.0 || record.op == op.0
}

const fn consequence(is_over: bool) -> &'static str {
    match is_over {
        true => "the verdict of the attempt stands",
        false => "`kgen resume` evaluates the kernel again",
    }
}

/// Writes the copy of `run.json` that a damaged one is restored from.
pub(super) fn write_copy(dir: &Path, info: &RunInfo) -> Result<(), Error> {
    write_json(&dir.join(RUN_COPY), info, Durability::Disk)
}
