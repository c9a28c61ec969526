//! The tolerance rule over these references: honest f32 computations pass it with room, cheats and
//! trivial outputs are far beyond it.

use std::{cmp::Ordering, fmt::Write as _};

use crate::{
    op::find,
    record::{
        Case, DType, Family, HostTensor,
        tensor::{decode, encode},
    },
    reference::{U, evaluate, sensitivity},
    suite,
};

use super::{
    honest::{Order, honest},
    inputs, small_cases,
};

/// Rounds to a dtype.
pub(super) fn round(dtype: DType, value: f64) -> f64 {
    let mut bytes = vec![0; dtype.size()];
    encode(dtype, value, &mut bytes);
    decode(dtype, &bytes)
}

/// Distance of neighbouring numbers of a dtype around a value.
fn ulp(dtype: DType, value: f64) -> f64 {
    let (digits, least) = match dtype {
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        _ => (24, -126),
    };
    #[expect(clippy::cast_possible_truncation, reason = "an exponent")]
    let exponent = if value == 0.0 { least } else { value.abs().log2().floor() as i32 };
    f64::from(exponent.max(least) - digits + 1).exp2()
}

/// Tells whether two numbers are equal, -0 and 0 too.
pub(super) fn equal(left: f64, right: f64) -> bool {
    left.partial_cmp(&right) == Some(Ordering::Equal)
}

/// Finite elements, those that are not the correctly rounded reference, and the sum of the signed
/// errors away from zero in ulps.
#[derive(Default)]
struct Rounding {
    n: u32,
    n_misrounded: u32,
    bias: f64,
}

/// The rule for one case and its inputs.
pub(super) struct Rule {
    dtype: DType,
    exact: bool,
    pub(super) expected: Vec<f64>,
    bounds: Vec<f64>,
}

impl Rule {
    pub(super) fn new(case: &Case, hosts: &[HostTensor]) -> Self {
        let op = find(&case.op).unwrap();
        let dtype = op.infer(case).unwrap()[0].dtype;
        let expected = evaluate(case, hosts).unwrap();
        let bound = sensitivity(case, hosts, &expected).unwrap().remove(0);
        let spread = super::rms(&bound.s);
        let root = (op.accumulation_len(case) as f64).sqrt();
        let at = |(index, y): (usize, &f64)| {
            let scale = bound.hint.as_ref().map_or(y.abs(), |hint| hint[index].max(y.abs()));
            let moved = U * scale + bound.s[index] + 0.05 * spread;
            0.5 * ulp(dtype, *y) + 4.0 * root * moved * op.slack(dtype)
        };
        let bounds = expected[0].iter().enumerate().map(at).collect();
        let exact = op.is_exact() || case.family == Family::Exact;
        Self { dtype, exact, expected: expected.into_iter().next().unwrap(), bounds }
    }

    /// Largest error over its bound; infinite where a special value is wrong.
    pub(super) fn worst(&self, got: &[f64]) -> f64 {
        let mut worst = 0.0_f64;
        for ((&y, &raw), bound) in self.expected.iter().zip(got).zip(&self.bounds) {
            let (rounded, out) = (round(self.dtype, y), round(self.dtype, raw));
            let same = equal(rounded, out) || (rounded.is_nan() && out.is_nan());
            let special = !rounded.is_finite() || !out.is_finite();
            worst = if same {
                worst
            } else if special || self.exact {
                f64::INFINITY
            } else {
                worst.max((out - y).abs() / bound)
            };
        }
        worst
    }

    fn count(&self, got: &[f64], rounding: &mut Rounding) {
        for (&y, raw) in self.expected.iter().zip(got) {
            let (rounded, out) = (round(self.dtype, y), round(self.dtype, *raw));
            if rounded.is_finite() && out.is_finite() {
                rounding.n += 1;
                rounding.n_misrounded += u32::from(!equal(rounded, out));
                rounding.bias += ((out - y) / ulp(self.dtype, y) * y.signum()).clamp(-2.0, 2.0);
            }
        }
    }
}

/// Largest error over its bound for one output.
pub(super) fn worst(case: &Case, hosts: &[HostTensor], got: &[f64]) -> f64 {
    Rule::new(case, hosts).worst(got)
}

#[expect(clippy::cast_possible_truncation, reason = "the values are f32")]
pub(super) fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

pub(super) fn widen(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

#[test]
fn honest_f32_computations_pass_every_case_with_room() {
    let mut table = String::new();
    for op in suite::load("smoke").unwrap().ops() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let mut largest = (0.0, String::new());
            let mut rounding = Rounding::default();
            for case in small_cases(op).iter().filter(|case| case.dtype == dtype) {
                let hosts = inputs(case, 1);
                let rule = Rule::new(case, &hosts);
                for order in [Order::Sequential, Order::Lanes] {
                    let got = widen(honest(case, &hosts, order));
                    rule.count(&got, &mut rounding);
                    let worst = rule.worst(&got);
                    if worst > largest.0 {
                        largest = (worst, case.id.clone());
                    }
                }
            }
            let misrounded = f64::from(rounding.n_misrounded) / f64::from(rounding.n);
            let bias = rounding.bias / f64::from(rounding.n);
            let (ratio, id) = &largest;
            writeln!(table, "{op} {dtype}: {ratio:.3} {misrounded:.4} {bias:+.4} {id}").unwrap();
            if dtype != DType::F32 && rounding.n >= 4096 {
                assert!(misrounded < 0.007 && bias.abs() < 0.03, "{table}");
            }
            let room = if dtype == DType::F32 { 0.7 } else { 1.0 };
            assert!(largest.0 <= room, "{op} {dtype}: {} {}\n{table}", largest.0, largest.1);
        }
    }
    println!("{table}");
}

/// Cases of an op in f32 and in all families but the exact one.
fn f32_cases(op: &str) -> Vec<Case> {
    let mut cases = small_cases(op);
    cases.retain(|case| case.dtype == DType::F32 && case.family != Family::Exact);
    cases
}

/// Holds one more way of computing an op of one input against the rule, row by row of `columns`.
fn check_rows(case: &Case, formula: impl Fn(&[f32], &mut [f32])) {
    let hosts = inputs(case, 3);
    let columns = *hosts[0].spec.shape.last().unwrap();
    let x = narrow(&hosts[0].to_f64());
    let mut out = vec![0.0; x.len()];
    for (row, out) in x.chunks(columns.max(1)).zip(out.chunks_mut(columns.max(1))) {
        formula(row, out);
    }
    let ratio = worst(case, &hosts, &widen(out));
    assert!(ratio <= 0.8, "{} {}: {ratio}", case.op, case.id);
}

#[test]
fn other_honest_formulations_pass_too() {
    for case in f32_cases("softmax") {
        if case.args[1].value != crate::record::ArgValue::Int(-1) {
            continue;
        }
        // One pass, with the exponentials as powers of two.
        check_rows(&case, |x, out| {
            let log2e = std::f32::consts::LOG2_E;
            let (mut max, mut total) = (f32::NEG_INFINITY, 0.0_f32);
            for &x in x {
                let larger = if x > max || x.is_nan() { x } else { max };
                let kept =
                    if max == f32::NEG_INFINITY { 0.0 } else { ((max - larger) * log2e).exp2() };
                let own = if x == f32::NEG_INFINITY { 0.0 } else { ((x - larger) * log2e).exp2() };
                total = total * kept + own;
                max = larger;
            }
            for (out, x) in out.iter_mut().zip(x) {
                *out = ((x - max) * log2e).exp2() / total;
            }
        });
    }
    for case in
        f32_cases("silu").iter().filter(|case| case.tensors().next().unwrap().1.spec.ndim() > 0)
    {
        check_rows(case, |x, out| {
            for (out, x) in out.iter_mut().zip(x) {
                *out = x * (1.0 / (1.0 + (-x * std::f32::consts::LOG2_E).exp2()));
            }
        });
    }
    for case in f32_cases("layer_norm") {
        if case.tensors().count() > 1 {
            continue;
        }
        // Welford, then one multiply-add per element.
        check_rows(&case, |x, out| {
            let (mut mean, mut square) = (0.0_f32, 0.0_f32);
            for (n, x) in x.iter().enumerate() {
                let delta = x - mean;
                mean += delta / (n + 1) as f32;
                square += delta * (x - mean);
            }
            let scale = 1.0 / (square / x.len() as f32 + 1e-5).sqrt();
            for (out, x) in out.iter_mut().zip(x) {
                *out = x.mul_add(scale, -mean * scale);
            }
        });
    }
}
