//! Arms as an experiment might leave them: three strategies, two runs each, 24 ops, two baselines.

use kgen_compare::{Arm, Attempt, Op, Run, Speedup, Spend};

/// Ops of the experiment.
const OPS: [&str; 24] = [
    "relu",
    "gelu",
    "softmax",
    "layer_norm",
    "mm",
    "bmm",
    "addmm",
    "sum",
    "mean",
    "cumsum",
    "sort",
    "topk",
    "embedding",
    "gather",
    "scatter_add",
    "conv2d",
    "batch_norm",
    "max_pool2d",
    "var_mean",
    "log_softmax",
    "index_select",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
];

const GPU: &str = "NVIDIA H200";

struct Skill {
    name: &'static str,
    strategy: &'static str,
    /// Chance that one attempt passes, and the usual speedup of one that does.
    chance: f64,
    speed: f64,
    usd: f64,
}

/// Uniform numbers that are the same everywhere (`SplitMix64`).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

/// The arms.
pub(crate) fn arms() -> Vec<Arm> {
    let skills = [
        Skill { name: "gpt-5, repair", strategy: "repair", chance: 0.45, speed: 1.1, usd: 0.02 },
        Skill {
            name: "gpt-5, best-of 4",
            strategy: "best-of",
            chance: 0.4,
            speed: 1.15,
            usd: 0.06,
        },
        Skill { name: "gpt-5, beam", strategy: "beam", chance: 0.6, speed: 1.4, usd: 0.05 },
    ];
    (1..).zip(&skills).map(|(at, skill)| arm(at, skill)).collect()
}

fn arm(at: u64, skill: &Skill) -> Arm {
    let run = |seed: u64| {
        let mut numbers = Numbers(at * 1000 + seed);
        Run {
            id: format!("run_{}_{seed}", skill.strategy),
            facts: vec![("seed".into(), seed.to_string())],
            device: GPU.into(),
            finished: true,
            baselines: vec!["aten".into(), "torch_compile".into()],
            ops: OPS.iter().map(|name| op(name, skill, &mut numbers)).collect(),
            ..Run::default()
        }
    };
    Arm {
        name: skill.name.into(),
        facts: vec![
            ("strategy".into(), skill.strategy.into()),
            ("model".into(), "gpt-5".into()),
            ("feedback".into(), "compile, correctness, timing".into()),
            ("max_attempts".into(), "5".into()),
        ],
        runs: vec![run(1), run(2)],
    }
}

fn op(name: &str, skill: &Skill, numbers: &mut Numbers) -> Op {
    let mut op = Op { name: name.into(), gpu: Some(GPU.into()), ..Op::default() };
    let mut best: Option<(u32, f64)> = None;
    let hardness = 0.3 * numbers.next();
    for number in 1..=5 {
        let passed = numbers.next() < skill.chance - hardness + 0.05 * f64::from(number);
        let gain = (0.9 + 0.9 * numbers.next()) * skill.speed * (0.75 + 0.08 * f64::from(number));
        op.attempts.push(attempt(name, number, passed.then_some(gain), skill, numbers));
        if passed && best.is_none_or(|(_, before)| before < gain) {
            best = Some((number, gain));
        }
    }
    op.best = Some(best.map_or(5, |best| best.0));
    op.solved = best.is_some();
    op.confirmed = best.is_some();
    op.speedups = op.best_attempt().map(|best| best.speedups.clone()).unwrap_or_default();
    op
}

fn attempt(
    op: &str,
    number: u32,
    gain: Option<f64>,
    skill: &Skill,
    numbers: &mut Numbers,
) -> Attempt {
    let failures = ["wrong_output", "compile_error", "fault", "race"];
    let failure = failures[usize::try_from(number).unwrap() % failures.len()];
    let over = |baseline: &str, factor: f64| Speedup {
        baseline: baseline.into(),
        long: Some(factor),
        all: factor * 0.97,
        n_long: 6,
        n_overhead: 2,
        interval: Some([factor * 0.985, factor * 1.015]),
    };
    Attempt {
        number,
        parents: (1 < number).then(|| number - 1).into_iter().collect(),
        round: number,
        purpose: if number == 1 { "initial" } else { "repair" }.into(),
        change: (1 < number).then(|| format!("vectorised loads of {} bytes", 2 << number)),
        verdict: if gain.is_some() { "passed" } else { failure }.into(),
        passed: gain.is_some(),
        speedups: gain
            .map(|gain| vec![over("aten", gain), over("torch_compile", gain * 0.9)])
            .unwrap_or_default(),
        spend: Spend {
            calls: 1,
            input_tokens: 4000 + 300 * u64::from(number),
            cache_read_tokens: 2000,
            output_tokens: 2500,
            reasoning_tokens: 900,
            usd: skill.usd * (0.7 + 0.6 * numbers.next()),
            seconds: 20.0 + 30.0 * numbers.next(),
            ..Spend::default()
        },
        seconds_judging: 1.0 + numbers.next(),
        source: Some(source(op, number)),
        feedback: Some(format!(
            "Verdict: {failure}\nCase 3 of 8, x = f16[1024, 1024]: element [0, 17] is 0.5, wanted 0.25.\n\
             Registers: 38, spills: 0. {} % of the memory floor.",
            30 + 8 * number
        )),
        ..Attempt::default()
    }
}

fn source(op: &str, number: u32) -> String {
    let width = 1 << number;
    format!(
        "/*@plan\nx = contiguous(self)\nn = x.numel\nblock = param(\"BLOCK\", [128, 256])\n\
         launch(\"{op}\", grid=cdiv(n, block * {width}), block=block, args=[x, out, n])\n@*/\n\
         extern \"C\" __global__ void {op}(const T_self* __restrict__ x,\n\
         \x20                               T_out* __restrict__ y, long long n) {{\n\
         \x20 long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * {width};\n\
         \x20 for (int k = 0; k < {width} && i + k < n; ++k) {{\n\
         \x20   float v = float(x[i + k]);\n\
         \x20   y[i + k] = T_out(v < 0.f ? 0.f : v); // step {number}\n\
         \x20 }}\n}}\n"
    )
}
