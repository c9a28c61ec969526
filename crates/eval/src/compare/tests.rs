use kgen_record::tensor::encode;

use super::*;
use crate::bound::BoundParams;

fn bytes(dtype: DType, values: &[f64]) -> Vec<u8> {
    let mut out = vec![0; values.len() * dtype.size()];
    for (chunk, &value) in out.chunks_exact_mut(dtype.size()).zip(values) {
        encode(dtype, value, chunk);
    }
    out
}

fn run(dtype: DType, len: Option<usize>, reference: &[f64], got: &[f64]) -> Comparison {
    let bounds = len.map(|len| Bounds::new(BoundParams::plain(dtype, len)));
    let shape = [reference.len()];
    let expected = Expected {
        name: "out",
        dtype,
        shape: &shape,
        values: reference,
        integers: None,
        indices: None,
        gathered: false,
        signed_zero: false,
        bounds,
        inputs: &[],
    };
    compare(&expected, &bytes(dtype, got), &|_| false)
}

#[test]
fn the_rule_accepts_and_rejects_element_by_element() {
    let inf = f64::INFINITY;
    let nan = f64::NAN;
    for (name, dtype, len, y, got, passes) in [
        ("equal", DType::F32, Some(1), 1.0, 1.0, true),
        ("one ulp", DType::F32, Some(1), 1.0, 1.0 + f64::from(f32::EPSILON), true),
        ("f16-rounded in f32", DType::F32, Some(1), 1.0, 1.0 + 2f64.powi(-11), false),
        ("nan for nan", DType::F32, Some(1), nan, nan, true),
        ("nan for number", DType::F32, Some(1), 1.0, nan, false),
        ("number for nan", DType::F32, Some(1), nan, 1.0, false),
        ("inf for inf", DType::F32, Some(1), inf, inf, true),
        ("wrong sign of inf", DType::F32, Some(1), inf, -inf, false),
        ("number for inf", DType::F32, Some(1), inf, 1e38, false),
        ("exact differs", DType::F32, None, 1.0, 1.0 + f64::from(f32::EPSILON), false),
        ("exact zero signs", DType::F32, None, 0.0, -0.0, true),
        ("f16 overflows rightly", DType::F16, Some(1), 70000.0, inf, true),
        ("f16 overflows wrongly", DType::F16, Some(1), 60000.0, inf, false),
        ("f16 near the threshold", DType::F16, Some(1), 65519.0, inf, true),
        ("bf16 truncated", DType::BF16, Some(1), 1.0 + 2f64.powi(-8) * 1.9, 1.0, false),
    ] {
        let comparison = run(dtype, len, &[y], &[got]);
        assert_eq!(comparison.mismatch.is_none(), passes, "{name}");
    }
}

#[test]
fn truncation_and_coarse_intermediates_show_in_the_pooled_statistics() {
    let n = 8192;
    let values: Vec<f64> = (0..n).map(|i| 1.0 + f64::from(i) / f64::from(n)).collect();
    let truncated: Vec<f64> = values.iter().map(|v| (v * 128.0).floor() / 128.0).collect();
    let stats = run(DType::BF16, Some(1), &values, &truncated).rounding;
    assert!(stats.complaint().is_some());
    let rounded: Vec<f64> = values.iter().map(|&v| round_to(DType::BF16, v)).collect();
    assert_eq!(run(DType::BF16, Some(1), &values, &rounded).rounding.complaint(), None);
}

#[test]
fn the_sign_of_zero_counts_where_it_is_asked_for() {
    for (signed_zero, passes) in [(false, true), (true, false)] {
        let expected = Expected {
            name: "out",
            dtype: DType::F32,
            shape: &[1],
            values: &[-0.0],
            integers: None,
            indices: None,
            gathered: false,
            signed_zero,
            inputs: &[],
            bounds: None,
        };
        let comparison = compare(&expected, &bytes(DType::F32, &[0.0]), &|_| false);
        assert_eq!(comparison.mismatch.is_none(), passes);
    }
}

#[test]
fn unwritten_elements_are_counted_apart() {
    let shape = [4];
    let expected = Expected {
        name: "out",
        dtype: DType::F32,
        shape: &shape,
        values: &[1.0, 2.0, 3.0, 4.0],
        integers: None,
        indices: None,
        gathered: false,
        signed_zero: false,
        bounds: None,
        inputs: &[],
    };
    let got = bytes(DType::F32, &[1.0, 2.0, f64::NAN, f64::NAN]);
    let mismatch = compare(&expected, &got, &|index| index >= 2).mismatch.unwrap();
    assert_eq!((mismatch.n_wrong, mismatch.n_unwritten, mismatch.n_special), (2, 2, 0));
    assert_eq!(mismatch.first[0].index, [2]);
}

#[test]
fn other_rules_are_recorded_though_they_do_not_decide() {
    // A wrong tail of small values: BackendBench's tolerance does not see it.
    let comparison = run(DType::F32, Some(1), &[0.005, 0.004], &[0.0, 0.0]);
    assert!(comparison.mismatch.is_some());
    assert!(comparison.other_rules.backendbench);
    assert!(!comparison.other_rules.kernelbench);
}
