//! The judge proves itself without a GPU: kernels that are wrong in one way each are caught, and
//! kernels that are right in unusual ways pass.
//!
//! Controls and variants are those of `kgen selftest`, which judges them all; here each pair of a
//! mechanism and a family has its turn with one op and one element type.

use kgen_compile::{Compiler, testing::compiler};
use kgen_eval::Progress;
use kgen_ops::suite;
use kgen_record::{
    CaseClass, DType, Emulation, EvalRequest, Evaluation, Implementation, Limits, Sanitize, Target,
    Verdict, testing,
};
use kgen_selftest::judge::{End, Item, Kind, Report, Requests, conclude, items, request};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Seed of the drawn shapes and the inputs: fixed, so that a failure can be repeated.
const SEED: u64 = 7;

/// Threads that judge: each kernel has one.
const THREADS: usize = 2;

/// Cases that an item is judged on first, of all its cases; a control is judged on all where these do not
/// show that it is wrong and the emulator can. `kgen selftest --judge` judges all items on all cases.
const FIRST_CASES: usize = 10;

/// Judges items on two threads.
pub(super) fn judge_items(items: &[Item]) -> Report {
    let compiler = compiler();
    let requests = Mutex::new(Requests::new(&[], SEED).unwrap());
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Report::default());
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            let target = Target::h100_class();
            let all = request(&mut requests.lock().unwrap(), item, &target, false).unwrap();
            let judged = |asked: &EvalRequest| {
                let half = kgen_eval::cpu_half(asked, &compiler, &Default::default(), &mut |_| {})
                    .unwrap();
                conclude(item, &half.evaluation)
            };
            let step = all.cases.len().div_ceil(FIRST_CASES).max(1);
            let some = all.cases.iter().step_by(step).cloned().collect();
            let mut row = judged(&EvalRequest { cases: some, ..all.clone() });
            let is_hidden = item.kind == Kind::Control && !item.gpu_only && row.end != End::Right;
            if step > 1 && is_hidden {
                row = judged(&all);
            }
            report.lock().unwrap().rows.push(row);
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    report.into_inner().unwrap()
}

/// Returns items with every mechanism and every family of each kind, ops and element types in turn; `kgen selftest
/// --judge` has all.
fn one_of_each(items: Vec<Item>) -> Vec<Item> {
    let mut groups: BTreeMap<(Kind, String, String), Vec<Item>> = BTreeMap::new();
    for item in items {
        let key = (item.kind, item.family.clone(), item.mechanism.clone());
        groups.entry(key).or_default().push(item);
    }
    // Pairs of the two are hundreds, which take minutes.
    let mut seen = BTreeSet::new();
    let groups = groups.into_iter().filter(|((kind, family, mechanism), _)| {
        let parts = [("family", family), ("mechanism", mechanism)];
        parts.map(|(part, name)| seen.insert((*kind, part, name.clone()))).contains(&true)
    });
    let turns = groups.map(|(_, group)| group).enumerate();
    turns.map(|(turn, mut group)| group.swap_remove(turn % group.len())).collect()
}

#[test]
fn controls_fail_and_variants_pass() {
    let report = judge_items(&one_of_each(items().unwrap()));
    let surprises: Vec<_> = report
        .surprises()
        .filter(|row| row.item.open.is_none())
        .map(|row| format!("{:?}: {}: {} {}", row.end, row.item.id, row.verdict, row.reason))
        .collect();
    assert!(surprises.is_empty(), "{surprises:#?}");
    let total = report.total();
    assert!(total.n_controls >= 60 && total.n_variants >= 30, "{total:?}");
    // The cheats that a fixed tolerance lets through are among them.
    assert!(total.kernelbench.1 > 10 && total.backendbench.1 > 10, "{total:?}");
}

#[test]
fn there_are_enough_controls_and_variants() {
    let items = items().unwrap();
    let count = |kind| items.iter().filter(|item| item.kind == kind).count();
    assert!(count(Kind::Control) >= 400 && count(Kind::Variant) >= 150);
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
        seed: SEED,
        emulation,
        // An endless loop is to end soon, and to be blamed.
        limits: Limits { emu_lane_instructions: 60_000_000, ..Limits::default() },
        ..testing::request(op, Implementation::kernel(kernel), cases)
    };
    kgen_eval::cpu_half(&request, compiler, &Default::default(), &mut |_| {}).unwrap().evaluation
}

#[test]
fn the_builtin_baselines_pass() {
    let compiler = compiler();
    for op in suite::load("smoke").unwrap().ops() {
        let evaluation = judge(&compiler, op, kgen_baseline::builtin(op).unwrap(), None);
        assert_eq!(evaluation.verdict, Verdict::Passed, "{op}: {evaluation:#?}");
    }
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
    let evaluation = judge(&compiler(), "relu", kernel, None);
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    assert_eq!(evaluation.n_skipped(), 0);
}

#[test]
fn checks_can_be_switched_off_and_counters_on() {
    let compiler = compiler();
    let race = include_str!("kernels/blocks_race.cu");
    let emulation = Emulation { sanitize: Sanitize::Bounds, counters: true };
    let evaluation = judge_with(&compiler, "mse_loss", race, Some(&[DType::F32]), emulation);
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
