//! Speed of the interpreter on one core: `cargo bench -p ptx-emu`.
//!
//! The kernels are those of `ptx/*.cu`, compiled by NVRTC 13 for `sm_90` with `-lineinfo`. Every
//! launch is checked against a reference before it is timed. Times are processor time. Criterion's
//! throughput is in elements per second, where an element is one instruction of one thread.
#![expect(clippy::cast_possible_truncation, reason = "references are rounded to f32")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use half::f16;
use nix::time::{ClockId, clock_gettime};
use ptx_emu::{BufferId, Checks, Config, Emulator, Launch, Module, Options};

const SPEED: &str = include_str!("ptx/speed.ptx");
const MMA: &str = include_str!("ptx/mma_512.ptx");

/// Checks, from the least to the most.
const MODES: [(&str, Checks); 3] =
    [("bounds", Checks::BOUNDS), ("bounds+init", Checks::MEMORY), ("full", Checks::FULL)];

/// A kernel with inputs and expected output.
struct Work {
    name: &'static str,
    ptx: &'static str,
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// Bytes of each input.
    inputs: Vec<Vec<u8>>,
    /// Integers behind the buffers.
    scalars: Vec<i32>,
    want: Vec<f32>,
}

/// Numbers in `[-1, 1)` from a fixed sequence.
fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f64::from(state >> 8) / f64::from(1 << 23) - 1.0) as f32
    };
    (0..n).map(|_| next()).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn halves(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn relu() -> Work {
    let x = numbers(1 << 20, 1);
    let want = x.iter().map(|v| v.max(0.0)).collect();
    Work {
        name: "relu_float4_1M",
        ptx: SPEED,
        kernel: "relu",
        grid: [1024, 1, 1],
        block: [256, 1, 1],
        inputs: vec![bytes(&x)],
        scalars: vec![1 << 18],
        want,
    }
}

fn softmax() -> Work {
    let x = numbers(1 << 20, 2);
    let row = |row: &[f32]| {
        let max = row.iter().fold(f32::MIN, |m, v| m.max(*v));
        let e: Vec<f64> = row.iter().map(|v| f64::from(v - max).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.into_iter().map(move |e| (e / sum) as f32).collect::<Vec<_>>()
    };
    let want = x.chunks(1024).flat_map(row).collect();
    Work {
        name: "softmax_1024x1024",
        ptx: SPEED,
        kernel: "softmax",
        grid: [1024, 1, 1],
        block: [256, 1, 1],
        inputs: vec![bytes(&x)],
        scalars: vec![1024],
        want,
    }
}

/// The product of two 512 x 512 matrices, in f64.
fn product(a: &[f32], b: &[f32]) -> Vec<f32> {
    let n = 512;
    let mut sums = vec![0.0_f64; n * n];
    for (row, a) in sums.chunks_mut(n).zip(a.chunks(n)) {
        for (a, b) in a.iter().zip(b.chunks(n)) {
            for (sum, b) in row.iter_mut().zip(b) {
                *sum += f64::from(*a) * f64::from(*b);
            }
        }
    }
    sums.into_iter().map(|v| v as f32).collect()
}

fn matmul(name: &'static str, kernel: &'static str, tile: u32) -> Work {
    let (a, b) = (numbers(512 * 512, 3), numbers(512 * 512, 4));
    Work {
        name,
        ptx: SPEED,
        kernel,
        grid: [512 / tile, 512 / tile, 1],
        block: [tile, tile, 1],
        inputs: vec![bytes(&a), bytes(&b)],
        scalars: vec![512],
        want: product(&a, &b),
    }
}

fn matmul_f16() -> Work {
    let matrix =
        |seed| -> Vec<f16> { numbers(512 * 512, seed).into_iter().map(f16::from_f32).collect() };
    let (a, b) = (matrix(5), matrix(6));
    let wide = |m: &[f16]| m.iter().map(|v| v.to_f32()).collect::<Vec<_>>();
    Work {
        name: "matmul_mma_f16_512",
        ptx: MMA,
        kernel: "mma_f16",
        grid: [8, 8, 1],
        block: [128, 1, 1],
        inputs: vec![halves(&a), halves(&b)],
        scalars: vec![512, 512],
        want: product(&wide(&a), &wide(&b)),
    }
}

/// A kernel on a device, ready to launch again and again.
struct Ready {
    emulator: Emulator,
    module: Module,
    launch: Launch,
    options: Options,
    output: BufferId,
}

impl Ready {
    fn new(work: &Work, checks: Checks) -> Self {
        let mut emulator = Emulator::new(Config::default());
        let mut args = Vec::new();
        for input in &work.inputs {
            let id = emulator.alloc("in", input.len(), 4);
            emulator.write(id, input);
            args.push(emulator.address(id).to_le_bytes().to_vec());
        }
        let output = emulator.alloc("out", work.want.len() * 4, 4);
        args.push(emulator.address(output).to_le_bytes().to_vec());
        args.extend(work.scalars.iter().map(|n| n.to_le_bytes().to_vec()));
        let (grid, block) = (work.grid, work.block);
        let launch =
            Launch { kernel: work.kernel.to_owned(), grid, block, args, ..Launch::default() };
        let module = Module::parse(work.ptx).expect("the PTX parses");
        let options = Options { checks, threads: 1, ..Options::default() };
        Self { emulator, module, launch, options, output }
    }

    /// Launches once; gives instructions times threads.
    fn run(&mut self) -> u64 {
        let report = self.emulator.launch(&self.module, &self.launch, &self.options);
        assert!(report.is_clean(), "{report:?}");
        report.lane_instructions
    }

    fn check(&self, work: &Work) {
        let (words, _) = self.emulator.bytes(self.output).as_chunks();
        for (i, (word, want)) in words.iter().zip(&work.want).enumerate() {
            let got = f32::from_le_bytes(*word);
            let error = (got - want).abs();
            assert!(error <= 1e-4 * want.abs().max(1.0), "{} [{i}]: {got}, not {want}", work.name);
        }
    }
}

/// Processor time of `n` calls, which other programs lengthen less than wall time.
fn cpu_time<T>(n: u64, mut f: impl FnMut() -> T) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        Duration::from(time.expect("a process has a clock"))
    };
    let start = now();
    for _ in 0..n {
        black_box(f());
    }
    now().saturating_sub(start)
}

fn kernels(criterion: &mut Criterion) {
    for work in [
        relu(),
        softmax(),
        matmul("matmul_naive_512", "matmul_naive", 16),
        matmul("matmul_tiled_512", "matmul_tiled", 32),
        matmul_f16(),
    ] {
        let mut group = criterion.benchmark_group(work.name);
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(1));
        for (mode, checks) in MODES {
            let mut ready = Ready::new(&work, checks);
            let lanes = ready.run();
            ready.check(&work);
            group.throughput(Throughput::Elements(lanes));
            group.bench_function(mode, |b| b.iter_custom(|n| cpu_time(n, || ready.run())));
        }
        group.finish();
    }
}

fn parsing(criterion: &mut Criterion) {
    // A file of ordinary size, over and over.
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10).warm_up_time(Duration::from_millis(100));
    group.measurement_time(Duration::from_secs(1));
    for (name, ptx) in
        [("speed.ptx", SPEED), ("models.ptx", include_str!("../tests/ptx/pass/models.ptx"))]
    {
        group.throughput(Throughput::Bytes(ptx.len() as u64));
        let parse = || Module::parse(black_box(ptx));
        group.bench_function(name, |b| b.iter_custom(|n| cpu_time(n, parse)));
    }
    group.finish();
}

criterion_group!(benches, kernels, parsing);
criterion_main!(benches);
