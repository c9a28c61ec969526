//! Suites: named sets of ops with their cases, built in or from a file.
//!
//! `docs/suites.md` documents the format; a file that is no TOML is read as a
//! [log](crate::log) of real calls, a folder as several. A suite is checked as a whole when it is loaded: every case of
//! every dtype is built once, so that a mistake is an error that names file, line, op, case and key,
//! never a surprise in the middle of a run.

use std::{collections::HashMap, sync::Arc};

mod draw;
mod error;
mod file;
mod filter;
mod kind;
mod load;
mod logged;
mod memo;
mod point;
mod shape;
mod skipped;
mod template;
mod union;

#[cfg(test)]
pub(crate) mod tests;

use crate::{
    op::{self, OpDef, build_case},
    record::{Case, CaseClass, DType},
};

use draw::Seed;
use filter::Limits;
use template::Template;
use union::alike;

pub use error::{CaseError, Error};
pub use filter::Filter;
pub use load::{DEFAULT, Loaded, Unjudged, builtin_names, load, load_lenient, of_op};
pub use point::PointCases;
pub use skipped::SkippedType;
pub use template::Place;

/// A named set of ops with their cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its purpose, in a sentence; empty where the file names none.
    pub description: String,
    /// Where it came from: a path, or the name of a built-in suite.
    pub origin: String,
    /// The names of its ops, in the order of the file.
    ops: Vec<String>,
    entries: Vec<Entry>,
    /// The limits that [`Suite::filter`] has set on each op's cases.
    limits: Limits,
}

/// One op of a suite.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    op: Arc<OpDef>,
    dtypes: Vec<DType>,
    templates: Vec<Template>,
    /// Cases that were complete from the beginning, such as those of a log.
    fixed: Vec<Case>,
    /// Whether it was joined of several, which may share cases.
    joined: bool,
}

impl Suite {
    /// Returns the names of its ops, in the order of the file.
    #[must_use]
    pub fn ops(&self) -> &[String] {
        &self.ops
    }

    /// Returns every op that it has cases of; those that it is worked on with unless others are asked
    /// for are [`Self::ops`].
    pub fn known_ops(&self) -> impl Iterator<Item = &Arc<OpDef>> + Clone {
        self.entries.iter().map(|entry| &entry.op)
    }

    /// Returns an op of the suite by any of its names; it need not be of the catalogue.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`].
    pub fn op(&self, name: &str) -> Result<&Arc<OpDef>, Error> {
        Ok(&self.entry(name)?.op)
    }

    /// Returns the dtypes that an op is judged in.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`].
    pub fn dtypes(&self, op: &str) -> Result<&[DType], Error> {
        Ok(&self.entry(op)?.dtypes)
    }

    /// Returns the cases of an op: the fixed ones, and those that are drawn from the secret seed.
    ///
    /// `dtypes` keeps only cases of these types; `None` keeps all that the suite has.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`]; [`Error::Case`] where a range holds shapes that the op does not take.
    pub fn cases(
        &self,
        op: &str,
        dtypes: Option<&[DType]>,
        secret_seed: u64,
    ) -> Result<Vec<Case>, Error> {
        Ok(self.build(op, dtypes, Some(secret_seed))?.0)
    }

    /// Returns the cases of an op that are no secret, each with its place in a grid of the suite.
    ///
    /// `dtypes` keeps only cases of these types; `None` keeps all that the suite has.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`].
    pub fn placed_cases(
        &self,
        op: &str,
        dtypes: Option<&[DType]>,
    ) -> Result<Vec<(Case, Option<Place>)>, Error> {
        let (cases, mut places) = self.build(op, dtypes, None)?;
        let placed = cases.into_iter().map(|case| {
            let place = places.remove(&case.id);
            (case, place)
        });
        Ok(placed.collect())
    }

    /// Returns the cases of an op that are no secret: all but the drawn ones.
    ///
    /// # Errors
    ///
    /// [`Error::NotInSuite`].
    pub fn public_cases(&self, op: &str) -> Result<Vec<Case>, Error> {
        Ok(self.build(op, None, None)?.0)
    }

    fn entry(&self, op: &str) -> Result<&Entry, Error> {
        let name = op::find(op).map_or(op, |op| op.name.as_str());
        let entry = self.entries.iter().find(|entry| entry.op.name == name);
        entry.ok_or_else(|| Error::NotInSuite {
            suite: self.name.clone(),
            op: op.to_owned(),
            known: self.ops.clone(),
        })
    }

    /// Builds cases; those that have a place in a grid have it by their IDs.
    fn build(
        &self,
        op: &str,
        dtypes: Option<&[DType]>,
        seed: Option<u64>,
    ) -> Result<(Vec<Case>, HashMap<String, Place>), Error> {
        let entry = self.entry(op)?;
        let wanted = |dtype: &&DType| dtypes.is_none_or(|only| only.contains(dtype));
        let mut cases = Unique { once: entry.joined, ..Unique::default() };
        for &dtype in entry.dtypes.iter().filter(wanted) {
            for (index, template) in entry.templates.iter().enumerate() {
                let build = |draw| self.build_template(entry, index, dtype, draw);
                let place = template.place.as_ref();
                match seed {
                    _ if !template.is_drawn() => {
                        let built = template.memo.get(dtype, || build(Seed::default()))?;
                        built.iter().for_each(|case| cases.push(case.clone(), place));
                    }
                    Some(value) => {
                        cases.push_drawn(place, |again| build(Seed { value, again }))?;
                    }
                    None => {}
                }
            }
        }
        for case in entry.fixed.iter().filter(|case| wanted(&&case.dtype)) {
            cases.push(case.clone(), None);
        }
        let Unique { mut cases, places, .. } = cases;
        self.limits.apply(&entry.op, &mut cases);
        Ok((cases, places))
    }

    /// Builds the cases of one template.
    fn build_template(
        &self,
        entry: &Entry,
        index: usize,
        dtype: DType,
        seed: Seed,
    ) -> Result<Vec<Case>, Error> {
        let template = &entry.templates[index];
        let wrong = |source: CaseError| Error::Case {
            file: self.origin.clone(),
            line: template.line,
            op: entry.op.name.clone(),
            number: template.number,
            source: Box::new(source),
        };
        let drafts = template.drafts(&entry.op, index, dtype, seed).map_err(wrong)?;
        let build = |draft| build_case(&entry.op, &draft).map_err(|error| wrong(error.into()));
        let built = drafts.into_iter().map(build);
        if template.of_kind {
            // Types and distributions that the op does not take are those of others of its kind.
            return Ok(built.filter_map(Result::ok).collect());
        }
        built.collect()
    }
}

/// How often a drawn case that is there already is drawn anew.
const MOST_DRAWS: u32 = 8;

/// Cases under construction, whose ids are unique.
#[derive(Default)]
struct Unique {
    cases: Vec<Case>,
    places: HashMap<String, Place>,
    /// How many cases were named so: another one gets a number.
    taken: HashMap<String, usize>,
    /// Whether a case that is there already is left out.
    once: bool,
}

impl Unique {
    /// Adds the drawn cases of a template; one that is there already is drawn anew, and left out
    /// where its ranges hold no other.
    fn push_drawn<E>(
        &mut self,
        place: Option<&Place>,
        draw: impl Fn(u32) -> Result<Vec<Case>, E>,
    ) -> Result<(), E> {
        for (nth, case) in draw(0)?.into_iter().enumerate() {
            let mut new = Some(case);
            for again in 1..=MOST_DRAWS {
                if new.as_ref().is_some_and(|case| self.alike(case).is_none()) {
                    break;
                }
                new = draw(again)?.into_iter().nth(nth);
            }
            if let Some(case) = new.filter(|case| self.alike(case).is_none()) {
                self.push(case, place);
            }
        }
        Ok(())
    }

    /// Returns the case that judges the same, where one is there.
    fn alike(&self, case: &Case) -> Option<&Case> {
        self.taken.get(&case.id)?;
        self.cases.iter().find(|known| alike(known, case))
    }

    /// Adds a case; an id that is taken gets a number.
    fn push(&mut self, mut case: Case, place: Option<&Place>) {
        // A timed case is no repetition of a small one.
        let repeats = |known: &Case| {
            known.class == CaseClass::Drawn
                || self.once && known.class.is_large() == case.class.is_large()
        };
        let named_alike = self.taken.contains_key(&case.id);
        if named_alike && self.cases.iter().any(|known| repeats(known) && alike(known, &case)) {
            return;
        }
        let count = self.taken.entry(case.id.clone()).or_default();
        *count += 1;
        if *count > 1 {
            case.id = format!("{}#{count}", case.id);
        }
        self.places.extend(place.map(|place| (case.id.clone(), place.clone())));
        self.cases.push(case);
    }
}
