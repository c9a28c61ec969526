//! The file of a history: a database with a rollback journal, so that it is one file while nothing writes.

mod read;
mod schema;
mod write;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, ffi};

use crate::error::{At, Error};

pub use write::{Added, check_tag};

/// How long another process may keep the file locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A history, from [`History::open`] until it is dropped.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    connection: Connection,
}

impl History {
    /// Opens a history.
    ///
    /// # Errors
    ///
    /// Where there is none at `path`, or none that this crate can read; see [`Error`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_within(path, PATIENCE)
    }

    /// Opens a history, or makes an empty one with its folder.
    ///
    /// # Errors
    ///
    /// As of [`History::open`], and where none can be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        match fs::metadata(path) {
            // Empty: as an editor, or a process that was killed at once, leaves it.
            Ok(metadata) if 0 < metadata.len() => Self::open(path),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(path, error)),
            Ok(_) | Err(_) => Self::make(path),
        }
    }

    pub(crate) fn open_within(path: &Path, patience: Duration) -> Result<Self, Error> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::Missing { path: path.to_owned() });
            }
            Err(error) => return Err(file_error(path, error)),
            Ok(metadata) if !metadata.is_file() || metadata.len() == 0 => {
                return Err(Error::NotAHistory { path: path.to_owned() });
            }
            Ok(_) => {}
        }
        check(path, patience)?;
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, patience).at(path)?;
        connection.execute_batch(schema::SESSION).at(path)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    fn make(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| file_error(path, error))?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(path, flags, PATIENCE).at(path)?;
        // Another process may make it at the same time: whoever comes second finds the tables.
        connection.execute_batch(schema::MAKE).at(path)?;
        drop(connection);
        Self::open(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn begin(&mut self) -> Result<Transaction<'_>, Error> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        begun.at(&self.path)
    }
}

fn file_error(path: &Path, source: io::Error) -> Error {
    Error::File { path: path.to_owned(), source }
}

fn connect(path: &Path, flags: OpenFlags, patience: Duration) -> rusqlite::Result<Connection> {
    // Without SQLITE_OPEN_URI: a file's name is no address.
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(patience)?;
    Ok(connection)
}

/// Reads whose file it is, on a connection that cannot write: even closing one that can may change the
/// database of another program.
fn check(path: &Path, patience: Duration) -> Result<(), Error> {
    let identity = |flags| {
        let connection = connect(path, flags, patience)?;
        let pragma = |name| connection.query_row(name, [], |row| row.get::<_, i64>(0));
        Ok((pragma("PRAGMA application_id")?, pragma("PRAGMA user_version")?))
    };
    let (application, format) = match identity(OpenFlags::SQLITE_OPEN_READ_ONLY) {
        // A process died while it wrote: a connection that can write puts the file back as it was.
        Err(rusqlite::Error::SqliteFailure(error, _))
            if error.extended_code == ffi::SQLITE_READONLY_ROLLBACK =>
        {
            identity(OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        identity => identity,
    }
    .at(path)?;
    if application != schema::APPLICATION {
        return Err(Error::NotAHistory { path: path.to_owned() });
    }
    if schema::FORMAT < format {
        return Err(Error::Newer { path: path.to_owned(), theirs: format, ours: schema::FORMAT });
    }
    Ok(())
}
