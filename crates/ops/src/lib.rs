//! Tensor operators as data: signatures, semantics, cases.
//!
//! - [`op`]: the catalogue. An op is a row (its `ATen` signature, the text of its semantics) and
//!   the engine of its family, which infers shapes and types, evaluates in f64 and says how much an
//!   honest computation may differ.
//! - [`mod@reference`]: evaluation and bounds of a case on concrete inputs.
//! - [`suite`]: named sets of ops with their cases, built in, from files, from logs of real calls.
//! - [`call`]: calls in PyTorch's own terms, bound to the ops of the catalogue.
//! - [`log`]: logs of the operator inputs of real models.
//! - [`expr`]: integers that are made of extents.
//! - [`record`]: element types, tensors and cases as plain data.
//!
//! Nothing here knows of kernels, devices or judges.

#![warn(missing_docs)]

pub mod call;
pub mod expr;
pub mod log;
mod near;
pub mod op;
mod parallel;
pub mod record;
pub mod reference;
pub mod suite;

pub use near::{near, nearest};
