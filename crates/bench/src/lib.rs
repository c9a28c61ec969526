//! Results of `kgen bench`: implementations of ops side by side over a grid of cases.
//!
//! A [`Cell`] is one case with one implementation. [`rows`] and [`csv`] are for programs, [`table`] is for
//! terminals, [`page`] for browsers, [`plots`] for papers.
//!
//! Pure: takes no samples and reads no files.

mod case;
mod cell;
mod csv;
mod document;
mod draw;
mod page;
mod plots;
mod row;
mod summary;
mod text;

pub use cell::{Axis, Bench, Cell, CellTiming, FORMAT, Outcome};
pub use csv::{csv, is_column};
pub use document::Document;
pub use kgen_measure::{Energy, Memory, Usage};
pub use page::page;
pub use plots::plots;
pub use row::{Row, rows};
pub use summary::{ImplementationSummary, summary};
pub use text::table;
