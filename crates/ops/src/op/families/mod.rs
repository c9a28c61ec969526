//! The engines: one file per family of formulas.

pub(super) mod contraction;
pub(super) mod lanes;
pub(super) mod loss;
pub(super) mod norm;
pub(super) mod pointwise;
pub(super) mod reduce;
pub(super) mod softmax;
pub(super) mod sum;
