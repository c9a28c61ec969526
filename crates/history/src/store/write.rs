//! Adding and removing entries.

use std::{collections::HashMap, path::Path};

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Statement, Transaction, params};
use sha2::{Digest, Sha256};

use super::{History, read};
use crate::{
    Entry, NewEntry, NewResult,
    error::{At, Error},
};

/// Confidence of the interval of a median.
const CONFIDENCE: f64 = 0.95;

/// Answers [`History::add`].
#[derive(Debug, Clone, PartialEq)]
pub enum Added {
    /// It is a new entry.
    New(Entry),
    /// The bench or run was there with other results, which are replaced: it has gone on since.
    Updated(Entry),
    /// It was there as it is.
    Known(Entry),
}

impl Added {
    /// The entry as it now is.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        match self {
            Self::New(entry) | Self::Updated(entry) | Self::Known(entry) => entry,
        }
    }
}

impl History {
    /// Adds an entry, all of it or nothing.
    ///
    /// One whose bench or run is there keeps its number and its tag; one without a tag gets `tag`. `now`
    /// is when it is added.
    ///
    /// # Errors
    ///
    /// [`Error::Time`], [`Error::BadTag`], [`Error::TagTaken`], and those of the file.
    pub fn add(
        &mut self,
        entry: &NewEntry,
        tag: Option<&str>,
        now: Timestamp,
    ) -> Result<Added, Error> {
        let created: Timestamp = entry.created.parse().map_err(|source| Error::Time {
            source_id: entry.source.clone(),
            created: entry.created.clone(),
            source,
        })?;
        let path = self.path.clone();
        let digest = digest(entry);
        let transaction = self.begin()?;
        check_tag_for(&transaction, tag, &entry.source, &path)?;
        let known = digest_of(&transaction, &entry.source).at(&path)?;
        let added = match &known {
            Some((number, old)) if *old == digest => {
                tag_untagged(&transaction, *number, tag).at(&path)?;
                Added::Known
            }
            Some((number, _)) => {
                clear(&transaction, *number).at(&path)?;
                update(&transaction, *number, entry, created, &digest).at(&path)?;
                tag_untagged(&transaction, *number, tag).at(&path)?;
                Added::Updated
            }
            None => {
                insert(&transaction, entry, tag, (created, now), &digest).at(&path)?;
                Added::New
            }
        };
        let stored = read::by_source(&transaction, &entry.source).at(&path)?;
        transaction.commit().at(&path)?;
        Ok(added(stored))
    }

    /// Makes sure that a bench or run can be added under a tag later; changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::BadTag`], [`Error::TagTaken`], and those of the file, which must be writable.
    pub fn check(&mut self, source: &str, tag: Option<&str>) -> Result<(), Error> {
        let path = self.path.clone();
        check_tag_for(&self.begin()?, tag, source, &path)
    }

    /// Removes an entry with its results.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntry`], and those of the file.
    pub fn remove(&mut self, number: i64) -> Result<(), Error> {
        let path = self.path.clone();
        let transaction = self.begin()?;
        clear(&transaction, number).at(&path)?;
        let sql = "DELETE FROM entries WHERE number = ?1";
        if transaction.execute(sql, [number]).at(&path)? == 0 {
            return Err(Error::NoEntry { selector: number.to_string(), nearest: Vec::new() });
        }
        let orphans = "DELETE FROM series WHERE NOT EXISTS \
                       (SELECT 1 FROM results WHERE results.series = series.id)";
        transaction.execute(orphans, []).at(&path)?;
        transaction.commit().at(&path)
    }

    /// Gives an entry a tag, or takes it away.
    ///
    /// # Errors
    ///
    /// [`Error::BadTag`], [`Error::TagTaken`], [`Error::NoEntry`], and those of the file.
    pub fn tag(&mut self, number: i64, tag: Option<&str>) -> Result<(), Error> {
        let path = self.path.clone();
        let transaction = self.begin()?;
        if let Some(tag) = tag {
            let holder = read::by_tag(&transaction, tag).at(&path)?;
            check_tag(tag)?;
            refuse_holder(tag, holder.filter(|holder| holder.number != number))?;
        }
        let sql = "UPDATE entries SET tag = ?2 WHERE number = ?1";
        if transaction.execute(sql, params![number, tag]).at(&path)? == 0 {
            return Err(Error::NoEntry { selector: number.to_string(), nearest: Vec::new() });
        }
        transaction.commit().at(&path)
    }
}

/// Makes sure that a bench or run may have a tag.
fn check_tag_for(
    transaction: &Transaction<'_>,
    tag: Option<&str>,
    source: &str,
    path: &Path,
) -> Result<(), Error> {
    let Some(tag) = tag else { return Ok(()) };
    check_tag(tag)?;
    let holder = read::by_tag(transaction, tag).at(path)?;
    refuse_holder(tag, holder.filter(|holder| holder.source != source))
}

/// Makes sure that a text can be a tag, whichever entries there are.
///
/// # Errors
///
/// [`Error::BadTag`].
pub fn check_tag(tag: &str) -> Result<(), Error> {
    let is_number = tag.bytes().all(|byte| byte.is_ascii_digit());
    let is_broken = tag.chars().any(|c| c.is_whitespace() || c.is_control());
    if is_number || is_broken || tag == "latest" || tag == "last" {
        return Err(Error::BadTag { tag: tag.to_owned() });
    }
    Ok(())
}

/// `holder`: another entry that has the tag.
fn refuse_holder(tag: &str, holder: Option<Entry>) -> Result<(), Error> {
    match holder {
        None => Ok(()),
        Some(Entry { number, source, .. }) => {
            Err(Error::TagTaken { tag: tag.to_owned(), number, source_id: source })
        }
    }
}

fn digest(entry: &NewEntry) -> Vec<u8> {
    let text = serde_json::to_vec(entry).expect("an entry has no maps with keys other than text");
    Sha256::digest(text).to_vec()
}

fn digest_of(
    transaction: &Transaction<'_>,
    source: &str,
) -> rusqlite::Result<Option<(i64, Vec<u8>)>> {
    let sql = "SELECT number, digest FROM entries WHERE source = ?1";
    transaction.query_row(sql, [source], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

fn tag_untagged(
    transaction: &Transaction<'_>,
    number: i64,
    tag: Option<&str>,
) -> rusqlite::Result<()> {
    if let Some(tag) = tag {
        let sql = "UPDATE entries SET tag = ?2 WHERE number = ?1 AND tag IS NULL";
        transaction.execute(sql, params![number, tag])?;
    }
    Ok(())
}

/// Removes the results of an entry.
fn clear(transaction: &Transaction<'_>, number: i64) -> rusqlite::Result<()> {
    let samples = "DELETE FROM samples WHERE result IN (SELECT id FROM results WHERE entry = ?1)";
    transaction.execute(samples, [number])?;
    transaction.execute("DELETE FROM results WHERE entry = ?1", [number])?;
    Ok(())
}

fn fingerprint(entry: &NewEntry) -> Option<String> {
    let json =
        |fingerprint| serde_json::to_string(fingerprint).expect("a fingerprint is plain data");
    entry.fingerprint.as_ref().map(json)
}

fn insert(
    transaction: &Transaction<'_>,
    entry: &NewEntry,
    tag: Option<&str>,
    (created, now): (Timestamp, Timestamp),
    digest: &[u8],
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO entries \
               (source, kind, tag, created, added, device, fingerprint, n_results, digest) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)";
    transaction.execute(
        sql,
        params![
            entry.source,
            entry.kind.name(),
            tag,
            created.as_millisecond(),
            now.as_millisecond(),
            entry.device,
            fingerprint(entry),
            digest,
        ],
    )?;
    insert_results(transaction, transaction.last_insert_rowid(), &entry.results)
}

fn update(
    transaction: &Transaction<'_>,
    number: i64,
    entry: &NewEntry,
    created: Timestamp,
    digest: &[u8],
) -> rusqlite::Result<()> {
    let sql = "UPDATE entries SET kind = ?2, created = ?3, device = ?4, fingerprint = ?5, digest = ?6 \
               WHERE number = ?1";
    transaction.execute(
        sql,
        params![
            number,
            entry.kind.name(),
            created.as_millisecond(),
            entry.device,
            fingerprint(entry),
            digest,
        ],
    )?;
    insert_results(transaction, number, &entry.results)
}

fn insert_results(
    transaction: &Transaction<'_>,
    number: i64,
    results: &[NewResult],
) -> rusqlite::Result<()> {
    // Of several results of one series, the first that has a time, else the first.
    let mut of_series: HashMap<_, &NewResult> = HashMap::with_capacity(results.len());
    for result in results {
        let chosen = of_series.entry(&result.series).or_insert(result);
        if chosen.timing.is_none() && result.timing.is_some() {
            *chosen = result;
        }
    }
    let mut insert = Insert::new(transaction)?;
    let mut n_results = 0;
    for result in results {
        // Taken out, so that it counts once, in the place of the first.
        if let Some(chosen) = of_series.remove(&result.series) {
            insert.result(number, chosen)?;
            n_results += 1;
        }
    }
    let sql = "UPDATE entries SET n_results = ?2 WHERE number = ?1";
    transaction.execute(sql, params![number, n_results])?;
    Ok(())
}

/// The statements of a result.
struct Insert<'a> {
    find: Statement<'a>,
    series: Statement<'a>,
    result: Statement<'a>,
    samples: Statement<'a>,
}

impl<'a> Insert<'a> {
    fn new(transaction: &'a Transaction<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            find: transaction.prepare(
                "SELECT id FROM series WHERE op = ?1 AND dtype = ?2 AND args = ?3 \
                 AND implementation = ?4",
            )?,
            series: transaction.prepare(
                "INSERT INTO series (op, dtype, args, implementation, name) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
            result: transaction.prepare(
                "INSERT INTO results (entry, series, outcome, reason, mode, median_us, q1_us, q3_us, \
                 low_us, high_us, n_samples, source_hash) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?,
            samples: transaction.prepare("INSERT INTO samples (result, samples) VALUES (?1, ?2)")?,
        })
    }

    fn result(&mut self, number: i64, result: &NewResult) -> rusqlite::Result<()> {
        let series = &result.series;
        let key = params![series.op, series.dtype, series.args, series.implementation];
        let found = self.find.query_row(key, |row| row.get(0)).optional()?;
        let id: i64 = match found {
            Some(id) => id,
            None => self.series.insert(params![
                series.op,
                series.dtype,
                series.args,
                series.implementation,
                result.case
            ])?,
        };
        let time = result.timing.as_ref();
        let interval = time.and_then(|(_, time)| time.median_interval(CONFIDENCE));
        let row = self.result.insert(params![
            number,
            id,
            result.outcome,
            result.reason,
            time.map(|(mode, _)| mode.name()),
            time.map(|(_, time)| time.median_us),
            time.map(|(_, time)| time.q1_us),
            time.map(|(_, time)| time.q3_us),
            interval.map(|[low, _]| low),
            interval.map(|[_, high]| high),
            time.map(|(_, time)| time.samples_us.len()),
            result.source_hash,
        ])?;
        if let Some((_, time)) = time {
            self.samples.execute(params![row, packed(&time.samples_us)])?;
        }
        Ok(())
    }
}

/// Samples as f32: a step of the clock is a thousand times larger than what rounding changes.
#[expect(clippy::cast_possible_truncation, reason = "rounded on purpose")]
fn packed(samples_us: &[f64]) -> Vec<u8> {
    samples_us.iter().flat_map(|sample| (*sample as f32).to_le_bytes()).collect()
}
