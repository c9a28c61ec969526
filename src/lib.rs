//! kgen takes an operator and hands back a CUDA kernel that is proven correct and measured.
//!
//! The modules are layered; `ARCHITECTURE.md` says who may know whom and a test proves it.

pub use kgen_ops::{op, reference, suite};

pub mod agent;
pub mod baseline;
pub mod cli;
pub mod compile;
pub mod device;
pub mod eval;
pub mod export;
pub mod kernel;
pub mod llm;
pub mod process;
pub mod profile;
pub mod prompt;
pub mod record;
pub mod report;
pub mod selftest;
pub mod settings;
pub mod store;
pub mod worker;
