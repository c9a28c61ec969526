//! The opinfo cases of indexing, movement, losses and inference ops.

use std::path::Path;

use crate::{
    op::{Array, OpDef, find, generate},
    record::{Case, HostTensor, InputDistribution},
    reference::{Reference, U},
    suite::{self, Suite},
};

fn opinfo() -> Suite {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/opinfo/place.toml");
    suite::load(path.to_str().unwrap()).unwrap()
}

fn hosts(case: &Case) -> Vec<HostTensor> {
    case.tensors().map(|(name, tensor)| generate(tensor, 7, &case.id, &name)).collect()
}

fn norm<'a>(values: impl IntoIterator<Item = &'a f64>) -> f64 {
    values.into_iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Where a case is smooth enough, the closed form must be near the measured sensitivity.
fn check_closed_form(op: &OpDef, case: &Case, reference: &Reference<'_>, measured: &[Vec<f64>]) {
    let Some(closed) = op.engine.spread(&op.call(case), reference.inputs()).unwrap() else {
        return;
    };
    for (closed, measured) in closed.iter().zip(measured).filter(|(_, s)| s.len() >= 20) {
        let (closed, measured) = (2.0 * U / 3f64.sqrt() * norm(closed), norm(measured));
        let none = measured + closed < f64::MIN_POSITIVE;
        let fits = none || (0.6..1.6).contains(&(measured / closed));
        assert!(fits, "{} {}: measured {measured}, closed {closed}", op.name, case.id);
    }
}

fn check(op: &OpDef, case: &Case) {
    let hosts = hosts(case);
    let reference = Reference::new(op, case, &hosts).unwrap();
    let outputs = reference.evaluate().unwrap();
    let bounds = reference.bounds(&outputs).unwrap();
    let shapes: Vec<&[usize]> = outputs.iter().map(Array::shape).collect();
    let inferred = op.infer(case).unwrap();
    assert!(inferred.iter().map(|spec| spec.shape.as_slice()).eq(shapes), "{}", case.id);
    for ((output, bound), spec) in outputs.iter().zip(&bounds).zip(&inferred) {
        assert_eq!(output.len(), bound.s.len(), "{} {}", op.name, case.id);
        let magnitude = bound.magnitude.iter().flatten();
        assert!(
            magnitude.chain(&bound.s).all(|x| x.is_finite() && 0.0 <= *x),
            "{} {}",
            op.name,
            case.id
        );
        let any = output.iter().any(|x| x.is_finite());
        let specials = case.distribution == InputDistribution::Specials;
        assert!(any || specials || spec.numel() <= 1, "{} {}: all NaN", op.name, case.id);
    }
    let tame = matches!(case.distribution, InputDistribution::Normal | InputDistribution::Uniform);
    if tame && case.dtype.is_float() && !op.exact {
        let measured: Vec<Vec<f64>> = bounds.into_iter().map(|bound| bound.s).collect();
        check_closed_form(op, case, &reference, &measured);
    }
}

#[test]
fn every_case_of_the_suite_is_evaluated_and_bounded() {
    let suite = opinfo();
    for name in suite.ops() {
        for case in suite.cases(name, None, 5).unwrap() {
            check(find(name).unwrap(), &case);
        }
    }
}
