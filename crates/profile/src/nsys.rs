//! The `SQLite` export of Nsight Systems.
//!
//! A table is there only if the trace has such events, and versions differ in their columns.

use std::{collections::HashMap, path::Path};

use rusqlite::{Connection, OpenFlags, Row};

use crate::{
    ReadError,
    report::{Activity, Call, MEMSET, Report, Timeline, Tool, UNKNOWN, kernel_name},
};

const FORM: &str = "SQLite export of nsys";

const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
const MEMSETS: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const STRINGS: &str = "StringIds";

/// CUPTI's number of memory that is not pinned.
const PAGEABLE: i64 = 1;

/// Reads an export.
///
/// # Errors
///
/// [`ReadError::Malformed`] where `SQLite` cannot read it, [`ReadError::NoTable`] where it is the database of
/// another program, or has no table of strings.
pub fn report(path: &Path) -> Result<Report, ReadError> {
    let failed = |error: rusqlite::Error| ReadError::malformed(FORM, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database =
        Database { connection: Connection::open_with_flags(path, flags).map_err(failed)? };
    let tables = database.tables().map_err(failed)?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    if !has(STRINGS) {
        return Err(ReadError::NoTable(
            "it is a database of another program: an export of nsys has the table StringIds"
                .to_owned(),
        ));
    }
    let strings = database.strings().map_err(failed)?;
    let mut timeline = Timeline::default();
    let mut read = |name: &str, reader: Reader| -> Result<(), ReadError> {
        if has(name) { reader(&database, &strings, &mut timeline).map_err(failed) } else { Ok(()) }
    };
    read(KERNEL, kernels)?;
    read(MEMCPY, copies)?;
    read(MEMSETS, memsets)?;
    read(RUNTIME, calls)?;
    let mut report = Report::new(Tool::Nsys);
    if timeline.is_empty() {
        report.notes.push(
            "the trace has no activity of a GPU: perf profiles programs of the CPU".to_owned(),
        );
    }
    timeline.write_into(&mut report);
    Ok(report)
}

type Strings = HashMap<i64, String>;
type Reader = fn(&Database, &Strings, &mut Timeline) -> rusqlite::Result<()>;

struct Database {
    connection: Connection,
}

impl Database {
    fn tables(&self) -> rusqlite::Result<Vec<String>> {
        let query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')";
        self.connection.prepare(query)?.query_map([], |row| row.get(0))?.collect()
    }

    fn strings(&self) -> rusqlite::Result<Strings> {
        let query = format!("SELECT id, value FROM {STRINGS}");
        self.connection
            .prepare(&query)?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    }

    /// Calls back with every row, whose columns come in the order asked for; those that the table lacks are
    /// null.
    fn rows(
        &self,
        table: &str,
        wanted: &[&str],
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut pragma = self.connection.prepare(&format!("PRAGMA table_info({table})"))?;
        let there: Vec<String> =
            pragma.query_map([], |row| row.get("name"))?.collect::<rusqlite::Result<_>>()?;
        let column = |name: &&str| match there.iter().any(|column| column == name) {
            true => format!("\"{name}\""),
            false => "NULL".to_owned(),
        };
        let columns: Vec<String> = wanted.iter().map(column).collect();
        let query = format!("SELECT {} FROM {table}", columns.join(", "));
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(row)?;
        }
        Ok(())
    }
}

/// Reads an integer; `None` for null and other types.
fn integer(row: &Row<'_>, at: usize) -> Option<i64> {
    row.get::<_, Option<i64>>(at).ok().flatten()
}

/// Reads start and end; `None` for an event that never ended.
fn times(row: &Row<'_>) -> Option<(i64, i64)> {
    Some((integer(row, 0)?, integer(row, 1)?))
}

fn kernels(
    database: &Database,
    strings: &Strings,
    timeline: &mut Timeline,
) -> rusqlite::Result<()> {
    let columns = ["start", "end", "deviceId", "demangledName", "shortName"];
    database.rows(KERNEL, &columns, |row| {
        if let Some((start, end)) = times(row) {
            let name = [3, 4].into_iter().find_map(|at| strings.get(&integer(row, at)?));
            let name = name.map_or(UNKNOWN, |name| kernel_name(name));
            timeline.kernel(name, integer(row, 2).unwrap_or(0), start, end);
        }
        Ok(())
    })
}

fn copies(database: &Database, _: &Strings, timeline: &mut Timeline) -> rusqlite::Result<()> {
    let columns = ["start", "end", "deviceId", "copyKind", "bytes", "srcKind", "dstKind"];
    database.rows(MEMCPY, &columns, |row| {
        if let Some((start, end)) = times(row) {
            let device = integer(row, 2).unwrap_or(0);
            let bytes = integer(row, 4).and_then(|bytes| u64::try_from(bytes).ok());
            let kinds = integer(row, 5).zip(integer(row, 6));
            let is_pageable = kinds.map(|(from, to)| from == PAGEABLE || to == PAGEABLE);
            let activity = Activity { device, start, end, is_kernel: false };
            timeline.copy(direction(integer(row, 3)), activity, bytes, is_pageable);
        }
        Ok(())
    })
}

/// Names CUPTI's kinds of copies.
fn direction(kind: Option<i64>) -> &'static str {
    match kind {
        Some(1) => "host to device",
        Some(2) => "device to host",
        Some(3..=7) => "arrays",
        Some(8) => "device to device",
        Some(9) => "host to host",
        Some(10) => "peer to peer",
        _ => "unified memory and others",
    }
}

fn memsets(database: &Database, _: &Strings, timeline: &mut Timeline) -> rusqlite::Result<()> {
    database.rows(MEMSETS, &["start", "end", "deviceId", "bytes"], |row| {
        if let Some((start, end)) = times(row) {
            let device = integer(row, 2).unwrap_or(0);
            let bytes = integer(row, 3).and_then(|bytes| u64::try_from(bytes).ok());
            timeline.copy(MEMSET, Activity { device, start, end, is_kernel: false }, bytes, None);
        }
        Ok(())
    })
}

fn calls(database: &Database, strings: &Strings, timeline: &mut Timeline) -> rusqlite::Result<()> {
    database.rows(RUNTIME, &["start", "end", "nameId"], |row| {
        if let Some((start, end)) = times(row) {
            let name = integer(row, 2).and_then(|id| strings.get(&id));
            let name = name.map_or(UNKNOWN, |name| without_version(name)).to_owned();
            timeline.calls.push(Call { start, end, name });
        }
        Ok(())
    })
}

/// Drops the version of an entry point: `cudaLaunchKernel_v7000` is `cudaLaunchKernel`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((head, version)) if 3 <= version.len() && version.parse::<u32>().is_ok() => head,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(sql: &str) -> Result<Report, ReadError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.sqlite");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        report(&path)
    }

    const TRACE: &str = "
        CREATE TABLE StringIds (id INTEGER, value TEXT);
        INSERT INTO StringIds VALUES (1, 'void softmax<float>(float*, int)'), (2, 'cudaMemcpy_v3020');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
            (start INTEGER, \"end\" INTEGER, deviceId INTEGER, demangledName INTEGER, shortName INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
            (1000, 11000, 0, 1, 1), (51000, 71000, 0, 1, 1), (90000, NULL, 0, 1, 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
            (start INTEGER, \"end\" INTEGER, deviceId INTEGER, copyKind INTEGER, bytes INTEGER,
             srcKind INTEGER, dstKind INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (71000, 101000, 0, 2, 60000, 3, 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, nameId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (12000, 50000, 2);";

    #[test]
    fn a_trace_has_kernels_copies_and_gaps() {
        let report = export(TRACE).unwrap();
        let kernel = &report.kernels[0];
        assert_eq!((kernel.name.as_str(), kernel.calls), ("softmax<float>", 2));
        assert_eq!((kernel.total_us, kernel.median_us, kernel.share), (30.0, 15.0, 1.0));
        let copies = &report.copies[0];
        assert_eq!((copies.direction.as_str(), copies.gbps), ("device to host", Some(2.0)));
        assert_eq!(copies.pageable_bytes, Some(60_000));
        assert_eq!((report.span_us, report.busy_share), (Some(100.0), Some(0.6)));
        assert_eq!(report.gaps[0].api.as_deref(), Some("cudaMemcpy"));
    }

    #[test]
    fn tables_and_columns_may_lack() {
        let report = export(
            "CREATE TABLE StringIds (id INTEGER, value TEXT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 5000);",
        )
        .unwrap();
        assert_eq!((report.kernels[0].name.as_str(), report.copies.len()), ("[unknown]", 0));
        let empty = export("CREATE TABLE StringIds (id INTEGER, value TEXT);").unwrap();
        assert_eq!((empty.busy_share, empty.notes.len()), (None, 1));
    }

    #[test]
    fn other_databases_and_broken_ones_are_refused() {
        let other = export("CREATE TABLE jobs (id INTEGER);").unwrap_err();
        assert!(other.to_string().contains("another program"), "{other}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sqlite");
        std::fs::write(&path, b"SQLite format 3\0garbage").unwrap();
        let broken = report(&path).unwrap_err();
        assert!(matches!(broken, ReadError::Malformed { .. }), "{broken}");
    }
}
