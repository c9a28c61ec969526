//! The ops that kgen knows, one table per family.

mod elementwise;
mod loss;
mod matmul;
mod normalise;

use super::OpDef;

/// All ops, in the order in which they are listed.
const ALL: [OpDef; 12] = [
    elementwise::RELU,
    elementwise::ADD,
    elementwise::MUL,
    elementwise::GELU,
    elementwise::SILU,
    normalise::SUM,
    normalise::SOFTMAX,
    normalise::LAYER_NORM,
    normalise::RMS_NORM,
    matmul::MM,
    loss::MSE_LOSS,
    loss::CROSS_ENTROPY_LOSS,
];

static TABLE: [OpDef; 12] = ALL;

/// Returns all ops that kgen knows.
#[must_use]
pub fn all() -> &'static [OpDef] {
    &TABLE
}
