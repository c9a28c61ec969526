//! The part that all adapters share: the protocol of `adapters/README.md` over a Unix socket, the places of
//! tensors, and how calls are timed. A library is a [`Library`]; [`main`] is its program.

mod args;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "cuda")]
pub mod events;
mod library;
mod message;
mod place;
mod program;
mod refusal;
mod server;
pub mod testing;
mod time;

pub use args::{Args, Slot};
pub use library::{Bind, Call, Function, Library, Op, Samples};
pub use message::{DType, Dense, Device, Facts, Flush, Output, Tensor};
pub use place::{Place, Storage};
pub use program::main;
pub use refusal::{Kind, Refusal, unsupported};
pub use time::{Clock, host_samples};
