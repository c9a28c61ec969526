//! The Python process as an evaluation uses it: implementations that run there.

mod files;
mod process;
mod python;
mod reference;

#[cfg(test)]
mod tests;

pub(super) use process::Process;
pub(super) use python::Python;
pub(super) use reference::evaluate;
