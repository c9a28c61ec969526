//! The judge on a stub of the Python process, over files, with the emulator's memory as the device.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    thread,
};

use kgen_baseline::side::{Facts, Ready, Side, Sidecar, Sides};
use kgen_device::{Device as _, EmuDevice, LaunchError};
use kgen_ops::suite;
use kgen_record::{
    Adapter, AdapterFacts, Case, CaseClass, CaseOutcome, DType, EvalRequest, Evaluation,
    Implementation, Limits, Precision, PythonFacts, PythonKind, PythonSettings, Target, TensorSpec,
    Verdict, testing,
};
use serde_json::{Value, json};

use super::{OutOfProcess, Processes};
use crate::{
    Program, Progress,
    external::{CaseBuffers, External as _},
    gpu_half, unbegun,
};

fn facts() -> PythonFacts {
    PythonFacts {
        python: "3.12".to_owned(),
        torch: "2.11".to_owned(),
        cuda: None,
        triton: None,
        flag_gems: None,
        device: "cpu".to_owned(),
        uuid: None,
        settings: PythonSettings {
            matmul_tf32: false,
            cudnn_tf32: false,
            f16_reduced_reduction: true,
            bf16_reduced_reduction: true,
            matmul_precision: "highest".to_owned(),
            deterministic: false,
        },
    }
}

/// How the stub misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Right,
    /// Every element is one too large.
    Wrong,
    /// It computes from the first data for ever.
    Stale,
    /// It has no such implementation.
    Refuses,
    /// It ends when it is to compute.
    Dies,
    /// It never answers a `run`.
    Hangs,
    /// It answers with something else than a reply.
    Garbage,
    /// Its times are longer than the requests.
    Lies,
}

/// A stub that knows relu of contiguous f32 tensors; returns the process as the pool would.
fn stub(manner: Manner) -> (tempfile::TempDir, Side) {
    stub_of(Facts::Python(Box::new(facts())), manner)
}

fn stub_of(facts: Facts, manner: Manner) -> (tempfile::TempDir, Side) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            if !serve(client.unwrap(), manner) {
                return;
            }
        }
    });
    (folder, Side::Ready(Ready { socket, facts, alarm: Default::default() }))
}

/// Serves one client; `false` ends the process.
fn serve(mut stream: UnixStream, manner: Manner) -> bool {
    let mut calls: Vec<(Value, Option<Vec<f32>>)> = Vec::new();
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let Ok(line) = line else { return true };
        let request: Value = serde_json::from_str(&line).unwrap();
        let ok = match request["do"].as_str().unwrap() {
            "hello" => serde_json::to_value(facts()).unwrap(),
            "prepare" if manner == Manner::Refuses => Value::Null,
            "prepare" => {
                calls.push((request.clone(), None));
                let settings = PythonSettings { matmul_tf32: true, ..facts().settings };
                json!({ "handle": calls.len() - 1, "first_s": 0.5, "settings": settings })
            }
            "run" if manner == Manner::Dies => return false,
            "run" if manner == Manner::Hangs => continue,
            "run" if manner == Manner::Garbage => json!("three"),
            "time" if manner == Manner::Lies => json!({ "us": [1.0, 9e9] }),
            "run" => {
                let handle = usize::try_from(request["handle"].as_u64().unwrap()).unwrap();
                compute(&mut calls[handle], manner);
                json!({ "seconds": 0.001 })
            }
            "time" => {
                assert_eq!((&request["samples"], &request["warm_up"]), (&json!(2), &json!(1)));
                json!({ "us": [3.5, request["flush"]["bytes"].as_u64().map_or(0.0, |_| 4.5)] })
            }
            "drop" => json!({}),
            other => panic!("{other}"),
        };
        let reply = match ok {
            Value::Null => {
                let error = json!({ "kind": "unsupported", "message": "no aten::relu here" });
                json!({ "id": request["id"], "error": error })
            }
            ok => json!({ "id": request["id"], "ok": ok }),
        };
        if writeln!(stream, "{reply}").is_err() {
            return true;
        }
    }
    true
}

fn compute((call, first): &mut (Value, Option<Vec<f32>>), manner: Manner) {
    let path = |place: &Value| place["at"]["shm"].as_str().unwrap().to_owned();
    let input = fs::read(path(&call["args"][0][1]["tensor"])).unwrap();
    let input: Vec<f32> =
        input.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    let input = if manner == Manner::Stale { first.get_or_insert(input).clone() } else { input };
    let extra = if manner == Manner::Wrong { 1.0 } else { 0.0 };
    let relu = |x: f32| if x < 0.0 { 0.0 } else { x } + extra;
    let output: Vec<u8> = input.into_iter().flat_map(|x| relu(x).to_le_bytes()).collect();
    fs::write(Path::new(&path(&call["outputs"][0])), output).unwrap();
}

/// Judges relu in "Python"; returns the evaluation and whether the pool was asked to replace the
/// process.
fn judged(manner: Manner) -> (Evaluation, bool) {
    let (_folder, side) = stub(manner);
    let (evaluation, _) = judged_by(&side.clone().into());
    (evaluation, side.is_broken())
}

fn judged_by(sides: &Sides) -> (Evaluation, Vec<Progress>) {
    judged_as(Implementation::python(PythonKind::Aten), sides)
}

fn judged_as(candidate: Implementation, sides: &Sides) -> (Evaluation, Vec<Progress>) {
    let cases = suite::load("smoke").unwrap().cases("relu", None, 1).unwrap();
    let plain = |case: &Case| {
        let tensor = &case.tensors().next().unwrap().1.spec;
        case.dtype.name() == "f32"
            && case.class != CaseClass::Realistic
            && tensor.is_contiguous()
            && tensor.offset == 0
    };
    let cases: Vec<Case> = cases.into_iter().filter(plain).take(6).collect();
    assert!(cases.len() > 3);
    let request = EvalRequest {
        on_gpu: true,
        limits: Limits { case_s: 0.3, ..Limits::default() },
        ..testing::request("relu", candidate, cases)
    };
    let program = Program::without_code(request.cases.len());
    let partial = unbegun(&request, Verdict::Unsupported);
    let mut device = EmuDevice::new(&request.target);
    let mut heard = Vec::new();
    let mut report = |progress| heard.push(progress);
    let evaluation =
        gpu_half(&request, &program, partial, &mut device, sides, &mut report).unwrap();
    (evaluation, heard)
}

#[test]
fn a_call_in_python_is_judged_as_a_kernel_is() {
    let (_folder, side) = stub(Manner::Right);
    let (evaluation, heard) = judged_by(&side.clone().into());
    assert_eq!(evaluation.verdict, Verdict::Passed, "{evaluation:#?}");
    assert_eq!(evaluation.n_passed(), evaluation.cases.len());
    assert!(heard.iter().any(|said| matches!(said, Progress::Waiting { .. })));
    assert!(!side.is_broken());
    let python = evaluation.python.unwrap();
    assert!(python.torch == "2.11" && python.settings.matmul_tf32, "the settings of the call");
    let (wrong, broken) = judged(Manner::Wrong);
    assert_eq!((wrong.verdict, broken), (Verdict::WrongOutput, false));
    let (stale, _) = judged(Manner::Stale);
    assert_eq!(stale.verdict, Verdict::WrongOutput);
    let changed = |text: &str| text.contains("when the data at the same addresses were changed");
    let failed = stale.failed().next().unwrap();
    assert!(failed.findings.iter().any(|finding| changed(&finding.message)), "{failed:#?}");
}

#[test]
fn a_bound_call_is_timed_by_the_process_after_a_flush() {
    let (_folder, side) = stub(Manner::Right);
    let sides = Sides::from(side.clone());
    let processes = Processes::new(&sides);
    let implementation = Implementation::python(PythonKind::Aten);
    let op = kgen_ops::op::find("relu").unwrap();
    let python =
        OutOfProcess::new(&processes, op, &implementation, Precision::Strict, 5.0).unwrap();
    let case = suite::load("smoke").unwrap().cases("relu", None, 1).unwrap().remove(0);
    let mut device = EmuDevice::new(&Target::h100_class());
    let input = device.alloc("self", 4, 4).unwrap();
    device.write(input, &[0; 4]).unwrap();
    let output = device.alloc("out", 4, 4).unwrap();
    let specs = [("out".to_owned(), TensorSpec::contiguous(DType::F32, &[1]))];
    let (inputs, outputs) = ([input], [output]);
    let buffers = CaseBuffers { case: &case, inputs: &inputs, outputs: &outputs, specs: &specs };
    let call = python.bind(&mut device, buffers).unwrap();
    let flushed = call.sample(&mut device, 2, kgen_measure::Flush::Memset).unwrap();
    assert_eq!(flushed, [3.5, 4.5]);
    assert_eq!(call.sample(&mut device, 2, kgen_measure::Flush::None).unwrap(), [3.5, 0.0]);
    drop(call);
    assert!(processes.python().facts().is_some_and(|facts| facts.settings.matmul_tf32));
    assert!(!side.is_broken());
}

#[test]
fn what_a_library_refuses_is_skipped_with_its_words_and_it_goes_on() {
    let (evaluation, broken) = judged(Manner::Refuses);
    assert_eq!((evaluation.verdict, broken), (Verdict::Unsupported, false));
    assert!(evaluation.findings[0].message.contains("no aten::relu here"), "{evaluation:#?}");
    let refused = |case: &kgen_record::CaseResult| match &case.outcome {
        CaseOutcome::Skipped { reason } => reason.contains("no aten::relu here"),
        CaseOutcome::Judged(_) => false,
    };
    assert!(evaluation.cases.iter().all(refused), "{evaluation:#?}");
}

#[test]
fn a_process_that_dies_or_hangs_is_replaced_and_the_other_cases_are_left_out() {
    for (manner, verdict) in [(Manner::Dies, Verdict::Crashed), (Manner::Hangs, Verdict::TimedOut)]
    {
        let (evaluation, broken) = judged(manner);
        assert_eq!((evaluation.verdict, broken), (verdict, true), "{evaluation:#?}");
        let CaseOutcome::Skipped { reason } = &evaluation.cases[1].outcome else {
            panic!("{:#?}", evaluation.cases[1])
        };
        assert_eq!(reason, "the process that runs it was lost in an earlier case");
    }
}

#[test]
fn without_a_process_there_is_one_clear_line() {
    let reason = "no PyTorch: `pip install torch`, then --python names its interpreter".to_owned();
    let (evaluation, _) = judged_by(&Side::Unavailable { reason: reason.clone() }.into());
    assert_eq!(evaluation.verdict, Verdict::Unsupported);
    assert_eq!(evaluation.findings[0].message, reason);
    let (folder, gone) = stub(Manner::Right);
    drop(folder);
    assert_eq!(judged_by(&gone.clone().into()).0.verdict, Verdict::Crashed);
    assert!(gone.is_broken());
}

const CANDLE: Implementation = Implementation::Adapter { library: Adapter::Candle };

/// An adapter of Candle as the pool would have it.
fn adapter(manner: Manner) -> (tempfile::TempDir, Side, Sides) {
    let (library, device) = (Adapter::Candle, "fake".to_owned());
    let facts = AdapterFacts { library, version: "0.11".to_owned(), device, uuid: None };
    let (folder, side) = stub_of(Facts::Adapter(facts), manner);
    let sides = Sides::from_iter([(Sidecar::Adapter(library), side.clone())]);
    (folder, side, sides)
}

#[test]
fn an_adapter_is_judged_and_replaced_as_the_python_process_is() {
    for (manner, verdict, is_replaced) in [
        (Manner::Right, Verdict::Passed, false),
        (Manner::Wrong, Verdict::WrongOutput, false),
        (Manner::Stale, Verdict::WrongOutput, false),
        (Manner::Refuses, Verdict::Unsupported, false),
        (Manner::Dies, Verdict::Crashed, true),
        (Manner::Hangs, Verdict::TimedOut, true),
        (Manner::Garbage, Verdict::Crashed, true),
    ] {
        let (_folder, side, sides) = adapter(manner);
        let (evaluation, _) = judged_as(CANDLE, &sides);
        assert_eq!(evaluation.verdict, verdict, "{evaluation:#?}");
        assert_eq!(side.is_broken(), is_replaced, "{verdict}");
        assert_eq!(evaluation.adapters[0].version, "0.11");
    }
    let (evaluation, _) = judged_as(CANDLE, &Sides::default());
    let message = &evaluation.findings[0].message;
    assert!(message.contains("kgen-candle was not started"), "{message}");
}

#[test]
fn times_that_cannot_be_true_are_suspicious_and_end_the_adapter() {
    let (_folder, side, sides) = adapter(Manner::Lies);
    let processes = Processes::new(&sides);
    let op = kgen_ops::op::find("relu").unwrap();
    let beside = OutOfProcess::new(&processes, op, &CANDLE, Precision::Strict, 5.0).unwrap();
    let case = suite::load("smoke").unwrap().cases("relu", None, 1).unwrap().remove(0);
    let mut device = EmuDevice::new(&Target::h100_class());
    let input = device.alloc("self", 4, 4).unwrap();
    device.write(input, &[0; 4]).unwrap();
    let output = device.alloc("out", 4, 4).unwrap();
    let specs = [("out".to_owned(), TensorSpec::contiguous(DType::F32, &[1]))];
    let (inputs, outputs) = ([input], [output]);
    let buffers = CaseBuffers { case: &case, inputs: &inputs, outputs: &outputs, specs: &specs };
    let call = beside.bind(&mut device, buffers).unwrap();
    let error = call.sample(&mut device, 2, kgen_measure::Flush::None).unwrap_err();
    let LaunchError::Kernel { verdict, finding, .. } = error else { panic!("{error}") };
    assert_eq!(verdict, Verdict::Suspicious);
    assert!(finding.message.contains("times that cannot be true"), "{}", finding.message);
    assert!(side.is_broken());
}
