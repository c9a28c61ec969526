//! Normalisation over the last dimensions.

use ndarray::IxDyn;

use crate::{
    parallel,
    record::{DType, TensorSpec},
    reference::Error,
};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Locality, Shaped},
    extreme::tied,
    reduce::floating,
    sum::sum,
};

/// Layer and root-mean-square normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowNorm {
    /// Mean and variance.
    Layer,
    /// As [`RowNorm::Layer`], which also returns the mean and the factor of each row.
    LayerStats,
    /// Root of the mean square.
    Rms,
}

/// The statistics that a set of elements is normalised with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stats {
    /// Mean; 0 where none is subtracted.
    pub(crate) mean: f64,
    /// Mean of the squared distances from it.
    pub(crate) var: f64,
    /// `1 / sqrt(var + eps)`.
    pub(crate) scale: f64,
}

impl Stats {
    /// Computes them; where `centred` is false, the mean is taken to be 0.
    pub(crate) fn of(centred: bool, x: &[f64], eps: f64) -> Self {
        let n = x.len() as f64;
        let mean = if centred { sum(x.iter().copied()) / n } else { 0.0 };
        let var = sum(x.iter().map(|x| (x - mean).powi(2))) / n;
        Self { mean, var, scale: 1.0 / (var + eps).sqrt() }
    }

    /// Returns the mean as one that is updated element by element: NaN where there is an infinity.
    pub(crate) fn updated_mean(&self) -> f64 {
        if self.mean.is_infinite() { f64::NAN } else { self.mean }
    }

    /// Returns `(x - mean) * scale`.
    pub(crate) fn hat(&self, x: f64) -> f64 {
        (x - self.mean) * self.scale
    }

    /// Returns the squared change of each normalised element when every element moves:
    /// `scale² Σ_i ((δ_ij - (c + h_j h_i) / n) x_i)²` with c = 1 where the mean is subtracted, else
    /// 0; h are the normalised elements.
    pub(crate) fn moved(&self, centred: bool, x: &[f64]) -> Vec<f64> {
        let n = x.len() as f64;
        let centred = f64::from(u8::from(centred));
        let moment = |power: i32| sum(x.iter().map(|&x| x * x * self.hat(x).powi(power)));
        let (plain, first, second) = (moment(0) * centred, moment(1) * centred, moment(2));
        let one = |&x: &f64| {
            let hat = self.hat(x);
            let others = (plain + 2.0 * hat * first + hat * hat * second) / (n * n);
            let own = x * x * (1.0 - 2.0 * (centred + hat * hat) / n);
            (own + others).max(0.0) * self.scale * self.scale
        };
        x.iter().map(one).collect()
    }

    /// Returns how the mean and the scale move when every element does.
    pub(crate) fn spread(&self, x: &[f64]) -> (f64, f64) {
        let n = x.len() as f64;
        let distances = sum(x.iter().map(|x| ((x - self.mean) * x).powi(2))).sqrt();
        (sum(x.iter().map(|x| x * x)).sqrt() / n, self.scale.powi(3) * distances / n)
    }
}

/// Returns the scale that normalised values of a set err on: the largest finite one, as sums over
/// the set are as large and a variance taken around any of its elements errs so, and the mean in the
/// same units, which is rounded before it is subtracted. A set of two shows that no perturbation of
/// its elements does: exactly, they come to 1 and -1 whatever they are.
pub(crate) fn largest_hat(stats: &Stats, x: &[f64]) -> f64 {
    let hats = x.iter().map(|&x| stats.hat(x).abs());
    let largest = hats.filter(|hat| hat.is_finite()).fold(0.0, f64::max);
    let mean = (stats.mean * stats.scale).abs();
    if mean.is_finite() { largest + mean } else { largest }
}

/// Takes the two means of a set with an infinity for one another: that of the plain sum is the
/// infinity, one that is updated element by element NaN.
pub(crate) fn accept_infinite(got: &mut f64, expected: f64, x: &[f64]) {
    let plain = sum(x.iter().copied());
    let either = |mean: f64| mean.is_nan() || tied(mean, plain);
    if plain.is_infinite() && either(*got) && either(expected) {
        *got = expected;
    }
}

/// Accepts NaN for a row with an infinity, and no NaN, divided by its infinite root mean square:
/// PyTorch's CUDA kernel updates the mean of squares element by element, and infinity less infinity
/// is NaN.
pub(crate) fn accept_nan(got: &mut [f64], expected: &[f64], x: &[f64]) {
    if x.iter().any(|x| x.is_nan()) || !x.iter().any(|x| x.is_infinite()) {
        return;
    }
    for (got, &expected) in got.iter_mut().zip(expected) {
        if got.is_nan() {
            *got = expected;
        }
    }
}

/// Weight and bias of a normalised element, where there are any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Affine {
    /// Factor.
    pub(crate) gain: Option<f64>,
    /// Summand.
    pub(crate) bias: Option<f64>,
}

impl Affine {
    /// Returns the output for a normalised element.
    pub(crate) fn apply(self, hat: f64) -> f64 {
        hat * self.gain.unwrap_or(1.0) + self.bias.unwrap_or(0.0)
    }

    /// Returns the scale of an output beside normalised values of some magnitude.
    pub(crate) fn scale(self, hat: f64) -> f64 {
        let scale = (hat * self.gain.unwrap_or(1.0)).abs() + self.bias.unwrap_or(0.0).abs();
        if scale.is_finite() { scale } else { 0.0 }
    }

    /// Returns the root of the summed squares: of the changes of the normalised element, and of the
    /// roundings of weight and bias.
    pub(crate) fn spread(self, hat: f64, moved: f64) -> f64 {
        let own = if self.gain.is_some() { hat * hat } else { 0.0 };
        let weighted = self.gain.unwrap_or(1.0).powi(2) * (moved + own);
        (weighted + self.bias.unwrap_or(0.0).powi(2)).sqrt()
    }
}

/// Checks that weight and bias, where given, have a shape, and the type of the input or f32 beside
/// a 16-bit one.
pub(crate) fn check_affine(
    call: &Call<'_>,
    of: &TensorSpec,
    names: &[&str],
    shape: &[usize],
) -> Result<(), InferError> {
    let mut first = None;
    for &name in names {
        let Some(tensor) = call.opt_tensor(name) else { continue };
        check_param_dtype(name, tensor.dtype, of.dtype)?;
        let (other, dtype) = *first.get_or_insert((name, tensor.dtype));
        if tensor.dtype != dtype {
            return Err(InferError::dtype(name, tensor.dtype, format!("{dtype}, as `{other}`")));
        }
        if tensor.shape != shape {
            return Err(InferError::shape(name, &tensor.shape, format!("{shape:?}")));
        }
    }
    Ok(())
}

/// Checks that a weight, bias or statistic has the type of the input, or f32 beside a 16-bit one.
pub(crate) fn check_param_dtype(name: &str, dtype: DType, input: DType) -> Result<(), InferError> {
    let mixed = dtype == DType::F32 && input.size() == 2;
    if dtype == input || mixed {
        return Ok(());
    }
    Err(InferError::dtype(name, dtype, input.name()))
}

/// The type of statistics: that which is computed in.
pub(crate) const fn stats_dtype(input: DType) -> DType {
    if matches!(input, DType::F64) { DType::F64 } else { DType::F32 }
}

/// eps of a call; left out, it is the machine epsilon of the type that is computed in.
fn eps(call: &Call<'_>) -> Result<f64, InferError> {
    let (digits, _) = stats_dtype(call.tensor("input")?.dtype).format().unwrap_or((23, 0));
    Ok(call.opt_number("eps")?.unwrap_or(2f64.powi(-digits)))
}

/// Length of a row.
fn row_len(call: &Call<'_>) -> usize {
    let (Ok(spec), Ok(normalised)) = (call.tensor("input"), call.ints("normalized_shape")) else {
        return 1;
    };
    spec.shape.iter().rev().take(normalised.len()).product()
}

/// The shape of statistics: extents of 1 in the place of normalised dimensions.
fn stats_shape(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
    let mut shape = call.tensor("input")?.shape.clone();
    let normalised = call.ints("normalized_shape")?.len();
    shape.iter_mut().rev().take(normalised).for_each(|extent| *extent = 1);
    Ok(shape)
}

impl RowNorm {
    fn centred(self) -> bool {
        self != Self::Rms
    }

    /// Applies a function (row, its statistics, weight and bias per column, output row) to every
    /// row.
    fn rows(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: impl Fn(&[f64], &Stats, &dyn Fn(usize) -> Affine, &mut [f64]) + Sync,
    ) -> Result<Array, Error> {
        let input = inputs.get("input")?;
        let len = row_len(call);
        let values = |name: &str| inputs.opt(name).and_then(|input| input.array().as_slice());
        let (gain, bias) = (values("weight"), values("bias"));
        let affine = |column: usize| Affine {
            gain: gain.map(|gain| gain[column]),
            bias: bias.map(|bias| bias[column]),
        };
        let eps = eps(call)?;
        let mut out = vec![0.0; input.numel()];
        if len > 0 {
            let x = input.array().as_slice().unwrap_or(&[]);
            parallel::fill_rows(&mut out, len, &|number, out| {
                let x = &x[number * len..][..len];
                formula(x, &Stats::of(self.centred(), x, eps), &affine, out);
            });
        }
        Ok(Array::from_shape_vec(IxDyn(&input.shape), out).expect("one value per element"))
    }

    /// Adds the statistics of the rows, or how they move, to the output.
    fn with_stats(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        out: Array,
        tell: impl Fn(&[f64], &Stats) -> (f64, f64) + Sync,
    ) -> Result<Vec<Array>, Error> {
        if self != Self::LayerStats {
            return Ok(vec![out]);
        }
        let (shape, eps) = (stats_shape(call)?, eps(call)?);
        let x = inputs.get("input")?.array().as_slice().unwrap_or(&[]);
        let rows = x.chunks_exact(row_len(call).max(1));
        let (mean, scale) = rows.map(|x| tell(x, &Stats::of(true, x, eps))).unzip();
        let shaped = |values: Vec<f64>| {
            Array::from_shape_vec(IxDyn(&shape), values).expect("one value per row")
        };
        Ok(vec![out, shaped(mean), shaped(scale)])
    }
}

impl Engine for RowNorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "input")?;
        let normalised = call.ints("normalized_shape")?;
        let tail = &spec.shape[spec.ndim().saturating_sub(normalised.len())..];
        let fits = tail.iter().map(|&extent| i64::try_from(extent).unwrap_or(i64::MAX));
        if normalised.is_empty() || !fits.eq(normalised.iter().copied()) {
            let wanted = format!("[.., {normalised:?}] (not empty)");
            return Err(InferError::shape("input", &spec.shape, wanted));
        }
        check_affine(call, spec, &["weight", "bias"], tail)?;
        call.opt_number("eps")?;
        let out = (spec.dtype, spec.shape.clone());
        if *self != Self::LayerStats {
            return Ok(vec![out]);
        }
        if row_len(call) == 0 {
            return Err(InferError::shape("input", &spec.shape, "rows of at least one element"));
        }
        let stats = (stats_dtype(spec.dtype), stats_shape(call)?);
        Ok(vec![out, stats.clone(), stats])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let out = self.rows(call, inputs, |x, stats, affine, out| {
            for (column, (out, &x)) in out.iter_mut().zip(x).enumerate() {
                *out = affine(column).apply(stats.hat(x));
            }
        })?;
        self.with_stats(call, inputs, out, |_, stats| (stats.updated_mean(), stats.scale))
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let out = self.rows(call, inputs, |x, stats, affine, out| {
            let moved = stats.moved(self.centred(), x);
            for (column, ((out, &x), moved)) in out.iter_mut().zip(x).zip(moved).enumerate() {
                *out = affine(column).spread(stats.hat(x), moved);
            }
        })?;
        self.with_stats(call, inputs, out, |x, stats| stats.spread(x)).map(Some)
    }

    /// The row's largest normalised value, with gain and bias; none for statistics.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let out = self.rows(call, inputs, |x, stats, affine, out| {
            let largest = largest_hat(stats, x);
            for (column, out) in out.iter_mut().enumerate() {
                *out = affine(column).scale(largest);
            }
        })?;
        Ok(Some(vec![out]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        row_len(call)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        call.ints("normalized_shape").map_or(Locality::Whole, |shape| Locality::Rows(shape.len()))
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64 * if *self == Self::Rms { 4.0 } else { 8.0 }
    }

    /// The mean of a row with an infinity may be that or NaN, and so may the whole row be where its
    /// mean square is infinite.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let output = usize::from(*self == Self::LayerStats);
        let (Ok(input), true) = (inputs.get("input"), self.leaves_choices()) else { return };
        let (Some(got), Some(expected)) = (got.get_mut(output), expected.get(output)) else {
            return;
        };
        let len = row_len(call).max(1);
        let rows = input.array().as_slice().unwrap_or(&[]).chunks_exact(len);
        if *self == Self::LayerStats {
            for ((got, &expected), x) in got.iter_mut().zip(expected).zip(rows) {
                accept_infinite(got, expected, x);
            }
        } else if let (Some(got), Some(expected)) = (got.as_slice_mut(), expected.as_slice()) {
            let outputs = got.chunks_exact_mut(len).zip(expected.chunks_exact(len));
            outputs.zip(rows).for_each(|((got, expected), x)| accept_nan(got, expected, x));
        }
    }

    fn leaves_choices(&self) -> bool {
        matches!(self, Self::LayerStats | Self::Rms)
    }
}
