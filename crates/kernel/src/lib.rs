//! The kernel file: taken out of a reply, split into source and plan, its plan evaluated for a
//! case, its launches bound to the compiled kernels.

pub mod bind;
pub mod extract;
pub mod file;
mod normal;
pub mod plan;

pub use bind::{BindError, BoundArg, bind};
pub use extract::{ExtractError, extract};
pub use file::{KernelFile, KernelFileError};
pub use normal::normalised;
