//! Entries by the names that people give.

use crate::{Entry, Error, History};

/// Similar names in an error.
const MOST_NEAREST: usize = 3;

/// Similarity (0 to 1) from which names are similar.
const SIMILAR: f64 = 0.65;

impl History {
    /// Finds an entry by its number, its tag, the ID of its bench or run, or `latest`.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntry`] with similar names, and those of the file.
    pub fn find(&self, selector: &str) -> Result<Entry, Error> {
        let mut entries = self.entries()?;
        let found = entries.iter().position(|entry| is_named(entry, selector));
        let found = if selector == "latest" && !entries.is_empty() { Some(0) } else { found };
        match found {
            Some(at) => Ok(entries.swap_remove(at)),
            None => Err(Error::NoEntry {
                selector: selector.to_owned(),
                nearest: nearest(&entries, selector),
            }),
        }
    }

    /// Finds the entry that `new` is compared with: as [`History::find`], or `last`, the newest older
    /// entry of the same GPU that has cases in common.
    ///
    /// # Errors
    ///
    /// [`Error::NoneBefore`], [`Error::NoEntry`], and those of the file.
    pub fn against(&self, selector: &str, new: &Entry) -> Result<Entry, Error> {
        if selector != "last" {
            return self.find(selector);
        }
        let age = |entry: &Entry| (entry.created, entry.number);
        let older = self.entries()?.into_iter().filter(|entry| age(entry) < age(new));
        for entry in older.filter(|entry| entry.is_on_gpu_of(new)) {
            if self.have_cases_in_common(entry.number, new.number)? {
                return Ok(entry);
            }
        }
        Err(Error::NoneBefore { number: new.number, source_id: new.source.clone() })
    }
}

fn is_named(entry: &Entry, selector: &str) -> bool {
    entry.tag.as_deref() == Some(selector)
        || entry.source == selector
        || selector.parse() == Ok(entry.number)
}

fn nearest(entries: &[Entry], selector: &str) -> Vec<String> {
    let names = entries.iter().flat_map(|entry| entry.tag.iter().chain([&entry.source]));
    let likeness = |name: &String| (strsim::jaro_winkler(name, selector) * 1e6).round();
    let mut scored: Vec<(f64, &String)> = names.map(|name| (likeness(name), name)).collect();
    scored.retain(|(score, _)| SIMILAR * 1e6 <= *score);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(MOST_NEAREST).map(|(_, name)| name.clone()).collect()
}
