//! The asynchronous proxy of Hopper: bulk copies, tensor maps, products of warpgroups, and their
//! misuse.

mod bulk;
mod gemm;
mod hazards;
mod interleave;
pub(crate) mod reduce;
mod tma;
pub(crate) mod wgmma;
