//! kgen takes an operator and hands back a CUDA kernel that is proven correct and measured.
//!
//! The parts are crates of their own under `crates/`; `ARCHITECTURE.md` says who may know whom.

pub mod cli;
pub mod export;
pub mod report;
