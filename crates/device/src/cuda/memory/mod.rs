//! Copies and allocations as benchmarks of memory time them; kernels are timed as all others are.

mod allocation;
mod copy;
mod host;
mod peer;

pub use allocation::{AllocationTime, Allocator};
pub use copy::MemoryCopy;
pub use host::HostMemory;
pub use peer::Peer;
