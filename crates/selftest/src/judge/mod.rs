//! The judge proves itself: kernels that are wrong in one known way must not pass, and kernels that
//! are right in an unusual way must.
//!
//! The folder `controls` holds honest, simple kernel files and, per file, a list of edits. A
//! **control** is an edit that makes the kernel wrong; a **variant** is one that leaves it right. An
//! [`Item`] is one of them for one op in one element type, judged as any candidate is. This module
//! makes the requests and counts what came back; who judges them is the caller's business.

mod data;
mod report;
mod request;

pub use data::{DataError, Item, Kind, items, items_in};
pub use report::{ControlResult, Count, End, Report, Rules, conclude};
pub use request::{Requests, request};
