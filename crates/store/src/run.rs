//! Reading a run. Needs no lock: every file is there whole or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kgen_record::{AttemptId, CaseTiming, Evaluation, OpKey};
use serde::de::DeserializeOwned;

use super::{
    AttemptRecord, CallFile, Confirmation, Error, Format, OpMetadata, RunInfo, StageFile,
    StoredEvaluation,
    layout::{self, INDEX, METADATA, RUN_JSON},
};

/// A run directory, to be read.
#[derive(Debug, Clone)]
pub struct Run {
    dir: PathBuf,
    info: RunInfo,
}

impl Run {
    /// Reads the run in a folder.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`], [`Error::NewerFormat`], [`Error::Damaged`] for its `run.json`, or
    /// [`Error::Io`].
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(RUN_JSON);
        let Some(text) = read_text(&path)? else {
            return Err(Error::NotARun { path: dir.to_owned() });
        };
        let damaged = |source| Error::Damaged { path: path.clone(), source };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        // The version is looked at first: a newer file may well lack fields that are expected below.
        let format: Format = serde_json::from_value(value["format"].clone()).map_err(damaged)?;
        if Format::CURRENT.major < format.major {
            return Err(Error::NewerFormat {
                path,
                found_major: format.major,
                found_minor: format.minor,
                known_major: Format::CURRENT.major,
            });
        }
        let info = serde_json::from_value(value).map_err(damaged)?;
        Ok(Self { dir: dir.to_owned(), info })
    }

    pub(super) fn from_parts(dir: PathBuf, info: RunInfo) -> Self {
        Self { dir, info }
    }

    /// Returns the run's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the contents of `run.json` when the run was opened.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.info
    }

    /// Returns the ops that have a folder, sorted by name.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn ops(&self) -> Result<Vec<OpKey>, Error> {
        let mut ops = Vec::new();
        for entry in entries(&self.dir)? {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if let (true, Ok(name)) = (is_folder, entry.file_name().into_string()) {
                ops.push(OpKey(name));
            }
        }
        ops.sort();
        Ok(ops)
    }

    /// Returns the finished attempts at an op, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn attempts(&self, op: &OpKey) -> Result<Vec<AttemptRecord>, Error> {
        let mut records = Vec::new();
        for (number, file) in self.attempt_files(op)? {
            if file == layout::AttemptFile::Stage(StageFile::Record) {
                records.extend(self.record(&AttemptId { op: op.clone(), number })?);
            }
        }
        records.sort_by_key(|record: &AttemptRecord| record.attempt);
        Ok(records)
    }

    /// Lists an op's files by their names, in no order.
    pub(super) fn attempt_files(
        &self,
        op: &OpKey,
    ) -> Result<Vec<(u32, layout::AttemptFile)>, Error> {
        let parse = |entry: fs::DirEntry| layout::parse(op, entry.file_name().to_str()?);
        Ok(entries(&self.dir.join(&op.0))?.into_iter().filter_map(parse).collect())
    }

    /// Lists the finished stages of an op's attempts, in no order: a look at names, no file is read.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn stages(&self, op: &OpKey) -> Result<Vec<(u32, StageFile)>, Error> {
        let files = self.attempt_files(op)?.into_iter();
        let stage = |(number, file)| match file {
            layout::AttemptFile::Stage(stage) => Some((number, stage)),
            layout::AttemptFile::Call(..) => None,
        };
        Ok(files.filter_map(stage).collect())
    }

    /// Returns an op's derived state; `None` before its first attempt is over.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn metadata(&self, op: &OpKey) -> Result<Option<OpMetadata>, Error> {
        read_json(&self.dir.join(&op.0).join(METADATA))
    }

    /// Returns the path of an attempt's file, whether it exists or not.
    #[must_use]
    pub fn path(&self, attempt: &AttemptId, file: StageFile) -> PathBuf {
        layout::stage_path(&self.dir, attempt, file)
    }

    /// Returns the path of a call's file, whether it exists or not.
    #[must_use]
    pub fn call_path(&self, attempt: &AttemptId, call: u32, file: CallFile) -> PathBuf {
        layout::call_path(&self.dir, attempt, call, file)
    }

    /// Returns the record of an attempt; `None` while it is not over.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn record(&self, attempt: &AttemptId) -> Result<Option<AttemptRecord>, Error> {
        read_json(&self.path(attempt, StageFile::Record))
    }

    /// Returns the whole evaluation of an attempt; `None` while there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn evaluation(&self, attempt: &AttemptId) -> Result<Option<Evaluation>, Error> {
        // `.eval.json` is written after `.samples.json` and says that the stage is done.
        if !self.path(attempt, StageFile::Eval).exists() {
            return Ok(None);
        }
        read_json(&self.path(attempt, StageFile::Samples))
    }

    /// Returns the evaluation of an attempt in short.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn short_evaluation(&self, attempt: &AttemptId) -> Result<Option<StoredEvaluation>, Error> {
        read_json(&self.path(attempt, StageFile::Eval))
    }

    /// Returns how the attempt fared when it was judged again.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn confirmation(&self, attempt: &AttemptId) -> Result<Option<Confirmation>, Error> {
        let Some(mut confirmation) = self.short_confirmation(attempt)? else { return Ok(None) };
        let samples = self.path(attempt, StageFile::ConfirmSamples);
        let timings: Vec<Vec<CaseTiming>> = read_json(&samples)?.unwrap_or_default();
        for (seed, timings) in confirmation.seeds.iter_mut().zip(timings) {
            seed.timings = timings;
        }
        Ok(Some(confirmation))
    }

    /// Returns the same without the samples, and so without the times of the cases.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn short_confirmation(&self, attempt: &AttemptId) -> Result<Option<Confirmation>, Error> {
        read_json(&self.path(attempt, StageFile::Confirm))
    }

    /// Returns which file holds the text of the implementation of an attempt; `None` where none does.
    #[must_use]
    pub fn source_file(&self, attempt: &AttemptId) -> Option<StageFile> {
        let files = [StageFile::Kernel, StageFile::Module];
        files.into_iter().find(|file| self.path(attempt, *file).exists())
    }

    /// Returns the text of the implementation of an attempt, and which file holds it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn source(&self, attempt: &AttemptId) -> Result<Option<(StageFile, String)>, Error> {
        let Some(file) = self.source_file(attempt) else { return Ok(None) };
        Ok(read_text(&self.path(attempt, file))?.map(|text| (file, text)))
    }

    /// Returns the kernel file of an attempt.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn kernel(&self, attempt: &AttemptId) -> Result<Option<String>, Error> {
        read_text(&self.path(attempt, StageFile::Kernel))
    }

    /// Returns the part of the next prompt about an attempt.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn feedback(&self, attempt: &AttemptId) -> Result<Option<String>, Error> {
        read_text(&self.path(attempt, StageFile::Feedback))
    }

    /// Returns the lines of `index.jsonl` and how many were unreadable; a torn last line counts
    /// as one of those.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn index(&self) -> Result<(Vec<AttemptRecord>, usize), Error> {
        let text = self.index_text()?;
        let (whole, torn) = text.rsplit_once('\n').unwrap_or(("", &text));
        let lines: Vec<_> = whole.lines().map(serde_json::from_str).collect();
        let n_lines = lines.len() + usize::from(!torn.is_empty());
        let records: Vec<_> = lines.into_iter().filter_map(Result::ok).collect();
        let n_unreadable = n_lines - records.len();
        Ok((records, n_unreadable))
    }

    /// Returns `index.jsonl` as it is; empty where there is none.
    pub(super) fn index_text(&self) -> Result<String, Error> {
        Ok(read_text(&self.dir.join(INDEX))?.unwrap_or_default())
    }
}

pub(super) fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>, Error> {
    let failed = |source| Error::io("read", folder, source);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    entries.collect::<Result<_, _>>().map_err(failed)
}

/// Reads a file; `None` where there is none. Bytes that are not UTF-8 are replaced: replies come
/// from outside.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let text = |bytes| {
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    };
    Ok(read_bytes(path)?.map(text))
}

/// Reads a file as it is; `None` where there is none.
pub(super) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::io("read", path, source)),
    }
}

/// Reads a JSON file; `None` where there is none.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|source| Error::Damaged { path: path.to_owned(), source })
}
