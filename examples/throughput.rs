//! Measures how many candidates a machine with a GPU judges and times; `scripts/throughput.sh` runs it.
//!
//! ```text
//! throughput KGEN [N] [all]
//! ```
//!
//! KGEN is the binary whose workers judge. N candidates (50 by default) of relu, gelu and softmax in
//! f32, none like another, are judged on the cases of the suite `smoke` and on 1024x1024, and timed
//! against `builtin` in the profile `screen`: one after the other, and all at once. The realistic
//! cases of `smoke` are left out but with `all`.
#![expect(clippy::print_stdout, reason = "printing the figures is its purpose")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::Write as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use kgen_compile::{LocateOptions, locate};
use kgen_ops::{
    op,
    suite::{self, Suite},
};
use kgen_record::{
    Case, CaseClass, DType, Emulation, EvalRequest, Evaluation, Implementation, L2, Limits,
    Precision, Profile, Stage, Target, TimingRequest,
};
use kgen_settings::{DeviceChoice, Overrides, resolve};
use kgen_worker::{Pool, PoolConfig};
use nix::sys::resource::{UsageWho, getrusage};

/// The ops whose kernels are judged, in turn.
const OPS: [&str; 3] = ["relu", "gelu", "softmax"];

/// The timed case.
const TIMED: &str = r#"format = 1
name = "timed"
dtypes = ["f32"]
[[ops]]
name = "relu"
cases = [{ self = "[1024, 1024]", class = "realistic" }]
[[ops]]
name = "gelu"
cases = [{ self = "[1024, 1024]", class = "realistic" }]
[[ops]]
name = "softmax"
cases = [{ self = "[1024, 1024]", dim = -1, class = "realistic" }]
"#;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let kgen = args.first().ok_or("usage: throughput KGEN [N] [all]")?;
    let n = args.get(1).map_or(Ok(50), |n| n.parse())?;
    let all = args.get(2).is_some_and(|word| word == "all");
    // As many threads as kgen itself has.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(Box::pin(measure(kgen, n, all)))
}

async fn measure(kgen: &str, n: u32, all: bool) -> Result<()> {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile()?;
    file.write_all(TIMED.as_bytes())?;
    let suites = [suite::load("smoke")?, suite::load(&file.path().to_string_lossy())?];
    let cache = tempfile::tempdir()?;
    let pool = Arc::new(pool(kgen, cache.path()).await?);
    let target = pool.target().clone();
    println!("{n} candidates on {}, {} cpu workers", target.name, pool.split().cpu_workers);
    // The first one pays for the start of all processes.
    drop(pool.evaluate(request(&suites, &target, 0, all)?).await?);
    one_by_one(&pool, &suites, &target, n, all).await?;
    at_once(&pool, &suites, &target, n, all).await?;
    pool.shutdown().await;
    Ok(())
}

async fn one_by_one(
    pool: &Pool,
    suites: &[Suite; 2],
    target: &Target,
    n: u32,
    all: bool,
) -> Result<()> {
    let mut walls: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut stages: BTreeMap<Stage, Vec<f64>> = BTreeMap::new();
    let mut outside = Vec::new();
    for number in 1..=n {
        let request = request(suites, target, number, all)?;
        let began = Instant::now();
        let evaluation = pool.evaluate(request).await?;
        let wall = began.elapsed().as_secs_f64();
        passed(&evaluation)?;
        walls.entry(OPS[number as usize % OPS.len()]).or_default().push(wall);
        let in_stages: f64 = evaluation.stage_times.iter().map(|time| time.seconds).sum();
        outside.push(wall - in_stages);
        for time in evaluation.stage_times {
            stages.entry(time.stage).or_default().push(time.seconds);
        }
    }
    println!("one by one, seconds each: median and worst");
    for (op, walls) in walls {
        println!("  {op:8} {:.3} {:.3}", median(&walls), worst(&walls));
    }
    for (stage, seconds) in stages {
        println!("  of it, {:9} {:.3} {:.3}", stage.name(), median(&seconds), worst(&seconds));
    }
    println!("  outside of stages {:.3} {:.3}", median(&outside), worst(&outside));
    Ok(())
}

async fn at_once(
    pool: &Arc<Pool>,
    suites: &[Suite; 2],
    target: &Target,
    n: u32,
    all: bool,
) -> Result<()> {
    let before = (pool.split(), parent_cpu()?);
    let requests: Vec<EvalRequest> =
        (1..=n).map(|number| request(suites, target, n + number, all)).collect::<Result<_>>()?;
    let began = Instant::now();
    let tasks: Vec<_> = requests
        .into_iter()
        .map(|request| {
            let pool = Arc::clone(pool);
            tokio::spawn(async move { pool.evaluate(request).await })
        })
        .collect();
    let mut gpu_s = 0.0;
    for task in tasks {
        let evaluation = task.await??;
        passed(&evaluation)?;
        let on_gpu = evaluation
            .stage_times
            .iter()
            .filter(|time| matches!(time.stage, Stage::Execute | Stage::Time | Stage::Reference));
        gpu_s += on_gpu.map(|time| time.seconds).sum::<f64>();
    }
    let wall = began.elapsed().as_secs_f64();
    let parent = (parent_cpu()? - before.1).as_secs_f64();
    let after = pool.split();
    let part = |name: &str, of: fn(&kgen_record::Split) -> f64| {
        println!("  {name:10} {:.2} s", of(&after) - of(&before.0));
    };
    println!("all at once: {wall:.2} s, {:.3} s each", wall / f64::from(n));
    println!("  GPU stages {gpu_s:.2} s in all (references that a worker waits for counted in)");
    println!("  wall over GPU stages {:.2}", wall / gpu_s);
    part("compile", |split| split.compile_s);
    part("emulate", |split| split.emulate_s);
    part("references", |split| split.references_s);
    part("gpu", |split| split.gpu_s);
    part("timing", |split| split.timing_s);
    println!("  parent CPU {:.1} ms per evaluation", 1e3 * parent / f64::from(n));
    Ok(())
}

/// Starts workers with a compile cache that holds nothing.
async fn pool(kgen: &str, cache: &Path) -> Result<Pool> {
    let settings = resolve(None, &Overrides::default())?.settings;
    let toolchain = locate(&LocateOptions::new(&settings.nvrtc, None))?;
    let target = settings.device.emu.target();
    let config = PoolConfig {
        exe: fs::canonicalize(kgen)?,
        cache_dir: Some(cache.to_owned()),
        ..PoolConfig::new(toolchain, DeviceChoice::Cuda(0), target, settings.device.n_jobs())
    };
    Ok(Box::pin(Pool::start(config)).await?)
}

fn request(suites: &[Suite; 2], target: &Target, number: u32, all: bool) -> Result<EvalRequest> {
    let op = OPS[number as usize % OPS.len()];
    let seed = u64::from(number);
    let kept = |case: &Case| all || case.class != CaseClass::Realistic;
    let mut cases = suites[0].cases(op, Some(&[DType::F32]), seed)?;
    cases.retain(kept);
    cases.extend(suites[1].cases(op, None, seed)?);
    let kernel = kgen_baseline::builtin(op).ok_or("the op has no kernel")?;
    Ok(EvalRequest {
        op: op.to_owned(),
        definition: None,
        // A comment would not do: the compile cache does not see them.
        candidate: Implementation::kernel(format!("{kernel}\nconstexpr int SAMPLE = {number};\n")),
        params: Default::default(),
        compile_only: false,
        count_code: true,
        profile: None,
        cases,
        seed,
        target: target.clone(),
        on_gpu: true,
        screen: true,
        precision: Precision::Strict,
        libraries: false,
        cutlass: false,
        emulation: Emulation::default(),
        limits: Limits::default(),
        timing: Some(TimingRequest {
            baselines: kgen_baseline::requests(
                &[kgen_baseline::BUILTIN.to_owned()],
                op::find(op)?,
            )?,
            profile: Profile::Screen,
            l2: L2::Cold,
            graph: false,
            do_bench: false,
            max_s: None,
            side_by_side: None,
        }),
    })
}

fn passed(evaluation: &Evaluation) -> Result<()> {
    if evaluation.verdict.is_pass() {
        return Ok(());
    }
    let findings: Vec<&str> = evaluation.findings.iter().map(|f| f.message.as_str()).collect();
    Err(format!("{} is judged {}: {}", evaluation.op, evaluation.verdict, findings.join("; "))
        .into())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Returns user and system time of this process.
fn parent_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let duration = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(time.tv_sec().unsigned_abs())
            + Duration::from_micros(time.tv_usec().unsigned_abs())
    };
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}
