//! Jobs on disk: one thread owns the database, and calls that come together share a transaction.

pub(crate) mod jobs;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use rusqlite::{Connection, ErrorCode, Transaction};
use tokio::sync::oneshot;

pub(crate) use jobs::{Claimed, Outcome, Submission, Submitted};

/// Calls that share a transaction at most.
const MAX_TOGETHER: usize = 256;

/// Name of the database in the state folder.
const FILE: &str = "jobs.sqlite";

/// Why jobs cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be made or written to.
    #[error("the state folder {path} cannot be used")]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another server uses it.
    #[error("the state folder {path} is in use by another server")]
    InUse { path: PathBuf },
    /// It was written by another version.
    #[error("the state folder {path} has format {theirs}, this kgen writes {ours}")]
    Format { path: PathBuf, theirs: i64, ours: i64 },
    /// The database failed, for example on a full disk.
    #[error("jobs cannot be stored: {0}")]
    Database(String),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.to_string())
    }
}

/// Sends the reply of a call once its transaction is committed.
type Acknowledge = Box<dyn FnOnce(Result<(), String>) + Send>;

/// A call: works within the transaction.
type Call = Box<dyn FnOnce(&Transaction<'_>) -> Acknowledge + Send>;

/// Jobs, from [`Store::open`] until it is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    calls: mpsc::Sender<Call>,
}

impl Store {
    /// Opens or makes the state folder. Jobs that ran when the last server died wait again.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Folder { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut connection = connect(folder)?;
        let (calls, waiting) = mpsc::channel::<Call>();
        thread::Builder::new()
            .name("jobs".to_owned())
            .spawn(move || {
                while let Ok(first) = waiting.recv() {
                    let more = waiting.try_iter().take(MAX_TOGETHER - 1);
                    transact(&mut connection, std::iter::once(first).chain(more).collect());
                }
            })
            .map_err(failed)?;
        Ok(Self { calls })
    }

    /// Runs a call; its result is durable when it comes.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let call: Call = Box::new(move |transaction| {
            let result = in_savepoint(transaction, work);
            Box::new(move |committed| {
                let result = match (result, committed) {
                    (Err(error), _) => Err(error.into()),
                    (Ok(_), Err(error)) => Err(Error::Database(error)),
                    (Ok(value), Ok(())) => Ok(value),
                };
                // The caller may be gone.
                drop(reply.send(result));
            })
        });
        let gone = || Error::Database("the thread of the database ended".to_owned());
        self.calls.send(call).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// Runs a call so that one that fails leaves nothing to the others of its transaction.
fn in_savepoint<T>(
    transaction: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    transaction.execute_batch("SAVEPOINT call")?;
    let result = work(transaction);
    if result.is_err() {
        transaction.execute_batch("ROLLBACK TO call")?;
    }
    transaction.execute_batch("RELEASE call")?;
    result
}

fn connect(folder: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(folder.join(FILE))?;
    let busy = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::InUse { path: folder.to_owned() }
        }
        _ => error.into(),
    };
    connection.busy_timeout(std::time::Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    // The first of these takes the lock.
    connection.pragma_update(None, "journal_mode", "WAL").map_err(busy)?;
    connection.execute_batch("BEGIN IMMEDIATE; COMMIT").map_err(busy)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let format = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if format != 0 && format != jobs::FORMAT {
        return Err(Error::Format { path: folder.to_owned(), theirs: format, ours: jobs::FORMAT });
    }
    jobs::prepare(&connection)?;
    Ok(connection)
}

/// Runs calls within one transaction and answers them.
fn transact(connection: &mut Connection, calls: Vec<Call>) {
    let (acknowledges, committed) = match connection.transaction() {
        Ok(transaction) => {
            let acknowledges: Vec<_> = calls.into_iter().map(|call| call(&transaction)).collect();
            (acknowledges, transaction.commit().map_err(|error| error.to_string()))
        }
        Err(error) => {
            tracing::warn!("the database of jobs: {error}");
            // The calls are dropped, which their callers notice.
            return;
        }
    };
    for acknowledge in acknowledges {
        acknowledge(committed.clone());
    }
}
