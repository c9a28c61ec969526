//! The engines: one file per family of formulas.

pub(super) mod attention;
pub(super) mod blocks;
pub(super) mod contraction;
pub(super) mod conv;
#[cfg(test)]
mod dense_tests;
pub(super) mod lanes;
pub(super) mod loss;
pub(super) mod norm;
pub(super) mod pointwise;
pub(super) mod pool;
pub(super) mod quant;
pub(super) mod reduce;
pub(super) mod resample;
pub(super) mod softmax;
pub(super) mod sum;
