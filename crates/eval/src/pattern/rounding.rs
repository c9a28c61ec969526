//! Whether the errors look like those of a lower precision.

use kgen_record::DType;

use super::{Wrong, most};
use crate::bound::ulp;

/// Says which precision the errors look like, or `None` where they are no rounding errors.
pub(super) fn describe(wrong: &Wrong<'_>) -> Option<String> {
    let pairs: Vec<(f64, f64)> = wrong.pairs().filter(|pair| is_rounding(*pair)).collect();
    if !most(pairs.len(), wrong.indices.len()) {
        return None;
    }
    coarse_result(wrong)
        .or_else(|| truncated(wrong, &pairs))
        .or_else(|| few_ulps(wrong, &pairs))
        .or_else(|| like_inputs(wrong))
}

/// Returns whether an error is small beside its value.
fn is_rounding((y, got): (f64, f64)) -> bool {
    y.is_finite() && got.is_finite() && (got - y).abs() <= 0.05 * y.abs().max(got.abs())
        || (got - y).abs() < 1e-2
}

/// Formats that results are looked at for, with the bits behind the point of their significands.
const FORMATS: [(&str, u32); 3] = [("bf16", 7), ("f16", 10), ("TF32", 10)];

/// Recognises results that are numbers of a smaller type.
fn coarse_result(wrong: &Wrong<'_>) -> Option<String> {
    let own_bits = match wrong.dtype {
        DType::F64 => 52,
        DType::F32 => 23,
        DType::F16 => 10,
        _ => return None,
    };
    let got: Vec<f64> =
        wrong.got.iter().copied().filter(|value| value.is_finite() && *value != 0.0).collect();
    if got.len() < 8 {
        return None;
    }
    for (name, bits) in FORMATS {
        // Powers of two are numbers of every type.
        let fits = |value: &&f64| value.to_bits().trailing_zeros() >= 52 - bits;
        if bits < own_bits && got.iter().filter(fits).count() == got.len() {
            let name = if bits == 10 { "f16 or TF32" } else { name };
            return Some(format!("every result is a {name} number: it is rounded on the way"));
        }
    }
    None
}

/// Recognises rounding toward zero of 16-bit results.
fn truncated(wrong: &Wrong<'_>, pairs: &[(f64, f64)]) -> Option<String> {
    if !matches!(wrong.dtype, DType::F16 | DType::BF16) || pairs.len() < 8 {
        return None;
    }
    let toward_zero = pairs
        .iter()
        .filter(|(y, got)| got.abs() < y.abs() && y.abs() - got.abs() <= ulp(wrong.dtype, *y))
        .count();
    most(toward_zero, pairs.len()).then(|| {
        "each is within one unit in the last place toward zero: results are truncated instead of \
         rounded to nearest"
            .to_owned()
    })
}

/// Recognises errors of a few units in the last place of 16-bit results.
fn few_ulps(wrong: &Wrong<'_>, pairs: &[(f64, f64)]) -> Option<String> {
    if !matches!(wrong.dtype, DType::F16 | DType::BF16) {
        return None;
    }
    let largest =
        pairs.iter().map(|(y, got)| (got - y).abs() / ulp(wrong.dtype, *y)).fold(0.0, f64::max);
    (largest <= 4.0).then(|| {
        format!(
            "each is off by at most {:.1} units in the last place of {}: an intermediate is \
             rounded to 16 bits",
            largest, wrong.dtype
        )
    })
}

/// Recognises errors of the size that inputs or intermediates of fewer bits make.
///
/// The sensitivity is the effect of rounding inputs to 23 bits behind the point; 10 bits make it
/// 2^13 times, 7 bits 2^16 times larger.
fn like_inputs(wrong: &Wrong<'_>) -> Option<String> {
    if !matches!(wrong.dtype, DType::F32) || !wrong.is_whole() || wrong.sensitivity.is_empty() {
        return None;
    }
    let mean_square = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value * value, n + 1.0));
        if n > 0.0 { (sum / n).sqrt() } else { 0.0_f64 }
    };
    let error = mean_square(&mut wrong.pairs().map(|(y, got)| got - y));
    let effect =
        mean_square(&mut wrong.indices.iter().filter_map(|&i| wrong.sensitivity.get(i)).copied());
    if effect <= 0.0 || !error.is_finite() {
        return None;
    }
    let ratio = error / effect;
    if (400.0..=10_000.0).contains(&ratio) {
        return Some(
            "errors are of the size that TF32 or f16 (11 bits) inputs or intermediates make"
                .to_owned(),
        );
    }
    (10_000.0..=100_000.0).contains(&ratio).then(|| {
        "errors are of the size that bf16 (8 bits) inputs or intermediates make".to_owned()
    })
}
