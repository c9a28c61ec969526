//! The processes beside a worker as an evaluation uses them: implementations that run there.

mod beside;
mod files;
mod process;
mod reference;

#[cfg(test)]
mod tests;

pub(super) use beside::Beside;
pub(super) use process::{Process, Processes};
pub(super) use reference::evaluate;
