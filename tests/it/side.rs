//! The Python process with a real PyTorch on the CPU: it understands kgen's messages.
//!
//! `KGEN_TEST_PYTHON` names an interpreter with torch; without it the tests say so and end.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use kgen_baseline::side::{Facts, Ready, Side, Sides, aten};
use kgen_device::EmuDevice;
use kgen_eval::{Program, gpu_half, unbegun};
use kgen_ops::{op, suite};
use kgen_record::{
    Case, CaseClass, CaseOutcome, DType, EvalRequest, Evaluation, Implementation,
    InputDistribution, Limits, PythonFacts, PythonKind, Verdict, testing,
};

/// A process that ends with the test.
struct Process {
    child: Child,
    sides: Sides,
    _folder: tempfile::TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the tests' own switch and process, and why a test did nothing"
)]
fn start() -> Option<Process> {
    let Some(python) = std::env::var_os("KGEN_TEST_PYTHON") else {
        println!("skipped: KGEN_TEST_PYTHON names no Python with torch");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let mut child = Command::new(python)
        .arg("-u")
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("python/side.py"))
        .arg("--socket")
        .arg(&socket)
        .args(["--device", "cpu"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let facts: PythonFacts = serde_json::from_value(line["ready"].clone()).unwrap();
    let side = Side::Ready(Ready {
        socket,
        facts: Facts::Python(Box::new(facts)),
        alarm: Default::default(),
    });
    Some(Process { child, sides: side.into(), _folder: folder })
}

/// Judges an implementation on an op's cases, with the emulator's memory as the device.
fn judged(sides: &Sides, op: &str, implementation: Implementation, cases: Vec<Case>) -> Evaluation {
    let request = EvalRequest {
        on_gpu: true,
        screen: false,
        limits: Limits { case_s: 60.0, ..Limits::default() },
        ..testing::request(op, implementation, cases)
    };
    let program = Program::without_code(request.cases.len());
    let partial = unbegun(&request, Verdict::Unsupported);
    let mut device = EmuDevice::new(&request.target);
    gpu_half(&request, &program, partial, &mut device, sides, &mut |_| {}).unwrap()
}

fn cases(suite: &str, op: &str, n: usize) -> Vec<Case> {
    // On a CPU PyTorch sums f16 and bf16 in other ways than on a GPU, and its gelu of infinity is
    // NaN.
    let all = suite::load(suite).unwrap().cases(op, Some(&[DType::F32, DType::I64]), 1).unwrap();
    let small = |case: &Case| {
        case.class != CaseClass::Realistic && case.distribution != InputDistribution::Specials
    };
    all.into_iter().filter(small).take(n).collect()
}

#[test]
fn pytorch_passes_the_judge_on_the_smoke_suite() {
    let Some(process) = start() else { return };
    let suite = suite::load("smoke").unwrap();
    let ops = suite.ops().iter().map(|name| suite.op(name).unwrap());
    let mut wrong = Vec::new();
    for op in ops.filter(|op| aten(op).is_some()) {
        let implementation = Implementation::python(PythonKind::Aten);
        let cases = cases("smoke", &op.name, 40);
        let evaluation = judged(&process.sides, &op.name, implementation, cases);
        for case in evaluation.failed() {
            let diff = case.mismatch.as_ref().and_then(|mismatch| mismatch.first.first());
            let messages = case.findings.iter().map(|finding| finding.message.as_str());
            wrong.push(format!(
                "{} {}: {diff:?} {:?}",
                op.name,
                case.case,
                messages.collect::<Vec<_>>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(process.sides.broken().is_empty());
}

#[test]
fn every_op_of_pytorch_understands_how_its_calls_are_worded() {
    let Some(process) = start() else { return };
    let (mut n_judged, mut wrong) = (0, Vec::new());
    let suite = suite::load("opinfo").unwrap();
    for op in op::all().iter().filter(|op| aten(op).is_some()) {
        if suite.op(&op.name).is_err() {
            continue;
        }
        let cases = cases("opinfo", &op.name, 4);
        let implementation = Implementation::python(PythonKind::Aten);
        let evaluation = judged(&process.sides, &op.name, implementation, cases);
        for case in &evaluation.cases {
            let CaseOutcome::Judged(verdict) = case.outcome else { continue };
            n_judged += 1;
            if verdict != Verdict::Passed {
                let message = case.findings.first().map_or("", |finding| &finding.message);
                wrong.push(format!("{} {}: {verdict}: {message}", op.name, case.case));
            }
        }
    }
    assert!(n_judged > 500 && wrong.is_empty(), "{n_judged}:\n{}", wrong.join("\n"));
}

#[test]
fn a_written_function_is_called_with_the_arguments_of_the_schema() {
    let Some(process) = start() else { return };
    let written = |body: &str| Implementation::Python {
        kind: PythonKind::Triton,
        source: Some(format!(
            "import torch\ndef add__Tensor_kernel_impl(self, other, *, alpha=1):\n{body}\n"
        )),
        entry: Some("add__Tensor_kernel_impl".to_owned()),
    };
    let judged =
        |body: &str| judged(&process.sides, "add", written(body), cases("smoke", "add", 6));
    assert_eq!(judged("    return self + alpha * other").verdict, Verdict::Passed);
    assert_eq!(judged("    return self - alpha * other").verdict, Verdict::WrongOutput);
    assert_eq!(judged("    raise ValueError('no')").verdict, Verdict::LaunchError);
    assert_eq!(judged("    return (self + alpha * other).half()").verdict, Verdict::WrongOutput);
    assert_eq!(judged("    return = 1").verdict, Verdict::CompileError);
    assert!(process.sides.broken().is_empty());
    assert_eq!(judged("    import os; os._exit(1)").verdict, Verdict::Crashed);
    assert!(!process.sides.broken().is_empty());
}
