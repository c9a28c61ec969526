//! Guards: they refuse features of a source before NVRTC sees it, and of NVRTC's output.
//!
//! They protect the host (no file of it may be read into a diagnostic and so into a prompt), the
//! judge (no state may live from one launch to the next) and the line numbers of all findings.
//! They do not look for slow or wrong code.

pub(super) mod ptx;
pub(super) mod source;
mod words;

pub use ptx::guard_ptx;
pub use source::guard_source;
