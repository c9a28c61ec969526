//! Traces of `torch.profiler`: JSON for Chrome, compressed or not.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    io::Read as _,
};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    ReadError,
    report::{Activity, Call, Function, MAX_ROWS, MEMSET, Report, Timeline, Tool, kernel_name, us},
};

const FORM: &str = "trace of torch.profiler";

/// Beginning of a file that gzip wrote.
const GZIP: &[u8] = &[0x1f, 0x8b];

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(rename = "traceEvents", borrow)]
    events: Vec<Event<'a>>,
}

/// An event; members of other types than usual count as missing.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(default)]
    ts: Value,
    #[serde(default)]
    dur: Value,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    tid: Value,
    #[serde(default)]
    args: Arguments,
}

#[derive(Deserialize, Default)]
struct Arguments {
    #[serde(rename = "External id", alias = "external id", default)]
    external: Value,
    #[serde(default)]
    device: Value,
    #[serde(default)]
    bytes: Value,
}

/// Reads a trace.
///
/// # Errors
///
/// [`ReadError::Malformed`] for anything but JSON with `traceEvents`, for example a trace that was cut off, and
/// [`ReadError::NoTable`] where no event is one of PyTorch's.
pub fn report(bytes: &[u8]) -> Result<Report, ReadError> {
    let failed = |error: &dyn std::error::Error| ReadError::malformed(FORM, error);
    let mut unpacked = Vec::new();
    let bytes = if bytes.starts_with(GZIP) {
        let mut decoder = flate2::read::MultiGzDecoder::new(bytes);
        decoder.read_to_end(&mut unpacked).map_err(|error| failed(&error))?;
        &unpacked
    } else {
        bytes
    };
    let is_list = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let events: Vec<Event<'_>> = if is_list {
        serde_json::from_slice(bytes).map_err(|error| failed(&error))?
    } else {
        serde_json::from_slice::<Trace<'_>>(bytes).map_err(|error| failed(&error))?.events
    };
    let mut trace = Reader::default();
    events.iter().filter(|event| event.ph == "X").for_each(|event| trace.read(event));
    trace.report()
}

/// A call of an operator, in nanoseconds.
struct Op {
    name: String,
    thread: String,
    start: i64,
    end: i64,
    external: Option<i64>,
}

#[derive(Default)]
struct Reader {
    ops: Vec<Op>,
    timeline: Timeline,
    /// Time of kernels by the identity of the operator that launches them.
    launched: HashMap<i64, i64>,
    n_events: usize,
}

impl Reader {
    fn read(&mut self, event: &Event<'_>) {
        let Some(start) = ns(&event.ts) else { return };
        let end = start + ns(&event.dur).unwrap_or(0).max(0);
        let device = integer(&event.args.device).or_else(|| integer(&event.pid)).unwrap_or(0);
        let external = integer(&event.args.external);
        match event.cat.to_ascii_lowercase().as_str() {
            "cpu_op" | "operator" => {
                let thread = format!("{} {}", event.pid, event.tid);
                self.ops.push(Op { name: event.name.to_string(), thread, start, end, external });
            }
            "kernel" => {
                self.timeline.kernel(kernel_name(&event.name), device, start, end);
                if let Some(external) = external {
                    *self.launched.entry(external).or_default() += end - start;
                }
            }
            "gpu_memcpy" | "memcpy" => {
                let (direction, is_pageable) = direction(&event.name);
                let activity = Activity { device, start, end, is_kernel: false };
                let bytes = integer(&event.args.bytes).and_then(|bytes| u64::try_from(bytes).ok());
                self.timeline.copy(direction, activity, bytes, is_pageable);
            }
            "gpu_memset" | "memset" => {
                let activity = Activity { device, start, end, is_kernel: false };
                let bytes = integer(&event.args.bytes).and_then(|bytes| u64::try_from(bytes).ok());
                self.timeline.copy(MEMSET, activity, bytes, None);
            }
            "cuda_runtime" | "cuda_driver" | "runtime" => {
                self.timeline.calls.push(Call { start, end, name: event.name.to_string() });
            }
            _ => return,
        }
        self.n_events += 1;
    }

    fn report(mut self) -> Result<Report, ReadError> {
        if self.n_events == 0 {
            return Err(ReadError::NoTable(
                "it is a trace without operators and kernels: not one of torch.profiler, or nothing ran in it"
                    .to_owned(),
            ));
        }
        let mut report = Report::new(Tool::Torch);
        report.functions = operators(&mut self.ops, &self.launched);
        if self.timeline.is_empty() {
            report.notes.push("the trace has no activity of a GPU".to_owned());
        }
        // Where no call of CUDA fills a gap, an operator may.
        let ops = self.ops.into_iter();
        let calls = ops.map(|op| Call { start: op.start, end: op.end, name: op.name });
        self.timeline.calls.extend(calls);
        self.timeline.write_into(&mut report);
        Ok(report)
    }
}

/// The own time of an operator.
#[derive(Default)]
struct Own {
    calls: u64,
    cpu: i64,
    gpu: i64,
}

/// Sums the own time of operators, the longest first.
fn operators(ops: &mut [Op], launched: &HashMap<i64, i64>) -> Vec<Function> {
    ops.sort_by(|a, b| (&a.thread, a.start, -a.end).cmp(&(&b.thread, b.start, -b.end)));
    let mut own: Vec<i64> = ops.iter().map(|op| op.end - op.start).collect();
    let mut open: Vec<usize> = Vec::new();
    for at in 0..ops.len() {
        let (op, start) = (&ops[at], ops[at].start);
        open.retain(|&outer| ops[outer].thread == op.thread && start < ops[outer].end);
        if let Some(&outer) = open.last() {
            own[outer] -= op.end - op.start;
        }
        open.push(at);
    }
    let mut sums = BTreeMap::<&str, Own>::new();
    for (op, own) in ops.iter().zip(own) {
        let sum = sums.entry(&op.name).or_default();
        sum.calls += 1;
        sum.cpu += own.max(0);
        sum.gpu += op.external.and_then(|external| launched.get(&external)).copied().unwrap_or(0);
    }
    let total: i64 = sums.values().map(|own| own.cpu + own.gpu).sum();
    let mut functions: Vec<Function> = sums
        .into_iter()
        .map(|(name, own)| Function {
            name: name.to_owned(),
            module: None,
            share: if 0 < total { us(own.cpu + own.gpu) / us(total) } else { 0.0 },
            samples: None,
            calls: Some(own.calls),
            cpu_us: Some(us(own.cpu)),
            gpu_us: (!launched.is_empty()).then(|| us(own.gpu)),
        })
        .collect();
    functions.sort_by(|a, b| b.share.total_cmp(&a.share));
    functions.truncate(MAX_ROWS);
    functions
}

/// Reads `Memcpy HtoD (Pageable -> Device)`.
fn direction(name: &str) -> (&'static str, Option<bool>) {
    let direction = match name {
        name if name.contains("HtoD") => "host to device",
        name if name.contains("DtoH") => "device to host",
        name if name.contains("DtoD") => "device to device",
        name if name.contains("PtoP") => "peer to peer",
        _ => "unified memory and others",
    };
    (direction, name.contains("->").then(|| name.contains("Pageable")))
}

/// Reads microseconds, a number or its text, as nanoseconds.
fn ns(value: &Value) -> Option<i64> {
    let us = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "a cast to the nearest that there is")]
    us.is_finite().then_some((1e3 * us).round() as i64)
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const TRACE: &str = r#"{"schemaVersion": 1, "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 7, "ts": 0, "args": {"name": "python"}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 100, "dur": 50,
         "args": {"External id": 1}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 110, "dur": 30,
         "args": {"External id": 2}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 112.5,
         "dur": 5, "args": {"correlation": 9}},
        {"ph": "X", "cat": "kernel", "name": "void gemm<float>(int)", "pid": 0, "tid": 7, "ts": 120, "dur": 80,
         "args": {"External id": 2, "device": 0, "stream": 7}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7,
         "ts": 220, "dur": 20, "args": {"device": 0, "bytes": 40000}},
        {"ph": "s", "id": 9, "pid": 7, "tid": 7, "ts": 112, "cat": "ac2g", "name": "ac2g"}
    ], "traceName": "trace.json"}"#;

    #[test]
    fn operators_have_their_own_time_and_that_of_their_kernels() {
        let report = report(TRACE.as_bytes()).unwrap();
        let addmm = &report.functions[0];
        assert_eq!((addmm.name.as_str(), addmm.cpu_us), ("aten::addmm", Some(30.0)));
        assert_eq!((addmm.gpu_us, addmm.calls, addmm.samples), (Some(80.0), Some(1), None));
        assert_eq!(report.functions[1].cpu_us, Some(20.0));
        assert_eq!(report.kernels[0].name, "gemm<float>");
        assert_eq!(report.copies[0].pageable_bytes, Some(40_000));
        assert_eq!((report.span_us, report.gaps[0].duration_us), (Some(120.0), 20.0));
    }

    #[test]
    fn compressed_traces_and_bare_lists_are_read() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(TRACE.as_bytes()).unwrap();
        let whole = report(TRACE.as_bytes()).unwrap();
        assert_eq!(report(&encoder.finish().unwrap()).unwrap(), whole);
        let list = &TRACE[TRACE.find('[').unwrap()..=TRACE.rfind(']').unwrap()];
        assert_eq!(report(list.as_bytes()).unwrap(), whole);
    }

    #[test]
    fn a_program_on_the_cpu_has_no_gpu_times() {
        let trace =
            r#"[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":2}]"#;
        let report = report(trace.as_bytes()).unwrap();
        assert_eq!((report.functions[0].gpu_us, report.busy_share), (None, None));
    }

    #[test]
    fn cut_off_traces_and_other_json_are_refused() {
        for text in ["{", "[", "{}", "null", &TRACE[..300], "\u{1f}\u{8b}"] {
            let error = report(text.as_bytes()).unwrap_err();
            assert!(matches!(error, ReadError::Malformed { .. }), "{text}: {error}");
        }
        for text in ["[]", r#"{"traceEvents": []}"#, r#"[{"ph": "X", "ts": "a"}, {}]"#] {
            let error = report(text.as_bytes()).unwrap_err();
            assert!(matches!(error, ReadError::NoTable(_)), "{text}: {error}");
        }
    }
}
