//! Operators: definitions, shape and dtype inference, inputs, f64 evaluation.
//!
//! An op is a row of the tables behind [`all`]: its `ATen` signature, the text of its semantics, and
//! the [`Engine`] of its family. Everything else (inference, work, generators, the reference and
//! its bounds) is written once per family, so that a further op of a known family is a row and a
//! formula.

mod build;
mod call;
mod catalogue;
mod counter;
mod custom;
mod def;
mod eager;
mod engine;
mod families;
mod family;
mod formulas;
mod generate;
mod generators;
mod inputs;
mod layout;
mod overload;
mod param;
mod schema;
mod shape;
mod work;

#[cfg(test)]
mod tests;

pub(crate) use build::joined;
pub use build::{BuildError, CaseDraft, DraftTensor, DraftValue, build_case, complete_case};
pub use call::{ArgError, Call, Scalar};
pub use catalogue::{Named, all};
pub use counter::{Counter, Recipe};
pub use custom::{
    CaseText, CustomError, Evaluator, ModuleTensor, PythonReference, Quantity, ReferenceEvaluator,
    ReferenceKernel, TorchModule, custom, custom_cases, custom_extents,
};
pub use def::{OpBuilder, OpDef, UnknownOpError, find, resolve};
pub use eager::{EagerRounding, half_roundoff};
pub use engine::{Array, Engine, ExactLimits, Locality, Matrices, Origin, Shaped};
pub use family::OpFamily;
pub(crate) use formulas::logic::{shifted_left, shifted_right};
pub use generate::generate;
pub use generators::DistributionError;
use generators::by_role;
pub(crate) use generators::{integer_limit, sum_limit};
pub use inputs::{Input, Inputs};
pub use layout::{Layout, LayoutError};
pub use overload::{Argument, Arguments, Overload, Source, same_params};
pub use param::{Kind, Param, Role};
pub use schema::{Schema, SchemaError, dtype as parse_dtype};
pub(crate) use shape::kind;
pub use shape::{
    InferError, broadcast, normalise_dim, normalise_dims, promote, reduced, unravel, wider,
};
pub use work::Work;
