//! Formulas against independent ones, and the types that calls give.

use super::super::{
    CaseDraft, DraftTensor, DraftValue, Input, Inputs, Layout, all, build_case, find,
};
use crate::record::{CaseClass, DType, InputDistribution};

fn tensor(dtype: DType, shape: &[usize]) -> DraftValue {
    DraftValue::Tensor(DraftTensor {
        dtype: Some(dtype),
        shape: shape.to_vec(),
        layout: Layout::Contiguous,
    })
}

/// Evaluates an op on rows of values; the type is that of all tensors.
fn values(
    op: &str,
    dtype: DType,
    inputs: &[(&str, &[f64])],
    options: &[(&str, DraftValue)],
) -> Result<Vec<f64>, String> {
    let op = find(op).unwrap();
    let named = inputs.iter().map(|(name, row)| ((*name).to_owned(), tensor(dtype, &[row.len()])));
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let values = named.chain(options).collect();
    let draft = CaseDraft {
        dtype,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        values,
    };
    let case = build_case(op, &draft).map_err(|error| error.to_string())?;
    let arrays = inputs.iter().map(|(name, row)| {
        let array = ndarray::Array1::from(row.to_vec()).into_dyn();
        ((*name).to_owned(), Input::computed(dtype, array))
    });
    let inputs = Inputs::computed(arrays.collect());
    let outputs = op.engine.evaluate(&op.call(&case), &inputs);
    Ok(outputs.map_err(|error| error.to_string())?.remove(0).into_iter().collect())
}

/// Type of the result of a call.
fn result(op: &str, args: &[(&str, DraftValue)]) -> Result<DType, String> {
    let op = find(op).unwrap();
    let values = args.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let draft = CaseDraft {
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        values,
    };
    let case = build_case(op, &draft).map_err(|error| error.to_string())?;
    Ok(op.infer(&case).unwrap()[0].dtype)
}

/// An op, and another way to compute it.
type Form = (&'static str, fn(f64) -> f64);

/// Every pair of a few whole numbers, as two rows.
fn pairs() -> (Vec<f64>, Vec<f64>) {
    let pairs = (-9..10).flat_map(|left| (-4..5).map(move |right| (left, right)));
    let divided = pairs.filter(|&(_, right)| right != 0);
    divided.map(|(left, right)| (f64::from(left), f64::from(right))).unzip()
}

#[test]
#[expect(clippy::float_cmp, reason = "whole numbers are exact")]
fn quotients_and_remainders_belong_together() {
    let (left, right) = pairs();
    for dtype in [DType::F32, DType::I32] {
        let of = |op: &str, options: &[(&str, DraftValue)]| {
            values(op, dtype, &[("self", &left), ("other", &right)], options).unwrap()
        };
        let mode = |name: &str| [("rounding_mode", DraftValue::Str(name.to_owned()))];
        let floor = of("floor_divide", &[]);
        let trunc = of("div.Tensor_mode", &mode("trunc"));
        let (remainder, fmod) = (of("remainder", &[]), of("fmod", &[]));
        assert_eq!(floor, of("div.Tensor_mode", &mode("floor")));
        for at in 0..left.len() {
            let (a, b) = (left[at], right[at]);
            assert_eq!(floor[at] * b + remainder[at], a, "{a} by {b}");
            assert_eq!(trunc[at] * b + fmod[at], a, "{a} by {b}");
            assert!(remainder[at] * b >= 0.0 && fmod[at] * a >= 0.0, "{a} by {b}");
            assert!(remainder[at].abs() < b.abs() && fmod[at].abs() < b.abs(), "{a} by {b}");
        }
    }
}

#[test]
fn integers_are_not_divided_by_zero() {
    for op in ["floor_divide", "fmod", "remainder"] {
        let inputs: [(&str, &[f64]); 2] = [("self", &[1.0]), ("other", &[0.0])];
        assert!(values(op, DType::I64, &inputs, &[]).is_err(), "{op}");
        assert!(values(op, DType::F32, &inputs, &[]).is_ok(), "{op}");
    }
}

#[test]
#[expect(clippy::float_cmp, reason = "whole numbers are exact")]
fn whole_powers_are_repeated_products() {
    let bases: Vec<f64> = (-5..6).map(f64::from).collect();
    for exponent in 0..6 {
        let exponents = vec![f64::from(exponent); bases.len()];
        let inputs: [(&str, &[f64]); 2] = [("self", &bases), ("exponent", &exponents)];
        let powers = values("pow", DType::I64, &inputs, &[]).unwrap();
        for (base, power) in bases.iter().zip(powers) {
            assert_eq!(power, (0..exponent).map(|_| base).product::<f64>());
        }
    }
}

/// Two formulas that mean the same, on a row of values.
#[test]
fn activations_agree_with_other_forms() {
    let row: Vec<f64> = (-80..81).map(|step| f64::from(step) / 8.0).collect();
    let of = |op: &str| values(op, DType::F64, &[("self", &row)], &[]).unwrap();
    let (sigmoid, tanh) = (of("sigmoid"), of("tanh"));
    let forms: [Form; 5] = [
        ("silu", |x| x * 0.5 * (1.0 + (0.5 * x).tanh())),
        ("mish", |x| {
            let power = (1.0 + x.exp()) * (1.0 + x.exp());
            x * (power - 1.0) / (power + 1.0)
        }),
        ("log_sigmoid", |x| (1.0 / (1.0 + (-x).exp())).ln()),
        ("hardswish", |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        ("softsign", |x| 1.0 / (1.0 / x.abs() + 1.0) * x.signum()),
    ];
    for (op, form) in forms {
        for (x, got) in row.iter().zip(of(op)) {
            let error = (got - form(*x)).abs();
            assert!(error < 1e-10 * (1.0 + x.abs()) || *x == 0.0, "{op}({x}) = {got}");
        }
    }
    for at in 0..row.len() {
        assert!((tanh[at] - (2.0 / (1.0 + (-2.0 * row[at]).exp()) - 1.0)).abs() < 1e-14);
        assert!((sigmoid[at] + sigmoid[row.len() - 1 - at] - 1.0).abs() < 1e-14);
    }
}

#[test]
fn gelu_is_the_integral_of_the_bell_curve() {
    const STEPS: u32 = 4096;
    let row = [-2.0, -0.5, 0.25, 1.0, 3.0];
    let got = values("gelu", DType::F64, &[("self", &row)], &[]).unwrap();
    for (x, got) in row.into_iter().zip(got) {
        // Simpson's rule from 0 to x.
        let mut area = 0.0;
        for at in 0..=STEPS {
            let t = x * f64::from(at) / f64::from(STEPS);
            let weight = if at == 0 || at == STEPS { 1 } else { 2 + 2 * (at % 2) };
            area += f64::from(weight) * (-t * t / 2.0).exp() * x / f64::from(3 * STEPS);
        }
        let wanted = x * (0.5 + area / (2.0 * std::f64::consts::PI).sqrt());
        assert!((got - wanted).abs() < 1e-12, "gelu({x}) = {got}, not {wanted}");
    }
}

#[test]
fn nan_goes_through_and_predicates_see_it() {
    let quiet = ["sign", "sgn", "isnan", "isinf", "isfinite", "logical_not", "nan_to_num"];
    for op in all().iter().filter(|op| op.params.len() == 1 && op.takes(DType::F32)) {
        let Ok(got) = values(&op.name, DType::F32, &[("self", &[f64::NAN])], &[]) else { continue };
        if got.len() == 1 && op.params[0].name == "self" && !quiet.contains(&op.name.as_str()) {
            let bool = result(&op.name, &[("self", tensor(DType::F32, &[1]))]) == Ok(DType::Bool);
            assert!(got[0].is_nan() || bool, "{} swallows NaN", op.name);
        }
    }
}

#[test]
fn types_follow_pytorch() {
    let row = |dtype| tensor(dtype, &[2]);
    let one = |dtype| tensor(dtype, &[]);
    let (int, float) = (DraftValue::Int(2), DraftValue::Float(2.5));
    let table = [
        ("add", "other", row(DType::F16), row(DType::BF16), DType::F32),
        ("add", "other", row(DType::F16), one(DType::F32), DType::F16),
        ("add", "other", row(DType::I32), one(DType::F16), DType::F16),
        ("add", "other", row(DType::U8), row(DType::I8), DType::I16),
        ("add.Scalar", "other", row(DType::I32), float.clone(), DType::F32),
        ("add.Scalar", "other", row(DType::Bool), int.clone(), DType::I64),
        ("add.Scalar", "other", row(DType::U8), int.clone(), DType::U8),
        ("div", "other", row(DType::I64), row(DType::I64), DType::F32),
        ("floor_divide", "other", row(DType::I64), row(DType::I32), DType::I64),
        ("eq", "other", row(DType::I64), row(DType::F16), DType::Bool),
        ("copysign", "other", row(DType::I64), row(DType::I64), DType::F32),
        ("pow.Tensor_Scalar", "exponent", row(DType::I64), float, DType::F32),
        ("pow.Tensor_Scalar", "exponent", row(DType::I64), int, DType::I64),
        ("copy", "src", row(DType::F16), row(DType::F32), DType::F16),
        ("to_copy", "dtype", row(DType::F16), DraftValue::DType(DType::F8E4M3), DType::F8E4M3),
    ];
    for (op, name, first, second, dtype) in table {
        assert_eq!(result(op, &[("self", first), (name, second)]), Ok(dtype), "{op}");
    }
    for (op, dtype) in [
        ("square", DType::I64),
        ("sigmoid", DType::F32),
        ("logical_not", DType::Bool),
        ("sign", DType::Bool),
        ("clone", DType::Bool),
    ] {
        assert_eq!(result(op, &[("self", row(DType::Bool))]), Ok(dtype), "{op}");
    }
}

#[test]
fn names_of_other_spellings_and_libraries_are_known() {
    let table = [
        ("torch.nn.functional.gelu", "gelu"),
        ("nn.functional.hardtanh", "hardtanh"),
        ("clip", "clamp"),
        ("aten._to_copy.default", "to_copy"),
        ("aten.copy_.default", "copy"),
        ("aten::masked_fill_.Scalar", "masked_fill.Scalar"),
        ("masked_fill_", "masked_fill.Scalar"),
        ("aten._prelu_kernel.default", "_prelu_kernel"),
        ("aten.prelu.default", "prelu"),
        ("torch.ops.aten.eq_.Tensor", "eq"),
        ("aten.eq.Scalar", "eq.Scalar"),
        ("aten.where.self", "where"),
        ("true_divide", "div"),
        ("aten.div_.Tensor_mode", "div.Tensor_mode"),
        ("neg_", "neg"),
    ];
    for (typed, name) in table {
        assert_eq!(find(typed).map(|op| op.name.as_str()), Ok(name), "{typed}");
    }
}

#[test]
fn calls_outside_of_an_op_are_refused() {
    let row = |dtype| tensor(dtype, &[2]);
    let half = DraftValue::Float(0.5);
    let table = [
        ("relu", vec![("self", row(DType::Bool))]),
        ("gelu", vec![("self", row(DType::I32))]),
        ("bitwise_not", vec![("self", row(DType::F32))]),
        ("sub", vec![("self", row(DType::Bool)), ("other", row(DType::F32))]),
        (
            "add",
            vec![("self", row(DType::I32)), ("other", row(DType::I32)), ("alpha", half.clone())],
        ),
        (
            "lerp.Scalar",
            vec![("self", row(DType::F16)), ("end", row(DType::F32)), ("weight", half)],
        ),
        ("clamp", vec![("self", row(DType::F32))]),
        (
            "where",
            vec![
                ("condition", row(DType::F32)),
                ("self", row(DType::F32)),
                ("other", row(DType::F32)),
            ],
        ),
        (
            "masked_fill.Scalar",
            vec![
                ("self", row(DType::I32)),
                ("mask", row(DType::Bool)),
                ("value", DraftValue::Float(f64::NAN)),
            ],
        ),
        ("copy", vec![("self", row(DType::F32)), ("src", tensor(DType::F32, &[3, 2]))]),
        ("pow.Tensor_Scalar", vec![("self", row(DType::I32)), ("exponent", DraftValue::Int(-1))]),
        (
            "addcdiv",
            vec![
                ("self", row(DType::F32)),
                ("tensor1", row(DType::I32)),
                ("tensor2", row(DType::I32)),
            ],
        ),
    ];
    for (op, args) in table {
        assert!(result(op, &args).is_err(), "{op}");
    }
}
