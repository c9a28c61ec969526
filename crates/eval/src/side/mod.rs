//! The processes beside a worker as an evaluation uses them: implementations that run there.

mod files;
mod out_of_process;
mod process;
mod reference;

#[cfg(test)]
mod tests;

pub(super) use out_of_process::OutOfProcess;
pub(super) use process::{Process, Processes};
pub(super) use reference::evaluate;
