//! The suite of every op.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::{inputs, load};
use crate::{
    op::{OpDef, all, find},
    record::{Case, CaseClass, TensorSpec},
    reference::Reference,
    suite::Suite,
};

/// Most elements of a tensor: an emulator runs every case, one thread at a time.
const MOST_ELEMENTS: usize = 20_000;

/// Time that the reference of one case may take, result and bounds.
const REFERENCE_TIME: Duration = Duration::from_secs(1);

/// Every case of a suite with its op.
pub(super) fn cases(suite: &Suite) -> Vec<(&'static OpDef, Case)> {
    let of = |name: &String| {
        let op = find(name).unwrap();
        suite.cases(name, None, 11).unwrap().into_iter().map(move |case| (op, case))
    };
    suite.ops().iter().flat_map(of).collect()
}

/// Evaluates a case; an error says what is wrong with its outputs or bounds.
fn evaluated(op: &OpDef, case: &Case) -> Result<(), String> {
    let inputs = inputs(case, 3);
    let reference = Reference::new(op, case, &inputs).map_err(|error| error.to_string())?;
    let values = reference.evaluate().map_err(|error| error.to_string())?;
    let bounds = reference.bounds(&values).map_err(|error| error.to_string())?;
    let specs = op.infer(case).map_err(|error| error.to_string())?;
    if [values.len(), bounds.len()] != [specs.len(); 2] {
        return Err(format!("{} outputs, {} bounds", values.len(), bounds.len()));
    }
    for ((values, bound), spec) in values.iter().zip(&bounds).zip(&specs) {
        if values.shape() != spec.shape {
            return Err(format!("shape {:?} instead of {:?}", values.shape(), spec.shape));
        }
        let hints: Vec<f64> = bound.hint.iter().flatten().copied().collect();
        let inside: Vec<f64> = bound.inside.iter().flatten().copied().collect();
        if bound.s.len() != spec.numel() || ![0, spec.numel()].contains(&hints.len()) {
            return Err(format!("{} bounds, {} hints", bound.s.len(), hints.len()));
        }
        let mut numbers = bound.s.iter().chain(&hints).chain(&inside);
        if let Some(number) = numbers.find(|number| !number.is_finite() || **number < 0.0) {
            return Err(format!("a bound is {number}"));
        }
    }
    Ok(())
}

#[test]
fn every_opinfo_case_evaluates_with_finite_bounds() {
    let cases = cases(&load("opinfo").unwrap());
    let wrong = cases.par_iter().filter_map(|(op, case)| {
        let found = evaluated(op, case).err()?;
        Some(format!("{} {}: {found}", op.name, case.id))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[test]
fn opinfo_cases_are_small_and_different() {
    let wrong = |(op, case): (&OpDef, Case)| {
        let inputs = case.tensors().map(|(_, tensor)| tensor.spec.numel());
        let outputs = op.infer(&case).unwrap();
        let most = inputs.chain(outputs.iter().map(TensorSpec::numel)).max().unwrap_or(0);
        let reason = if case.class == CaseClass::Realistic {
            "is of a real size"
        } else if case.id.contains('#') {
            "is there twice"
        } else if most > MOST_ELEMENTS {
            "is large"
        } else {
            return None;
        };
        Some(format!("{} {} {reason}", op.name, case.id))
    };
    let wrong: Vec<String> =
        cases(&load("opinfo").unwrap()).into_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn opinfo_has_every_op() {
    let suite = load("opinfo").unwrap();
    let missing = all().iter().filter(|op| !suite.ops().contains(&op.name));
    let missing: Vec<&str> = missing.map(|op| op.name.as_str()).collect();
    assert!(missing.is_empty(), "not in opinfo: {}", missing.join(" "));
}

/// `cargo test -p kgen-ops --release opinfo_references -- --ignored --nocapture`
#[test]
#[ignore = "prints times"]
fn opinfo_references_are_fast() {
    let started = Instant::now();
    let suite = load("opinfo").unwrap();
    println!("loaded in {:.3} s", started.elapsed().as_secs_f64());
    let mut times: Vec<(Duration, &str, String)> = Vec::new();
    for (op, case) in cases(&suite) {
        let started = Instant::now();
        evaluated(op, &case).unwrap();
        times.push((started.elapsed(), &op.name, case.id));
    }
    let total: Duration = times.iter().map(|(time, ..)| *time).sum();
    println!("{} ops, {} cases: {:.2} s", suite.ops().len(), times.len(), total.as_secs_f64());
    times.sort();
    for (time, op, id) in times.iter().rev().take(12) {
        println!("{:8.2} ms  {op} {id}", 1e3 * time.as_secs_f64());
    }
    assert!(times.last().is_none_or(|(time, ..)| *time < REFERENCE_TIME));
}
