//! Runs beside each other: read from their folders, grouped into arms, as text and as CSV.
//!
//! The numbers are made by `kgen_compare`; here is the reading for them, and how they
//! are written.

mod arms;
mod csv;
mod load;
mod text;

pub use arms::{Grouping, alone, arms};
pub use csv::csv;
pub(super) use load::folder;
pub use load::{Detail, load};
pub use text::text;
