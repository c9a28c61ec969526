//! The judge proves itself without a GPU: kernels that are wrong in one way each are caught, and
//! kernels that are right in unusual ways pass.
//!
//! The kernel files are under `tests/it/controls`. The first line of each says which op it is for
//! and, for the caught ones, which verdicts are right for it.

use std::{fs, path::PathBuf, thread};

use kgen::{
    baseline,
    compile::Compiler,
    eval::{self, Progress},
    record::{
        CaseClass, DType, Emulation, EvalRequest, Evaluation, Limits, Sanitize, Target, Verdict,
    },
    suite,
};

use super::nvrtc::compiler;

/// Seed of the drawn shapes and the inputs: fixed, so that a failure can be repeated.
const SEED: u64 = 7;

/// A kernel file with what its first line says.
struct Control {
    name: String,
    op: String,
    expected: Vec<String>,
    kernel: String,
}

fn controls(kind: &str) -> Vec<Control> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/controls").join(kind);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| control(&file)).collect()
}

fn control(file: &std::path::Path) -> Control {
    let kernel = fs::read_to_string(file).unwrap();
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let word = |key: &str| {
        let rest = kernel.lines().next()?.split(key).nth(1)?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let op = word("op:").unwrap_or_else(|| panic!("{name} does not name its op"));
    let expected = word("expect:").unwrap_or_else(|| "passed".to_owned());
    Control { op, expected: expected.split('|').map(str::to_owned).collect(), name, kernel }
}

fn judge(compiler: &Compiler, op: &str, kernel: &str, dtypes: Option<&[DType]>) -> Evaluation {
    judge_with(compiler, op, kernel, dtypes, Emulation::default())
}

fn judge_with(
    compiler: &Compiler,
    op: &str,
    kernel: &str,
    dtypes: Option<&[DType]>,
    emulation: Emulation,
) -> Evaluation {
    let mut cases = suite::load("smoke").unwrap().cases(op, dtypes, SEED).unwrap();
    cases.retain(|case| case.class != CaseClass::Realistic);
    let request = EvalRequest {
        op: op.to_owned(),
        kernel: kernel.to_owned(),
        cases,
        seed: SEED,
        target: Target::h100_class(),
        on_gpu: false,
        screen: true,
        emulation,
        // An endless loop is to end soon.
        limits: Limits { emu_lane_instructions: 20_000_000, ..Limits::default() },
        timing: None,
    };
    eval::cpu_half(&request, compiler, &mut |_| {}).unwrap().evaluation
}

/// Judges all files on two threads and returns a line for each whose verdict is not as expected.
fn surprises(files: &[Control], dtypes: Option<&[DType]>) -> Vec<String> {
    let cache = tempfile::tempdir().unwrap();
    let compiler = compiler(Some(cache.path().to_owned()));
    let check = |control: &Control| {
        let evaluation = judge(&compiler, &control.op, &control.kernel, dtypes);
        let verdict = evaluation.verdict.name();
        let as_expected = control.expected.iter().any(|expected| expected == verdict);
        (!as_expected).then(|| {
            let first = evaluation.failed().next();
            format!(
                "{} ({}): {verdict}, expected {}; {:?}; {first:?}",
                control.name,
                control.op,
                control.expected.join(" or "),
                evaluation.findings
            )
        })
    };
    let (left, right) = files.split_at(files.len() / 2);
    thread::scope(|scope| {
        let left = scope.spawn(|| left.iter().filter_map(check).collect::<Vec<_>>());
        let right: Vec<String> = right.iter().filter_map(check).collect();
        left.join().unwrap().into_iter().chain(right).collect()
    })
}

#[test]
fn cheats_and_mistakes_are_caught() {
    let files = controls("caught");
    assert!(files.iter().all(|file| !file.expected.iter().any(|verdict| verdict == "passed")));
    let surprises = surprises(&files, Some(&[DType::F32]));
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn unusual_but_right_kernels_pass() {
    let surprises = surprises(&controls("legit"), None);
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn the_builtin_baselines_pass() {
    let files: Vec<Control> = kgen::op::all()
        .iter()
        .map(|op| Control {
            name: format!("baseline of {}", op.name),
            op: op.name.to_owned(),
            expected: vec!["passed".to_owned()],
            kernel: baseline::builtin(op.name).unwrap().to_owned(),
        })
        .collect();
    let surprises = surprises(&files, None);
    assert!(surprises.is_empty(), "{surprises:#?}");
}

/// The example of the contract: the first thing that a model or a person copies.
#[test]
fn the_example_of_the_contract_passes_all_relu_cases() {
    let kernel = r#"/*@plan
x = contiguous(self)                                  # kgen's copy kernel runs first if self is strided; its time counts
n = x.numel
vec = define("VEC", 16 // x.itemsize if x.align >= 16 and n % (16 // x.itemsize) == 0 else 1)   # -DVEC=..
block = param("BLOCK", [128, 256])                    # autotune axis, -DBLOCK=..
launch("relu", grid=min(cdiv(n, block * vec), 16 * sm_count), block=block, args=[x, out, n])
@*/
struct alignas(sizeof(T_self) * VEC) Pack { T_self at[VEC]; };

extern "C" __global__ void relu(const T_self* __restrict__ x, T_out* __restrict__ y, long long n) {
    long long step = (long long)gridDim.x * BLOCK;
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < n / VEC; i += step) {
        Pack pack = reinterpret_cast<const Pack*>(x)[i];
        for (int k = 0; k < VEC; ++k) {
            float value = kg::to_float(pack.at[k]);
            pack.at[k] = kg::from_float<T_out>(value < 0.0f ? 0.0f : value);
        }
        reinterpret_cast<Pack*>(y)[i] = pack;
    }
}
"#;
    let evaluation = judge(&compiler(None), "relu", kernel, None);
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    assert_eq!(evaluation.n_skipped(), 0);
}

#[test]
fn checks_can_be_switched_off_and_counters_on() {
    let compiler = compiler(None);
    let controls = controls("caught");
    let race = controls.iter().find(|control| control.name == "mse_blocks_race").unwrap();
    let emulation = Emulation { sanitize: Sanitize::Bounds, counters: true };
    let evaluation = judge_with(&compiler, &race.op, &race.kernel, Some(&[DType::F32]), emulation);
    // The emulator runs blocks one after the other: without the check the sums are right.
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    let counted = evaluation.cases.iter().find(|case| case.counters.len() == 2).unwrap();
    let lines = &counted.counters[0].counters.by_line;
    assert!(lines.contains_key(&28), "{lines:?}");
    // As a worker sends it.
    let done = Progress::CaseDone { index: 0, result: Box::new(counted.clone()) };
    let back: Progress = serde_json::from_str(&serde_json::to_string(&done).unwrap()).unwrap();
    assert_eq!(back, done);
}
