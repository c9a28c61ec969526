//! Reading entries and their results.

use jiff::Timestamp;
use kgen_measure::Mode;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Type};

use super::History;
use crate::{
    Entry, Kind, Recorded, Series, StoredResult, StoredTime,
    error::{At, Error},
};

const ENTRY: &str = "SELECT number, source, kind, tag, created, added, device, fingerprint, n_results \
                     FROM entries";

const RESULT: &str = "SELECT op, dtype, args, implementation, outcome, reason, mode, median_us, q1_us, \
                      q3_us, low_us, high_us, n_samples, source_hash, name, samples \
                      FROM results JOIN series ON series.id = results.series";

impl History {
    /// Returns all entries, newest first.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        entries(&self.connection).at(&self.path)
    }

    /// Returns the results of an entry in the order of the bench or run.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn results(&self, number: i64) -> Result<Vec<StoredResult>, Error> {
        let sql = RESULT.replace(", samples", "");
        self.results_by(&format!("{sql} WHERE entry = ?1 ORDER BY results.id"), number, result)
    }

    /// Returns an entry with all of its samples.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn recorded(&self, entry: &Entry) -> Result<Recorded, Error> {
        let sql = format!(
            "{RESULT} LEFT JOIN samples ON samples.result = results.id \
             WHERE entry = ?1 ORDER BY results.id"
        );
        let with_samples = |row: &Row<'_>| Ok((result(row)?, samples(row)?));
        let results = self.results_by(&sql, entry.number, with_samples)?;
        Ok(Recorded { entry: entry.clone(), results })
    }

    fn results_by<T>(
        &self,
        sql: &str,
        number: i64,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql).at(&self.path)?;
        let rows = statement.query_map([number], read).at(&self.path)?;
        rows.collect::<rusqlite::Result<_>>().at(&self.path)
    }

    /// Whether two entries have times of a case in common.
    pub(crate) fn have_cases_in_common(&self, a: i64, b: i64) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM results AS a JOIN results AS b \
                   ON b.entry = ?2 AND b.series = a.series \
                   WHERE a.entry = ?1 AND a.median_us IS NOT NULL AND b.median_us IS NOT NULL)";
        self.connection.query_row(sql, [a, b], |row| row.get(0)).at(&self.path)
    }

    /// Returns all series by their numbers.
    pub(crate) fn series(&self) -> Result<Vec<(i64, Series)>, Error> {
        let sql = "SELECT op, dtype, args, implementation, id FROM series";
        let mut statement = self.connection.prepare(sql).at(&self.path)?;
        let read = |row: &Row<'_>| Ok((row.get(4)?, series(row)?));
        let rows = statement.query_map([], read).at(&self.path)?;
        rows.collect::<rusqlite::Result<_>>().at(&self.path)
    }

    /// Hands out all medians, or those of the series of two entries, series by series.
    pub(crate) fn each_median(
        &self,
        pair: Option<[i64; 2]>,
        mut found: impl FnMut(Median),
    ) -> Result<(), Error> {
        let of_pair = pair
            .map_or("", |_| "AND series IN (SELECT series FROM results WHERE entry IN (?1, ?2))");
        let sql = format!(
            "SELECT series, entry, mode, median_us FROM results INDEXED BY times \
             WHERE median_us IS NOT NULL {of_pair} ORDER BY series"
        );
        let mut read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query(params_from_iter(pair.into_iter().flatten()))?;
            while let Some(row) = rows.next()? {
                let mode = mode(row.get_ref(2)?.as_str()?, 2)?;
                found(Median {
                    series: row.get(0)?,
                    entry: row.get(1)?,
                    mode,
                    median_us: row.get(3)?,
                });
            }
            Ok(())
        };
        read().at(&self.path)
    }
}

/// A median by the numbers of its series and entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Median {
    pub(crate) series: i64,
    pub(crate) entry: i64,
    pub(crate) mode: Mode,
    pub(crate) median_us: f64,
}

fn entries(connection: &Connection) -> rusqlite::Result<Vec<Entry>> {
    let sql = format!("{ENTRY} ORDER BY created DESC, number DESC");
    connection.prepare_cached(&sql)?.query_map([], entry)?.collect()
}

pub(super) fn by_source(connection: &Connection, source: &str) -> rusqlite::Result<Entry> {
    connection.query_row(&format!("{ENTRY} WHERE source = ?1"), [source], entry)
}

pub(super) fn by_tag(connection: &Connection, tag: &str) -> rusqlite::Result<Option<Entry>> {
    connection.query_row(&format!("{ENTRY} WHERE tag = ?1"), [tag], entry).optional()
}

/// A text that no kgen writes there.
fn corrupt(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let time =
        |column| Timestamp::from_millisecond(row.get(column)?).map_err(|e| corrupt(column, e));
    let kind = match row.get_ref(2)?.as_str()? {
        "bench" => Kind::Bench,
        "run" => Kind::Run,
        other => return Err(corrupt(2, format!("unknown kind `{other}`"))),
    };
    let fingerprint: Option<String> = row.get(7)?;
    let fingerprint = fingerprint.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Entry {
        number: row.get(0)?,
        source: row.get(1)?,
        kind,
        tag: row.get(3)?,
        created: time(4)?,
        added: time(5)?,
        device: row.get(6)?,
        fingerprint: fingerprint.map_err(|error| corrupt(7, error))?,
        n_results: row.get(8)?,
    })
}

/// Of the first four columns.
fn series(row: &Row<'_>) -> rusqlite::Result<Series> {
    Ok(Series {
        op: row.get(0)?,
        dtype: row.get(1)?,
        args: row.get(2)?,
        implementation: row.get(3)?,
    })
}

fn result(row: &Row<'_>) -> rusqlite::Result<StoredResult> {
    let time = row.get_ref(6)?.as_str_or_null()?.map(|name| time(row, name)).transpose()?;
    Ok(StoredResult {
        series: series(row)?,
        case: row.get(14)?,
        outcome: row.get(4)?,
        reason: row.get(5)?,
        time,
        source_hash: row.get(13)?,
    })
}

fn time(row: &Row<'_>, name: &str) -> rusqlite::Result<StoredTime> {
    let (low, high): (Option<f64>, Option<f64>) = (row.get(10)?, row.get(11)?);
    Ok(StoredTime {
        mode: mode(name, 6)?,
        median_us: row.get(7)?,
        q1_us: row.get(8)?,
        q3_us: row.get(9)?,
        interval_us: low.zip(high).map(|(low, high)| [low, high]),
        n_samples: row.get(12)?,
    })
}

fn mode(name: &str, column: usize) -> rusqlite::Result<Mode> {
    let known = [Mode::Cold, Mode::Hot, Mode::Graph];
    let found = known.into_iter().find(|mode| mode.name() == name);
    found.ok_or_else(|| corrupt(column, format!("unknown timing mode `{name}`")))
}

fn samples(row: &Row<'_>) -> rusqlite::Result<Vec<f64>> {
    let bytes = row.get_ref(15)?.as_blob_or_null()?.unwrap_or_default();
    let (samples, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(corrupt(14, "samples that are cut off"));
    }
    Ok(samples.iter().map(|sample| f64::from(f32::from_le_bytes(*sample))).collect())
}
