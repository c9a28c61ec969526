//! Ops that treat each element on its own.

mod activation;
mod analysis;
mod arithmetic;
mod copy;
mod logic;
mod rounding;
mod select;
mod special;
mod ulps;

use super::super::{
    def::OpBuilder,
    families::pointwise::{Map, Output, Pointwise, Takes},
};
use crate::record::{Gen, List};

/// How results of f32 arithmetic become outputs.
const ROUNDED: &str = "in f32, rounded once to the output's dtype";

/// Conversion of integer inputs where the result is of a floating-point type.
const TO_F32: &str = "Integers and bool are converted to f32 and give f32.";

/// How two shapes broadcast.
const BROADCAST: &str = "Shapes broadcast: they are aligned at their last dimensions, a missing \
    dimension or one of extent 1 repeats.";

/// How two types are promoted.
const PROMOTED: &str = "Inputs of different types are converted to the promoted type first: \
    floating-point over integer over bool, the wider of two of a kind (f16 with bf16: f32), where a \
    0-dim tensor or a number counts only if its kind is higher.";

/// Values of which two tensors often have the same, or 0 and an infinity.
const EXTREMES: Gen = Gen::Listed { list: List::Extremes };

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let tables: [fn() -> Vec<OpBuilder>; 8] = [
        activation::rows,
        analysis::rows,
        rounding::rows,
        copy::rows,
        arithmetic::rows,
        logic::rows,
        select::rows,
        special::rows,
    ];
    tables.iter().flat_map(|rows| rows()).collect()
}

/// Returns the signature of an op of one tensor.
fn of_self(name: &str) -> String {
    format!("{name}(Tensor self) -> Tensor")
}

/// Returns an engine that takes floating-point types only.
const fn floats(flops: f64, map: Map) -> Pointwise {
    Pointwise { takes: Takes::Floats, output: Output::Promoted, ..Pointwise::unary(flops, map) }
}
