//! Results computed by hand.

use crate::{
    op::{CaseDraft, DraftTensor, DraftValue, Layout, build_case, find},
    record::{Case, CaseClass, DType, HostTensor, InputDistribution},
};

use super::evaluate;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// An argument of a call: a tensor with its values, or anything else.
enum A<'a> {
    T(&'a [usize], &'a [f64]),
    V(DraftValue),
}

fn call(op: &str, args: &[(&str, A)]) -> (Case, Vec<HostTensor>) {
    let values = args.iter().map(|(name, arg)| {
        let value = match arg {
            A::T(shape, _) => DraftValue::Tensor(DraftTensor {
                dtype: None,
                shape: shape.to_vec(),
                layout: Layout::Contiguous,
            }),
            A::V(value) => value.clone(),
        };
        ((*name).to_owned(), value)
    });
    let draft = CaseDraft {
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        values: values.collect(),
    };
    let case = build_case(find(op).unwrap(), &draft).unwrap();
    let mut hosts = Vec::new();
    for (name, tensor) in case.tensors() {
        let mut host = HostTensor::zeroed(tensor.spec.clone());
        let arg = args.iter().find(|(of, _)| *of == name);
        let Some((_, A::T(_, values))) = arg else { panic!("{name} has values") };
        assert_eq!(values.len(), host.spec.numel());
        for (index, value) in values.iter().enumerate() {
            host.set(index, *value);
        }
        hosts.push(host);
    }
    (case, hosts)
}

fn check(op: &str, args: &[(&str, A)], expected: &[f64]) {
    let (case, hosts) = call(op, args);
    let got = evaluate(&case, &hosts).unwrap().remove(0);
    assert_eq!(got.len(), expected.len(), "{op} {}: {got:?}", case.id);
    for (got, expected) in got.iter().zip(expected) {
        let same = if expected.is_nan() {
            got.is_nan()
        } else if expected.is_infinite() {
            got.to_bits() == expected.to_bits()
        } else {
            (got - expected).abs() <= 2e-7 * expected.abs().max(1e-3)
        };
        assert!(same, "{op} {}: got {got:?}, expected {expected:?}", case.id);
    }
}

fn ints(values: &[i64]) -> A<'static> {
    A::V(DraftValue::Ints(values.to_vec()))
}

fn int(value: i64) -> A<'static> {
    A::V(DraftValue::Int(value))
}

fn float(value: f64) -> A<'static> {
    A::V(DraftValue::Float(value))
}

#[test]
fn relu() {
    let x = [1.5, -2.0, -0.0, NAN, INF, -INF];
    check("relu", &[("self", A::T(&[6], &x))], &[1.5, 0.0, 0.0, NAN, INF, 0.0]);
    check("relu", &[("self", A::T(&[0], &[]))], &[]);
    check("relu", &[("self", A::T(&[], &[-1.0]))], &[0.0]);
}

#[test]
fn add_and_mul() {
    let x = A::T(&[2, 3], &[1.0, 2.0, 3.0, 4.0, INF, NAN]);
    check(
        "add",
        &[("self", x), ("other", A::T(&[3], &[1.0, -INF, 0.5])), ("alpha", float(2.0))],
        &[3.0, -INF, 4.0, 6.0, NAN, NAN],
    );
    check(
        "add",
        &[("self", A::T(&[2, 1], &[1.0, 2.0])), ("other", A::T(&[1, 2], &[10.0, 20.0]))],
        &[11.0, 21.0, 12.0, 22.0],
    );
    check(
        "mul",
        &[("self", A::T(&[], &[2.0])), ("other", A::T(&[4], &[3.0, INF, -0.5, NAN]))],
        &[6.0, INF, -1.0, NAN],
    );
    check(
        "mul",
        &[("self", A::T(&[1], &[INF])), ("other", A::T(&[2], &[0.0, -1.0]))],
        &[NAN, -INF],
    );
    check("mul", &[("self", A::T(&[2, 0], &[])), ("other", A::T(&[1], &[1.0]))], &[]);
}

#[test]
fn gelu() {
    let x = [0.0, 1.0, -1.0, 3.0, INF, -INF, NAN, -30.0];
    let erf = [0.0, 0.841_344_746, -0.158_655_254, 2.995_950_306, INF, NAN, NAN, 0.0];
    check("gelu", &[("self", A::T(&[8], &x))], &erf);
    let tanh = [0.0, 0.841_191_991, -0.158_808_009, 2.996_362_607, INF, NAN, NAN, 0.0];
    let approximate = A::V(DraftValue::Str("tanh".to_owned()));
    check("gelu", &[("self", A::T(&[8], &x)), ("approximate", approximate)], &tanh);
}

#[test]
fn silu() {
    let x = [0.0, 1.0, -1.0, INF, -INF, NAN, -1000.0];
    let expected = [0.0, 0.731_058_579, -0.268_941_421, INF, NAN, NAN, 0.0];
    check("silu", &[("self", A::T(&[7], &x))], &expected);
}

#[test]
fn sum() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let of = |shape, dims: &[i64], expected: &[f64]| {
        check("sum", &[("self", A::T(shape, &x)), ("dim", ints(dims))], expected);
    };
    of(&[2, 3], &[0], &[5.0, 7.0, 9.0]);
    of(&[2, 3], &[-1], &[6.0, 15.0]);
    of(&[2, 3], &[0, 1], &[21.0]);
    of(&[2, 3], &[], &[21.0]);
    of(&[1, 2, 3], &[2, 0], &[6.0, 15.0]);
    check("sum", &[("self", A::T(&[0, 2], &[])), ("dim", ints(&[0]))], &[0.0, 0.0]);
    check("sum", &[("self", A::T(&[2, 0], &[])), ("dim", ints(&[0]))], &[]);
    check("sum", &[("self", A::T(&[0], &[]))], &[0.0]);
    check("sum", &[("self", A::T(&[3], &[1.0, INF, 2.0]))], &[INF]);
    check("sum", &[("self", A::T(&[3], &[1.0, INF, -INF]))], &[NAN]);
    check("sum", &[("self", A::T(&[4], &[1e30, 1.0, -1e30, 1.0]))], &[2.0]);
}

#[test]
fn softmax() {
    let x = [0.0, std::f64::consts::LN_2, 1000.0, 1000.0];
    let rows = [1.0 / 3.0, 2.0 / 3.0, 0.5, 0.5];
    check("softmax", &[("self", A::T(&[2, 2], &x)), ("dim", int(-1))], &rows);
    check("softmax", &[("self", A::T(&[2, 2], &x)), ("dim", int(0))], &[0.0, 0.0, 1.0, 1.0]);
    let special = [-INF, 1.0, -INF, -INF, INF, 1.0, NAN, 1.0];
    let expected = [0.0, 1.0, NAN, NAN, NAN, NAN, NAN, NAN];
    check("softmax", &[("self", A::T(&[4, 2], &special)), ("dim", int(1))], &expected);
    check("softmax", &[("self", A::T(&[], &[7.0])), ("dim", int(0))], &[1.0]);
    check("softmax", &[("self", A::T(&[3, 0], &[])), ("dim", int(1))], &[]);
}

#[test]
fn layer_norm() {
    let x = A::T(&[2, 2], &[1.0, 3.0, 5.0, 5.0]);
    let args = [
        ("input", x),
        ("normalized_shape", ints(&[2])),
        ("weight", A::T(&[2], &[2.0, 10.0])),
        ("bias", A::T(&[2], &[0.5, -0.5])),
        ("eps", float(3.0)),
    ];
    check("layer_norm", &args, &[-0.5, 4.5, 0.5, -0.5]);
    let x = A::T(&[2, 2], &[INF, 3.0, 5.0, NAN]);
    check("layer_norm", &[("input", x), ("normalized_shape", ints(&[2]))], &[NAN; 4]);
    check("layer_norm", &[("input", A::T(&[0, 2], &[])), ("normalized_shape", ints(&[2]))], &[]);
}

#[test]
fn rms_norm() {
    let of = |x: &[f64], expected: &[f64]| {
        let args =
            [("input", A::T(&[1, 2], x)), ("normalized_shape", ints(&[2])), ("eps", float(0.5))];
        check("rms_norm", &args, expected);
    };
    of(&[1.0, -2.0], &[1.0 / 3.0_f64.sqrt(), -2.0 / 3.0_f64.sqrt()]);
    of(&[0.0, 0.0], &[0.0, 0.0]);
    of(&[INF, 1.0], &[NAN, 0.0]);
    of(&[NAN, 1.0], &[NAN, NAN]);
}

#[test]
fn mm() {
    let left = A::T(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let right = A::T(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 2.0, -1.0]);
    check("mm", &[("self", left), ("mat2", right)], &[7.0, -1.0, 16.0, -1.0]);
    check(
        "mm",
        &[("self", A::T(&[2, 0], &[])), ("mat2", A::T(&[0, 2], &[]))],
        &[0.0, 0.0, 0.0, 0.0],
    );
    let left = A::T(&[2, 2], &[INF, 1.0, 1.0, 1.0]);
    let right = A::T(&[2, 3], &[0.0, 1.0, -INF, 1.0, 1.0, INF]);
    check("mm", &[("self", left), ("mat2", right)], &[NAN, INF, NAN, 1.0, 2.0, NAN]);
}

#[test]
fn mse_loss() {
    let of = |reduction, expected: &[f64]| {
        let args = [
            ("self", A::T(&[3], &[1.0, 2.0, 3.0])),
            ("target", A::T(&[3], &[1.0, 0.0, 6.0])),
            ("reduction", int(reduction)),
        ];
        check("mse_loss", &args, expected);
    };
    of(0, &[0.0, 4.0, 9.0]);
    of(1, &[13.0 / 3.0]);
    of(2, &[13.0]);
    check("mse_loss", &[("self", A::T(&[0], &[])), ("target", A::T(&[0], &[]))], &[NAN]);
    check("mse_loss", &[("self", A::T(&[1], &[INF])), ("target", A::T(&[1], &[INF]))], &[NAN]);
    check("mse_loss", &[("self", A::T(&[1], &[INF])), ("target", A::T(&[1], &[1.0]))], &[INF]);
}

#[test]
fn cross_entropy_loss() {
    let ln = |x: f64| x.ln();
    let logits = [0.0, ln(2.0), ln(5.0), 1000.0, 0.0, 0.0, -INF, 0.0, 0.0];
    let of = |targets: &[f64], extra: Vec<(&str, A)>, expected: &[f64]| {
        let mut args = vec![("self", A::T(&[3, 3], &logits)), ("target", A::T(&[3], targets))];
        args.extend(extra);
        check("cross_entropy_loss", &args, expected);
    };
    let each = || vec![("reduction", int(0))];
    of(&[0.0, 0.0, 1.0], each(), &[ln(8.0), 0.0, ln(2.0)]);
    of(&[2.0, 1.0, 0.0], each(), &[ln(1.6), 1000.0, INF]);
    of(&[-100.0, 0.0, 2.0], each(), &[0.0, 0.0, ln(2.0)]);
    of(&[0.0, -100.0, 2.0], vec![], &[0.5 * ln(16.0)]);
    of(&[1.0, 2.0, 1.0], vec![("ignore_index", int(2)), ("reduction", int(2))], &[ln(8.0)]);
    of(&[-100.0; 3], vec![], &[NAN]);
    of(&[-100.0; 3], vec![("reduction", int(2))], &[0.0]);
    let smooth = [
        ("self", A::T(&[1, 2], &[0.0, ln(3.0)])),
        ("target", A::T(&[1], &[1.0])),
        ("label_smoothing", float(0.5)),
    ];
    check("cross_entropy_loss", &smooth, &[0.75 * ln(4.0 / 3.0) + 0.25 * ln(4.0)]);
    let nan = [("self", A::T(&[2, 2], &[NAN, 0.0, INF, 0.0])), ("target", A::T(&[2], &[1.0, 1.0]))];
    let nan = nan.into_iter().chain(each()).collect::<Vec<_>>();
    check("cross_entropy_loss", &nan, &[NAN, NAN]);
    check(
        "cross_entropy_loss",
        &[("self", A::T(&[0, 2], &[])), ("target", A::T(&[0], &[]))],
        &[NAN],
    );
    let (case, hosts) = call(
        "cross_entropy_loss",
        &[("self", A::T(&[1, 2], &[0.0, 0.0])), ("target", A::T(&[1], &[2.0]))],
    );
    assert_eq!(
        evaluate(&case, &hosts).unwrap_err().to_string(),
        "`target` has 2 at element 0, which is not in 0..2"
    );
}
