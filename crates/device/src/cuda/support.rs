//! kgen's own kernels on the GPU.

use cudarc::driver::sys::CUdeviceptr;
use kgen_record::Target;

use super::{CudaDevice, Module, Ready, driver::machine};
use crate::{Launch, LaunchError};

/// The kernels of `support.cu`; the driver compiles them.
const PTX: &str = include_str!("support.ptx");

/// Threads of a block.
const BLOCK: u32 = 256;

/// Bytes that each thread moves.
const PER_THREAD: u64 = 16;

/// A kernel of kgen's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Support {
    /// Does nothing.
    Empty,
    /// Does nothing for so many nanoseconds.
    Spin(u64),
    /// Reads so many bytes.
    Read(CUdeviceptr, u64),
    /// Copies so many bytes from the first to the second.
    Copy([CUdeviceptr; 2], u64),
    /// The third becomes the first plus three times the second, each of so many bytes.
    Triad([CUdeviceptr; 3], u64),
    /// Adds to a 32-bit counter how many of so many bytes are not this one.
    Differs { from: CUdeviceptr, bytes: u64, byte: u8, count: CUdeviceptr },
    /// Overwrites the shared memory of every multiprocessor.
    Scrub,
}

/// Nanoseconds that a block keeps its multiprocessor to itself while shared memory is overwritten.
const SCRUB_NS: u64 = 4_000;

impl Support {
    const fn kernel(self) -> &'static str {
        match self {
            Self::Empty => "kgen_empty",
            Self::Spin(_) => "kgen_spin",
            Self::Read(..) => "kgen_read",
            Self::Copy(..) => "kgen_copy",
            Self::Triad(..) => "kgen_triad",
            Self::Differs { .. } => "kgen_differs",
            Self::Scrub => "kgen_scrub",
        }
    }

    /// The arguments as words, and the bytes that are moved by the grid.
    fn args(self, target: &Target) -> (Vec<u64>, u64) {
        match self {
            Self::Empty => (Vec::new(), 0),
            Self::Spin(ns) => (vec![ns], 0),
            // The sink is never written.
            Self::Read(x, bytes) => (vec![x, x, bytes / 16], bytes),
            Self::Copy([x, y], bytes) => (vec![x, y, bytes / 16], bytes),
            Self::Triad([b, c, a], bytes) => (vec![b, c, a, bytes / 16], bytes),
            Self::Differs { from, bytes, byte, count } => {
                (vec![from, bytes, u64::from(byte), count], bytes)
            }
            Self::Scrub => (vec![u64::from(target.smem_max), SCRUB_NS], 0),
        }
    }

    /// Returns blocks, threads of a block and bytes of shared memory of a launch that moves so many
    /// bytes.
    fn shape(self, bytes: u64, target: &Target) -> (u32, u32, u32) {
        if self == Self::Scrub {
            // A block that has all shared memory has its multiprocessor to itself.
            return (2 * target.sm_count, BLOCK, target.smem_max);
        }
        let blocks = bytes.div_ceil(PER_THREAD * u64::from(BLOCK)).max(1);
        let blocks = u32::try_from(blocks).unwrap_or(i32::MAX.unsigned_abs());
        (blocks, if bytes == 0 { 1 } else { BLOCK }, 0)
    }
}

impl CudaDevice {
    /// Enqueues a launch of a kernel of kgen's own, which takes no blame for failures.
    pub(super) fn enqueue_own(&mut self, ready: &mut Ready) -> Result<(), LaunchError> {
        let status = ready.enqueue(self.stream);
        self.check("launch one of kgen's own kernels", status)
    }

    /// Makes a launch of a kernel of kgen's own ready.
    pub(super) fn support(&mut self, support: Support) -> Result<Ready, LaunchError> {
        if self.support.is_none() {
            let mut image = PTX.as_bytes().to_vec();
            image.push(0);
            let module = Module::new(&image);
            let module = module.map_err(|error| machine("load kgen's own kernels", error))?;
            self.support = Some(module);
        }
        let (args, bytes) = support.args(&self.target);
        let (blocks, threads, smem) = support.shape(bytes, &self.target);
        let launch = Launch {
            kernel: support.kernel().to_owned(),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            smem,
            ..Launch::default()
        };
        let args: Vec<Vec<u8>> = args.iter().map(|word| word.to_le_bytes().to_vec()).collect();
        let module = self.support.as_mut().expect("it was loaded above");
        Ready::new(module, &launch, &args, &self.target)
    }
}
