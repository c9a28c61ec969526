//! The largest error that passes, per element.
//!
//! `T = 1/2 ulp_out(y) + 4 sqrt(L) (u max(|y|, hint) + s + 0.05 rms(s))`, times the op's slack,
//! with y the f64 reference on the rounded inputs, L the accumulation length, u the unit roundoff
//! of the accumulator (f32 but for f64 outputs), and s the output's response to input
//! perturbations of two roundoffs. The bound follows the conditioning of the problem instead of a
//! fixed tolerance: honest f32 arithmetic in any order stays below it, and inputs or accumulators
//! of lower precision do not.

use crate::record::DType;

/// What the bound of one output tensor depends on besides the element itself.
#[derive(Debug, Clone, Copy)]
pub struct BoundParams<'a> {
    /// Element type of the output.
    pub dtype: DType,
    /// Accumulation length behind one element.
    pub accumulation_len: usize,
    /// Factor for ops whose honest implementations exceed the bound; 1 for most.
    pub slack: f64,
    /// Response to perturbed inputs, per element; empty counts as zero.
    pub sensitivity: &'a [f64],
    /// Scale of intermediate values, per element, where larger than the result.
    pub hint: Option<&'a [f64]>,
}

/// Bounds of one output tensor.
#[derive(Debug)]
pub struct Bounds<'a> {
    params: BoundParams<'a>,
    factor: f64,
    floor: f64,
    unit: f64,
}

impl<'a> Bounds<'a> {
    /// Prepares the bounds of one output tensor.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    pub fn new(params: BoundParams<'a>) -> Self {
        let unit = if params.dtype == DType::F64 { 2f64.powi(-53) } else { 2f64.powi(-24) };
        let finite = params.sensitivity.iter().filter(|s| s.is_finite());
        let (count, sum) = finite.fold((0usize, 0.0), |(n, sum), s| (n + 1, s * s + sum));
        let rms = if count == 0 { 0.0 } else { (sum / count as f64).sqrt() };
        let factor = 4.0 * (params.accumulation_len.max(1) as f64).sqrt();
        Self { params, factor, floor: 0.05 * rms, unit }
    }

    /// Returns the bound of element `index` whose reference value is `y`.
    #[must_use]
    pub fn at(&self, index: usize, y: f64) -> f64 {
        let sensitivity = self.params.sensitivity.get(index).copied().unwrap_or(0.0);
        let sensitivity = if sensitivity.is_finite() { sensitivity } else { 0.0 };
        let hint = self.params.hint.and_then(|hint| hint.get(index)).copied().unwrap_or(0.0);
        let scale = if hint.is_finite() { y.abs().max(hint) } else { y.abs() };
        let bound = 0.5 * ulp(self.params.dtype, y)
            + self.factor * (self.unit * scale + sensitivity + self.floor);
        bound * self.params.slack
    }
}

/// Returns the distance between neighbouring values of `dtype` at `|y|`; 0 for integer types.
#[must_use]
pub fn ulp(dtype: DType, y: f64) -> f64 {
    let Some((digits, min_exponent)) = dtype.format() else { return 0.0 };
    if !y.is_finite() {
        return 0.0;
    }
    2f64.powi(exponent(y.abs()).max(min_exponent) - digits)
}

/// Returns floor(log2(x)) for finite x >= 0; the smallest exponent for 0 and subnormals.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// Returns the smallest magnitude that rounds to infinity in `dtype`.
#[must_use]
pub fn overflow_threshold(dtype: DType) -> f64 {
    if dtype == DType::F64 || dtype.format().is_none() {
        return f64::INFINITY;
    }
    // Half a step beyond the largest finite value.
    dtype.max_value() + 0.5 * ulp(dtype, dtype.max_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_match_the_formats() {
        for (dtype, y, expected) in [
            (DType::F32, 1.0, f64::from(f32::EPSILON)),
            (DType::F32, -3.0, 2.0 * f64::from(f32::EPSILON)),
            (DType::F16, 1.0, 2f64.powi(-10)),
            (DType::F16, 0.0, 2f64.powi(-24)),
            (DType::BF16, 255.0, 1.0),
            (DType::F64, 1.0, f64::EPSILON),
            (DType::I64, 5.0, 0.0),
        ] {
            assert!((ulp(dtype, y) - expected).abs() <= f64::EPSILON * expected, "{dtype} {y}");
        }
    }

    #[test]
    fn the_bound_grows_with_the_root_of_the_length() {
        let bound = |accumulation_len| {
            let params = BoundParams {
                dtype: DType::F32,
                accumulation_len,
                slack: 1.0,
                sensitivity: &[],
                hint: None,
            };
            Bounds::new(params).at(0, 1.0) - 0.5 * ulp(DType::F32, 1.0)
        };
        assert!((bound(4096) / bound(1) - 64.0).abs() < 1e-9);
    }
}
