//! The lab that there is: a GPU.

use std::time::Duration;

use kgen_compile::{CompileError, CompileJob, Compiler};
use kgen_device::{
    AllocationTime, Allocator, BufferId, CudaDevice, Device as _, HostMemory, Image, Launch,
    LaunchError, MemoryCopy, ModuleId, Peer, TimedCall, TimedOp, TimedWork,
};
use kgen_measure::{Flush, stats::median};

use crate::{
    Case, Error, Lab, Test, host,
    kernels::{Grid, SOURCE},
    size::{UNIT, rounded},
};

/// Bytes of the GPU that stay free: for the driver, and for others.
const SPARE: u64 = 512 << 20;

/// Bytes of the host that stay free.
const HOST_SPARE: u64 = 1 << 30;

/// Loads of a chase.
const N_LOADS: u32 = 2048;

/// Launches of an empty kernel in a sample, and samples.
const N_LAUNCHES: usize = 32;
const N_SAMPLES: usize = 15;

/// A GPU with the benchmark's kernels loaded, and the memory of one test.
pub struct GpuLab<'d> {
    device: &'d mut CudaDevice,
    module: ModuleId,
    /// Index of the GPU, and that of another one.
    ordinals: (u32, Option<u32>),
    buffers: Vec<BufferId>,
    host: Option<HostMemory>,
    peer: Option<Peer>,
    /// Bytes that hold a cycle of pointers.
    linked: Option<u64>,
}

impl<'d> GpuLab<'d> {
    /// Compiles the kernels and loads them.
    ///
    /// `ordinal`: index of the GPU; `other`: that of one for copies between GPUs.
    ///
    /// # Errors
    ///
    /// When the compiler or the GPU cannot be used.
    pub fn new(
        compiler: &Compiler,
        device: &'d mut CudaDevice,
        ordinal: u32,
        other: Option<u32>,
    ) -> Result<Self, Error> {
        let arch = device.target().arch.clone();
        let job =
            CompileJob { source: SOURCE, defines: &[], types: &[], kernels: &[], arch: &arch };
        let compiled = compiler.compile(&job).map_err(|error| match error {
            CompileError::Machine(error) => Error::Compile(error),
            CompileError::Failed(diagnostics) => {
                let messages: Vec<_> = diagnostics.into_iter().map(|said| said.message).collect();
                Error::Source(messages.join("; "))
            }
        })?;
        let module = device.load(&Image { ptx: &compiled.ptx, cubin: &compiled.cubin })?;
        // Guard zones would be filled for nothing.
        device.set_bare(true);
        Ok(Self {
            device,
            module,
            ordinals: (ordinal, other),
            buffers: Vec::new(),
            host: None,
            peer: None,
            linked: None,
        })
    }

    /// Returns the microseconds of an empty kernel among others.
    ///
    /// # Errors
    ///
    /// When the GPU cannot be used.
    pub fn launch_us(&mut self) -> Result<Option<f64>, Error> {
        let launch = self.grid().launch("nothing", 0, 1, 0);
        Ok(median(&self.time_kernel(launch, N_LAUNCHES, N_SAMPLES)?))
    }

    /// The GPU with the buffers of the open test.
    fn grid(&self) -> Grid<'_> {
        Grid { sm_count: self.device.target().sm_count, buffers: &self.buffers }
    }

    fn time_kernel(
        &mut self,
        launch: Launch,
        n_calls: usize,
        n_samples: usize,
    ) -> Result<Vec<f64>, Error> {
        let op = TimedOp::Launch { module: self.module, launch };
        let call = TimedCall { poison: Vec::new(), work: TimedWork::Ops(vec![op; n_calls]) };
        let samples = self.device.time(&[call], &vec![0; n_samples], Flush::None)?;
        Ok(samples.unwrap_or_default().iter().map(|sample| sample / n_calls as f64).collect())
    }

    /// Allocates a buffer and fills it.
    fn buffer(&mut self, bytes: u64) -> Result<(), Error> {
        let buffer = self.device.alloc("memory", size(bytes), 1).map_err(no_room)?;
        self.buffers.push(buffer);
        let seed = u32::try_from(self.buffers.len()).unwrap_or(u32::MAX);
        let grid = Grid { buffers: &[buffer], ..self.grid() };
        let noise = grid.launch("noise", bytes, bytes / 8, seed);
        Ok(self.device.launch(self.module, &noise)?)
    }

    /// Allocates memory of the host, unless the test before left enough of it.
    fn open_host(&mut self, bytes: u64, is_pinned: bool) -> Result<(), Error> {
        let is_enough =
            |host: &HostMemory| host.is_pinned() == is_pinned && size(bytes) <= host.len();
        if self.host.as_ref().is_some_and(is_enough) {
            return Ok(());
        }
        self.host = None;
        if let Some(left) = host::available()
            && left < bytes.saturating_add(HOST_SPARE)
        {
            return Err(Error::NoRoom(format!("the host has {} available", rounded(left))));
        }
        self.host = Some(self.device.host_memory(size(bytes), is_pinned).map_err(no_room)?);
        Ok(())
    }

    fn open_peer(&mut self, bytes: u64) -> Result<(), Error> {
        let Some(other) = self.ordinals.1 else {
            return Err(Error::NotHere("there is one GPU".to_owned()));
        };
        let peer = self.device.peer(other, size(bytes), size(SPARE)).map_err(no_room)?;
        self.peer = Some(peer);
        Ok(())
    }

    /// Frees what is the GPU's.
    fn release(&mut self) {
        for buffer in self.buffers.drain(..) {
            self.device.free(buffer);
        }
        self.peer = None;
        self.linked = None;
    }

    fn time_copy(
        &mut self,
        case: Case,
        n_calls: usize,
        n_samples: usize,
    ) -> Result<Vec<f64>, Error> {
        let [first, second] = [0, 1].map(|at| self.buffers.get(at).copied());
        let buffer = first.expect("the test is open");
        let is_back = case.parameter == 1;
        let mut copy = match (case.test, &mut self.host, &self.peer) {
            (Test::D2d, ..) => {
                MemoryCopy::OnDevice { from: buffer, to: second.expect("the test is open") }
            }
            (Test::P2p, _, Some(peer)) if is_back => {
                MemoryCopy::FromPeer { from: peer, to: buffer }
            }
            (Test::P2p, _, Some(peer)) => MemoryCopy::ToPeer { from: buffer, to: peer },
            (Test::H2dPageable | Test::H2dPinned, Some(host), _) => {
                MemoryCopy::ToDevice { from: host, to: buffer }
            }
            (_, Some(host), _) => MemoryCopy::ToHost { from: buffer, to: host },
            (_, None, _) => unreachable!("the test is open"),
        };
        Ok(self.device.time_copies(&mut copy, size(case.bytes), n_calls, n_samples)?)
    }

    /// Follows pointers through the largest power of two of lines that the size holds.
    fn time_chase(
        &mut self,
        bytes: u64,
        n_calls: usize,
        n_samples: usize,
    ) -> Result<Vec<f64>, Error> {
        let n_lines = 1 << (bytes / UNIT).max(1).ilog2();
        let bytes = n_lines * UNIT;
        if self.linked != Some(bytes) {
            let link = self.grid().launch("link", bytes, n_lines, 0);
            self.device.launch(self.module, &link)?;
            self.linked = Some(bytes);
        }
        let chase = Launch { block: [1; 3], ..self.grid().launch("chase", bytes, 1, N_LOADS) };
        let samples = self.time_kernel(chase, n_calls, n_samples)?;
        Ok(samples.iter().map(|sample| sample / f64::from(N_LOADS)).collect())
    }
}

impl Lab for GpuLab<'_> {
    fn open(&mut self, test: Test, bytes: u64) -> Result<(), Error> {
        self.release();
        let free = self.device.free_bytes().unwrap_or(u64::MAX);
        let needed = bytes.saturating_mul(test.n_buffers() as u64).saturating_add(SPARE);
        if free < needed {
            return Err(Error::NoRoom(format!("the GPU has {} free", rounded(free))));
        }
        match test {
            Test::H2dPageable | Test::D2hPageable => self.open_host(bytes, false)?,
            Test::H2dPinned | Test::D2hPinned => self.open_host(bytes, true)?,
            Test::P2p => self.open_peer(bytes)?,
            _ => self.host = None,
        }
        for _ in 0..test.n_buffers() {
            self.buffer(bytes)?;
        }
        if test == Test::Latency {
            self.buffer(UNIT)?;
        }
        Ok(self.device.sync()?)
    }

    fn time(&mut self, case: Case, n_calls: usize, n_samples: usize) -> Result<Vec<f64>, Error> {
        match case.test {
            Test::H2dPageable
            | Test::D2hPageable
            | Test::H2dPinned
            | Test::D2hPinned
            | Test::D2d
            | Test::P2p => self.time_copy(case, n_calls, n_samples),
            Test::Latency => self.time_chase(case.bytes, n_calls, n_samples),
            _ => self.time_kernel(self.grid().case(case), n_calls, n_samples),
        }
    }

    fn directions(&self) -> [String; 2] {
        let (own, other) = (self.ordinals.0, self.ordinals.1.unwrap_or_default());
        let has_access = self.peer.as_ref().is_some_and(Peer::has_access);
        let note = if has_access { "" } else { " through the host" };
        [format!("cuda:{own}->cuda:{other}{note}"), format!("cuda:{other}->cuda:{own}{note}")]
    }

    fn allocations(
        &mut self,
        allocator: Allocator,
        bytes: u64,
        n_samples: usize,
        limit: Duration,
    ) -> Result<Vec<AllocationTime>, Error> {
        let free = self.device.free_bytes().unwrap_or(u64::MAX);
        if free < bytes.saturating_add(SPARE) {
            return Err(Error::NoRoom(format!("the GPU has {} free", rounded(free))));
        }
        self.device.time_allocations(allocator, size(bytes), n_samples, limit).map_err(no_room)
    }

    fn close(&mut self) {
        self.release();
        self.host = None;
    }
}

impl Drop for GpuLab<'_> {
    fn drop(&mut self) {
        self.close();
        self.device.unload(self.module);
        self.device.set_bare(false);
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Takes the refusal of an allocation for a lack of memory.
fn no_room(stop: LaunchError) -> Error {
    match stop {
        LaunchError::Kernel { finding, device_lost: false, .. } => Error::NoRoom(finding.message),
        other => other.into(),
    }
}
