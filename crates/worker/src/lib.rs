//! Workers: child processes that judge, so that nothing a candidate does can hurt the run.
//!
//! [`Pool`] is the parent's side: it owns the processes, their deadlines and their ends, and turns
//! the death of a worker into a verdict with the findings it had until then. [`child::main`] is the
//! other side. [`protocol`] has their messages. [`node_main`] is the other side of a worker that is
//! launched on another machine.

pub mod child;
mod error;
mod pool;
pub mod profile;
pub mod protocol;

pub use error::Error;
pub use pool::{
    Gpu, LaunchConfig, LonePython, Notice, Notices, Observer, Pool, PoolConfig, SideConfig,
    node_main,
};
