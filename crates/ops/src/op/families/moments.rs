//! Variance, standard deviation and mean.

use crate::{
    record::DType,
    reference::{Error, U},
};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Locality, Shaped},
    lanes,
    norm::accept_infinite,
    reduce::{dims, floating, keepdim, left, slice_len, slice_locality},
    sum::sum,
};

/// Moments of slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moments {
    /// Variance.
    Var,
    /// Standard deviation.
    Std,
    /// Variance and mean.
    VarMean,
    /// Standard deviation and mean.
    StdMean,
}

/// The result of a slice.
struct Slice {
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
    /// Number of elements less the correction, at least 0.
    divisor: f64,
}

impl Slice {
    fn of(x: &[f64], correction: f64) -> Self {
        let n = x.len() as f64;
        let mean = sum(x.iter().copied()) / n;
        // The error of the rounded mean is taken out of the squares.
        let off = sum(x.iter().map(|x| x - mean));
        let squares = sum(x.iter().map(|x| (x - mean).powi(2))) - off * off / n;
        let squares = if squares < 0.0 { 0.0 } else { squares };
        Self { mean, squares, divisor: (n - correction).max(0.0) }
    }

    fn var(&self) -> f64 {
        self.squares / self.divisor
    }
}

fn correction(call: &Call<'_>) -> Result<f64, InferError> {
    Ok(call.opt_number("correction")?.unwrap_or(1.0))
}

impl Moments {
    /// Returns whether the mean is an output too.
    const fn has_mean(self) -> bool {
        matches!(self, Self::VarMean | Self::StdMean)
    }

    /// Returns whether the root is taken.
    const fn is_std(self) -> bool {
        matches!(self, Self::Std | Self::StdMean)
    }

    fn outputs(self, [first, mean]: [Array; 2]) -> Vec<Array> {
        if self.has_mean() { vec![first, mean] } else { vec![first] }
    }
}

impl Engine for Moments {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let out = (floating(call, "self")?.dtype, left(call)?);
        correction(call)?;
        Ok(if self.has_mean() { vec![out.clone(), out] } else { vec![out] })
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let correction = correction(call)?;
        let formula = |x: &[f64]| {
            let slice = Slice::of(x, correction);
            let var = slice.var();
            [if self.is_std() { var.sqrt() } else { var }, slice.mean]
        };
        let both = lanes::folds(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula);
        Ok(self.outputs(both))
    }

    /// `2 sqrt(Σ ((x - mean) x)²) / divisor`, over twice the deviation for that; where there is
    /// none, the effect of the elements' roundings.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let correction = correction(call)?;
        let formula = |x: &[f64]| {
            let slice = Slice::of(x, correction);
            let moved = sum(x.iter().map(|x| ((x - slice.mean) * x).powi(2))).sqrt();
            let plain = sum(x.iter().map(|x| x * x)).sqrt();
            let first = match self {
                Self::Std | Self::StdMean if x.len() == 1 => 0.0,
                Self::Std | Self::StdMean if slice.squares == 0.0 => plain / slice.divisor.sqrt(),
                Self::Std | Self::StdMean => moved / (slice.divisor * slice.var().sqrt()),
                Self::Var | Self::VarMean => (2.0 * moved + U * plain * plain) / slice.divisor,
            };
            [first, plain / x.len() as f64]
        };
        let both = lanes::folds(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula);
        Ok(Some(self.outputs(both)))
    }

    /// `4 sqrt(n) u mean²`, over twice the deviation for that: the mean of sums in f32 may be off by
    /// `4 sqrt(n) u |mean|`, which is squared and added to the variance. The spread is of first order
    /// and lacks it.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let correction = correction(call)?;
        let formula = |x: &[f64]| {
            let slice = Slice::of(x, correction);
            let added = 4.0 * (x.len() as f64).sqrt() * U * slice.mean * slice.mean;
            let first = match self {
                Self::Std | Self::StdMean if slice.squares == 0.0 => 0.0,
                Self::Std | Self::StdMean => added / (2.0 * slice.var().sqrt()),
                Self::Var | Self::VarMean => added,
            };
            [first, slice.mean.abs()]
        };
        let both = lanes::folds(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula);
        Ok(Some(self.outputs(both)))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        slice_len(call)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        slice_locality(call)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| 4.0 * spec.numel() as f64)
    }

    /// Without a degree of freedom the variance is NaN, whatever the elements are.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let free = slice_len(call) as f64 - correction(call).unwrap_or(1.0);
        (!self.has_mean() && free <= 0.0).then_some(0)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 100.0 } else { 1e15 }
    }

    /// The mean of a slice with an infinity may be that or NaN.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Some(got), Some(expected)) = (got.get_mut(1), expected.get(1)) else { return };
        let (Ok(input), Ok(dims)) = (inputs.get("self"), dims(call)) else { return };
        if got.shape() != expected.shape() {
            return;
        }
        let slices = lanes::Rows::of(input, &dims);
        for ((got, &expected), x) in got.iter_mut().zip(expected).zip(slices.iter()) {
            accept_infinite(got, expected, x);
        }
    }

    fn leaves_choices(&self) -> bool {
        self.has_mean()
    }

    /// A sum of many of these is exact: their mean is, and the variance is 0.
    fn constant(&self) -> f64 {
        0.75
    }
}
