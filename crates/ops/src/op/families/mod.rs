//! The engines: one file per family of formulas.

pub(super) mod adjoint;
pub(super) mod attention;
pub(super) mod backward;
pub(super) mod blocks;
pub(super) mod channel_norm;
pub(super) mod col2im;
pub(super) mod contraction;
pub(super) mod conv;
pub(super) mod distances;
pub(super) mod extreme;
pub(super) mod glu;
pub(super) mod grid;
pub(super) mod index;
pub(super) mod interpolate;
pub(super) mod kron;
pub(super) mod lanes;
pub(super) mod llm;
pub(super) mod loss;
pub(super) mod masked_scatter;
pub(super) mod members;
pub(super) mod moments;
pub(super) mod movement;
pub(super) mod norm;
pub(super) mod pointwise;
pub(super) mod pool;
pub(super) mod quant;
pub(super) mod quantile;
pub(super) mod recurrent;
pub(super) mod reduce;
pub(super) mod repeats;
pub(super) mod resample;
pub(super) mod scan;
pub(super) mod serving;
pub(super) mod softmax;
pub(super) mod sort;
pub(super) mod sum;
pub(super) mod truth;
pub(super) mod vector_norm;
pub(super) mod weight_norm;
pub(super) mod weighted;

#[cfg(test)]
mod adjoint_tests;
#[cfg(test)]
mod dense_tests;
#[cfg(test)]
mod f64_cases;
#[cfg(test)]
mod fold_tests;
#[cfg(test)]
pub(crate) mod probe;
