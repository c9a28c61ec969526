//! The kernels, a module per family.

mod elementwise;

use crate::Kernel;

/// All kernels.
#[must_use]
pub fn all() -> Vec<Kernel> {
    [elementwise::list()].concat()
}

/// Name and mutants of each kernel that has some.
pub(crate) const MUTANTS: &[(&str, &str)] =
    &[("relu_float4", include_str!("../mutants/relu_float4.toml"))];
