//! Computations that the rule must refuse.

use crate::{
    op::{find, str_arg},
    record::{Case, DType, Family, HostTensor},
    reference::{evaluate, softmax::maximum},
    suite,
};

use super::{
    inputs,
    rule::{Rule, narrow, round, worst},
    small_cases,
};

/// Cases of the main family that hold enough to tell a cheat.
fn main_cases(op: &str) -> impl Iterator<Item = Case> {
    small_cases(op).into_iter().filter(|case| {
        let numel = find(&case.op).unwrap().infer(case).unwrap()[0].numel();
        let input = case.tensors().next().unwrap().1.spec.numel();
        case.family == Family::Normal && numel > 0 && input > 30
    })
}

#[test]
fn trivial_outputs_are_far_beyond_the_bound() {
    for op in suite::load("smoke").unwrap().ops() {
        for case in main_cases(op) {
            let hosts = inputs(&case, 1);
            let n_out = find(op).unwrap().infer(&case).unwrap()[0].numel();
            let rule = Rule::new(&case, &hosts);
            let zeros = vec![0.0; n_out];
            assert!(rule.worst(&zeros) > 20.0, "{op} {}", case.id);
            let first = hosts[0].to_f64();
            let copy: Vec<f64> = first.iter().copied().cycle().take(n_out).collect();
            // Normal values are nearly normalised as they are.
            let far = if op.ends_with("_norm") { 2.0 } else { 20.0 };
            assert!(rule.worst(&copy) > far, "{op} {}", case.id);
            let mut tail = rule.expected.clone();
            assert!(rule.worst(&tail) <= 1.0, "{op} {}", case.id);
            let last = tail.last_mut().unwrap();
            *last = 1.0 + 3.0 * last.abs();
            assert!(rule.worst(&tail) > 2.0, "{op} {}", case.id);
        }
    }
}

/// Keeps the upper bits of an f32 as TF32 does.
fn tf32(x: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "the value is an f32")]
    let bits = (x as f32).to_bits().wrapping_add(0x1000) & !0x1fff;
    f32::from_bits(bits).into()
}

/// Evaluates a case whose inputs went through a coarser type.
fn coarse(case: &Case, hosts: &[HostTensor], coarsen: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut coarse = hosts.to_vec();
    for host in coarse.iter_mut().filter(|host| host.spec.dtype.is_float()) {
        for index in host.spec.storage_indices() {
            let value = coarsen(host.get(index));
            host.set(index, value);
        }
    }
    evaluate(case, &coarse).unwrap().remove(0)
}

#[test]
fn coarser_arithmetic_on_f32_is_caught() {
    for op in ["mm", "sum", "softmax", "layer_norm", "rms_norm", "gelu", "silu", "add", "mul"] {
        for case in main_cases(op).filter(|case| case.dtype == DType::F32) {
            let hosts = inputs(&case, 1);
            let rule = Rule::new(&case, &hosts);
            for (name, coarsen) in [
                ("tf32", tf32 as fn(f64) -> f64),
                ("f16", |x| round(DType::F16, x)),
                ("bf16", |x| round(DType::BF16, x)),
            ] {
                let got = coarse(&case, &hosts, coarsen);
                let worst = rule.worst(&got);
                assert!(worst > 3.0, "{op} {name} {}: {worst}", case.id);
            }
        }
    }
}

#[test]
fn products_with_coarse_accumulators_are_caught() {
    for case in small_cases("mm") {
        let (m, k) = (
            case.tensor("self").unwrap().spec.shape[0],
            case.tensor("self").unwrap().spec.shape[1],
        );
        let n = case.tensor("mat2").unwrap().spec.shape[1];
        if k < 30 || m * n < 50 || !matches!(case.family, Family::Normal | Family::Exact) {
            continue;
        }
        let hosts = inputs(&case, 1);
        let (x, y) = (hosts[0].to_f64(), hosts[1].to_f64());
        let accumulator = if case.dtype == DType::BF16 { DType::BF16 } else { DType::F16 };
        let element = |index: usize| {
            let (row, column) = (index / n, index % n);
            (0..k).fold(0.0, |sum, l| round(accumulator, sum + x[row * k + l] * y[l * n + column]))
        };
        let got: Vec<f64> = (0..m * n).map(element).collect();
        let worst = worst(&case, &hosts, &got);
        assert!(worst > 2.0, "{}: {worst}", case.id);
    }
}

#[test]
fn the_other_gelu_is_caught() {
    for case in main_cases("gelu").filter(|case| case.dtype == DType::F32) {
        let hosts = inputs(&case, 1);
        let mut other = case.clone();
        let swapped = match str_arg(&case, "approximate").unwrap() {
            "tanh" => "none",
            _ => "tanh",
        };
        for arg in &mut other.args {
            if arg.name == "approximate" {
                arg.value = crate::record::ArgValue::Str(swapped.to_owned());
            }
        }
        let got = evaluate(&other, &hosts).unwrap().remove(0);
        assert!(worst(&case, &hosts, &got) > 100.0, "{}", case.id);
    }
}

#[test]
fn careless_formulas_are_caught_by_their_family() {
    let of = |op: &str, family| {
        let case = small_cases(op)
            .into_iter()
            .find(|case| case.family == family && case.dtype == DType::F32)
            .unwrap();
        let hosts = inputs(&case, 1);
        (case, hosts)
    };
    for family in [Family::Shifted, Family::Large] {
        let (case, hosts) = of("softmax", family);
        let mut got = Vec::new();
        for row in narrow(&hosts[0].to_f64()).chunks(65) {
            let total: f32 = row.iter().map(|x| x.exp()).sum();
            got.extend(row.iter().map(|x| f64::from(x.exp() / total)));
        }
        assert!(worst(&case, &hosts, &got).is_infinite());
    }
    let (case, hosts) = of("layer_norm", Family::Shifted);
    let (gain, bias) = (narrow(&hosts[1].to_f64()), narrow(&hosts[2].to_f64()));
    let mut got = Vec::new();
    for row in narrow(&hosts[0].to_f64()).chunks(128) {
        let mean = row.iter().sum::<f32>() / 128.0;
        let square = row.iter().map(|x| x * x).sum::<f32>() / 128.0;
        let scale = 1.0 / (square - mean * mean + 1e-5).sqrt();
        let columns = row.iter().enumerate();
        got.extend(columns.map(|(i, x)| f64::from((x - mean) * scale * gain[i] + bias[i])));
    }
    let ratio = worst(&case, &hosts, &got);
    assert!(ratio > 1.5, "{ratio}");
    let (case, hosts) = of("relu", Family::Specials);
    let got: Vec<f64> = hosts[0].to_f64().iter().map(|x| x.max(0.0)).collect();
    assert!(worst(&case, &hosts, &got).is_infinite());
    assert!(maximum(&[1.0, f64::NAN]).is_nan());
}
