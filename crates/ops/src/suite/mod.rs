//! Suites: named sets of ops with their cases, built in or from a file.
//!
//! The format is documented at the head of `suites/smoke.toml`. A suite is checked as a whole when
//! it is loaded: every case of every dtype is built once, so that a mistake is an error that names
//! file, op, case and key, never a surprise in the middle of a run.

mod draw;
mod file;
pub mod models;
mod shape;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::{
    op::{self, BuildError, OpDef, UnknownOp, build_case},
    record::{Case, DType},
};

use file::Template;

/// The suites that are part of the binary, with their texts.
const BUILTIN: [(&str, &str); 1] = [("smoke", include_str!("../../../../suites/smoke.toml"))];

/// Seed that the drawn cases are tried with when a suite is loaded.
const TRIAL_SEED: u64 = 0;

/// A named set of ops with their cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// What it is for, in a sentence; empty where the file does not say.
    pub description: String,
    /// Where it came from: a path, or the name of a built-in suite.
    pub origin: String,
    /// The names of its ops, in the order of the file.
    ops: Vec<String>,
    entries: Vec<Entry>,
}

/// One op of a suite.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    op: &'static OpDef,
    dtypes: Vec<DType>,
    templates: Vec<Template>,
}

/// A suite that cannot be loaded, or does not hold what is asked of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a built-in suite nor a file.
    #[error("no suite `{name}` (built in: {}; a suite file is given by its path)", .builtin.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Names of the built-in suites.
        builtin: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("failed to read suite file {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no TOML, or a key is unknown, missing or of the wrong type.
    #[error("suite {file}: {source}")]
    Toml {
        /// The file.
        file: String,
        /// What and where.
        source: Box<toml::de::Error>,
    },
    /// The file was written for another version of the format.
    #[error("suite {file}: format {format} is not supported (this kgen reads format 1)")]
    Format {
        /// The file.
        file: String,
        /// Its format.
        format: u32,
    },
    /// The suite names an op that kgen does not know.
    #[error("suite {file}: {source}")]
    Op {
        /// The file.
        file: String,
        /// Which.
        source: UnknownOp,
    },
    /// The suite has an op twice, or none.
    #[error("suite {file}: {reason}")]
    Ops {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A case is wrong.
    #[error("suite {file}: op `{op}`, case {number}: {source}")]
    Case {
        /// The file.
        file: String,
        /// The op.
        op: String,
        /// Which of its cases, from 1.
        number: usize,
        /// What is wrong.
        source: Box<CaseError>,
    },
    /// The suite has no such op.
    #[error("suite `{suite}` has no op `{op}` (it has: {})", .known.join(", "))]
    NotInSuite {
        /// The suite.
        suite: String,
        /// The op.
        op: String,
        /// The ops it has.
        known: Vec<String>,
    },
}

/// What is wrong with a case of a suite file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CaseError {
    /// A key's value cannot be read.
    #[error("key `{key}`: {reason}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong with its value.
        reason: String,
    },
    /// The keys make no call of the op.
    #[error("{}", chain(.0))]
    Build(#[from] BuildError),
}

/// Spells an error with its cause, for a message on one line.
fn chain(error: &BuildError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Returns the names of the built-in suites.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

/// Loads a built-in suite by name or a suite file by path.
///
/// # Errors
///
/// [`Error`], which names the file and, where it can, op, case and key.
pub fn load(name_or_path: &str) -> Result<Suite, Error> {
    if let Some((name, text)) = BUILTIN.iter().find(|(name, _)| *name == name_or_path) {
        return parse(name, text);
    }
    let path = Path::new(name_or_path);
    let is_path = path.extension().is_some() || path.components().count() > 1 || path.exists();
    if !is_path {
        return Err(Error::Unknown { name: name_or_path.to_owned(), builtin: builtin_names() });
    }
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    parse(name_or_path, &text)
}

/// Parses the text of a suite file and checks all of its cases.
fn parse(origin: &str, text: &str) -> Result<Suite, Error> {
    let suite = file::parse(origin, text)?;
    for op in &suite.ops {
        suite.cases(op, None, TRIAL_SEED)?;
    }
    Ok(suite)
}

impl Suite {
    /// Returns the names of its ops, in the order of the file.
    #[must_use]
    pub fn ops(&self) -> &[String] {
        &self.ops
    }

    /// Returns the dtypes that an op is judged in.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`].
    pub fn dtypes(&self, op: &str) -> Result<&[DType], Error> {
        Ok(&self.entry(op)?.dtypes)
    }

    /// Returns the cases of an op: the fixed ones, and those that are drawn from the secret seed.
    ///
    /// `dtypes` keeps only cases of these types; `None` keeps all that the suite has.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`]; [`Error::Case`] where a range holds shapes that the op does not take.
    pub fn cases(
        &self,
        op: &str,
        dtypes: Option<&[DType]>,
        secret_seed: u64,
    ) -> Result<Vec<Case>, Error> {
        self.build(op, dtypes, Some(secret_seed))
    }

    /// Returns the cases of an op that are no secret: all but the drawn ones.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`].
    pub fn public_cases(&self, op: &str) -> Result<Vec<Case>, Error> {
        self.build(op, None, None)
    }

    fn entry(&self, op: &str) -> Result<&Entry, Error> {
        let name = op::find(op).map_or(op, |op| op.name.as_str());
        let entry = self.entries.iter().find(|entry| entry.op.name == name);
        entry.ok_or_else(|| Error::NotInSuite {
            suite: self.name.clone(),
            op: op.to_owned(),
            known: self.ops.clone(),
        })
    }

    fn build(
        &self,
        op: &str,
        dtypes: Option<&[DType]>,
        seed: Option<u64>,
    ) -> Result<Vec<Case>, Error> {
        let entry = self.entry(op)?;
        let wanted = |dtype: &&DType| dtypes.is_none_or(|only| only.contains(dtype));
        let mut cases: Vec<Case> = Vec::new();
        for &dtype in entry.dtypes.iter().filter(wanted) {
            for (index, template) in entry.templates.iter().enumerate() {
                for draft in template.drafts(entry.op, index, dtype, seed) {
                    let case = build_case(entry.op, &draft).map_err(|error| Error::Case {
                        file: self.origin.clone(),
                        op: entry.op.name.clone(),
                        number: index + 1,
                        source: Box::new(error.into()),
                    })?;
                    push_unique(&mut cases, case);
                }
            }
        }
        Ok(cases)
    }
}

/// Adds a case; an id that is taken gets a number.
fn push_unique(cases: &mut Vec<Case>, mut case: Case) {
    let plain = case.id.clone();
    let mut number = 2;
    while cases.iter().any(|other| other.id == case.id) {
        case.id = format!("{plain}#{number}");
        number += 1;
    }
    cases.push(case);
}
