//! The pool with kgen's own workers on a real GPU; skipped unless `KGEN_TEST_GPU=1`.
//!
//! Every kernel that harms the GPU or its worker is followed by one that must pass.
#![expect(clippy::print_stdout, reason = "a run on a GPU machine tells how long recovery takes")]

use std::time::Instant;

use kgen_compile::testing::toolchain;
use kgen_ops::suite;
use kgen_record::{
    CaseClass, DType, EvalRequest, Implementation, L2, Level, Limits, Profile, Stage,
    TimingRequest, Verdict, testing,
};
use kgen_settings::DeviceChoice;
use kgen_worker::Pool;

use super::real;

/// The body of a kernel that does right by every contiguous case.
const GOOD: &str = "long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i]; y[i] = v < 0.0f ? 0.0f : v; }";

/// The text before the good body, the verdict, and the stage that reaches it.
const BAD: [(&str, &str, Verdict); 5] = [
    ("never ends", "for (;;) asm volatile(\"nanosleep.u32 100;\");", Verdict::TimedOut),
    ("writes far away", "*(float*)((char*)y + (1ll << 46)) = 1.0f;", Verdict::Fault),
    ("traps", "if (threadIdx.x == 0) asm volatile(\"trap;\");", Verdict::Fault),
    (
        "writes behind its output",
        "if (blockIdx.x == 0) y[n + threadIdx.x] = 1.0f;",
        Verdict::OutOfBoundsWrite,
    ),
    ("writes into its input", "if (n > 0) ((float*)x)[0] += 1.0f;", Verdict::InputModified),
];

const FLOOD: &str = "for (int k = 0; k < 200; k++) printf(\"thread %d says a long line, %d times\\n\", threadIdx.x, k);";

fn kernel(before: &str) -> String {
    format!(
        "/*@plan
launch(\"relu\", grid=cdiv(self.numel, 256), block=256, args=[contiguous(self), out, self.numel])
@*/
extern \"C\" __global__ void relu(const float* x, float* y, long long n) {{
  {before}
  {GOOD}
}}
"
    )
}

fn request(pool: &Pool, before: &str) -> EvalRequest {
    let cases = suite::load("smoke").unwrap().cases("relu", Some(&[DType::F32]), 1).unwrap();
    let has_elements = |case: &kgen_record::Case| case.tensor("self").unwrap().spec.numel() > 0;
    let mut cases: Vec<_> = cases.into_iter().filter(has_elements).collect();
    let is_timed = |case: &kgen_record::Case| case.class == CaseClass::Realistic;
    let timed = cases.iter().find(|case| is_timed(case)).cloned();
    cases.retain(|case| !is_timed(case));
    cases.truncate(3);
    cases.extend(timed);
    EvalRequest {
        seed: 7,
        target: pool.target().clone(),
        on_gpu: true,
        screen: false,
        limits: Limits { case_s: 3.0, ..Limits::default() },
        timing: Some(TimingRequest {
            baselines: Vec::new(),
            profile: Profile::Screen,
            l2: L2::Cold,
            graph: false,
            do_bench: false,
            max_s: Some(1.0),
            side_by_side: None,
        }),
        ..testing::request("relu", Implementation::kernel(kernel(before)), cases)
    }
}

#[tokio::test]
async fn nothing_a_kernel_does_to_a_gpu_hurts_the_next_one() {
    #[expect(clippy::disallowed_methods, reason = "a variable of the tests alone")]
    let asked = std::env::var_os("KGEN_TEST_GPU").is_some_and(|value| value == "1");
    if !asked {
        return;
    }
    let mut config = real::config(toolchain());
    config.device = DeviceChoice::Cuda(0);
    let pool = Pool::start(config).await.unwrap();
    println!("{:?}", pool.target());
    good(&pool).await;
    for (name, before, verdict) in BAD {
        let begin = Instant::now();
        let evaluation = pool.evaluate(request(&pool, before)).await.unwrap();
        println!(
            "{name}: {} after {:?}: {:?}",
            evaluation.verdict,
            begin.elapsed(),
            evaluation.findings
        );
        assert_eq!(evaluation.verdict, verdict, "{name}: {evaluation:?}");
        assert_eq!((evaluation.stage, evaluation.level), (Stage::Execute, Level::Cuda), "{name}");
        good(&pool).await;
    }
    let begin = Instant::now();
    // Millions of threads that print take minutes, rightly so: only the small cases flood.
    let mut flooding = request(&pool, FLOOD);
    flooding.cases.retain(|case| case.class != CaseClass::Realistic);
    let flood = pool.evaluate(flooding).await.unwrap();
    println!("floods printf: {} after {:?}", flood.verdict, begin.elapsed());
    assert_eq!(flood.verdict, Verdict::Passed, "{flood:?}");
    good(&pool).await;
    pool.shutdown().await;
}

async fn good(pool: &Pool) {
    let begin = Instant::now();
    let good = pool.evaluate(request(pool, "")).await.unwrap();
    assert_eq!(good.verdict, Verdict::Passed, "{good:?}");
    assert_eq!(good.timings.len(), 1);
    println!("a good kernel: {} after {:?}", good.verdict, begin.elapsed());
}
