//! Scalar semantics of PTX instructions as pure functions over register bits.
//!
//! Nothing here knows of warps or memory. Floats travel as their bits; 16-bit values sit in the low
//! half of a `u32`, the high half zero.

pub(crate) mod approx;
pub(crate) mod convert;
pub(crate) mod double;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod lanes;
pub(crate) mod simd;
pub(crate) mod single;
