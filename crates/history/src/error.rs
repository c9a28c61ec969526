//! Failures of the file of a history.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

/// Why a history cannot be used. None of these changes the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file.
    #[error("no history at {path}")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It, or its folder, cannot be made or read.
    #[error("the history {path} cannot be used")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// It is no database, or that of another program.
    #[error("{path} is no history of kgen")]
    NotAHistory {
        /// The file.
        path: PathBuf,
    },
    /// A newer kgen wrote it.
    #[error("the history {path} has format {theirs}, this kgen reads up to format {ours}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of its tables.
        theirs: i64,
        /// The newest version that this crate reads.
        ours: i64,
    },
    /// Another process kept it locked.
    #[error("the history {path} is in use by another process")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Its content is damaged.
    #[error("the history {path} is damaged")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The place that was found to be.
        #[source]
        source: rusqlite::Error,
    },
    /// The database failed, for example on a full disk or without the right to write.
    #[error("the history {path} cannot be read or written")]
    Database {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: rusqlite::Error,
    },
    /// A new entry has a time that is none.
    #[error("`{created}`, the time of {source_id}, is no time of RFC 3339")]
    Time {
        /// The bench or run.
        source_id: String,
        /// Its time.
        created: String,
        /// The reason.
        #[source]
        source: jiff::Error,
    },
    /// A tag that could be taken for another name of an entry.
    #[error(
        "`{tag}` cannot be a tag: it must not be empty, a number, `latest` or `last`, and holds no white space"
    )]
    BadTag {
        /// The tag.
        tag: String,
    },
    /// Another entry has the tag.
    #[error("entry {number} ({source_id}) has the tag `{tag}`")]
    TagTaken {
        /// The tag.
        tag: String,
        /// The entry that has it.
        number: i64,
        /// Its bench or run.
        source_id: String,
    },
    /// No entry has the name.
    #[error("no entry `{selector}` in the history{}", or_nearest(nearest))]
    NoEntry {
        /// The name.
        selector: String,
        /// Similar names, best first.
        nearest: Vec<String>,
    },
    /// No older entry of the same GPU has a case in common.
    #[error("no older entry of the same GPU has cases in common with entry {number} ({source_id})")]
    NoneBefore {
        /// The entry.
        number: i64,
        /// Its bench or run.
        source_id: String,
    },
}

fn or_nearest(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    format!(", did you mean {}?", names.join(" or "))
}

/// Names the file of a failed statement.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for rusqlite::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| classify(path.to_owned(), source))
    }
}

fn classify(path: PathBuf, source: rusqlite::Error) -> Error {
    use rusqlite::Error as Sql;
    match (&source, source.sqlite_error_code()) {
        (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => Error::Locked { path },
        (_, Some(ErrorCode::NotADatabase)) => Error::NotAHistory { path },
        // The last is a table or column that should be there.
        (_, Some(ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch | ErrorCode::Unknown))
        | (
            Sql::FromSqlConversionFailure(..)
            | Sql::IntegralValueOutOfRange(..)
            | Sql::InvalidColumnType(..)
            | Sql::Utf8Error(..)
            | Sql::SqlInputError { .. },
            _,
        ) => Error::Corrupt { path, source },
        _ => Error::Database { path, source },
    }
}
