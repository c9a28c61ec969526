//! Operators: definitions, shape and dtype inference, input generators, work formulas.
//!
//! An op is one row of the table that [`all`] returns: its `ATen` schema, its parameters, the text of
//! its semantics, and the [`Engine`] that computes it. Everything else (inference, work, generators
//! here, the f64 reference in `reference`) is written once per engine, so that a further op of a
//! known family is a row and a formula. Nothing here evaluates an op.

mod args;
mod build;
mod catalogue;
mod def;
mod family;
mod generate;
mod infer;
mod layout;
mod param;
mod work;

#[cfg(test)]
mod tests;

pub use args::{ArgError, bool_arg, float_arg, int_arg, ints_arg, str_arg, tensor_arg};
pub use build::{BuildError, CaseDraft, DraftValue, build_case};
pub use catalogue::all;
pub use def::{Binary, Engine, Loss, Norm, OpDef, Reduce, Unary, UnknownOp, find};
pub use family::FamilyError;
pub use generate::generate;
pub use infer::{InferError, broadcast, normalise_dim, normalise_dims, promote};
pub use layout::{Layout, LayoutError};
pub use param::{Fallback, Param, ParamKind, Role, plan_name};
pub use work::Work;
