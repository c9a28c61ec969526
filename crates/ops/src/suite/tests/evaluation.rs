//! One evaluation of every quick case of `opinfo`, which all that can be asked of it is asked of:
//! shapes, bounds, the closed form of its sensitivity, equal results under ties, and whether a wrong
//! implementation differs.

use std::{collections::BTreeMap, fmt::Write};

use rayon::prelude::*;

use super::{
    cheats::{self, CHEATS, Cheat},
    inputs, load,
    opinfo::quick_cases,
};
use crate::{
    op::{Array, OpDef},
    record::{Case, DType, InputDistribution, TensorSpec},
    reference::{Bound, DELTA_RMS, Reference},
};

/// Elements of an output from which on its sensitivity is measured well enough to be compared.
const MEASURED: usize = 20;

/// Ratio of a measured sensitivity to its closed form.
const RATIO: std::ops::Range<f64> = 0.6..1.6;

/// Returns an error where outputs or bounds have not the shapes that the op infers, or a bound is no
/// finite number.
fn shapes_and_bounds(
    values: &[Array],
    bounds: &[Bound],
    specs: &[TensorSpec],
) -> Result<(), String> {
    if [values.len(), bounds.len()] != [specs.len(); 2] {
        return Err(format!("{} outputs, {} bounds", values.len(), bounds.len()));
    }
    for ((values, bound), spec) in values.iter().zip(bounds).zip(specs) {
        if values.shape() != spec.shape {
            return Err(format!("shape {:?} instead of {:?}", values.shape(), spec.shape));
        }
        let magnitudes: Vec<f64> = bound.magnitude.iter().flatten().copied().collect();
        let inside: Vec<f64> = bound.inside.iter().flatten().copied().collect();
        if bound.s.len() != spec.numel() || ![0, spec.numel()].contains(&magnitudes.len()) {
            return Err(format!("{} bounds, {} magnitudes", bound.s.len(), magnitudes.len()));
        }
        let mut numbers = bound.s.iter().chain(&magnitudes).chain(&inside);
        if let Some(number) = numbers.find(|number| !number.is_finite() || **number < 0.0) {
            return Err(format!("a bound is {number}"));
        }
    }
    Ok(())
}

/// Ops whose perturbation is no derivative: near a pole, where results are rounded on the way, saturate or
/// overflow, or where one element is nearly the whole.
const ROUGH: [&str; 10] = [
    "acosh",
    "acos",
    "asin",
    "digamma",
    "dynamic_per_token_scaled_fp8_quant",
    "dynamic_scaled_fp8_quant",
    "exp2",
    "kron",
    "mul",
    "silu_and_mul_quant",
];

fn norm<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Returns an error where the closed form is not near the measured sensitivity of a smooth case.
fn closed_form(
    op: &OpDef,
    case: &Case,
    reference: &Reference<'_>,
    bounds: &[Bound],
    specs: &[TensorSpec],
) -> Result<(), String> {
    let smooth = matches!(
        case.distribution,
        InputDistribution::Normal
            | InputDistribution::Uniform
            | InputDistribution::Shifted
            | InputDistribution::HeavyTail
    );
    if !smooth || ROUGH.contains(&op.name.as_str()) {
        return Ok(());
    }
    let closed = op.engine.spread(&op.call(case), reference.inputs());
    let Some(closed) = closed.map_err(|error| error.to_string())? else { return Ok(()) };
    for ((closed, bound), spec) in closed.iter().zip(bounds).zip(specs) {
        if bound.s.len() < MEASURED || op.is_exact(spec.dtype) {
            continue;
        }
        let (closed, measured) = (DELTA_RMS * norm(closed), norm(&bound.s));
        let none = measured + closed < f64::MIN_POSITIVE;
        if !none && !RATIO.contains(&(measured / closed)) {
            return Err(format!("sensitivity {measured} measured, {closed} by the closed form"));
        }
    }
    Ok(())
}

/// Returns an error where the reference's own result is taken for another one that ties allow.
fn ties(
    op: &OpDef,
    case: &Case,
    reference: &Reference<'_>,
    values: &[Array],
) -> Result<(), String> {
    let mut same = values.to_vec();
    op.canonicalise(case, reference.inputs(), &mut same, values);
    let mut pairs = same.iter().flatten().zip(values.iter().flatten());
    let equal = pairs
        .all(|(a, b)| a.to_bits() == b.to_bits() || (a - b == 0.0) || (a.is_nan() && b.is_nan()));
    equal.then_some(()).ok_or_else(|| "another result under ties".to_owned())
}

/// Evaluates a case and returns which cheats differ from it; an error describes a wrong outcome.
pub(super) fn evaluated(op: &OpDef, case: &Case) -> Result<[Option<bool>; 3], String> {
    let inputs = inputs(case, 3);
    let reference = Reference::new(op, case, &inputs).map_err(|error| error.to_string())?;
    let values = reference.evaluate().map_err(|error| error.to_string())?;
    let bounds = reference.bounds(&values).map_err(|error| error.to_string())?;
    let specs = op.infer(case).map_err(|error| error.to_string())?;
    shapes_and_bounds(&values, &bounds, &specs)?;
    closed_form(op, case, &reference, &bounds, &specs)?;
    ties(op, case, &reference, &values)?;
    Ok(cheats::caught(op, case, &reference, &values, &bounds))
}

/// Indexing, movement and losses have finite results in all cases but those of special values.
#[test]
fn results_of_places_are_finite_somewhere() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/opinfo/place.toml");
    let cases = quick_cases(&load(file).unwrap());
    let none = |(op, case): &&(&OpDef, Case)| {
        let inputs = inputs(case, 3);
        let values = Reference::new(op, case, &inputs).unwrap().evaluate().unwrap();
        let nowhere = |of: &Array| of.len() > 1 && !of.iter().any(|x| x.is_finite());
        case.distribution != InputDistribution::Specials && values.iter().any(nowhere)
    };
    let none: Vec<&str> = cases.par_iter().filter(none).map(|(_, case)| case.id.as_str()).collect();
    assert!(none.is_empty(), "{none:?}");
}

#[test]
fn every_quick_case_is_evaluated_and_bounded_and_cheats_differ_on_some() {
    let cases = quick_cases(&load("opinfo").unwrap());
    let evaluated: Vec<_> =
        cases.par_iter().map(|(op, case)| (op, case, evaluated(op, case))).collect();
    let mut wrong = String::new();
    let mut passes: BTreeMap<(&str, DType, Cheat), bool> = BTreeMap::new();
    for (op, case, outcome) in &evaluated {
        match outcome {
            Err(error) => writeln!(wrong, "{} {}: {error}", op.name, case.id).unwrap(),
            // Integers may be trivial where floating-point numbers are not: floor of one is a copy.
            Ok(_) if !case.dtype.is_float() && op.dtypes.iter().any(|of| of.is_float()) => {}
            Ok(verdicts) => {
                for (cheat, caught) in CHEATS.into_iter().zip(verdicts) {
                    if let Some(caught) = caught {
                        *passes.entry((&op.name, case.dtype, cheat)).or_insert(true) &= !caught;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let missed =
        passes.into_iter().filter(|((op, _, cheat), passes)| *passes && !cheat.is_right(op));
    let missed: Vec<String> =
        missed.map(|((op, dtype, cheat), _)| format!("{op} {dtype}: {cheat:?}")).collect();
    assert!(missed.is_empty(), "no case tells these from the op:\n{}", missed.join("\n"));
}
