//! Files that are no history, or not in order: an error each, and no byte of them changes.

use std::{fs, path::Path, time::Duration};

use rusqlite::Connection;

use super::{add, bench, fixture, timed};
use crate::{Error, History};

/// Opens and makes a history where `path` is; returns the error, which must be the same, and holds that
/// nothing was changed.
fn refused(path: &Path) -> Error {
    let before = fs::read(path).unwrap();
    let error = History::create(path).unwrap_err();
    let opened = History::open(path).unwrap_err();
    assert_eq!(error.to_string(), opened.to_string());
    assert_eq!(fs::read(path).unwrap(), before);
    let folder = fs::read_dir(path.parent().unwrap()).unwrap();
    let names: Vec<_> = folder.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, [path.file_name().unwrap()]);
    error
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.sqlite");
    let text = "No database, but text that is longer than the header of one. ".repeat(40);
    for content in ["short", &*text] {
        fs::write(&path, content).unwrap();
        assert!(matches!(refused(&path), Error::NotAHistory { .. }));
    }
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE entries (number INTEGER)").unwrap();
    drop(other);
    let error = refused(&path);
    assert!(matches!(error, Error::NotAHistory { .. }));
    assert_eq!(error.to_string(), format!("{} is no history of kgen", path.display()));
}

#[test]
fn a_file_that_is_not_there_is_missing_until_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/history.sqlite");
    assert!(matches!(History::open(&path), Err(Error::Missing { .. })));
    assert!(!path.exists());
    History::create(&path).unwrap();
    History::open(&path).unwrap();
    assert!(matches!(History::open(folder.path()), Err(Error::NotAHistory { .. })));
    let below = path.join("history.sqlite");
    assert!(matches!(History::create(&below), Err(Error::File { .. })));
}

#[test]
fn an_empty_file_becomes_a_history_only_where_one_is_made() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(History::open(file.path()), Err(Error::NotAHistory { .. })));
    assert_eq!(History::create(file.path()).unwrap().entries().unwrap(), []);
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let fixture = fixture();
    let path = fixture.path.clone();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let error = refused(&path).to_string();
    assert!(error.ends_with("has format 7, this kgen reads up to format 1"), "{error}");
}

#[test]
fn a_locked_file_is_an_error_after_a_while() {
    let mut fixture = fixture();
    let entry = bench(1, vec![timed("relu", &[1.0])]);
    add(&mut fixture.history, &entry, None);
    let before = fs::read(&fixture.path).unwrap();
    let other = Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let patience = Duration::from_millis(20);
    let error = History::open_within(&fixture.path, patience).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error:?}");
    other.execute_batch("ROLLBACK; BEGIN IMMEDIATE").unwrap();
    // Another process writes: reading goes on, writing waits.
    let mut history = History::open_within(&fixture.path, patience).unwrap();
    assert_eq!(history.entries().unwrap().len(), 1);
    assert!(matches!(history.remove(1), Err(Error::Locked { .. })));
    drop(other);
    assert_eq!(fs::read(&fixture.path).unwrap(), before);
    history.remove(1).unwrap();
}

#[test]
fn a_damaged_file_is_an_error_and_stays_as_it_is() {
    let mut fixture = fixture();
    let results = (0..300).map(|n| timed(&format!("op_{n}"), &[1.0; 20])).collect();
    let entry = add(&mut fixture.history, &bench(1, results), None);
    drop(fixture.history);
    let whole = fs::read(&fixture.path).unwrap();

    fs::write(&fixture.path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(refused(&fixture.path), Error::Corrupt { .. }));

    // Behind the header and the table of tables.
    let mut torn = whole.clone();
    torn[4096..].fill(0x5a);
    fs::write(&fixture.path, &torn).unwrap();
    let mut history = History::open(&fixture.path).unwrap();
    assert!(matches!(history.entries(), Err(Error::Corrupt { .. })));
    assert!(matches!(history.recorded(&entry), Err(Error::Corrupt { .. })));
    assert!(matches!(history.remove(1), Err(Error::Corrupt { .. })));
    drop(history);
    assert_eq!(fs::read(&fixture.path).unwrap(), torn);
}

#[test]
fn values_that_no_kgen_writes_are_damage() {
    let mut fixture = fixture();
    let entry = add(&mut fixture.history, &bench(1, vec![timed("relu", &[1.0])]), None);
    for damage in [
        "UPDATE samples SET samples = x'0102'",
        "UPDATE results SET mode = 'lukewarm'",
        "UPDATE results SET median_us = NULL",
        "UPDATE entries SET fingerprint = '{'",
        "DROP TABLE samples",
    ] {
        let connection = Connection::open(&fixture.path).unwrap();
        connection.execute_batch(damage).unwrap();
        let history = &fixture.history;
        let found = history.entries().and_then(|_| history.recorded(&entry));
        assert!(matches!(found, Err(Error::Corrupt { .. })), "{damage}: {found:?}");
        let undo = "UPDATE results SET mode = 'cold', median_us = 1; \
                    UPDATE entries SET fingerprint = NULL";
        connection.execute_batch(undo).unwrap();
    }
}

#[test]
fn a_process_that_died_while_it_wrote_is_undone() {
    let mut fixture = fixture();
    add(&mut fixture.history, &bench(1, vec![timed("relu", &[1.0])]), None);
    // A journal on disk beside a file that is half written, as a process leaves them that is killed:
    // copies of both while a transaction is open.
    let connection = Connection::open(&fixture.path).unwrap();
    connection.execute_batch("PRAGMA cache_size = 1; BEGIN IMMEDIATE").unwrap();
    let sql = "INSERT INTO series SELECT NULL, value, 'x', 'y', 'z', '' FROM \
               (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 5000) \
               SELECT value FROM n)";
    connection.execute(sql, []).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("history.sqlite");
    let journal = |path: &Path| format!("{}-journal", path.display());
    fs::copy(&fixture.path, &copy).unwrap();
    fs::copy(journal(&fixture.path), journal(&copy)).unwrap();
    let history = History::open(&copy).unwrap();
    assert_eq!(history.series().unwrap().len(), 1);
}
