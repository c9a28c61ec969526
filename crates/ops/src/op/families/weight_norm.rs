//! Weights made of directions and lengths, and the gradients of both.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, InputDistribution},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
    },
    backward::check,
    norm::stats_dtype,
    reduce::floating,
    sum::Sum,
};

/// Each slice of `v` in the length that `g` has for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WeightNorm;

/// The gradients of `v` and `g`, of the norms that the forward op saved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WeightNormBackward;

/// The slices of a tensor over all dimensions but its first or its last.
struct Slices {
    count: usize,
    /// Elements from one slice to the next.
    step: usize,
    /// Shape of what there is one of per slice.
    factors: Vec<usize>,
}

impl Slices {
    fn of(call: &Call<'_>, name: &str) -> Result<Self, InferError> {
        let spec = floating(call, name)?;
        let Some(last) = spec.ndim().checked_sub(1) else {
            return Err(InferError::shape(name, &spec.shape, "of at least one dimension"));
        };
        let given = call.int("dim")?;
        let dim = usize::try_from(given).ok().filter(|&dim| dim == 0 || dim == last);
        let Some(dim) = dim else {
            let wanted = format!("0 or {last}, the first or the last dimension");
            return Err(InferError::value("dim", given, wanted));
        };
        let mut factors = vec![1; spec.ndim()];
        factors[dim] = spec.shape[dim];
        let step = spec.shape[dim + 1..].iter().product();
        Ok(Self { count: spec.shape[dim], step, factors })
    }

    /// Returns the slice of an element.
    fn slice(&self, index: usize) -> usize {
        index / self.step % self.count
    }

    /// Returns the sum of each slice.
    fn sums(&self, terms: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![Sum::default(); self.count];
        for (index, term) in terms.enumerate() {
            sums[self.slice(index)].add(term);
        }
        sums.into_iter().map(Sum::value).collect()
    }

    /// Returns the outputs of a call: all elements, and one per slice.
    fn outputs(&self, shape: &[usize], each: Vec<f64>, slices: Vec<f64>) -> Vec<Array> {
        let shaped = |shape: &[usize], values| {
            Array::from_shape_vec(IxDyn(shape), values).expect("one value per element")
        };
        vec![shaped(shape, each), shaped(&self.factors, slices)]
    }
}

fn slice_len(call: &Call<'_>, name: &str) -> usize {
    let count = Slices::of(call, name).map_or(1, |slices| slices.count);
    call.tensor(name).map_or(1, |spec| spec.numel() / count.max(1))
}

fn values(inputs: &Inputs<'_>, name: &str) -> Result<Vec<f64>, Error> {
    Ok(inputs.get(name)?.array().iter().copied().collect())
}

impl Engine for WeightNorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (spec, slices) = (floating(call, "v")?, Slices::of(call, "v")?);
        check("g", call.tensor("g")?, spec.dtype, &slices.factors)?;
        let norms = (stats_dtype(spec.dtype), slices.factors);
        Ok(vec![(spec.dtype, spec.shape.clone()), norms])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let slices = Slices::of(call, "v")?;
        let (v, g) = (values(inputs, "v")?, values(inputs, "g")?);
        let squares = slices.sums(v.iter().map(|v| v * v));
        let norms: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
        let each = |(index, v): (usize, &f64)| {
            let slice = slices.slice(index);
            g[slice] * v / norms[slice]
        };
        let each = v.iter().enumerate().map(each).collect();
        Ok(slices.outputs(&call.tensor("v")?.shape, each, norms))
    }

    /// With shares `s = v² / norm²`: `|w_j| sqrt(2 - 2 s_j + Σ s_i²)` and `norm sqrt(Σ s_i²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let slices = Slices::of(call, "v")?;
        let (v, g) = (values(inputs, "v")?, values(inputs, "g")?);
        let squares = slices.sums(v.iter().map(|v| v * v));
        let share = |(index, v): (usize, &f64)| v * v / squares[slices.slice(index)];
        let all = slices.sums(v.iter().enumerate().map(|at| share(at).powi(2)));
        let each = |(index, v): (usize, &f64)| {
            let slice = slices.slice(index);
            let moved = 2.0 - 2.0 * share((index, v)) + all[slice];
            (g[slice] * v).abs() / squares[slice].sqrt() * moved.max(0.0).sqrt()
        };
        let each = v.iter().enumerate().map(each).collect();
        let norms = squares.iter().zip(&all).map(|(square, all)| (square * all).sqrt()).collect();
        Ok(Some(slices.outputs(&call.tensor("v")?.shape, each, norms)))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        slice_len(call, "v")
    }

    /// Without elements there is nothing to scale, and sums are 0.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        (slice_len(call, "v") == 0).then_some(0)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        4.0 * call.tensor("v").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn degree(&self) -> u32 {
        2
    }
}

impl WeightNormBackward {
    /// Computes the gradients, or the scale of their terms.
    fn gradients(call: &Call<'_>, inputs: &Inputs<'_>, scale: bool) -> Result<Vec<Array>, Error> {
        let slices = Slices::of(call, "saved_v")?;
        let (grad, v) = (values(inputs, "grad_w")?, values(inputs, "saved_v")?);
        let (g, norms) = (values(inputs, "saved_g")?, values(inputs, "saved_norms")?);
        let products = slices.sums(grad.iter().zip(&v).map(|(grad, v)| grad * v));
        let each = |(index, (grad, v)): (usize, (&f64, &f64))| {
            let slice = slices.slice(index);
            let factor = 1.0 / norms[slice];
            let (own, others) = (factor * grad, factor.powi(3) * v * products[slice]);
            if scale {
                g[slice].abs() * (own.abs() + others.abs())
            } else {
                g[slice] * (own - others)
            }
        };
        let each = grad.iter().zip(&v).enumerate().map(each).collect();
        let lengths = products.iter().zip(&norms).map(|(product, norm)| product / norm);
        let lengths = lengths.map(|length| if scale { length.abs() } else { length }).collect();
        Ok(slices.outputs(&call.tensor("saved_v")?.shape, each, lengths))
    }
}

impl Engine for WeightNormBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (spec, slices) = (floating(call, "saved_v")?, Slices::of(call, "saved_v")?);
        check("grad_w", call.tensor("grad_w")?, spec.dtype, &spec.shape)?;
        check("saved_g", call.tensor("saved_g")?, spec.dtype, &slices.factors)?;
        let norms = call.tensor("saved_norms")?;
        check("saved_norms", norms, stats_dtype(spec.dtype), &slices.factors)?;
        Ok(vec![(spec.dtype, spec.shape.clone()), (spec.dtype, slices.factors)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Self::gradients(call, inputs, false)
    }

    /// Both terms of the difference.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Self::gradients(call, inputs, true).map(Some)
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        slice_len(call, "saved_v")
    }

    /// Without elements there is nothing to scale, and sums are 0.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        (slice_len(call, "saved_v") == 0).then_some(0)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        6.0 * call.tensor("saved_v").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn degree(&self) -> u32 {
        2
    }

    /// Products of three are in the range of f32.
    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e6 }
    }

    /// Norms are those of tame weights whatever the weights are: their cubes are divided by.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name == "saved_norms" && call.case.distribution != InputDistribution::Specials {
            return Ok(Gen::LogNormal { std: 0.5 });
        }
        generators::by_role(self, call, param)
    }
}
