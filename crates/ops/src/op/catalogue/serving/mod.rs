//! Ops of serving and training libraries, under the names that these give them.

mod activation;
mod attention;
mod experts;
mod loss;
mod norm;
mod packed;
mod quant;
mod state;

use super::super::def::OpBuilder;

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [
        activation::rows(),
        norm::rows(),
        quant::rows(),
        experts::rows(),
        loss::rows(),
        packed::rows(),
        attention::rows(),
        state::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How an output of f8e4m3 is made of an f32 value.
const TO_FP8: &str = "rounded to nearest even to f8e4m3, a magnitude beyond 448 being 448";
