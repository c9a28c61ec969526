//! Compares one output tensor with its reference: the correctness rule.

use kgen_ops::op::unravel;
use kgen_record::{
    DType, ElementDiff, HostTensor, Mismatch, OtherRules,
    number::Number,
    tensor::{decode, decode_integer, round_to},
};

use super::{
    bound::{Bounds, overflow_threshold, ulp},
    pattern,
};

/// Wrong elements that are kept in a record.
const N_FIRST: usize = 6;

/// Ulps beyond the correct rounding that a bound may leave open at an element whose rounding says
/// something.
const MAX_OPEN_ULPS: f64 = 0.25;

/// Elements beyond which an output is not held against the inputs.
const MAX_ALIKE: usize = 1 << 20;

/// Largest magnitude below which f64 holds all integers.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The reference side of the comparison of one output tensor.
#[derive(Debug)]
pub struct Expected<'a> {
    /// The output's name.
    pub name: &'a str,
    /// Element type.
    pub dtype: DType,
    /// Shape; the data are row-major.
    pub shape: &'a [usize],
    /// Reference values on the rounded inputs.
    pub values: &'a [f64],
    /// The elements as the output's type holds them, where f64 may not: they decide then.
    pub integers: Option<&'a [i64]>,
    /// Flat indices that `values` stand for; `None` where they are all elements in order.
    pub indices: Option<&'a [usize]>,
    /// Whether the bytes that are compared are those of the elements at `indices` alone.
    pub gathered: bool,
    /// Whether -0 and 0 differ.
    pub signed_zero: bool,
    /// Bounds; `None` asks for the correctly rounded result bit for bit.
    pub bounds: Option<Bounds<'a>>,
    /// Names and tensors of the inputs, for the words about a wrong output.
    pub inputs: &'a [(String, &'a HostTensor)],
}

/// Rounding statistics of low-precision outputs, pooled over the cases of one dtype.
///
/// Elements count where the bound leaves little open (less than a quarter ulp beyond the correct
/// rounding); those of ops that round inside count for the bias alone, and those of accumulators that
/// may be rounded for nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundingStats {
    /// Elements that count for the bias.
    pub n: u64,
    /// Elements that count for the misrounded share.
    pub n_judged: u64,
    /// Of those, elements that are not the correctly rounded reference.
    pub n_misrounded: u64,
    /// Of those, elements that the bound itself leaves open, each by the share of an ulp.
    pub open: f64,
    /// Sum of the signed distance from the correctly rounded reference in the direction away from
    /// zero, in ulps of the output.
    pub bias_ulps: f64,
}

impl RoundingStats {
    /// Elements that a verdict about rounding needs at least.
    const MIN_ELEMENTS: u64 = 4096;
    /// Share of misrounded elements that honest f32 accumulation stays below, unless the bound
    /// leaves more open.
    const MAX_MISROUNDED: f64 = 0.01;
    /// Mean signed distance that rounding to nearest stays below, in ulps.
    const MAX_BIAS_ULPS: f64 = 0.05;

    /// Adds the statistics of another tensor.
    pub fn add(&mut self, other: Self) {
        self.n += other.n;
        self.n_judged += other.n_judged;
        self.n_misrounded += other.n_misrounded;
        self.open += other.open;
        self.bias_ulps += other.bias_ulps;
    }

    /// Describes the fault of the rounding, if it has one.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn complaint(&self) -> Option<String> {
        if self.n_judged >= Self::MIN_ELEMENTS {
            let judged = self.n_judged as f64;
            let misrounded = self.n_misrounded as f64 / judged;
            let allowed = Self::MAX_MISROUNDED.max(self.open / judged);
            if misrounded > allowed {
                return Some(format!(
                    "{:.1} % of {} elements are not the correctly rounded result (at most {:.1} % \
                     with f32 arithmetic): an intermediate is kept in lower precision",
                    100.0 * misrounded,
                    self.n_judged,
                    100.0 * allowed
                ));
            }
        }
        if self.n < Self::MIN_ELEMENTS {
            return None;
        }
        let bias = self.bias_ulps / self.n as f64;
        if bias.abs() > Self::MAX_BIAS_ULPS {
            return Some(format!(
                "results are off by {bias:+.2} ulp on average over {} elements: round to nearest \
                 even, do not truncate",
                self.n
            ));
        }
        None
    }
}

impl Expected<'_> {
    /// Returns an element's place among the bytes that are compared, by its place in `values`.
    fn place(&self, position: usize) -> usize {
        match self.indices {
            Some(indices) if !self.gathered => indices[position],
            _ => position,
        }
    }

    /// Returns whether a step of an eager kernel may have overflowed to this result.
    fn overflowed(&self, y: f64, got: f64) -> bool {
        let may = self.bounds.as_ref().is_some_and(Bounds::may_overflow);
        may && y.is_finite() && !got.is_finite()
    }
}

/// Outcome of a comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The wrong elements, if any.
    pub mismatch: Option<Mismatch>,
    /// Largest absolute error over the elements with finite values on both sides.
    pub max_abs_error: f64,
    /// Largest relative error over those with a nonzero reference.
    pub max_rel_error: f64,
    /// Largest error over its bound; 0 where everything is exact.
    pub worst_ratio: f64,
    /// The results of other projects' rules.
    pub other_rules: OtherRules,
    /// Statistics for the pooled rounding rule.
    pub rounding: RoundingStats,
}

/// The result of one element.
enum Element {
    Right { ratio: f64 },
    Wrong { ratio: f64, bound: f64, special: bool },
}

/// Compares the bytes of an output with its reference.
///
/// `bytes`: the output, row-major, little-endian. `unwritten` returns for each element (by its
/// place among the bytes) whether it still holds its contents from before the launch.
#[must_use]
pub fn compare(
    expected: &Expected<'_>,
    bytes: &[u8],
    unwritten: &dyn Fn(usize) -> bool,
) -> Comparison {
    let size = expected.dtype.size();
    let mut state = State::new(expected);
    for (position, &reference) in expected.values.iter().enumerate() {
        let index = expected.indices.map_or(position, |indices| indices[position]);
        let place = expected.place(position);
        let bytes = &bytes[place * size..][..size];
        let got = decode(expected.dtype, bytes);
        let integers =
            expected.integers.map(|all| [all[position], decode_integer(expected.dtype, bytes)]);
        #[expect(clippy::cast_precision_loss, reason = "for the statistics and the words")]
        let rounded = match integers {
            Some([wanted, _]) => wanted as f64,
            None => round_to(expected.dtype, reference),
        };
        state.statistics(position, reference, rounded, got);
        let element = match integers {
            Some([wanted, got]) if wanted == got => Element::Right { ratio: 0.0 },
            Some(_) => Element::Wrong { ratio: f64::INFINITY, bound: 0.0, special: false },
            None => judge(expected, position, reference, rounded, got),
        };
        match element {
            Element::Right { ratio } => state.worst_ratio = state.worst_ratio.max(ratio),
            // The NaN that buffers hold before a launch is no overflow.
            Element::Wrong { .. } if expected.overflowed(reference, got) && !unwritten(place) => {}
            Element::Wrong { ratio, bound, special } => {
                let diff = ElementDiff {
                    index: unravel(index, expected.shape),
                    expected: Number(rounded),
                    got: Number(got),
                    bound: Number(bound),
                    integers: integers.filter(|_| rounded.abs().max(got.abs()) > MAX_EXACT),
                };
                state.wrong(index, diff, ratio, special, unwritten(place));
            }
        }
    }
    let pattern = if state.wrong.is_empty() { None } else { state.pattern(bytes) };
    state.finish(pattern)
}

/// Applies the rule to one element.
fn judge(expected: &Expected<'_>, position: usize, y: f64, rounded: f64, got: f64) -> Element {
    if y.is_nan() || got.is_nan() {
        return if y.is_nan() && got.is_nan() {
            Element::Right { ratio: 0.0 }
        } else {
            Element::Wrong { ratio: f64::INFINITY, bound: 0.0, special: true }
        };
    }
    #[expect(clippy::float_cmp, reason = "bit equality but for the sign of zero is what is meant")]
    if got == rounded {
        let same_sign = got.is_sign_negative() == rounded.is_sign_negative();
        return if same_sign || !expected.signed_zero {
            Element::Right { ratio: 0.0 }
        } else {
            Element::Wrong { ratio: f64::INFINITY, bound: 0.0, special: true }
        };
    }
    let Some(bounds) = &expected.bounds else {
        let special = got.is_infinite() || rounded.is_infinite();
        return Element::Wrong { ratio: f64::INFINITY, bound: 0.0, special };
    };
    if y.is_infinite() {
        return Element::Wrong { ratio: f64::INFINITY, bound: 0.0, special: true };
    }
    let bound = bounds.at(position, y);
    // A result beyond the largest finite value is infinite: its error counts from the threshold.
    let value =
        if got.is_infinite() { overflow_threshold(expected.dtype).copysign(got) } else { got };
    let error = (value - y).abs();
    let ratio = if error == 0.0 { 0.0 } else { error / bound };
    if ratio <= 1.0 {
        Element::Right { ratio }
    } else {
        Element::Wrong { ratio, bound, special: got.is_infinite() }
    }
}

/// Sums and maxima over the elements.
struct State<'a, 'b> {
    expected: &'a Expected<'b>,
    wrong: Vec<usize>,
    first: Vec<ElementDiff>,
    n_special: u64,
    n_unwritten: u64,
    max_abs_error: f64,
    max_rel_error: f64,
    worst_ratio: f64,
    backendbench: bool,
    kernelbench: bool,
    rounding: RoundingStats,
}

impl<'a, 'b> State<'a, 'b> {
    fn new(expected: &'a Expected<'b>) -> Self {
        Self {
            expected,
            wrong: Vec::new(),
            first: Vec::new(),
            n_special: 0,
            n_unwritten: 0,
            max_abs_error: 0.0,
            max_rel_error: 0.0,
            worst_ratio: 0.0,
            backendbench: true,
            kernelbench: true,
            rounding: RoundingStats::default(),
        }
    }

    fn statistics(&mut self, position: usize, y: f64, rounded: f64, got: f64) {
        let kernelbench = if self.expected.dtype == DType::F32 { 1e-4 } else { 1e-2 };
        self.backendbench &= allclose(rounded, got, 1e-2);
        self.kernelbench &= allclose(rounded, got, kernelbench) && !got.is_nan();
        if !(y.is_finite() && got.is_finite()) {
            return;
        }
        let error = (got - y).abs();
        self.max_abs_error = self.max_abs_error.max(error);
        if y != 0.0 {
            self.max_rel_error = self.max_rel_error.max(error / y.abs());
        }
        if matches!(self.expected.dtype, DType::F16 | DType::BF16) && rounded.is_finite() {
            self.rounding(position, y, rounded, got);
        }
    }

    fn rounding(&mut self, position: usize, y: f64, rounded: f64, got: f64) {
        let bounds = self.expected.bounds.as_ref();
        let open = bounds.map_or(0.0, |bounds| bounds.open_ulps(position, y));
        let rounds_inside = bounds.is_some_and(Bounds::rounds_inside);
        let drifts = bounds.is_some_and(Bounds::accumulates_roundings);
        if drifts || (!rounds_inside && open >= MAX_OPEN_ULPS) {
            return;
        }
        let stats = &mut self.rounding;
        stats.n += 1;
        // One wild element is the bound's business, not the bias's.
        let ulps = (got - rounded) / ulp(self.expected.dtype, y);
        stats.bias_ulps += (ulps * y.signum()).clamp(-2.0, 2.0);
        if rounds_inside {
            return;
        }
        stats.n_judged += 1;
        stats.open += open.clamp(0.0, 1.0);
        #[expect(clippy::float_cmp, reason = "the correctly rounded value or another one")]
        if got != rounded {
            stats.n_misrounded += 1;
        }
    }

    fn wrong(
        &mut self,
        index: usize,
        diff: ElementDiff,
        ratio: f64,
        special: bool,
        unwritten: bool,
    ) {
        self.n_special += u64::from(special && !unwritten);
        self.n_unwritten += u64::from(unwritten);
        self.worst_ratio = self.worst_ratio.max(ratio);
        if self.first.len() < N_FIRST {
            self.first.push(diff);
        }
        self.wrong.push(index);
    }

    /// Describes the common pattern of the wrong elements.
    fn pattern(&self, bytes: &[u8]) -> Option<String> {
        let expected = self.expected;
        let size = expected.dtype.size();
        let got = |position: usize| {
            decode(expected.dtype, &bytes[expected.place(position) * size..][..size])
        };
        let got: Vec<f64> = (0..expected.values.len()).map(got).collect();
        pattern::describe(&pattern::Wrong {
            indices: &self.wrong,
            shape: expected.shape,
            dtype: expected.dtype,
            sampled: expected.indices,
            expected: expected.values,
            got: &got,
            sensitivity: expected.bounds.as_ref().map_or(&[], Bounds::sensitivity),
            inputs: &self.alike_inputs(),
            n_unwritten: self.n_unwritten,
        })
    }

    /// Returns the inputs that have as many elements as the output, in row-major order.
    fn alike_inputs(&self) -> Vec<(String, Vec<f64>)> {
        let n = self.expected.values.len();
        if n > MAX_ALIKE || self.expected.indices.is_some() {
            return Vec::new();
        }
        let alike = self.expected.inputs.iter().filter(|(_, tensor)| tensor.spec.numel() == n);
        alike.map(|(name, tensor)| (name.clone(), tensor.to_f64())).collect()
    }

    fn finish(self, pattern: Option<String>) -> Comparison {
        let n_elements = self.expected.shape.iter().product::<usize>();
        let mismatch = (!self.wrong.is_empty()).then(|| {
            let whole = self.expected.indices.is_none();
            Mismatch {
                output: self.expected.name.to_owned(),
                n_wrong: self.wrong.len() as u64,
                n_special: self.n_special,
                n_unwritten: self.n_unwritten,
                n_elements: if whole { n_elements } else { self.expected.values.len() } as u64,
                worst_ratio: Number(self.worst_ratio),
                first: self.first,
                pattern,
                rule: match &self.expected.bounds {
                    Some(_) => "error above the bound for f32 arithmetic in any order".to_owned(),
                    None => "must be the exact result, correctly rounded".to_owned(),
                },
            }
        });
        Comparison {
            mismatch,
            max_abs_error: self.max_abs_error,
            max_rel_error: self.max_rel_error,
            worst_ratio: self.worst_ratio,
            other_rules: OtherRules {
                backendbench: self.backendbench,
                kernelbench: self.kernelbench,
            },
            rounding: self.rounding,
        }
    }
}

/// `|got - want| <= tolerance (1 + |want|)`, NaN equal to NaN, as `torch.allclose` has it.
fn allclose(want: f64, got: f64, tolerance: f64) -> bool {
    #[expect(clippy::float_cmp, reason = "equal infinities are close")]
    let equal = want == got || (want.is_nan() && got.is_nan());
    equal || (want - got).abs() <= tolerance + tolerance * want.abs()
}

#[cfg(test)]
mod tests;
