//! Results of benches and runs over time.
//!
//! - [`History`]: the file. An [`Entry`] is a bench or a run, a [`Series`] one case with one
//!   implementation, which entry after entry measures.
//! - [`regress()`]: whether anything became slower from one entry to another.
//! - [`change_points`]: when the time of a series changed; [`trend`]: all of them as a page;
//!   [`dashboard`]: the page of an output folder.

#![warn(missing_docs)]

// An example is a module of the tests.
#[cfg(test)]
extern crate self as kgen_history;

mod change;
pub mod dashboard;
mod entry;
mod error;
mod export;
mod find;
mod regress;
mod store;
#[cfg(test)]
mod tests;
pub mod trend;

pub use change::{ChangePoint, Line, Point, change_points};
pub use entry::{
    Entry, Kind, NewEntry, NewResult, PASSED, Recorded, Series, StoredResult, StoredTime,
};
pub use error::Error;
pub use export::ExportRow;
pub use regress::{Method, Options, Ratio, Report, Row, Verdict, paired, regress};
pub use store::{Added, History, check_tag};
