//! Pairs of values that cases of the suite of every op must have.

use super::{inputs, opinfo};
use crate::{
    op::find,
    record::{ArgValue, Case, DType, InputDistribution, tensor::round_to},
    reference::Reference,
};

/// Seeds of inputs: pairs must not depend on one.
const SEEDS: std::ops::Range<u64> = 0..4;

/// Largest number of f16.
const F16_MAX: f64 = 65_504.0;

/// Returns the cases of an op in a distribution and a type; there is at least one.
fn cases(op: &str, distribution: InputDistribution, dtype: DType) -> Vec<Case> {
    let mut cases = opinfo().cases(op, None, 11).unwrap();
    cases.retain(|case| case.distribution == distribution && case.dtype == dtype);
    assert!(!cases.is_empty(), "{op} {dtype}");
    cases
}

/// Returns the distance of the numbers of a type at a normal value.
fn ulp(dtype: DType, value: f64) -> f64 {
    let (digits, _) = dtype.format().unwrap();
    2f64.powi(value.abs().log2().floor() as i32 - digits)
}

/// Returns the values of the tensors of a case.
fn values(case: &Case, seed: u64) -> Vec<Vec<f64>> {
    inputs(case, seed).iter().map(|tensor| tensor.to_f64()).collect()
}

/// Asks for a pair of elements, at the same place of two inputs, in some case of each seed.
fn assert_pair(op: &str, dtype: DType, places: [usize; 2], is: impl Fn(f64, f64) -> bool) {
    let cases = cases(op, InputDistribution::Edges, dtype);
    for seed in SEEDS {
        let has = cases.iter().any(|case| {
            let values = values(case, seed);
            values[places[0]].iter().zip(&values[places[1]]).any(|(&a, &b)| is(a, b))
        });
        assert!(has, "{op} {dtype} {seed}");
    }
}

#[test]
fn integer_divisors_reach_beyond_half_of_the_range_and_every_quotient_exists() {
    for op in ["floor_divide", "fmod", "remainder"] {
        for (case, seed) in cases(op, InputDistribution::Wide, DType::I64)
            .iter()
            .flat_map(|case| SEEDS.map(move |seed| (case, seed)))
        {
            let tensors = inputs(case, seed);
            let (dividends, divisors) = (tensors[0].to_i64(), tensors[1].to_i64());
            let sum_overflows = |(&a, &b): (&i64, &i64)| b != 0 && (a % b).checked_add(b).is_none();
            assert!(dividends.iter().zip(&divisors).any(sum_overflows), "{op}");
            assert!(dividends.iter().all(|&dividend| dividend != i64::MIN), "{op}");
            assert!(divisors.iter().all(|&divisor| divisor != 0), "{op}");
        }
    }
}

#[test]
fn products_cancel_after_partial_sums_beyond_f16() {
    for op in [
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "linear",
        "matmul",
        "mv",
        "addmv",
        "dot",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
    ] {
        let (mut finite, mut infinite, mut large) = (0, 0, 0);
        for case in cases(op, InputDistribution::Cancelling, DType::F16) {
            let definition = find(op).unwrap();
            let tensors = inputs(&case, 3);
            let reference = Reference::new(definition, &case, &tensors).unwrap();
            let sums = reference.evaluate().unwrap().remove(0);
            finite += sums.iter().filter(|sum| sum.abs() < F16_MAX).count();
            infinite += sums.iter().filter(|sum| sum.abs() > F16_MAX).count();
            let spread = definition.engine.spread(&definition.call(&case), reference.inputs());
            large += spread.unwrap().unwrap()[0].iter().filter(|&&spread| spread > 3e4).count();
        }
        assert!(finite > 0 && finite > infinite, "{op}: {finite} of {}", finite + infinite);
        assert!(large > 0, "{op}");
        assert_eq!(infinite == 0, ["dot", "conv3d"].contains(&op), "{op}");
    }
}

#[test]
fn dot_products_show_products_in_f16_and_sums_beyond_it() {
    for case in cases("dot", InputDistribution::Cancelling, DType::F16) {
        for seed in SEEDS {
            let values = values(&case, seed);
            let products = || values[0].iter().zip(&values[1]).map(|(a, b)| a * b);
            let exact: f64 = products().sum();
            let rounded: f64 = products().map(|product| round_to(DType::F16, product)).sum();
            assert!(
                (rounded - exact).abs() > 0.6 * ulp(DType::F16, exact),
                "{}: {rounded} for {exact}",
                case.id
            );
            let peak = products().fold((0.0, 0.0_f64), |(sum, peak), product| {
                (sum + product, peak.max(sum + product))
            });
            assert!(peak.1 > 2.0 * F16_MAX && exact.abs() < F16_MAX, "{}: {peak:?}", case.id);
        }
    }
}

/// Counts the rows whose target has weight 0 and an infinity.
fn weightless_infinities(case: &Case, seed: u64) -> usize {
    let values = values(case, seed);
    let [logits, targets, weights] = values.as_slice() else { panic!("{}", case.id) };
    let rows = logits.chunks(weights.len()).zip(targets);
    rows.filter(|&(row, &target)| {
        weights[target as usize] == 0.0 && row[target as usize].is_infinite()
    })
    .count()
}

#[test]
fn infinities_meet_classes_of_weight_0() {
    for op in ["nll_loss", "cross_entropy_loss"] {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for case in cases(op, InputDistribution::Edges, dtype) {
                let counts = SEEDS.map(|seed| weightless_infinities(&case, seed));
                assert!(counts.min() >= Some(4), "{}", case.id);
            }
        }
    }
}

#[test]
fn probabilities_of_0_and_1_meet_every_target() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for probability in [0.0, 1.0] {
            for target in [0.0, 1.0, 0.5] {
                assert_pair("binary_cross_entropy", dtype, [0, 1], |p, t| {
                    p == probability && t == target
                });
            }
        }
    }
}

#[test]
fn weights_of_interpolations_meet_infinities() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        assert_pair("lerp.Tensor", dtype, [1, 2], |end, w| end.is_infinite() && w == 0.0);
        assert_pair("lerp.Tensor", dtype, [0, 2], |from, w| from.is_infinite() && w == 1.0);
        assert_pair("lerp.Tensor", dtype, [0, 2], |from, w| from.is_infinite() && w == 0.5);
    }
}

/// Returns whether the first half of a row is -Inf alone and the rest finite.
fn begins_masked(row: &[f64]) -> bool {
    let (first, rest) = row.split_at(row.len() / 2);
    first.iter().all(|&x| x == f64::NEG_INFINITY) && rest.iter().all(|x| x.is_finite())
}

#[test]
fn rows_that_begin_with_negative_infinities_have_numbers_behind_them() {
    for op in ["softmax", "log_softmax", "logsumexp", "logcumsumexp"] {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let mut cases = cases(op, InputDistribution::SpecialRows, dtype);
            cases.retain(|case| case.tensor("self").unwrap().spec.shape == [30, 65]);
            for seed in SEEDS {
                let has =
                    cases.iter().any(|case| values(case, seed)[0].chunks(65).any(begins_masked));
                assert!(has, "{op} {dtype} {seed}");
            }
        }
    }
}

/// Returns whether an f32 step takes another element than the exact quotient somewhere.
fn step_decides(from: usize, to: usize) -> bool {
    let step = from as f32 / to as f32;
    (0..to).any(|at| (at as f32 * step) as usize != at * from / to)
}

#[test]
fn steps_of_nearest_neighbours_are_rounded_in_every_type() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let cases = cases("upsample_nearest2d", InputDistribution::Normal, dtype);
        let differs = |case: &&Case| {
            let spec = &case.tensor("self").unwrap().spec;
            let Some(ArgValue::Ints(sizes)) = case.arg("output_size") else { return false };
            let mut pairs = spec.shape[2..].iter().zip(sizes);
            spec.numel() < 10_000 && pairs.any(|(&from, &to)| step_decides(from, to as usize))
        };
        assert!(cases.iter().filter(differs).count() >= 2, "{dtype}");
    }
}

#[test]
fn roundings_of_equal_losses_add_up() {
    for dtype in [DType::F16, DType::BF16] {
        for case in cases("cross_entropy_loss", InputDistribution::Constant, dtype) {
            let [rows, classes] = case.tensor("self").unwrap().spec.shape[..] else { panic!() };
            let loss = (classes as f64).ln();
            let sum = rows as f64 * loss;
            let error = (round_to(dtype, rows as f64 * round_to(dtype, loss)) - sum).abs();
            assert!(error > 0.8 * ulp(dtype, sum), "{}: {error}", case.id);
        }
    }
}
