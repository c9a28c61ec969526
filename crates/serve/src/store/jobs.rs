//! The table of jobs, in SQL.

use std::io::{Read, Write};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::{
    JobLevel, Spec,
    job::{JobState, JobView, Millis},
};

/// Version of the tables.
pub(super) const FORMAT: i64 = 1;

/// Times that the server may die while a job runs.
const MAX_DEATHS: u32 = 5;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    -- Order in the queue.
    position INTEGER NOT NULL UNIQUE,
    spec TEXT NOT NULL,
    op TEXT NOT NULL,
    level TEXT NOT NULL,
    state TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    started INTEGER,
    finished INTEGER,
    deadline INTEGER,
    retryable INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    evaluation BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS queue ON jobs (state, position);
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, id TEXT NOT NULL) STRICT;
";

const VIEW: &str = "id, state, op, level, created, started, finished, tries, result, retryable";

pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    // Behind the others, so that a job that kills the server does not keep it from them.
    let of_dead = "SELECT id FROM jobs WHERE state = 'running' ORDER BY position";
    let ids: Vec<String> =
        connection.prepare(of_dead)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in ids {
        connection.execute(
            "UPDATE jobs SET state = 'queued', deaths = deaths + 1, position = ?2 WHERE id = ?1",
            params![id, next_position(connection)?],
        )?;
    }
    Ok(())
}

fn next_position(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT coalesce(max(position), 0) + 1 FROM jobs", [], |row| row.get(0))
}

/// A job to be made, unless there is one.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) id: String,
    pub(crate) spec: Spec,
    pub(crate) deadline: Option<Millis>,
    pub(crate) idempotency_key: Option<String>,
}

/// The answer to submissions.
#[derive(Debug)]
pub(crate) enum Submitted {
    /// In their order; those whose key belongs to another request have none.
    Jobs { jobs: Vec<Option<JobView>>, n_new: usize },
    /// Nothing was accepted.
    QueueFull,
}

/// Makes jobs, or none of them where the queue lacks room.
pub(crate) fn submit(
    transaction: &Transaction<'_>,
    submissions: &[Submission],
    max_queue: usize,
    now: Millis,
) -> rusqlite::Result<Submitted> {
    let waiting = n_in(transaction, JobState::Queued)?;
    let mut is_new = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for submission in submissions {
        let new =
            !ids.contains(&submission.id.as_str()) && !conflicts(transaction, submission)? && {
                let known = view(transaction, &submission.id)?;
                known.is_none_or(|job| job.state == JobState::Failed && job.retryable)
            };
        ids.push(&submission.id);
        is_new.push(new);
    }
    let n_new = is_new.iter().filter(|new| **new).count();
    if n_new > 0 && waiting + n_new > max_queue {
        return Ok(Submitted::QueueFull);
    }
    let mut jobs = Vec::with_capacity(submissions.len());
    for (submission, new) in submissions.iter().zip(is_new) {
        jobs.push(submit_one(transaction, submission, new, now)?);
    }
    Ok(Submitted::Jobs { jobs, n_new })
}

/// Whether a submission's key belongs to another request.
fn conflicts(transaction: &Transaction<'_>, submission: &Submission) -> rusqlite::Result<bool> {
    let Some(key) = &submission.idempotency_key else { return Ok(false) };
    let owner: Option<String> = transaction
        .query_row("SELECT id FROM keys WHERE key = ?1", [key], |row| row.get(0))
        .optional()?;
    Ok(owner.is_some_and(|owner| owner != submission.id))
}

fn submit_one(
    transaction: &Transaction<'_>,
    submission: &Submission,
    new: bool,
    now: Millis,
) -> rusqlite::Result<Option<JobView>> {
    let Submission { id, spec, deadline, idempotency_key } = submission;
    // Another submission of the same batch may have taken it.
    if conflicts(transaction, submission)? {
        return Ok(None);
    }
    if let Some(key) = idempotency_key {
        transaction.execute("INSERT OR IGNORE INTO keys VALUES (?1, ?2)", params![key, id])?;
    }
    let deadline = deadline.map(|at| at.0);
    if new {
        let text = serde_json::to_string(spec).expect("kgen's own data turns into JSON");
        let position = next_position(transaction)?;
        transaction.execute(
            "INSERT OR REPLACE INTO jobs (id, position, spec, op, level, state, created, deadline)
             VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7)",
            params![id, position, text, spec.op, spec.level.name(), now.0, deadline],
        )?;
    } else {
        // Who waits longest decides.
        transaction.execute(
            "UPDATE jobs SET deadline = CASE WHEN ?2 IS NULL THEN NULL ELSE max(deadline, ?2) END
             WHERE id = ?1 AND state = 'queued'",
            params![id, deadline],
        )?;
    }
    view(transaction, id)
}

/// A job that was taken out of the queue.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) id: String,
    pub(crate) spec: Spec,
    pub(crate) tries: u32,
    pub(crate) deaths: u32,
    pub(crate) created: Millis,
    pub(crate) started: Millis,
    pub(crate) deadline: Option<Millis>,
}

impl Claimed {
    pub(crate) const fn killed_too_often(&self) -> bool {
        MAX_DEATHS <= self.deaths
    }
}

/// Takes the first job out of the queue.
pub(crate) fn claim(
    transaction: &Transaction<'_>,
    now: Millis,
) -> rusqlite::Result<Option<Claimed>> {
    take(transaction, "state = 'queued'", now)
}

/// Takes a job out of the queue whose deadline is over.
pub(crate) fn claim_expired(
    transaction: &Transaction<'_>,
    now: Millis,
) -> rusqlite::Result<Option<Claimed>> {
    take(transaction, &format!("state = 'queued' AND deadline <= {}", now.0), now)
}

fn take(
    transaction: &Transaction<'_>,
    condition: &str,
    now: Millis,
) -> rusqlite::Result<Option<Claimed>> {
    let sql = format!(
        "SELECT id, spec, tries, deaths, created, deadline FROM jobs
         WHERE {condition} ORDER BY position LIMIT 1"
    );
    let first = transaction.query_row(&sql, [], |row| read_claimed(row, now)).optional()?;
    if let Some(job) = &first {
        transaction.execute(
            "UPDATE jobs SET state = 'running', tries = ?2, started = ?3 WHERE id = ?1",
            params![job.id, job.tries, now.0],
        )?;
    }
    Ok(first)
}

fn read_claimed(row: &Row<'_>, now: Millis) -> rusqlite::Result<Claimed> {
    let spec: String = row.get(1)?;
    Ok(Claimed {
        id: row.get(0)?,
        spec: serde_json::from_str(&spec).map_err(|error| damaged(1, error))?,
        tries: row.get::<_, u32>(2)? + 1,
        deaths: row.get(3)?,
        created: Millis(row.get(4)?),
        started: now,
        deadline: row.get::<_, Option<i64>>(5)?.map(Millis),
    })
}

/// Returns the error of a column that holds something else.
fn damaged(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}

/// The end of a try.
#[derive(Debug)]
pub(crate) enum Outcome {
    Ended {
        state: JobState,
        result: serde_json::Value,
        retryable: bool,
        /// The evaluation as JSON.
        evaluation: Option<String>,
    },
    /// It waits again.
    Requeued,
}

/// Stores the end of a try.
pub(crate) fn end(
    transaction: &Transaction<'_>,
    id: &str,
    outcome: &Outcome,
    now: Millis,
) -> rusqlite::Result<()> {
    match outcome {
        Outcome::Requeued => {
            transaction.execute(
                "UPDATE jobs SET state = 'queued', started = NULL WHERE id = ?1",
                params![id],
            )?;
        }
        Outcome::Ended { state, result, retryable, evaluation } => {
            transaction.execute(
                "UPDATE jobs SET state = ?2, result = ?3, retryable = ?4, evaluation = ?5,
                 finished = ?6 WHERE id = ?1",
                params![
                    id,
                    state.name(),
                    result.to_string(),
                    retryable,
                    evaluation.as_deref().map(compressed),
                    now.0
                ],
            )?;
        }
    }
    Ok(())
}

/// Deletes the oldest jobs that are over, beyond `keep` of them.
pub(crate) fn prune(transaction: &Transaction<'_>, keep: usize) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state IN ('done', 'failed')
         ORDER BY finished DESC LIMIT -1 OFFSET ?1)",
        [keep],
    )?;
    transaction.execute("DELETE FROM keys WHERE id NOT IN (SELECT id FROM jobs)", [])?;
    Ok(())
}

/// Counts the jobs in a state.
pub(crate) fn n_in(transaction: &Transaction<'_>, state: JobState) -> rusqlite::Result<usize> {
    let sql = "SELECT count(*) FROM jobs WHERE state = ?1";
    transaction.query_row(sql, [state.name()], |row| row.get(0))
}

/// Returns a job.
pub(crate) fn view(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<JobView>> {
    let sql = format!("SELECT {VIEW} FROM jobs WHERE id = ?1");
    transaction.query_row(&sql, [id], read_view).optional()
}

fn read_view(row: &Row<'_>) -> rusqlite::Result<JobView> {
    let state: String = row.get(1)?;
    let level: String = row.get(3)?;
    let result: Option<String> = row.get(8)?;
    let result = result.map(|text| serde_json::from_str(&text)).transpose();
    Ok(JobView {
        id: row.get(0)?,
        state: JobState::of_name(&state).ok_or_else(|| damaged(1, "no state of a job"))?,
        op: row.get(2)?,
        level: JobLevel::of_name(&level).ok_or_else(|| damaged(3, "no level of a job"))?,
        created_at: Millis(row.get(4)?),
        started_at: row.get::<_, Option<i64>>(5)?.map(Millis),
        finished_at: row.get::<_, Option<i64>>(6)?.map(Millis),
        tries: row.get(7)?,
        result: result.map_err(|error| damaged(8, error))?,
        retryable: row.get(9)?,
    })
}

/// Returns the evaluation of a job as JSON: outside, whether there is such a job.
pub(crate) fn evaluation(
    transaction: &Transaction<'_>,
    id: &str,
) -> rusqlite::Result<Option<Option<String>>> {
    let sql = "SELECT evaluation FROM jobs WHERE id = ?1";
    let stored: Option<Option<Vec<u8>>> =
        transaction.query_row(sql, [id], |row| row.get(0)).optional()?;
    let text = |bytes: Vec<u8>| {
        let mut text = String::new();
        let read = GzDecoder::new(bytes.as_slice()).read_to_string(&mut text);
        read.map(|_| text).map_err(|error| damaged(0, error))
    };
    stored.map(|bytes| bytes.map(text).transpose()).transpose()
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(text.as_bytes());
    written.and_then(|()| encoder.finish()).expect("memory takes any bytes")
}
