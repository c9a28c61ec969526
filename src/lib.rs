//! kgen takes an operator and hands back a CUDA kernel that is proven correct and measured.
//!
//! The modules are layered; `ARCHITECTURE.md` says who may know whom and a test proves it.

pub mod agent;
pub mod baseline;
pub mod cli;
pub mod compile;
pub mod device;
pub mod eval;
pub mod kernel;
pub mod llm;
pub mod op;
pub mod process;
pub mod prompt;
pub mod record;
pub mod reference;
pub mod report;
pub mod selftest;
pub mod settings;
pub mod store;
pub mod suite;
pub mod worker;
