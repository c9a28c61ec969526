//! A GPU through the driver API.
//!
//! One context, one stream: everything happens in the order it is asked for. A kernel that faults
//! takes the context with it; the device is then lost for the process, and its worker replaced.

mod attributes;
mod buffer;
mod calibrate;
mod cublas;
mod cudnn;
mod driver;
mod launch;
mod library;
mod list;
mod memory;
mod session;
mod support;
mod tensor_map;
mod time;
mod watch;

use std::{collections::HashMap, time::Duration};

use cudarc::driver::{
    DriverError,
    result::{self, ctx, event, primary_ctx, stream},
    sys::{CUdevice, CUdeviceptr, CUevent, CUresult, CUstream},
};
use kgen_measure::{Flush, Health, Session};
use kgen_record::{Convolution, Gemm, Level, Target, Verdict};

use self::{
    buffer::Buffer,
    cublas::{Cublas, ReadyGemm},
    cudnn::{Cudnn, ReadyConvolution},
    driver::{init, machine},
    launch::{Module, Ready},
    time::Graph,
};
use super::{
    BufferId, Device, Error, GraphId, Image, KernelArg, Launch, LaunchError, ModuleId,
    SharedBuffer, TimedCall, limits::launch_error, nvml::Monitor,
};

pub use cublas::find_cublaslt;
pub use cudnn::find_cudnn;
pub use list::{choose, driver_version, gpus};
pub use memory::{AllocationTime, Allocator, HostMemory, MemoryCopy, Peer};

/// A GPU.
#[derive(Debug)]
pub struct CudaDevice {
    target: Target,
    gpu: CUdevice,
    stream: CUstream,
    /// Two per sample, as many as were needed at once.
    events: Vec<CUevent>,
    /// The buffer that flushes the L2 cache, once it was needed.
    flush: Option<(CUdeviceptr, usize)>,
    /// kgen's own kernels, once they were needed.
    support: Option<Module>,
    graphs: HashMap<GraphId, Graph>,
    buffers: HashMap<BufferId, Buffer>,
    modules: HashMap<ModuleId, Module>,
    next_id: u32,
    /// Kernels launched since the last success of a wait.
    launched: Vec<String>,
    lost: bool,
    /// The library of matrix products, once it was needed.
    cublas: Option<Cublas>,
    /// The library of convolutions, once it was needed.
    cudnn: Option<Cudnn>,
    /// Whether buffers are plain allocations.
    bare: bool,
    /// A counter in the GPU's memory, once it was needed.
    counter: Option<CUdeviceptr>,
    /// How long a candidate's kernels may run.
    kernel_limit: Duration,
    monitor: Option<Monitor>,
    /// Numbers of kgen's processes that use the GPU.
    own: Vec<u32>,
    session: Option<Session>,
}

impl CudaDevice {
    /// Opens a GPU by its index among the visible ones.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`], [`Error::NoGpu`], [`Error::NoSuchGpu`], or the driver's error.
    pub fn open(ordinal: u32) -> Result<Self, Error> {
        const ACTION: &str = "open the GPU";
        let fail = |error| machine(ACTION, error);
        init()?;
        let gpu = list::get(ordinal)?;
        let target = list::facts(gpu)?;
        // SAFETY: the handle is one that the driver gave; the context is released in `drop`.
        let context = unsafe { primary_ctx::retain(gpu) }.map_err(fail)?;
        // SAFETY: the context is alive.
        unsafe { ctx::set_current(context) }.map_err(fail)?;
        let stream = stream::create(stream::StreamKind::NonBlocking).map_err(fail)?;
        Ok(Self {
            target,
            gpu,
            stream,
            events: Vec::new(),
            flush: None,
            support: None,
            graphs: HashMap::new(),
            buffers: HashMap::new(),
            modules: HashMap::new(),
            next_id: 0,
            launched: Vec::new(),
            lost: false,
            cublas: None,
            cudnn: None,
            bare: false,
            counter: None,
            kernel_limit: Duration::MAX,
            monitor: None,
            own: vec![std::process::id()],
            session: None,
        })
    }

    /// Gives buffers from here on neither guard zones nor contents: compute-sanitizer then sees
    /// every access outside of one, and every read of memory that nobody wrote.
    pub fn set_bare(&mut self, bare: bool) {
        self.bare = bare;
    }

    /// Hears which processes of kgen's may use the GPU too: they are none of somebody else's.
    pub fn set_beside(&mut self, pids: &[u32]) {
        self.own = pids.iter().copied().chain([std::process::id()]).collect();
    }

    /// Returns whether an earlier kernel's fault took the context with it.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Frees all buffers and unloads all modules: the next candidate finds an empty device.
    pub fn release_all(&mut self) {
        self.destroy_graphs();
        for (_, buffer) in self.buffers.drain() {
            buffer.free();
        }
        let modules: Vec<ModuleId> = self.modules.keys().copied().collect();
        for module in modules {
            self.unload(module);
        }
    }

    /// Turns an error of the driver into a launch error, and remembers a lost context.
    fn launch_error(&mut self, action: &'static str, error: DriverError) -> LaunchError {
        if self.lost {
            return LaunchError::Machine(Error::Lost);
        }
        let error = driver::launch_error(action, error, &self.launched);
        self.lost = matches!(error, LaunchError::Kernel { device_lost: true, .. });
        error
    }

    fn check(
        &mut self,
        action: &'static str,
        status: Result<(), DriverError>,
    ) -> Result<(), LaunchError> {
        status.map_err(|error| self.launch_error(action, error))
    }

    /// Returns a buffer that the caller got from `alloc` and did not free.
    fn buffer(&self, id: BufferId) -> &Buffer {
        self.buffers.get(&id).expect("the buffer was allocated and is not freed")
    }

    fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Resolves a launch's arguments and checks it.
    fn ready(&mut self, module: ModuleId, launch: &Launch) -> Result<Ready, LaunchError> {
        let address = |buffer, offset| self.buffer(buffer).address().wrapping_add_signed(offset);
        let args = launch.args.iter().map(|arg| match arg {
            KernelArg::Pointer { buffer, byte_offset } => {
                Ok(address(*buffer, *byte_offset).to_le_bytes().to_vec())
            }
            KernelArg::TensorMap { buffer, byte_offset, map } => {
                tensor_map::encode(map, address(*buffer, *byte_offset), launch, &self.target)
            }
            KernelArg::Null => Ok(vec![0; 8]),
            KernelArg::Bytes(bytes) => Ok(bytes.clone()),
        });
        let args = args.collect::<Result<Vec<Vec<u8>>, LaunchError>>()?;
        let module = self.modules.get_mut(&module).expect("the module is loaded");
        Ready::new(module, launch, &args, &self.target)
    }

    fn enqueue(&mut self, ready: &mut Ready) -> Result<(), LaunchError> {
        let is_new = self.launched.iter().all(|kernel| kernel != ready.kernel());
        if is_new {
            self.launched.push(ready.kernel().to_owned());
        }
        ready.enqueue(self.stream).map_err(|error| {
            if !self.lost
                && let Some(error) = ready.refused(error)
            {
                if is_new {
                    self.launched.pop();
                }
                return error;
            }
            self.launch_error("launch a kernel", error)
        })
    }

    /// Makes a matrix product ready.
    fn ready_gemm(&mut self, call: &Gemm<BufferId>) -> Result<ReadyGemm, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let call = call.map(|buffer| self.buffer(buffer).address());
        let library = match self.cublas.take() {
            Some(library) => library,
            None => Cublas::open(self.target.driver_version)?,
        };
        self.cublas.insert(library).ready(&call)
    }

    /// Makes a convolution ready.
    fn ready_convolution(
        &mut self,
        call: &Convolution<BufferId>,
    ) -> Result<ReadyConvolution, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let call = call.map(|buffer| self.buffer(buffer).address());
        let library = match self.cudnn.take() {
            Some(library) => library,
            None => Cudnn::open(self.target.driver_version, self.stream)?,
        };
        self.cudnn.insert(library).ready(&call)
    }

    fn enqueue_convolution(&mut self, ready: &ReadyConvolution) -> Result<(), LaunchError> {
        self.launched.push("a convolution of cuDNN".to_owned());
        ready.enqueue()
    }

    /// Returns where the zeros of a product of nothing go, and their bytes.
    fn zero_of(&self, call: &Gemm<BufferId>) -> (CUdeviceptr, usize) {
        let at = call.out.at;
        let bytes = call.batch * call.m * call.n * call.out_dtype.size();
        (self.buffer(at.buffer).address() + at.byte_offset as u64, bytes)
    }

    fn enqueue_zero(&mut self, address: CUdeviceptr, bytes: usize) -> Result<(), LaunchError> {
        // SAFETY: the plan was checked to hold so many bytes there; the stream is alive.
        let status = unsafe { result::memset_d8_async(address, 0, bytes, self.stream) };
        self.check("set a result to 0", status)
    }

    fn enqueue_gemm(&mut self, gemm: &ReadyGemm) -> Result<(), LaunchError> {
        self.launched.push("a matrix product of cuBLASLt".to_owned());
        gemm.enqueue(self.stream)
    }
}

impl Device for CudaDevice {
    fn target(&self) -> &Target {
        &self.target
    }

    fn level(&self) -> Level {
        Level::Cuda
    }

    fn set_budget(&mut self, _lane_instructions: u64) {}

    fn load(&mut self, image: &Image<'_>) -> Result<ModuleId, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let module =
            Module::new(image.cubin).map_err(|error| self.launch_error("load a module", error))?;
        let id = ModuleId(self.next_id());
        self.modules.insert(id, module);
        Ok(id)
    }

    fn unload(&mut self, module: ModuleId) {
        if let Some(module) = self.modules.remove(&module)
            && !self.lost
        {
            // SAFETY: the module is loaded and not used any more. A failure leaks it, no more.
            _ = unsafe { result::module::unload(module.raw) };
        }
    }

    fn alloc(
        &mut self,
        label: &str,
        bytes: usize,
        element_bytes: usize,
    ) -> Result<BufferId, LaunchError> {
        let allocated = if self.bare {
            Buffer::bare(label, bytes, element_bytes)
        } else {
            Buffer::new(label, bytes, element_bytes, self.stream)
        };
        let buffer = allocated.map_err(|error| {
            if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY && !self.lost {
                return launch_error(format!(
                    "the GPU has no memory left for `{label}` ({bytes} bytes)"
                ));
            }
            self.launch_error("allocate memory", error)
        })?;
        let id = BufferId(self.next_id());
        self.buffers.insert(id, buffer);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        // The driver would wait for a kernel that hangs; memory of a lost context ends with it.
        if let Some(buffer) = self.buffers.remove(&buffer)
            && !self.lost
        {
            buffer.free();
        }
    }

    fn size(&self, buffer: BufferId) -> usize {
        self.buffer(buffer).len()
    }

    fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), LaunchError> {
        let status = self.buffer(buffer).write(bytes, self.stream);
        self.check("copy to the GPU", status)
    }

    fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, LaunchError> {
        let bytes = self.buffer(buffer).read(self.stream);
        bytes.map_err(|error| self.launch_error("copy from the GPU", error))
    }

    fn read_part(
        &mut self,
        buffer: BufferId,
        from: usize,
        len: usize,
    ) -> Result<Vec<u8>, LaunchError> {
        let bytes = self.buffer(buffer).read_part(from, len, self.stream);
        bytes.map_err(|error| self.launch_error("copy from the GPU", error))
    }

    fn free_bytes(&mut self) -> Option<u64> {
        result::mem_get_info().ok().map(|(free, _)| free as u64)
    }

    fn fill(&mut self, buffer: BufferId, pattern: &[u8]) -> Result<(), LaunchError> {
        let status = self.buffer(buffer).fill(pattern, self.stream);
        self.check("fill a buffer", status)
    }

    fn clear(&mut self, buffer: BufferId, byte: u8) -> Result<(), LaunchError> {
        let status = self.buffer(buffer).set_bytes(byte, self.stream);
        self.check("fill a buffer", status)
    }

    fn check_guards(&mut self, buffer: BufferId) -> Result<(), LaunchError> {
        if !self.is_damaged(buffer)? {
            return Ok(());
        }
        let damage = self.buffer(buffer).damage(self.stream);
        match damage.map_err(|error| self.launch_error("read a guard zone", error))? {
            Some(finding) => Err(LaunchError::verdict(Verdict::OutOfBoundsWrite, finding)),
            None => Ok(()),
        }
    }

    fn share(&mut self, buffer: BufferId) -> Option<SharedBuffer> {
        self.buffer(buffer).share()
    }

    fn unwritten(&mut self, _buffer: BufferId) -> Option<Vec<bool>> {
        None
    }

    fn launch(&mut self, module: ModuleId, launch: &Launch) -> Result<(), LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let mut ready = self.ready(module, launch)?;
        self.enqueue(&mut ready)
    }

    fn gemm(&mut self, call: &Gemm<BufferId>) -> Result<(), LaunchError> {
        if call.k == 0 {
            let (address, bytes) = self.zero_of(call);
            return self.enqueue_zero(address, bytes);
        }
        let ready = self.ready_gemm(call)?;
        self.enqueue_gemm(&ready)
    }

    fn convolution(&mut self, call: &Convolution<BufferId>) -> Result<(), LaunchError> {
        let ready = self.ready_convolution(call)?;
        self.enqueue_convolution(&ready)
    }

    fn limit_kernels(&mut self, limit: Duration) {
        self.kernel_limit = limit;
    }

    fn sync_kernels(&mut self) -> Result<(), LaunchError> {
        self.wait_for_kernels()?;
        self.sync()
    }

    fn sync(&mut self) -> Result<(), LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        // SAFETY: the stream is alive.
        let status = unsafe { stream::synchronize(self.stream) };
        self.check("wait for the GPU", status)?;
        self.launched.clear();
        Ok(())
    }

    fn time(
        &mut self,
        calls: &[TimedCall],
        order: &[usize],
        flush: Flush,
    ) -> Result<Option<Vec<f64>>, LaunchError> {
        self.sample(calls, order, flush).map(Some)
    }

    fn record_graph(
        &mut self,
        calls: &[TimedCall],
        n: usize,
    ) -> Result<Option<GraphId>, LaunchError> {
        self.capture(calls, n).map(Some)
    }

    fn drop_graph(&mut self, graph: GraphId) {
        self.destroy_graph(graph);
    }

    fn health(&mut self) -> Health {
        self.monitor.as_ref().map(Monitor::health).unwrap_or_default()
    }

    fn energy_mj(&mut self) -> Option<f64> {
        self.monitor.as_ref()?.energy_mj()
    }

    fn n_foreign(&mut self) -> Option<u32> {
        self.monitor.as_ref()?.n_foreign(&self.own)
    }

    fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        if self.lost {
            return;
        }
        for (_, buffer) in self.buffers.drain() {
            buffer.free();
        }
        self.destroy_graphs();
        if let Some(library) = self.cublas.take() {
            library.close();
        }
        if let Some(library) = self.cudnn.take() {
            library.close();
        }
        let modules = self.modules.drain().map(|(_, module)| module).chain(self.support.take());
        // SAFETY: each handle is alive, destroyed once and not used after this. Failures mean
        // that the context is lost, and everything with it.
        unsafe {
            for module in modules {
                _ = result::module::unload(module.raw);
            }
            for address in self.flush.map(|(address, _)| address).into_iter().chain(self.counter) {
                _ = result::free_sync(address);
            }
            for event in self.events.drain(..) {
                _ = event::destroy(event);
            }
            _ = stream::destroy(self.stream);
            _ = primary_ctx::release(self.gpu);
        }
    }
}
