//! Mistakes in a suite.

use std::path::PathBuf;

use crate::{
    log::{Call, LogError},
    op::{BuildError, UnknownOpError},
};

use crate::call::{CallError, chain};

/// A suite that cannot be loaded, or lacks an op or a case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a built-in suite nor a file.
    #[error("no suite `{name}` (built in: {}; a suite file is given by its path)", .builtin.join(", "))]
    Unknown {
        /// The name.
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
        /// The mistake with its place.
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
    #[error("suite {file}, line {line}: {source}")]
    Op {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Which.
        source: UnknownOpError,
    },
    /// An op is without cases, has none of the dtypes, or is defined twice in different ways.
    #[error("suite {file}, line {line}: op `{op}` {reason}")]
    Entry {
        /// The file.
        file: String,
        /// The line on which the op begins, from 1.
        line: usize,
        /// The op.
        op: String,
        /// The mistake.
        reason: String,
    },
    /// The suite has no op.
    #[error("suite {file}: {reason}")]
    Ops {
        /// The file.
        file: String,
        /// The mistake.
        reason: String,
    },
    /// A case is wrong.
    #[error("suite {file}, line {line}: op `{op}`, case {number}: {source}")]
    Case {
        /// The file.
        file: String,
        /// The line on which the case begins, from 1.
        line: usize,
        /// The op.
        op: String,
        /// Which of its cases, from 1.
        number: usize,
        /// The mistake.
        source: Box<CaseError>,
    },
    /// No line of a file is a call.
    #[error(
        "suite {file} is no log: {source}; a log has lines `Operator: aten.add.Tensor` and, below each, calls such as `cnt: 3, ((T([2, 5], f16), T([5], f16)), {{}})`"
    )]
    NoLog {
        /// The file.
        file: String,
        /// The mistake of its first line.
        source: LogError,
    },
    /// A line of a log cannot be read.
    #[error("suite {file}, {source}{}", .source.op.as_ref().map_or(String::new(), |op| format!(" (op `{op}`)")))]
    Log {
        /// The file.
        file: String,
        /// The mistake with its place.
        source: LogError,
    },
    /// A call of a log makes no case.
    #[error("suite {file}, line {line}: op `{op}`: {source}")]
    Call {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The op as the log names it.
        op: String,
        /// Why.
        source: Box<CallError>,
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

impl Error {
    /// Says that a call of a log makes no case.
    pub(super) fn of_call(file: &str, call: &Call, source: CallError) -> Self {
        Self::Call {
            file: file.to_owned(),
            line: call.line,
            op: call.name(),
            source: Box::new(source),
        }
    }
}

/// A mistake in a case of a suite file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CaseError {
    /// A key's value cannot be read.
    #[error("key `{key}`: {reason}")]
    Key {
        /// The key.
        key: String,
        /// The mistake in its value.
        reason: String,
    },
    /// The keys make no call of the op.
    #[error("{}", chain(.0))]
    Build(#[from] BuildError),
}
