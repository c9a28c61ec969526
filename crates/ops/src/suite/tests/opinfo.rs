//! The suite of every op.

use std::{
    collections::BTreeSet,
    sync::LazyLock,
    time::{Duration, Instant},
};

use super::{evaluation::evaluated, load, opinfo};
use crate::{
    op::{OpDef, all, find},
    record::{Case, CaseClass, TensorSpec},
};

/// Most elements of a tensor of a case that is not drawn: an emulator runs every case, one thread at a
/// time.
const MOST_ELEMENTS: usize = 20_000;

/// Most elements of a tensor of a drawn case.
const MOST_DRAWN_ELEMENTS: usize = 2_200_000;

/// Time that the reference of one case may take, result and bounds.
const REFERENCE_TIME: Duration = Duration::from_secs(1);

/// A case of the suite.
pub(super) struct Listed {
    pub(super) op: &'static OpDef,
    pub(super) case: Case,
    /// Elements of its largest tensor, outputs included.
    largest: usize,
}

/// Every case of the suite, made once for all tests.
fn cases() -> &'static [Listed] {
    static CASES: LazyLock<Vec<Listed>> = LazyLock::new(|| {
        let of = |name: &String| {
            let op: &OpDef = find(name).unwrap();
            let cases = opinfo().cases(name, None, 11).unwrap().into_iter();
            cases.map(move |case| Listed { op, largest: largest(op, &case), case })
        };
        opinfo().ops().iter().flat_map(of).collect()
    });
    &CASES
}

/// Returns the cases that are evaluated in tests: small ones, and larger ones in one type.
pub(super) fn quick_cases() -> Vec<&'static Listed> {
    let is_quick = |listed: &&Listed| {
        let Listed { op, case, largest } = *listed;
        let dtype = op.dtypes.first() == Some(&case.dtype);
        *largest <= MOST_ELEMENTS
            || (dtype && case.class == CaseClass::Drawn && *largest <= 300_000)
    };
    cases().iter().filter(is_quick).collect()
}

/// Returns the elements of a case's largest tensor, outputs included.
fn largest(op: &OpDef, case: &Case) -> usize {
    let inputs = case.tensors().map(|(_, tensor)| tensor.spec.numel());
    let outputs = op.infer(case).unwrap();
    inputs.chain(outputs.iter().map(TensorSpec::numel)).max().unwrap_or(0)
}

#[test]
fn opinfo_cases_are_bounded_and_different() {
    let wrong = |Listed { op, case, largest }: &Listed| {
        let limit = match case.class {
            CaseClass::Realistic | CaseClass::Huge => usize::MAX,
            CaseClass::Drawn => MOST_DRAWN_ELEMENTS,
            _ => MOST_ELEMENTS,
        };
        let reason = if case.id.contains('#') {
            "is there twice"
        } else if *largest > limit {
            "is large"
        } else {
            return None;
        };
        Some(format!("{} {} {reason}", op.name, case.id))
    };
    let wrong: Vec<String> = cases().iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Blocks that a grid may have along y and z.
const GRID_YZ: usize = 65_535;

#[test]
fn every_op_has_sizes_beyond_a_grid_and_a_realistic_one() {
    let mut beyond: BTreeSet<&str> = BTreeSet::new();
    let mut realistic: BTreeSet<&str> = BTreeSet::new();
    for Listed { op, case, largest } in cases() {
        if case.class == CaseClass::Drawn && GRID_YZ < *largest {
            beyond.insert(&op.name);
        } else if case.class == CaseClass::Realistic {
            realistic.insert(&op.name);
        }
    }
    let without = |has: &BTreeSet<&str>| -> Vec<&str> {
        all().iter().map(|op| op.name.as_str()).filter(|name| !has.contains(name)).collect()
    };
    assert_eq!((without(&beyond), without(&realistic)), (Vec::new(), Vec::new()));
}

#[test]
fn opinfo_has_every_op() {
    let missing = all().iter().filter(|op| !opinfo().ops().contains(&op.name));
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
    for Listed { op, case, .. } in cases().iter().filter(|of| !of.case.class.is_large()) {
        let started = Instant::now();
        evaluated(op, case).unwrap();
        times.push((started.elapsed(), &op.name, case.id.clone()));
    }
    let total: Duration = times.iter().map(|(time, ..)| *time).sum();
    println!("{} ops, {} cases: {:.2} s", suite.ops().len(), times.len(), total.as_secs_f64());
    times.sort();
    for (time, op, id) in times.iter().rev().take(60) {
        println!("{:8.2} ms  {op} {id}", 1e3 * time.as_secs_f64());
    }
    assert!(times.last().is_none_or(|(time, ..)| *time < REFERENCE_TIME));
}

#[test]
fn every_template_of_the_larger_sizes_makes_calls() {
    for file in ["sizes", "realistic"] {
        let path = format!("{}/../../suites/opinfo/{file}.toml", env!("CARGO_MANIFEST_DIR"));
        let loaded = super::super::load_lenient(&path).unwrap();
        let errors: Vec<String> = loaded.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}
