//! Records for tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use crate::{
    BaselineTiming, Case, CaseTiming, Comparison, Emulation, EvalRequest, Implementation, Limits,
    Mode, Precision, Target, Timing,
};

/// A case with its baselines: name, speedup, whether overhead dominates it.
pub fn case(baselines: &[(&str, f64, bool)]) -> CaseTiming {
    let timing = |us: f64| Timing::of(vec![us; 8]).unwrap();
    let baseline = |&(name, speedup, overhead_dominated): &(&str, f64, bool)| BaselineTiming {
        name: name.to_owned(),
        timing: Some(timing(10.0 * speedup)),
        candidate: None,
        comparison: Comparison::of(&[[10.0 * speedup, 10.0, 10.0, 10.0 * speedup]; 8]),
        overhead_dominated,
        note: None,
        flags: Vec::new(),
        verdict: None,
        usage: crate::Usage::default(),
    };
    CaseTiming {
        case: "f32[4]/normal".to_owned(),
        args: "self=f32[4]".to_owned(),
        count: None,
        mode: Mode::Cold,
        candidate: timing(10.0),
        baselines: baselines.iter().map(baseline).collect(),
        bytes: 1.0,
        flops: 1.0,
        peak_bytes: 1,
        floor_us: 1.0,
        roofline: None,
        flags: Vec::new(),
        do_bench: None,
        params: Vec::new(),
        usage: crate::Usage::default(),
    }
}

/// A request for the emulator with seed 1 and no timing.
pub fn request(op: &str, candidate: Implementation, cases: Vec<Case>) -> EvalRequest {
    EvalRequest {
        op: op.to_owned(),
        definition: None,
        candidate,
        cases,
        params: BTreeMap::new(),
        seed: 1,
        target: Target::h100_class(),
        on_gpu: false,
        screen: true,
        precision: Precision::Strict,
        libraries: false,
        cutlass: false,
        emulation: Emulation::default(),
        limits: Limits::default(),
        timing: None,
        compile_only: false,
        count_code: false,
        profile: None,
    }
}
