//! Speed of the interpreter on one core: `cargo bench -p ptx-emu`.
//!
//! Every launch is checked against a reference before it is timed. Criterion's throughput is in
//! elements per second, where an element is one instruction of one thread.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use ptx_emu::{BufferId, Config, Emulator, Launch, Limits, Module};

const SPEED: &str = include_str!("ptx/speed.ptx");

/// A kernel with inputs and expected output.
struct Work {
    name: &'static str,
    ptx: &'static str,
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    inputs: Vec<Vec<f32>>,
    n: i32,
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

fn relu() -> Work {
    let x = numbers(1 << 20, 1);
    let want = x.iter().map(|v| v.max(0.0)).collect();
    Work {
        name: "relu_float4_1M",
        ptx: SPEED,
        kernel: "relu",
        grid: [1024, 1, 1],
        block: [256, 1, 1],
        inputs: vec![x],
        n: 1 << 18,
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
        inputs: vec![x],
        n: 1024,
        want,
    }
}

fn matmul(name: &'static str, kernel: &'static str, tile: u32) -> Work {
    let n = 512;
    let (a, b) = (numbers(n * n, 3), numbers(n * n, 4));
    let mut sums = vec![0.0_f64; n * n];
    for (row, a) in sums.chunks_mut(n).zip(a.chunks(n)) {
        for (a, b) in a.iter().zip(b.chunks(n)) {
            for (sum, b) in row.iter_mut().zip(b) {
                *sum += f64::from(*a) * f64::from(*b);
            }
        }
    }
    Work {
        name,
        ptx: SPEED,
        kernel,
        grid: [512 / tile, 512 / tile, 1],
        block: [tile, tile, 1],
        inputs: vec![a, b],
        n: 512,
        want: sums.into_iter().map(|v| v as f32).collect(),
    }
}

/// A kernel on a device, ready to launch again and again.
struct Ready {
    emulator: Emulator,
    module: Module,
    launch: Launch,
    output: BufferId,
}

impl Ready {
    fn new(work: &Work) -> Self {
        let mut emulator = Emulator::new(Config::default());
        let mut args = Vec::new();
        for input in &work.inputs {
            let bytes: Vec<u8> = input.iter().flat_map(|v| v.to_le_bytes()).collect();
            let id = emulator.alloc("in", bytes.len(), 4);
            emulator.write(id, &bytes);
            args.push(emulator.address(id).to_le_bytes().to_vec());
        }
        let output = emulator.alloc("out", work.want.len() * 4, 4);
        args.push(emulator.address(output).to_le_bytes().to_vec());
        args.push(work.n.to_le_bytes().to_vec());
        let (grid, block) = (work.grid, work.block);
        let launch = Launch { kernel: work.kernel.to_owned(), grid, block, dynamic_smem: 0, args };
        let module = Module::parse(work.ptx).expect("the PTX parses");
        Self { emulator, module, launch, output }
    }

    /// Launches once; gives instructions times threads.
    fn run(&mut self) -> u64 {
        let result = self.emulator.launch(&self.module, &self.launch, Limits::default());
        result.unwrap_or_else(|stop| panic!("{stop:?}")).lane_instructions
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

fn kernels(criterion: &mut Criterion) {
    for work in [
        relu(),
        softmax(),
        matmul("matmul_naive_512", "matmul_naive", 16),
        matmul("matmul_tiled_512", "matmul_tiled", 32),
    ] {
        let mut group = criterion.benchmark_group(work.name);
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(1));
        let mut ready = Ready::new(&work);
        let lanes = ready.run();
        ready.check(&work);
        println!("{}: {lanes} lane-instructions", work.name);
        group.throughput(Throughput::Elements(lanes));
        group.bench_function("bounds+init", |b| b.iter(|| black_box(ready.run())));
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
        group.bench_function(name, |b| b.iter(|| Module::parse(black_box(ptx))));
    }
    group.finish();
}

criterion_group!(benches, kernels, parsing);
criterion_main!(benches);
