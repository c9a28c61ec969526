//! Samples between events, and graphs.

use cudarc::driver::{
    result::{self, event, graph},
    sys::{CUdeviceptr, CUevent_flags, CUgraphExec, CUgraphInstantiate_flags, CUstreamCaptureMode},
};
use kgen_measure::Flush;

use super::{CudaDevice, Ready, cublas::ReadyGemm, cudnn::ReadyConvolution, support::Support};
use crate::{BufferId, Device as _, Error, GraphId, LaunchError, TimedCall, TimedOp, TimedWork};

/// Nanoseconds that the GPU is kept busy per operation that is enqueued meanwhile, where no flush
/// does that. A launch takes the host 2 to 5 µs.
const HOLD_NS: u64 = 8_000;

/// Nanoseconds that the GPU is kept busy at most; calls enqueued later may find it idle.
const MAX_HOLD_NS: u64 = 20_000_000;

/// A call, made ready.
struct ReadyCall {
    poison: Vec<(BufferId, u8)>,
    ops: Vec<ReadyOp>,
}

/// A step of a timed region, made ready.
enum ReadyOp {
    Launch(Ready),
    Gemm(Box<ReadyGemm>),
    Convolution(Box<ReadyConvolution>),
    /// A product of nothing.
    Zero(CUdeviceptr, usize),
    /// A kernel of kgen's own.
    Own(Ready),
    Fill(BufferId, u8),
    Graph(GraphId),
}

impl CudaDevice {
    /// Samples calls as [`crate::Device::time`] says.
    pub(super) fn sample(
        &mut self,
        calls: &[TimedCall],
        order: &[usize],
        flush: Flush,
    ) -> Result<Vec<f64>, LaunchError> {
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        // Everything that takes the host's time comes before the first flush. From then on the GPU
        // has always more to do than the host has to enqueue.
        let ready = |call: &TimedCall| {
            Ok(ReadyCall { poison: call.poison.clone(), ops: self.ready_ops(call)? })
        };
        let mut ready = calls.iter().map(ready).collect::<Result<Vec<_>, LaunchError>>()?;
        self.sample_ready(&mut ready, order, flush)
    }

    /// Samples one of kgen's own kernels `n` times.
    pub(super) fn sample_own(
        &mut self,
        kernel: Support,
        n: usize,
        flush: Flush,
    ) -> Result<Vec<f64>, LaunchError> {
        let ops = vec![ReadyOp::Own(self.support(kernel)?)];
        self.sample_ready(&mut [ReadyCall { poison: Vec::new(), ops }], &vec![0; n], flush)
    }

    /// Returns the time between two events with nothing between them, `n` times, in microseconds.
    pub(super) fn sample_nothing(&mut self, n: usize) -> Result<Vec<f64>, LaunchError> {
        let mut nothing = [ReadyCall { poison: Vec::new(), ops: Vec::new() }];
        self.sample_ready(&mut nothing, &vec![0; n], Flush::None)
    }

    fn sample_ready(
        &mut self,
        calls: &mut [ReadyCall],
        order: &[usize],
        flush: Flush,
    ) -> Result<Vec<f64>, LaunchError> {
        let mut flush = self.ready_flush(flush)?;
        self.need_events(2 * order.len())?;
        if flush.is_none() {
            let n_ops = |&index: &usize| calls[index].poison.len() + calls[index].ops.len() + 3;
            self.hold(order.iter().map(n_ops).sum())?;
        }
        for (sample, &index) in order.iter().enumerate() {
            // Shared memory holds nothing of an earlier launch, whichever sample is judged. The
            // fills behind it leave multiprocessors as they leave them without it.
            if !calls[index].poison.is_empty() {
                self.scrub()?;
            }
            for &(buffer, byte) in &calls[index].poison {
                self.clear(buffer, byte)?;
            }
            if let Some(flush) = &mut flush {
                self.enqueue_flush(flush)?;
            }
            self.record_event(2 * sample)?;
            for op in &mut calls[index].ops {
                self.enqueue_op(op)?;
            }
            self.record_event(2 * sample + 1)?;
        }
        self.sync()?;
        (0..order.len()).map(|sample| self.elapsed_us(sample)).collect()
    }

    fn ready_ops(&mut self, call: &TimedCall) -> Result<Vec<ReadyOp>, LaunchError> {
        let ops = match &call.work {
            TimedWork::Graph(graph) => return Ok(vec![ReadyOp::Graph(*graph)]),
            TimedWork::Ops(ops) if ops.is_empty() => {
                return Ok(vec![ReadyOp::Own(self.support(Support::Empty)?)]);
            }
            TimedWork::Ops(ops) => ops,
        };
        let ready = |op: &TimedOp| {
            Ok(match op {
                TimedOp::Launch { module, launch } => ReadyOp::Launch(self.ready(*module, launch)?),
                TimedOp::Gemm { call } if call.k == 0 => {
                    let (address, bytes) = self.zero_of(call);
                    ReadyOp::Zero(address, bytes)
                }
                TimedOp::Gemm { call } => ReadyOp::Gemm(Box::new(self.ready_gemm(call)?)),
                TimedOp::Convolution { call } => {
                    ReadyOp::Convolution(Box::new(self.ready_convolution(call)?))
                }
                TimedOp::Fill { buffer, byte } => ReadyOp::Fill(*buffer, *byte),
            })
        };
        ops.iter().map(ready).collect()
    }

    fn enqueue_op(&mut self, op: &mut ReadyOp) -> Result<(), LaunchError> {
        match op {
            ReadyOp::Launch(launch) => self.enqueue(launch),
            ReadyOp::Gemm(gemm) => self.enqueue_gemm(gemm),
            ReadyOp::Convolution(ready) => self.enqueue_convolution(ready),
            ReadyOp::Zero(address, bytes) => self.enqueue_zero(*address, *bytes),
            ReadyOp::Own(launch) => self.enqueue_own(launch),
            ReadyOp::Fill(buffer, byte) => self.clear(*buffer, *byte),
            ReadyOp::Graph(graph) => {
                let graph = self.graphs.get(graph).expect("the graph was recorded");
                let raw = graph.raw;
                self.launched.clone_from(&graph.kernels);
                // SAFETY: graph and stream are alive and of one context.
                let status = unsafe { graph::launch(raw, self.stream) };
                self.check("launch a graph", status)
            }
        }
    }

    /// Keeps the GPU busy while so many operations are enqueued without a flush between them, lest
    /// samples hold the time in which the GPU waits for the host.
    pub(super) fn hold(&mut self, n_ops: usize) -> Result<(), LaunchError> {
        let ns = (n_ops as u64).saturating_mul(HOLD_NS).min(MAX_HOLD_NS);
        let mut spin = self.support(Support::Spin(ns))?;
        self.enqueue_own(&mut spin)
    }

    /// Returns the buffer that flushes the L2 cache.
    pub(super) fn flush_buffer(&mut self) -> Result<(CUdeviceptr, usize), LaunchError> {
        const ACTION: &str = "flush the L2 cache";
        if let Some(buffer) = self.flush {
            return Ok(buffer);
        }
        let bytes =
            usize::try_from(self.flush_bytes()).expect("a cache is smaller than the address space");
        // SAFETY: freed in `drop`, and only there.
        let allocated = unsafe { result::malloc_sync(bytes) };
        let address = allocated.map_err(|error| self.launch_error(ACTION, error))?;
        self.flush = Some((address, bytes));
        // Memory must be written before it is read.
        self.overwrite(address, bytes)?;
        Ok((address, bytes))
    }

    fn overwrite(&mut self, address: CUdeviceptr, bytes: usize) -> Result<(), LaunchError> {
        // SAFETY: the allocation has that many bytes.
        let status = unsafe { result::memset_d8_async(address, 0x5a, bytes, self.stream) };
        self.check("flush the L2 cache", status)
    }

    fn ready_flush(&mut self, flush: Flush) -> Result<Option<ReadyFlush>, LaunchError> {
        if flush == Flush::None {
            return Ok(None);
        }
        let (address, bytes) = self.flush_buffer()?;
        Ok(Some(match flush {
            Flush::Memset | Flush::None => ReadyFlush::Memset(address, bytes),
            Flush::Read => ReadyFlush::Read(self.support(Support::Read(address, bytes as u64))?),
        }))
    }

    fn enqueue_flush(&mut self, flush: &mut ReadyFlush) -> Result<(), LaunchError> {
        match flush {
            ReadyFlush::Memset(address, bytes) => self.overwrite(*address, *bytes),
            ReadyFlush::Read(launch) => self.enqueue_own(launch),
        }
    }

    /// Makes sure that there are so many events.
    pub(super) fn need_events(&mut self, n: usize) -> Result<(), LaunchError> {
        while self.events.len() < n {
            let made = event::create(CUevent_flags::CU_EVENT_DEFAULT);
            let event = made.map_err(|error| self.launch_error("make an event", error))?;
            self.events.push(event);
        }
        Ok(())
    }

    pub(super) fn record_event(&mut self, index: usize) -> Result<(), LaunchError> {
        // SAFETY: event and stream are alive and of one context.
        let status = unsafe { event::record(self.events[index], self.stream) };
        self.check("record an event", status)
    }

    /// Returns the time between the two events of a sample, in microseconds.
    pub(super) fn elapsed_us(&mut self, sample: usize) -> Result<f64, LaunchError> {
        // SAFETY: both events are recorded and, after the wait, complete.
        let elapsed =
            unsafe { event::elapsed(self.events[2 * sample], self.events[2 * sample + 1]) };
        let milliseconds = elapsed.map_err(|error| self.launch_error("read an event", error))?;
        // The driver gives an f32; more digits than that are noise, and text in every record.
        Ok((f64::from(milliseconds) * 1e7).round() / 1e4)
    }

    /// Records calls as [`crate::Device::record_graph`] says.
    pub(super) fn capture(
        &mut self,
        calls: &[TimedCall],
        n: usize,
    ) -> Result<GraphId, LaunchError> {
        const ACTION: &str = "record a graph";
        if self.lost {
            return Err(LaunchError::Machine(Error::Lost));
        }
        let mut ready =
            calls.iter().map(|call| self.ready_ops(call)).collect::<Result<Vec<_>, _>>()?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; the capture ends below, whatever happens in between.
        let begun = unsafe { result::stream::begin_capture(self.stream, mode) };
        self.check(ACTION, begun)?;
        let n_calls = ready.len();
        let enqueued = (0..n).try_for_each(|at| {
            ready[at % n_calls].iter_mut().try_for_each(|op| self.enqueue_op(op))
        });
        // SAFETY: the capture was begun above.
        let captured = unsafe { result::stream::end_capture(self.stream) };
        enqueued?;
        let captured = captured.map_err(|error| self.launch_error(ACTION, error))?;
        // SAFETY: the graph is alive, and not needed once it is instantiated.
        let instantiated = unsafe {
            let instantiated = graph::instantiate(captured, CUgraphInstantiate_flags(0));
            _ = graph::destroy(captured);
            instantiated
        };
        let graph = instantiated.map_err(|error| self.launch_error(ACTION, error))?;
        let id = GraphId(self.next_id());
        let kernels = self.launched.clone();
        self.graphs.insert(id, Graph { raw: graph, kernels });
        Ok(id)
    }

    /// Forgets all graphs.
    pub(super) fn destroy_graphs(&mut self) {
        let graphs: Vec<GraphId> = self.graphs.keys().copied().collect();
        for graph in graphs {
            self.destroy_graph(graph);
        }
    }

    /// Forgets a graph.
    pub(super) fn destroy_graph(&mut self, graph: GraphId) {
        if let Some(graph) = self.graphs.remove(&graph) {
            // SAFETY: the graph is alive and not used after this.
            _ = unsafe { graph::exec_destroy(graph.raw) };
        }
    }
}

/// A recorded graph.
#[derive(Debug)]
pub(super) struct Graph {
    raw: CUgraphExec,
    kernels: Vec<String>,
}

/// A flush, made ready.
enum ReadyFlush {
    Memset(CUdeviceptr, usize),
    Read(Ready),
}
