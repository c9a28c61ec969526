//! Cost of the sandbox: starts of workers and evaluations of relu on the emulator, with and without, in turn.
//!
//! ```text
//! sandbox_cost KGEN ROUNDS
//! ```
//!
//! KGEN: the binary whose workers are started. Prints medians in milliseconds.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::{path::PathBuf, time::Instant};

use kgen_compile::{LocateOptions, locate};
use kgen_ops::suite;
use kgen_record::{EvalRequest, Implementation, Target, testing};
use kgen_settings::{DeviceChoice, NvrtcSettings};
use kgen_worker::{Pool, PoolConfig};

const RELU: &str = include_str!("../suites/baselines/relu.cu");

/// Evaluations by one worker, of which the first compiles.
const PER_WORKER: usize = 5;

#[tokio::main]
async fn main() {
    let mut args = std::env::args_os().skip(1);
    let kgen = PathBuf::from(args.next().unwrap());
    let rounds: usize = args.next().unwrap().to_str().unwrap().parse().unwrap();
    let settings = NvrtcSettings { path: None, offline: true, cache_dir: None };
    let toolchain = locate(&LocateOptions::new(&settings, None)).unwrap();
    let cases = suite::load("smoke").unwrap().cases("relu", None, 1).unwrap();
    let request =
        EvalRequest { seed: 7, ..testing::request("relu", Implementation::kernel(RELU), cases) };
    let cache = tempfile::tempdir().unwrap();
    let mut times = [(); 2].map(|()| (Vec::new(), Vec::new()));
    for _ in 0..rounds {
        for (sandbox, (starts, evaluations)) in [true, false].into_iter().zip(&mut times) {
            let target = Target::h100_class();
            let mut config = PoolConfig::new(toolchain.clone(), DeviceChoice::Emu, target, 1);
            config.exe = kgen.clone();
            config.cache_dir = Some(cache.path().join("compiled"));
            config.sandbox = sandbox;
            let began = Instant::now();
            let pool = Pool::start(config).await.unwrap();
            starts.push(began.elapsed().as_secs_f64() * 1e3);
            for _ in 0..PER_WORKER {
                let began = Instant::now();
                let judged = pool.evaluate(request.clone()).await.unwrap();
                assert!(judged.verdict.is_pass());
                evaluations.push(began.elapsed().as_secs_f64() * 1e3);
            }
            pool.shutdown().await;
        }
    }
    for (name, (starts, evaluations)) in ["with", "without"].into_iter().zip(times) {
        let (start, evaluation) = (median(starts), median(evaluations));
        println!("{name:8} start {start:8.2} ms   evaluation {evaluation:8.2} ms");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
