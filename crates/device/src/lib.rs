//! Devices behind one trait: a GPU through the driver API, and the emulator.
//!
//! A device knows buffers, modules and launches, nothing of ops or cases. The faults of a kernel
//! come back as [`LaunchError::Kernel`]; [`Error`] means that the device itself cannot be used.

mod cuda;
mod emu;
mod foreign_processes;
mod limits;
mod lock;
mod nvml;

use std::time::Duration;

use kgen_measure::{Flush, Health, Session};
use kgen_record::{
    Convolution, Finding, Gemm, LaunchCounters, Level, Target, Verdict, tensor_map::TensorMap,
};

pub use cuda::{
    AllocationTime, Allocator, CudaDevice, HostMemory, MemoryCopy, Peer, choose, driver_version,
    find_cublaslt, find_cudnn, gpus,
};
pub use emu::EmuDevice;
pub use kgen_record::LaunchAttributes;
pub use lock::GpuLock;

/// A buffer of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferId(pub u32);

/// A loaded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModuleId(pub u32);

/// A recorded sequence of launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GraphId(pub u32);

/// Compiled code in both forms; a device takes the one it runs.
#[derive(Debug, Clone, Copy)]
pub struct Image<'a> {
    /// PTX, for the emulator.
    pub ptx: &'a str,
    /// Machine code, for a GPU.
    pub cubin: &'a [u8],
}

/// An argument of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelArg {
    /// The address of a buffer's byte.
    Pointer {
        buffer: BufferId,
        /// Distance from its first byte.
        byte_offset: i64,
    },
    /// A tensor map of a part of a buffer, by value.
    TensorMap {
        buffer: BufferId,
        /// Distance of the map's address from the buffer's first byte.
        byte_offset: i64,
        /// The map; its address is 0.
        map: Box<TensorMap>,
    },
    /// A null pointer.
    Null,
    /// A scalar, little-endian, as wide as the parameter.
    Bytes(Vec<u8>),
}

/// One launch of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// The kernel's name in its module.
    pub kernel: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub smem: u32,
    /// The arguments.
    pub args: Vec<KernelArg>,
    /// How it differs from a plain one.
    pub attributes: LaunchAttributes,
}

/// One operation inside a timed region.
#[derive(Debug, Clone, PartialEq)]
pub enum TimedOp {
    /// Launches a kernel.
    Launch {
        /// The module that holds it.
        module: ModuleId,
        launch: Launch,
    },
    /// Calls a library for a matrix product.
    Gemm {
        /// The product.
        call: Box<Gemm<BufferId>>,
    },
    /// Calls a library for a convolution.
    Convolution {
        /// The convolution.
        call: Box<Convolution<BufferId>>,
    },
    /// Sets every byte of a buffer, as part of the candidate's work.
    Fill { buffer: BufferId, byte: u8 },
}

/// A buffer as another process finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedBuffer {
    /// The CUDA IPC handle of the allocation that holds it.
    pub handle: [u8; 64],
    /// Where in the allocation it begins, in bytes.
    pub byte_offset: u64,
}

/// A call that can be sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedCall {
    /// Buffers that are filled with a byte before each sample, outside the measured time.
    pub poison: Vec<(BufferId, u8)>,
    /// The measured work.
    pub work: TimedWork,
}

/// The work of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum TimedWork {
    /// These operations; an empty kernel where there are none.
    Ops(Vec<TimedOp>),
    /// A recorded graph.
    Graph(GraphId),
}

impl TimedCall {
    /// The call of an empty kernel, for the cost of a launch.
    pub const EMPTY: Self = Self { poison: Vec::new(), work: TimedWork::Ops(Vec::new()) };
}

/// Why a device did not execute a request.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel is at fault, or cannot be run here ([`Verdict::Unsupported`]).
    #[error("{verdict}: {}", .finding.message)]
    Kernel {
        /// The verdict.
        verdict: Verdict,
        /// The finding.
        finding: Box<Finding>,
        /// Whether the device cannot be used any more in this process.
        device_lost: bool,
    },
    /// The emulator's budget is spent.
    #[error("{reason}")]
    Budget {
        /// How much was spent, and where.
        reason: String,
        /// Whether the kernel is proven never to end; otherwise it may only be slow.
        endless: bool,
    },
    /// The device is at fault.
    #[error(transparent)]
    Machine(#[from] Error),
}

impl LaunchError {
    /// Returns a stop that leaves the device usable.
    #[must_use]
    pub fn verdict(verdict: Verdict, finding: Finding) -> Self {
        Self::Kernel { verdict, finding: Box::new(finding), device_lost: false }
    }
}

/// A device that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no CUDA driver on this machine.
    #[error("no GPU: the CUDA driver library (libcuda) is not installed")]
    NoDriver,
    /// There is a driver, but no GPU.
    #[error("no GPU: the CUDA driver shows none (see CUDA_VISIBLE_DEVICES)")]
    NoGpu,
    /// There is no GPU of that number.
    #[error("there is no GPU `cuda:{ordinal}`")]
    NoSuchGpu {
        /// Index among the visible GPUs.
        ordinal: u32,
    },
    /// An earlier kernel faulted and took the context with it.
    #[error("the GPU is lost to this process: an earlier kernel faulted")]
    Lost,
    /// The driver refused something that no candidate can cause.
    #[error("failed to {action}: {reason}")]
    Driver {
        /// The failed action.
        action: &'static str,
        /// The driver's name and text of the error.
        reason: String,
    },
}

/// Observations of a device besides the error that stopped it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// All findings of the launches, in order, with the one that stopped the last.
    pub findings: Vec<Finding>,
    /// Counters of each launch, where the device counts.
    pub counters: Vec<LaunchCounters>,
    /// Lane instructions that the launches spent, where the device counts them.
    pub lane_instructions: u64,
}

/// Bytes that are written or read to flush the L2 cache, at least: as many as `do_bench` of Triton
/// writes, so that times are comparable, and enough to hide the enqueuing of the next call.
const MIN_FLUSH: u64 = 256 << 20;

/// Something that runs kernels.
///
/// Buffers start at addresses aligned to 256 bytes.
pub trait Device {
    /// Returns the facts of the device.
    fn target(&self) -> &Target;

    /// Returns the level that verdicts reached here carry: [`Level::Emu`] or [`Level::Cuda`].
    fn level(&self) -> Level;

    /// Limits the lane instructions of all launches from here on together; a GPU ignores it.
    fn set_budget(&mut self, lane_instructions: u64);

    /// Loads compiled code.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`] where the code is refused.
    fn load(&mut self, image: &Image<'_>) -> Result<ModuleId, LaunchError>;

    /// Unloads a module; its variables are gone.
    fn unload(&mut self, module: ModuleId);

    /// Allocates a buffer; zero bytes are allowed.
    ///
    /// `label` names it in findings, `element_bytes` is the unit in which they count. On the
    /// emulator the bounds are exact; on a GPU guard zones lie around the buffer.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`] where there is not enough memory.
    fn alloc(
        &mut self,
        label: &str,
        bytes: usize,
        element_bytes: usize,
    ) -> Result<BufferId, LaunchError>;

    fn free(&mut self, buffer: BufferId);

    /// Returns a buffer's size, in bytes.
    fn size(&self, buffer: BufferId) -> usize;

    /// Writes a whole buffer from the host; all its bytes then count as written.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Machine`] where the device is at fault.
    fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), LaunchError>;

    /// Reads a whole buffer.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`] for a fault of an earlier launch, or [`LaunchError::Machine`].
    fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, LaunchError>;

    /// Reads a part of a buffer.
    ///
    /// # Errors
    ///
    /// As [`Device::read`].
    fn read_part(
        &mut self,
        buffer: BufferId,
        from: usize,
        len: usize,
    ) -> Result<Vec<u8>, LaunchError>;

    /// Returns the bytes that can still be allocated, where the device has a limit of its own.
    fn free_bytes(&mut self) -> Option<u64> {
        None
    }

    /// Fills a buffer with a repeated pattern that counts as never written: poison.
    ///
    /// # Errors
    ///
    /// As [`Device::read`].
    fn fill(&mut self, buffer: BufferId, pattern: &[u8]) -> Result<(), LaunchError>;

    /// Sets every byte of a buffer, which then counts as written: a plan's `fill`.
    ///
    /// # Errors
    ///
    /// As [`Device::read`].
    fn clear(&mut self, buffer: BufferId, byte: u8) -> Result<(), LaunchError>;

    /// Checks that the guard zones of a buffer are untouched; always so on the emulator, which
    /// stops at the access itself.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`] with [`Verdict::OutOfBoundsWrite`].
    fn check_guards(&mut self, buffer: BufferId) -> Result<(), LaunchError>;

    /// Returns how another process finds a buffer; `None` where the device has no way to share one.
    ///
    /// The buffer must outlive its use by the other process.
    fn share(&mut self, _buffer: BufferId) -> Option<SharedBuffer> {
        None
    }

    /// Returns for each byte of a buffer whether no kernel wrote it since it was poisoned; `None`
    /// where the device does not know.
    fn unwritten(&mut self, buffer: BufferId) -> Option<Vec<bool>>;

    /// Launches a kernel; a GPU may report its faults only at the next [`Device::sync`].
    ///
    /// # Errors
    ///
    /// [`LaunchError::Kernel`], [`LaunchError::Budget`] or [`LaunchError::Machine`].
    fn launch(&mut self, module: ModuleId, launch: &Launch) -> Result<(), LaunchError>;

    /// Enqueues a matrix product of NVIDIA's library.
    ///
    /// # Errors
    ///
    /// [`Verdict::Unsupported`] where there is no such library, or it does not take the product.
    fn gemm(&mut self, call: &Gemm<BufferId>) -> Result<(), LaunchError> {
        _ = call;
        let finding = Finding::new("this device has no library of matrix products");
        Err(LaunchError::verdict(Verdict::Unsupported, finding))
    }

    /// Enqueues a convolution of NVIDIA's library.
    ///
    /// # Errors
    ///
    /// [`Verdict::Unsupported`] where there is no such library, or it does not take the convolution.
    fn convolution(&mut self, call: &Convolution<BufferId>) -> Result<(), LaunchError> {
        _ = call;
        let finding = Finding::new("this device has no library of convolutions");
        Err(LaunchError::verdict(Verdict::Unsupported, finding))
    }

    /// Takes the observations of the launches since the last call; a GPU makes none.
    fn observed(&mut self) -> Observed {
        Observed::default()
    }

    /// Waits for everything launched.
    ///
    /// # Errors
    ///
    /// As [`Device::launch`].
    fn sync(&mut self) -> Result<(), LaunchError>;

    /// Sets how long a candidate's kernels may run; the emulator has a budget instead.
    fn limit_kernels(&mut self, limit: Duration) {
        _ = limit;
    }

    /// Waits for a candidate's kernels.
    ///
    /// # Errors
    ///
    /// As [`Device::launch`]; [`Verdict::TimedOut`] for those that run too long, and the device is
    /// then lost.
    fn sync_kernels(&mut self) -> Result<(), LaunchError> {
        self.sync()
    }

    /// Samples `calls` in that order, in microseconds, each between two events; `None` where the
    /// device cannot time. All is enqueued before the first sample ends, where that is possible.
    ///
    /// Before each sample, outside the measured time, the call's buffers are poisoned and the L2
    /// cache is flushed; before the last one shared memory is overwritten.
    ///
    /// # Errors
    ///
    /// As [`Device::launch`].
    fn time(
        &mut self,
        calls: &[TimedCall],
        order: &[usize],
        flush: Flush,
    ) -> Result<Option<Vec<f64>>, LaunchError>;

    /// Returns the bytes that a flush of the L2 cache writes or reads.
    fn flush_bytes(&self) -> u64 {
        MIN_FLUSH.max(2 * self.target().l2_bytes)
    }

    /// Records `n` calls, taken from `calls` in turn, to be replayed by [`TimedWork::Graph`];
    /// `None` where the device has no graphs. The calls' poisoning is left out.
    ///
    /// # Errors
    ///
    /// As [`Device::launch`].
    fn record_graph(
        &mut self,
        calls: &[TimedCall],
        n: usize,
    ) -> Result<Option<GraphId>, LaunchError> {
        _ = (calls, n);
        Ok(None)
    }

    /// Forgets a graph.
    fn drop_graph(&mut self, graph: GraphId) {
        _ = graph;
    }

    /// Returns how the device is at the moment; nothing where it does not report it.
    fn health(&mut self) -> Health {
        Health::default()
    }

    /// Returns the millijoules that the device has used since its driver was loaded; `None` where it does
    /// not count them. The counter moves several times a second.
    fn energy_mj(&mut self) -> Option<f64> {
        None
    }

    /// Returns how many processes compute on the device at the moment that are not kgen's; `None`
    /// where it does not report them.
    fn n_foreign(&mut self) -> Option<u32> {
        None
    }

    /// Returns the facts and measurements of the device from its opening; `None` where there are
    /// none.
    fn session(&self) -> Option<&Session> {
        None
    }
}
