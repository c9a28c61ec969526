//! The largest error that passes, per element.
//!
//! `T = 1/2 ulp_out(y) + slack (c (u max(|y|, magnitude) + s + 0.05 rms(s)) + 4 v inside)` with
//! `c = 4 sqrt(L) + P / 8`: y is the f64 reference on the rounded inputs, L the accumulation length, P
//! that of its sums of products (0 where there are none), u the unit roundoff of the accumulator (f32 but for
//! f64 outputs), s the output's response to input perturbations of two roundoffs, and v the unit
//! roundoff of 16-bit inputs whose op rounds intermediate values to their type (`inside`). An op that
//! is one function of exact operands has `1/2 ulp_out(y) + n ulp(max(|y|, magnitude))` instead, n being the
//! largest error of CUDA's function: how sensitive it is to its inputs excuses nothing. Under the
//! precision `eager` outputs of 16 bits have more, r being the response to a relative change of the
//! inputs: `4 v (max(|y|, magnitude) + r)` for ops that PyTorch rounds between steps, and besides
//! `4 sqrt(L)` halves of the smallest value where those steps leave the range of f16, whose results
//! may then be infinite or NaN unless inputs are normal; `1.5 v sqrt(L) (max(|y|, magnitude) + r)` for ops
//! that it accumulates in their type; `4 v` (`4 u` of f32) where it adds 1 to the function; and quotients may be rounded before they are cut.
//! Where factors of f32 products may be of another type, with a unit roundoff of w, there is `w / u (2 u max(|y|, magnitude) + 4 s)`
//! besides: a factor that is cut and not rounded moves all products one way, and with them the sum. The bound
//! follows the conditioning of the problem instead of a fixed tolerance: honest f32 arithmetic in any
//! order stays below it, and inputs or accumulators of lower precision do not. The constants were
//! taken on hardware: `docs/measurements`, error ratios.

use kgen_ops::{
    op::{EagerRounding, OpDef, half_roundoff},
    reference::{Bound, DELTA_RMS},
};
use kgen_record::{Case, DType, InputDistribution, Precision, TensorSpec};

/// Inputs of the bound of one output tensor besides the element itself.
#[derive(Debug, Clone, Copy)]
pub struct BoundParams<'a> {
    /// Element type of the output.
    pub dtype: DType,
    /// Accumulation length behind one element.
    pub accumulation_len: usize,
    /// Accumulation length of sums of products, which tensor cores make with truncating accumulators; 0 where
    /// there are none.
    pub products_len: usize,
    /// Largest error of an op that is one function of exact operands, in ulps of the type that is
    /// computed in.
    pub ulps: Option<f64>,
    /// Factor for ops whose honest implementations exceed the bound; 1 for most.
    pub slack: f64,
    /// The arithmetic that the task allows beyond f32.
    pub precision: Precision,
    /// The unit roundoff of the type that factors of products may be rounded to, over that of f32; 0 for f32.
    pub factors: f64,
    /// Response to perturbed inputs, per element; empty counts as zero.
    pub sensitivity: &'a [f64],
    /// The response of elements that stand for the whole output: its root mean square is part of
    /// every bound.
    pub typical: &'a [f64],
    /// Scale of intermediate values, per element, where larger than the result.
    pub magnitude: Option<&'a [f64]>,
    /// Scale of the intermediate values that may be rounded to the output's type, per element.
    pub inside: Option<&'a [f64]>,
    /// Values that may be rounded to 16 bits as in PyTorch's eager kernel.
    pub eager: EagerRounding,
    /// The type that it rounds to: that of the case.
    pub eager_dtype: DType,
    /// Whether values between the steps of an eager kernel may have overflowed.
    pub overflows: bool,
    /// Whether values between those steps overflow whatever the inputs are, so that nothing bounds
    /// the result.
    pub unbounded: bool,
    /// How far a quotient may move that is rounded before it is cut, per element.
    pub jumps: Option<&'a [f64]>,
}

impl<'a> BoundParams<'a> {
    /// Returns the inputs of the bounds of an output of a case; `typical` are responses that stand
    /// for the whole output.
    pub(super) fn of(
        op: &OpDef,
        case: &Case,
        precision: Precision,
        dtype: DType,
        bound: &'a Bound,
        typical: &'a Bound,
    ) -> Self {
        let eager = match precision {
            Precision::Eager => EagerRounding::of(&op.name, case.dtype),
            _ => EagerRounding::Result,
        };
        Self {
            dtype,
            accumulation_len: op.accumulation_len(case),
            products_len: op.products_len(case),
            ulps: op.ulps,
            slack: op.slack(dtype),
            precision,
            factors: factors(op, precision, dtype),
            sensitivity: &bound.s,
            typical: &typical.s,
            magnitude: bound.magnitude.as_deref(),
            inside: bound.inside.as_deref(),
            eager,
            eager_dtype: case.dtype,
            // Values drawn from the standard normal distribution stay in range at every step.
            overflows: matches!(
                eager,
                EagerRounding::StepsBeyondRange
                    | EagerRounding::ProductsOfSums
                    | EagerRounding::SharedFactor
            ) && dtype == DType::F16
                && case.distribution != InputDistribution::Normal,
            unbounded: eager == EagerRounding::ProductsOfSums
                && dtype == DType::F16
                && case.tensor("input1").is_some_and(|x| last_extent(&x.spec) >= LONG_FOR_F16),
            jumps: bound.jumps.as_deref(),
        }
    }

    /// Returns those of an output about whose elements nothing else is known.
    #[cfg(test)]
    pub(super) const fn plain(dtype: DType, accumulation_len: usize) -> Self {
        Self {
            dtype,
            accumulation_len,
            products_len: 0,
            ulps: None,
            slack: 1.0,
            precision: Precision::Strict,
            factors: 0.0,
            sensitivity: &[],
            typical: &[],
            magnitude: None,
            inside: None,
            eager: EagerRounding::Result,
            eager_dtype: dtype,
            overflows: false,
            unbounded: false,
            jumps: None,
        }
    }
}

/// Elements whose squares add up to 256 or more, as normal values do: the product of two such sums
/// overflows f16. Sums of fewer elements spread below it.
const LONG_FOR_F16: usize = 160;

fn last_extent(spec: &TensorSpec) -> usize {
    spec.shape.last().copied().unwrap_or(1)
}

/// Bounds of one output tensor.
#[derive(Debug)]
pub struct Bounds<'a> {
    params: BoundParams<'a>,
    factor: f64,
    floor: f64,
    unit: f64,
}

/// Unit roundoffs of TF32 and of bf16 over that of f32.
const TF32_OVER_F32: f64 = (1 << 13) as f64;
const BF16_OVER_F32: f64 = (1 << 16) as f64;

/// Returns the unit roundoff of the type that factors of f32 products may be rounded to, over that of f32; 0 for f32.
pub(super) fn factors(op: &OpDef, precision: Precision, dtype: DType) -> f64 {
    if dtype != DType::F32 || !rounds_factors(op, precision) {
        return 0.0;
    }
    match precision {
        Precision::TorchDefault | Precision::Tf32 => TF32_OVER_F32,
        Precision::Low => BF16_OVER_F32,
        Precision::Strict | Precision::Eager | Precision::FastMathOk => 0.0,
    }
}

/// Returns whether a precision lets factors of an op's f32 products be of a shorter type.
pub(super) fn rounds_factors(op: &OpDef, precision: Precision) -> bool {
    op.engine.has_products()
        && match precision {
            Precision::Strict | Precision::Eager => false,
            Precision::TorchDefault => op.engine.is_by_cudnn(),
            Precision::Tf32 | Precision::Low | Precision::FastMathOk => true,
        }
}

/// Relative error of the approximate functions (`tanh.approx` is the coarsest, at 2^-11).
const FAST_MATH: f64 = 1.0 / 1024.0;

/// Error of a state that cuDNN's sigmoid and tanh make: each is off by 2^-17.
const GATES: f64 = 4.0 / (1 << 17) as f64;

/// Smallest normal f32: fast math may flush smaller values to zero.
const FLUSHED: f64 = f32::MIN_POSITIVE as f64;

impl<'a> Bounds<'a> {
    /// Prepares the bounds of one output tensor.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    pub fn new(params: BoundParams<'a>) -> Self {
        let unit = if params.dtype == DType::F64 { 2f64.powi(-53) } else { 2f64.powi(-24) };
        let finite = params.typical.iter().filter(|s| s.is_finite());
        let (count, sum) = finite.fold((0usize, 0.0), |(n, sum), s| (n + 1, s * s + sum));
        let rms = if count == 0 { 0.0 } else { (sum / count as f64).sqrt() };
        let length = params.accumulation_len.max(1) as f64;
        let factor = 4.0 * length.sqrt() + params.products_len as f64 / 8.0;
        Self { params, factor, floor: 0.05 * rms, unit }
    }

    /// Returns the response to perturbed inputs, per element.
    pub(super) fn sensitivity(&self) -> &'a [f64] {
        self.params.sensitivity
    }

    /// Returns the bound of element `index` whose reference value is `y`.
    #[must_use]
    pub fn at(&self, index: usize, y: f64) -> f64 {
        let params = &self.params;
        let of = |values: Option<&[f64]>| {
            let value = values.and_then(|values| values.get(index)).copied().unwrap_or(0.0);
            if value.is_finite() { value } else { 0.0 }
        };
        let scale = y.abs().max(of(params.magnitude));
        let spread = of(Some(params.sensitivity)) + self.floor;
        let factors = params.factors * (2.0 * self.unit * scale + 4.0 * spread);
        let inside = 4.0 * half_roundoff(params.dtype).unwrap_or(0.0) * of(params.inside);
        let honest = match params.ulps {
            Some(ulps) => self.function_error(ulps, scale),
            None => self.factor * (self.unit * scale + spread) + inside,
        };
        let fast = match params.precision {
            Precision::FastMathOk => FAST_MATH * (scale + spread / self.unit) + FLUSHED,
            _ => 0.0,
        };
        let eager = self.eager(scale + of(Some(params.sensitivity)) / DELTA_RMS) + of(params.jumps);
        0.5 * ulp(params.dtype, y) + params.slack * honest + factors + fast + eager
    }

    /// Error of one function of exact operands. A 16-bit result is rounded twice, so that even a
    /// function without an error of its own may be half an ulp of f32 away.
    fn function_error(&self, ulps: f64, scale: f64) -> f64 {
        match self.params.dtype {
            DType::F64 | DType::F32 => ulps * ulp(self.params.dtype, scale),
            _ => ulps.max(0.5) * ulp(DType::F32, scale),
        }
    }

    /// Error of values that an eager kernel rounds; `scale`: theirs.
    #[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
    fn eager(&self, scale: f64) -> f64 {
        let sqrt_len = (self.params.accumulation_len.max(1) as f64).sqrt();
        let subnormal = 0.5 * ulp(self.params.eager_dtype, 0.0);
        let unit = half_roundoff(self.params.eager_dtype).unwrap_or(0.0);
        match self.params.eager {
            EagerRounding::Result | EagerRounding::Quotient => 0.0,
            EagerRounding::Steps => 4.0 * unit * scale,
            EagerRounding::Statistics => 4.0 * (unit * scale + subnormal),
            EagerRounding::OneIsAdded => 4.0 * unit.max(self.unit),
            EagerRounding::Gates => GATES,
            // Terms of a sum that lie below the smallest normal value are rounded absolutely.
            _ if self.params.unbounded => f64::INFINITY,
            EagerRounding::StepsBeyondRange
            | EagerRounding::ProductsOfSums
            | EagerRounding::SharedFactor => 4.0 * (unit * scale + subnormal * sqrt_len),
            EagerRounding::Accumulator => 1.5 * sqrt_len * (unit * scale + subnormal),
        }
    }

    /// Returns whether a result may be infinite or NaN where its reference is finite.
    #[must_use]
    pub const fn may_overflow(&self) -> bool {
        self.params.overflows
    }

    /// Returns whether errors of a rounded accumulator, of statistics, or of the factor of a mean
    /// are those of many elements, so that their mean says nothing.
    #[must_use]
    pub fn accumulates_roundings(&self) -> bool {
        matches!(
            self.params.eager,
            EagerRounding::Accumulator | EagerRounding::Statistics | EagerRounding::SharedFactor
        )
    }

    /// Returns how many ulps beyond the correct rounding the bound leaves open at an element.
    #[must_use]
    pub fn open_ulps(&self, index: usize, y: f64) -> f64 {
        let ulp = ulp(self.params.dtype, y);
        if ulp == 0.0 { 0.0 } else { self.at(index, y) / ulp - 0.5 }
    }

    /// Returns whether intermediate values may be rounded, so that a rate of misrounded elements
    /// says nothing.
    #[must_use]
    pub fn rounds_inside(&self) -> bool {
        self.params.inside.is_some() || self.params.eager != EagerRounding::Result
    }
}

/// Returns the distance between neighbouring values of `dtype` at `|y|`; 0 for integer types.
#[must_use]
pub fn ulp(dtype: DType, y: f64) -> f64 {
    let Some((digits, min_exponent)) = dtype.format() else { return 0.0 };
    if !y.is_finite() {
        return 0.0;
    }
    power_of_two(exponent(y.abs()).max(min_exponent) - digits)
}

/// Returns 2^n. (`powi` takes longer than the rest of a comparison.)
fn power_of_two(n: i32) -> f64 {
    if (-1022..=1023).contains(&n) {
        f64::from_bits(u64::from((n + 1023).unsigned_abs()) << 52)
    } else {
        2f64.powi(n)
    }
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
    use kgen_ops::{op, reference::Reference};
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

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

    /// Rounds to a number of bits, or cuts.
    fn rounded(x: f64, bits: i32, cut: bool) -> f64 {
        let step = 2f64.powi(exponent(x.abs()) + 1 - bits);
        if cut { (x / step).trunc() * step } else { (x / step).round_ties_even() * step }
    }

    /// Returns how far a product with factors of fewer bits is from the truth, over its bound.
    fn worst_of(precision: Precision, len: usize, positive: bool, bits: i32, cut: bool) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(7 + len as u64);
        let mut worst: f64 = 0.0;
        for _ in 0..400 {
            let mut of = |_| f64::from(rng.random_range(if positive { 0.0 } else { -1.0 }..1.0f32));
            let factors: Vec<[f64; 2]> = (0..len).map(|at| [of(at), of(at)]).collect();
            let exact: f64 = factors.iter().map(|[a, b]| a * b).sum();
            let got: f64 =
                factors.iter().map(|[a, b]| rounded(*a, bits, cut) * rounded(*b, bits, cut)).sum();
            // The response to two roundoffs of each factor.
            let squares: f64 = factors.iter().map(|[a, b]| 2.0 * (a * b).powi(2)).sum();
            let s = [DELTA_RMS * squares.sqrt()];
            let ratio = match precision {
                Precision::Low => BF16_OVER_F32,
                _ => TF32_OVER_F32,
            };
            let params = BoundParams {
                products_len: len,
                precision,
                factors: ratio,
                sensitivity: &s,
                typical: &s,
                ..BoundParams::plain(DType::F32, len)
            };
            worst = worst.max((got - exact).abs() / Bounds::new(params).at(0, exact));
        }
        worst
    }

    #[test]
    fn factors_of_the_allowed_type_pass_and_those_of_a_coarser_one_fail() {
        for (len, positive) in [(4, false), (64, false), (64, true), (1024, false), (1024, true)] {
            for cut in [false, true] {
                let of = |precision, bits| worst_of(precision, len, positive, bits, cut);
                let (tf32, bf16, fp8) =
                    (of(Precision::Tf32, 11), of(Precision::Tf32, 8), of(Precision::Low, 4));
                let low = of(Precision::Low, 8);
                assert!(tf32 < 0.7 && low < 0.7, "{len} {positive} {cut}: {tf32} {low}");
                // Sums of numbers of one sign hide what rounding to nearest does to each.
                if cut || !positive {
                    assert!(1.3 < bf16 && 1.3 < fp8, "{len} {positive} {cut}: {bf16} {fp8}");
                }
            }
        }
    }

    #[test]
    fn a_graph_has_the_allowance_of_its_nodes() {
        let factors = |graph: &str, precision| {
            let text = format!(
                "format = 1\nname = \"mine\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n[tensors]\n\
                x = \"[2, n, n]\"\nw = \"[2, n, 3]\"\n[reference]\ngraph = \"\"\"\n{graph}\n\"\"\"\n\
                [[cases]]\nn = 8\n"
            );
            factors(&op::custom(&text).unwrap(), precision, DType::F32).log2()
        };
        let product = "h = bmm(x, w)\nout = relu(h)";
        let convolution = "h = conv1d(x, w, padding=[1])\nout = relu(h)";
        assert!(factors(product, Precision::Strict).is_infinite());
        assert!(factors(product, Precision::TorchDefault).is_infinite());
        assert!(factors(product, Precision::Tf32) > 12.9);
        assert!(factors(convolution, Precision::TorchDefault) > 12.9);
        let none = "g = amax(x, [1, 2])\nh = amax(w, [1, 2])\nout = add(g, h)";
        assert!(factors(none, Precision::Tf32).is_infinite());
    }

    #[test]
    fn the_bound_grows_with_the_root_of_the_length() {
        let bound = |length| {
            Bounds::new(BoundParams::plain(DType::F32, length)).at(0, 1.0)
                - 0.5 * ulp(DType::F32, 1.0)
        };
        assert!((bound(4096) / bound(1) - 64.0).abs() < 1e-9);
    }

    #[test]
    fn a_function_of_exact_operands_has_its_own_error_alone() {
        let sensitive = &[1.0];
        let bound = |dtype, ulps, y| {
            let of = BoundParams {
                ulps: Some(ulps),
                sensitivity: sensitive,
                typical: sensitive,
                ..BoundParams::plain(dtype, 1)
            };
            Bounds::new(of).at(0, y)
        };
        let of_f32 = f64::from(f32::EPSILON);
        for (dtype, ulps, y, expected) in [
            (DType::F32, 0.0, 1.0, 0.5 * of_f32),
            (DType::F32, 2.0, 1.0, 2.5 * of_f32),
            (DType::F64, 2.0, 1.0, 2.5 * f64::EPSILON),
            // A quotient is rounded to f32 and then to f16.
            (DType::F16, 0.0, 1.0, 2f64.powi(-11) + 0.5 * of_f32),
            // The smallest subnormal number is no result to lose.
            (DType::F32, 1.0, 1e-45, 1.5 * 2f64.powi(-149)),
        ] {
            assert!((bound(dtype, ulps, y) / expected - 1.0).abs() < 1e-12, "{dtype} {ulps} {y}");
        }
    }

    /// A thread that adds the losses of all rows is honest.
    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "f32 arithmetic, and classes"
    )]
    fn a_loss_of_many_rows_may_be_added_in_order() {
        let tensor = |dtype, shape: &[usize]| {
            let (shape, layout) = (shape.to_vec(), op::Layout::Contiguous);
            op::DraftValue::Tensor(op::DraftTensor { dtype, shape, layout })
        };
        let rows = 65_781;
        let values = [
            ("input", tensor(None, &[rows, 2])),
            ("weight", tensor(None, &[3, 2])),
            ("target", tensor(Some(DType::I64), &[rows])),
        ];
        let draft = op::CaseDraft {
            dtype: DType::F32,
            class: kgen_record::CaseClass::Edge,
            distribution: InputDistribution::Normal,
            values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        };
        let op = op::find("fused_linear_cross_entropy").unwrap();
        let case = op::build_case(op, &draft).unwrap();
        let hosts: Vec<_> =
            case.tensors().map(|(name, tensor)| op::generate(tensor, 7, &case.id, &name)).collect();
        let reference = Reference::new(op, &case, &hosts).unwrap();
        let outputs = reference.evaluate().unwrap();
        let y = outputs[0].sum();
        let bound = &reference.bounds(&outputs).unwrap()[0];
        let params = BoundParams::of(op, &case, Precision::Strict, DType::F32, bound, bound);
        let allowed = Bounds::new(params).at(0, y);
        let [x, w, target] = [0, 1, 2].map(|at: usize| hosts[at].to_f64());
        let mut sum = 0.0_f32;
        for row in 0..rows {
            let logit = |c: usize| x[2 * row] * w[2 * c] + x[2 * row + 1] * w[2 * c + 1];
            let total: f64 = (0..3).map(|c| logit(c).exp()).sum();
            sum += (total.ln() - logit(target[row] as usize)) as f32;
        }
        let error = (f64::from(sum / rows as f32) - y).abs();
        assert!(error <= allowed, "{error:e} of {allowed:e}");
        assert!(allowed < 1e-4 * y, "{allowed:e} of {y}");
    }
}
