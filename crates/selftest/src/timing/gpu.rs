//! The checks' machine where there is one: a GPU.

use std::{
    thread,
    time::{Duration, Instant},
};

use kgen_compile::{CompileError, CompileJob, Compiler};
use kgen_device::{
    BufferId, CudaDevice, Device as _, GraphId, Image, KernelArg, Launch, LaunchError, ModuleId,
    SharedBuffer, TimedCall, TimedOp, TimedWork,
};
use kgen_measure::{
    Alone, Arm, Bench, Chunk, Flush, Measured, Mode, Params, Profile, Timing, alone, compare,
};

use super::{
    How, Lab, Setting, Work,
    work::{BLOCK, SOURCE},
};
use crate::Error;

/// Byte that outputs are filled with before every sample, as those of candidates are.
const POISON: u8 = 0xff;

/// Argument sets of a work: addresses and data change from launch to launch.
const N_SETS: u32 = 2;

/// Calls in the shorter of two graphs.
const N_CALLS: usize = 100;

/// Chunks of each kind, and samples in one, where chunks of two kinds are compared.
const N_CHUNKS: usize = 16;
const N_PER_CHUNK: usize = 32;

/// Nanoseconds that the GPU is held up while a chunk is enqueued.
const HOLD_NS: u64 = 10_000_000;

/// A GPU with the kernels of the checks loaded.
pub struct GpuLab<'d> {
    device: &'d mut CudaDevice,
    module: ModuleId,
    cubin: Vec<u8>,
}

impl<'d> GpuLab<'d> {
    /// Compiles the kernels and loads them.
    ///
    /// # Errors
    ///
    /// When the compiler or the GPU cannot be used.
    pub fn new(compiler: &Compiler, device: &'d mut CudaDevice) -> Result<Self, Error> {
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
        Ok(Self { device, module, cubin: compiled.cubin })
    }

    /// Gives a work its memory, with values in it.
    fn open(&mut self, work: Work, seed: u32) -> Result<Sets, LaunchError> {
        let mut sets =
            Sets { work, buffers: Vec::new(), launches: Vec::new(), outputs: Vec::new() };
        for set in 0..N_SETS {
            if let Err(stop) = self.add_set(seed + set, &mut sets) {
                sets.close(self.device);
                return Err(stop);
            }
        }
        match self.device.sync() {
            Ok(()) => Ok(sets),
            Err(stop) => {
                sets.close(self.device);
                Err(stop)
            }
        }
    }

    fn add_set(&mut self, seed: u32, sets: &mut Sets) -> Result<(), LaunchError> {
        let work = sets.work;
        let sm_count = self.device.target().sm_count;
        let mut args = Vec::new();
        if work.n_in() > 0 {
            let buffer = self.alloc("in", work.n_in(), sets)?;
            args.push(KernelArg::Pointer { buffer, byte_offset: 0 });
            let noise = Launch {
                kernel: "noise".to_owned(),
                grid: Work::Gather(work.n_in()).grid(sm_count),
                block: [BLOCK, 1, 1],
                args: vec![
                    KernelArg::Pointer { buffer, byte_offset: 0 },
                    KernelArg::Bytes(work.n_in().to_le_bytes().to_vec()),
                    KernelArg::Bytes(seed.to_le_bytes().to_vec()),
                ],
                ..Launch::default()
            };
            self.device.launch(self.module, &noise)?;
        }
        if work.n_out(sm_count) > 0 {
            let buffer = self.alloc("out", work.n_out(sm_count), sets)?;
            args.push(KernelArg::Pointer { buffer, byte_offset: 0 });
            sets.outputs.push(buffer);
        }
        args.push(KernelArg::Bytes(work.size().to_le_bytes().to_vec()));
        sets.launches.push(Launch {
            kernel: work.kernel().to_owned(),
            grid: work.grid(sm_count),
            block: work.block(),
            args,
            ..Launch::default()
        });
        Ok(())
    }

    fn alloc(&mut self, label: &str, n: u64, sets: &mut Sets) -> Result<BufferId, LaunchError> {
        let bytes = usize::try_from(4 * n).unwrap_or(usize::MAX);
        let buffer = self.device.alloc(label, bytes, 4)?;
        sets.buffers.push(buffer);
        Ok(buffer)
    }

    /// Launches a work so often, for a profiler that watches.
    ///
    /// # Errors
    ///
    /// When the GPU cannot be used.
    pub fn launch(&mut self, work: Work, n: usize) -> Result<(), Error> {
        let sets = self.open(work, 1)?;
        let mut once = || {
            self.device.launch(self.module, &sets.launches[0])?;
            self.device.sync()
        };
        let launched = (0..n).try_for_each(|_| once());
        sets.close(self.device);
        Ok(launched?)
    }

    /// Times a work here and lets `measure` time it elsewhere, on the same memory, which another
    /// process can reach; `None` where memory cannot be shared. Returns kgen's median.
    ///
    /// `measure` gets the machine code, the launch and the buffers.
    ///
    /// # Errors
    ///
    /// When the GPU cannot be used.
    pub fn beside<T>(
        &mut self,
        work: Work,
        setting: Setting,
        measure: impl FnOnce(&[u8], &Launch, &[(BufferId, SharedBuffer)]) -> T,
    ) -> Result<Option<(f64, T)>, Error> {
        let mut sets = self.open(work, 1)?;
        sets.launches.truncate(1);
        let share = |buffer: &BufferId| Some((*buffer, self.device.share(*buffer)?));
        let shared: Option<Vec<_>> = sets.buffers.iter().map(share).collect();
        let found = shared.map(|shared| {
            let theirs = measure(&self.cubin, &sets.launches[0], &shared);
            (self.sampled(&sets, setting, &Profile::Standard.params()), theirs)
        });
        sets.close(self.device);
        match found {
            Some((ours, theirs)) => Ok(Some((ours?.median_us, theirs))),
            None => Ok(None),
        }
    }

    /// Times a work on the memory it has.
    fn sampled(&mut self, sets: &Sets, setting: Setting, params: &Params) -> Result<Timing, Error> {
        let calls = sets.calls(self.module);
        let (device, module) = (&mut *self.device, self.module);
        let calls = [calls.clone(), calls];
        let mut pair = Pair { device, module, calls, setting, n_taken: [0; 2] };
        let Alone { candidate, .. } = alone(&mut pair, params)?.ok_or(Error::NoTimes)?;
        Ok(candidate)
    }

    /// Takes chunks of a work while the GPU is not held up, and while it is, in turn.
    fn chunks_in_turn(&mut self, sets: &Sets) -> Result<[Vec<f64>; 2], LaunchError> {
        let calls = sets.calls(self.module);
        let (device, module) = (&mut *self.device, self.module);
        let (calls, setting) = ([calls.clone(), calls], Setting::CLEAN);
        let mut pair = Pair { device, module, calls, setting, n_taken: [0; 2] };
        let mut samples = [Vec::new(), Vec::new()];
        for chunk in 0..2 * N_CHUNKS {
            let held = chunk % 2;
            pair.setting.held = held == 1;
            samples[held].extend(pair.chunk(&[Arm::Candidate; N_PER_CHUNK])?.samples_us);
        }
        Ok(samples)
    }
}

/// A work with its argument sets.
struct Sets {
    work: Work,
    buffers: Vec<BufferId>,
    outputs: Vec<BufferId>,
    launches: Vec<Launch>,
}

impl Sets {
    fn calls(&self, module: ModuleId) -> Vec<TimedCall> {
        let poison: Vec<_> = self.outputs.iter().map(|buffer| (*buffer, POISON)).collect();
        let call = |launch: &Launch| TimedCall {
            poison: poison.clone(),
            work: TimedWork::Ops(vec![TimedOp::Launch { module, launch: launch.clone() }]),
        };
        self.launches.iter().map(call).collect()
    }

    fn close(self, device: &mut CudaDevice) {
        for buffer in self.buffers {
            device.free(buffer);
        }
    }
}

/// Two works on the GPU in turn.
struct Pair<'a> {
    device: &'a mut CudaDevice,
    module: ModuleId,
    /// The calls of the baseline and those of the candidate, one per argument set.
    calls: [Vec<TimedCall>; 2],
    setting: Setting,
    /// Samples taken of each arm.
    n_taken: [usize; 2],
}

impl Pair<'_> {
    fn hold(&mut self) -> Result<(), LaunchError> {
        let spin = Launch {
            kernel: "spin".to_owned(),
            grid: [1; 3],
            block: [1; 3],
            args: vec![KernelArg::Bytes(HOLD_NS.to_le_bytes().to_vec())],
            ..Launch::default()
        };
        self.device.launch(self.module, &spin)
    }
}

impl Bench for Pair<'_> {
    type Error = LaunchError;

    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, LaunchError> {
        let began = Instant::now();
        if self.setting.held {
            self.hold()?;
        }
        let n_sets = self.calls[0].len();
        let mut next = |arm: &Arm| {
            let at = usize::from(*arm == Arm::Candidate);
            self.n_taken[at] += 1;
            at * n_sets + self.n_taken[at] % n_sets
        };
        let order: Vec<usize> = order.iter().map(&mut next).collect();
        let calls = self.calls.concat();
        let samples = self.device.time(&calls, &order, self.setting.flush)?;
        let wall_us = began.elapsed().as_secs_f64() * 1e6;
        // A GPU always times; without samples the comparison ends as one without times.
        let samples_us = samples.unwrap_or_default();
        Ok(Chunk { samples_us, wall_us, health: self.device.health() })
    }

    fn pause(&mut self, duration: Duration) {
        thread::sleep(duration);
    }
}

/// Two works inside graphs: a sample is what a graph of twice as many calls takes longer, per call.
struct Graphs<'a> {
    device: &'a mut CudaDevice,
    /// Of the baseline the shorter and the longer graph, then those of the candidate.
    graphs: Vec<GraphId>,
}

impl Graphs<'_> {
    fn record(&mut self, arms: &[Vec<TimedCall>; 2]) -> Result<(), LaunchError> {
        for calls in arms {
            for n in [N_CALLS, 2 * N_CALLS] {
                self.graphs.extend(self.device.record_graph(calls, n)?);
            }
        }
        Ok(())
    }
}

impl Bench for Graphs<'_> {
    type Error = LaunchError;

    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, LaunchError> {
        let began = Instant::now();
        let call =
            |graph: &GraphId| TimedCall { poison: Vec::new(), work: TimedWork::Graph(*graph) };
        let calls: Vec<TimedCall> = self.graphs.iter().map(call).collect();
        let pair = |arm: &Arm| if *arm == Arm::Baseline { [0, 1] } else { [2, 3] };
        let order: Vec<usize> = order.iter().flat_map(pair).collect();
        let samples = self.device.time(&calls, &order, Flush::None)?.unwrap_or_default();
        let samples_us =
            samples.chunks_exact(2).map(|pair| (pair[1] - pair[0]) / N_CALLS as f64).collect();
        let wall_us = began.elapsed().as_secs_f64() * 1e6;
        Ok(Chunk { samples_us, wall_us, health: self.device.health() })
    }

    fn pause(&mut self, duration: Duration) {
        thread::sleep(duration);
    }
}

impl GpuLab<'_> {
    fn in_turn(
        &mut self,
        calls: [Vec<TimedCall>; 2],
        how: How,
        params: &Params,
        seed: u64,
    ) -> Result<Option<Measured>, LaunchError> {
        if how.mode != Mode::Graph {
            let setting = Setting { flush: how.flush, held: false };
            let (device, module) = (&mut *self.device, self.module);
            let mut pair = Pair { device, module, calls, setting, n_taken: [0; 2] };
            return compare(&mut pair, params, seed);
        }
        let mut graphs = Graphs { device: self.device, graphs: Vec::new() };
        let recorded = graphs.record(&calls);
        let measured = recorded.and_then(|()| compare(&mut graphs, params, seed));
        for graph in std::mem::take(&mut graphs.graphs) {
            graphs.device.drop_graph(graph);
        }
        measured
    }
}

impl Lab for GpuLab<'_> {
    fn compare(
        &mut self,
        baseline: Work,
        candidate: Work,
        how: How,
        params: &Params,
        seed: u64,
    ) -> Result<Measured, Error> {
        let baseline = self.open(baseline, 1)?;
        let candidate = match self.open(candidate, 1 + N_SETS) {
            Ok(candidate) => candidate,
            Err(stop) => {
                baseline.close(self.device);
                return Err(stop.into());
            }
        };
        let calls = [baseline.calls(self.module), candidate.calls(self.module)];
        let measured = self.in_turn(calls, how, params, seed);
        candidate.close(self.device);
        baseline.close(self.device);
        measured?.ok_or(Error::NoTimes)
    }

    fn alone(&mut self, work: Work, setting: Setting, params: &Params) -> Result<Timing, Error> {
        let sets = self.open(work, 1)?;
        let measured = self.sampled(&sets, setting, params);
        sets.close(self.device);
        measured
    }

    fn free_and_held(&mut self, work: Work) -> Result<[Timing; 2], Error> {
        let sets = self.open(work, 1)?;
        let taken = self.chunks_in_turn(&sets);
        sets.close(self.device);
        let [free, held] = taken?.map(|samples| Timing::of(samples).ok_or(Error::NoTimes));
        Ok([free?, held?])
    }
}
