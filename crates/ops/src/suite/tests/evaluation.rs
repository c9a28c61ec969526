//! One evaluation of every quick case of `opinfo`, which all that can be asked of it is asked of:
//! shapes, bounds, the closed form of its sensitivity, equal results under ties, finite results of places, and
//! whether a wrong implementation differs.

use std::{collections::BTreeMap, fmt::Write};

use rayon::prelude::*;

use super::{
    cheats::{self, CHEATS, Cheat},
    inputs, load,
    opinfo::{Listed, quick_cases},
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

/// Indexing, movement and losses, which have finite results in all cases but those of special values.
const PLACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites/opinfo/place.toml");

/// Evaluates a case and returns which cheats differ from it, and whether each output of several elements has
/// a finite one; an error describes a wrong outcome.
pub(super) fn evaluated(op: &OpDef, case: &Case) -> Result<([Option<bool>; 3], bool), String> {
    let inputs = inputs(case, 3);
    let reference = Reference::new(op, case, &inputs).map_err(|error| error.to_string())?;
    let values = reference.evaluate().map_err(|error| error.to_string())?;
    let bounds = reference.bounds(&values).map_err(|error| error.to_string())?;
    let specs = op.infer(case).map_err(|error| error.to_string())?;
    shapes_and_bounds(&values, &bounds, &specs)?;
    closed_form(op, case, &reference, &bounds, &specs)?;
    ties(op, case, &reference, &values)?;
    let nowhere = |of: &Array| of.len() > 1 && !of.iter().any(|x| x.is_finite());
    let finite = !values.iter().any(nowhere);
    Ok((cheats::caught(op, case, &reference, &values, &bounds), finite))
}

#[test]
fn every_quick_case_is_evaluated_and_bounded_and_cheats_differ_on_some() {
    let places = load(PLACES).unwrap();
    let evaluated: Vec<_> = quick_cases()
        .into_par_iter()
        .map(|Listed { op, case, .. }| {
            let is_place = places.ops().contains(&op.name);
            let outcome = evaluated(op, case).and_then(|(caught, finite)| {
                let wanted = is_place && case.distribution != InputDistribution::Specials;
                (finite || !wanted).then_some(caught).ok_or_else(|| "nothing is finite".to_owned())
            });
            (op, case, outcome)
        })
        .collect();
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
