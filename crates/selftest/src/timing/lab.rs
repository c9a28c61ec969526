//! The device that the checks measure on: a GPU, or a simulation in the tests.

use kgen_measure::{Flush, Measured, Mode, Params, Timing};

use super::Work;
use crate::Error;

/// How samples of one kernel are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The treatment of L2 before each.
    pub flush: Flush,
    /// Whether the GPU is held up until a whole chunk is enqueued, so that it cannot wait for the
    /// host in between.
    pub held: bool,
}

impl Setting {
    /// After a flush by reading, which leaves nothing that the kernel has to write back for others.
    pub const CLEAN: Self = Self { flush: Flush::Read, held: false };

    /// After a flush by writing, as Triton's harness and PyTorch's do it.
    pub const DIRTY: Self = Self { flush: Flush::Memset, held: false };
}

/// How two works are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// Label of a number.
    pub mode: Mode,
    /// How L2 is flushed where it is.
    pub flush: Flush,
}

/// Something on which works are timed.
pub trait Lab {
    /// Compares two works as a candidate is compared with its baseline, each on memory of its own.
    ///
    /// # Errors
    ///
    /// When the GPU cannot be used or gives no times.
    fn compare(
        &mut self,
        baseline: Work,
        candidate: Work,
        how: How,
        params: &Params,
        seed: u64,
    ) -> Result<Measured, Error>;

    /// Times one work.
    ///
    /// # Errors
    ///
    /// As [`Lab::compare`].
    fn alone(&mut self, work: Work, setting: Setting, params: &Params) -> Result<Timing, Error>;

    /// Times one work in chunks of both kinds in turn, on the same memory: while the GPU is not held
    /// up, and while it is.
    ///
    /// # Errors
    ///
    /// As [`Lab::compare`].
    fn free_and_held(&mut self, work: Work) -> Result<[Timing; 2], Error>;
}
