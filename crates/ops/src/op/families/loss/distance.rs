//! Losses of rows: angles between them and distances.

use ndarray::IxDyn;

use crate::{
    parallel,
    record::{DType, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{Array, Call, Engine, InferError, Inputs, Shaped, normalise_dim, promote},
        pointwise::common_shape,
        sum::sum,
    },
    Reduction, is, positive,
};

/// Functions of rows along one dimension of several tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distance {
    /// Cosine of the angle between two rows.
    CosineSimilarity,
    /// One minus the cosine where the label is 1, the cosine above a margin where it is -1.
    CosineEmbedding,
    /// How much nearer than another row a row should be.
    Triplet,
}

/// The term that `cosine_embedding_loss` adds to squares of norms.
const COSINE_EPS: f64 = 1e-12;

/// The rows of a call: tensors broadcast to one shape, the dimension of the rows last.
struct Rows {
    /// Shape without the dimension of the rows.
    shape: Vec<usize>,
    len: usize,
    tensors: Vec<Vec<f64>>,
}

impl Rows {
    fn read(names: &[&str], dim: i64, inputs: &Inputs<'_>) -> Result<Self, Error> {
        let tensors = names.iter().map(|name| inputs.get(name)).collect::<Result<Vec<_>, _>>()?;
        let mut shape = common_shape(tensors.iter().map(|input| input.shape.as_slice()))?;
        let dim = normalise_dim(dim, shape.len())?;
        let (whole, zero_dim) = (shape.clone(), shape.is_empty());
        let len = if zero_dim { 1 } else { shape.remove(dim) };
        let rows = |array: &Array| {
            let view = array.broadcast(IxDyn(&whole)).expect("the shape is what they broadcast to");
            if zero_dim {
                return view.iter().copied().collect();
            }
            let mut order: Vec<usize> = (0..whole.len()).filter(|&at| at != dim).collect();
            order.push(dim);
            view.permuted_axes(IxDyn(&order)).iter().copied().collect()
        };
        let tensors = tensors.iter().map(|input| rows(input.array())).collect();
        Ok(Self { shape, len, tensors })
    }

    /// Applies a function of the rows at each place.
    fn map(&self, formula: impl Fn(&[&[f64]]) -> f64 + Sync) -> Array {
        let value = |number: usize| {
            let row = number * self.len..(number + 1) * self.len;
            let rows: Vec<&[f64]> =
                self.tensors.iter().map(|values| &values[row.clone()]).collect();
            formula(&rows)
        };
        let n: usize = self.shape.iter().product();
        let values = parallel::map(n, &value);
        Array::from_shape_vec(IxDyn(&self.shape), values).expect("one value per row")
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    sum(left.iter().zip(right).map(|(a, b)| a * b))
}

/// Returns the larger of a norm and eps; NaN where the norm is.
fn at_least(norm: f64, eps: f64) -> f64 {
    if norm < eps { eps } else { norm }
}

fn cosine_similarity(left: &[f64], right: &[f64], eps: f64) -> f64 {
    let (a, b) = (at_least(dot(left, left).sqrt(), eps), at_least(dot(right, right).sqrt(), eps));
    sum(left.iter().zip(right).map(|(x, y)| (x / a) * (y / b)))
}

fn cosine(left: &[f64], right: &[f64]) -> f64 {
    let squares = (dot(left, left) + COSINE_EPS) * (dot(right, right) + COSINE_EPS);
    dot(left, right) / squares.sqrt()
}

/// The p-norm of `left - right + eps`.
fn distance(left: &[f64], right: &[f64], p: f64, eps: f64) -> f64 {
    let apart = left.iter().zip(right).map(|(a, b)| (a - b + eps).abs());
    let extreme =
        |start: f64, better: fn(f64, f64) -> bool, apart: &mut dyn Iterator<Item = f64>| {
            apart.fold(start, |best, x| if best.is_nan() || better(best, x) { best } else { x })
        };
    if p == f64::INFINITY {
        extreme(0.0, |best, x| best >= x, &mut { apart })
    } else if p == f64::NEG_INFINITY {
        extreme(f64::INFINITY, |best, x| best <= x, &mut { apart })
    } else if p == 0.0 {
        sum(apart.map(|x| if x == 0.0 { 0.0 } else { 1.0 }))
    } else if is(p, 1.0) {
        sum(apart)
    } else if is(p, 2.0) {
        sum(apart.map(|x| x * x)).sqrt()
    } else {
        sum(apart.map(|x| x.powf(p))).powf(1.0 / p)
    }
}

/// Returns the smaller of two distances; NaN where one is.
fn smaller(left: f64, right: f64) -> f64 {
    if left.is_nan() || left < right { left } else { right }
}

/// Two distances of the rows at one place.
type Distances = Box<dyn Fn(&[&[f64]]) -> (f64, f64) + Sync>;

/// The distances of a triplet: to the positive, to the negative.
fn triplet(call: &Call<'_>) -> Result<Distances, InferError> {
    let (p, eps, swap) = (call.number("p")?, call.number("eps")?, call.bool("swap")?);
    Ok(Box::new(move |rows: &[&[f64]]| {
        let near = distance(rows[0], rows[1], p, eps);
        let far = distance(rows[0], rows[2], p, eps);
        let far = if swap { smaller(far, distance(rows[1], rows[2], p, eps)) } else { far };
        (near, far)
    }))
}

impl Distance {
    const fn tensors(self) -> &'static [&'static str] {
        match self {
            Self::CosineSimilarity => &["x1", "x2"],
            Self::CosineEmbedding => &["input1", "input2"],
            Self::Triplet => &["anchor", "positive", "negative"],
        }
    }

    fn dim(self, call: &Call<'_>) -> Result<i64, InferError> {
        if self == Self::CosineSimilarity { call.int("dim") } else { Ok(-1) }
    }

    fn specs<'a>(self, call: &Call<'a>) -> Result<Vec<&'a TensorSpec>, InferError> {
        self.tensors().iter().map(|name| call.tensor(name)).collect()
    }

    /// Returns the shape without the dimension of the rows, and the length of a row.
    fn rows(self, call: &Call<'_>) -> Result<(Vec<usize>, usize), InferError> {
        let specs = self.specs(call)?;
        let mut shape = common_shape(specs.iter().map(|spec| spec.shape.as_slice()))?;
        let dim = normalise_dim(self.dim(call)?, shape.len())?;
        let len = if shape.is_empty() { 1 } else { shape.remove(dim) };
        Ok((shape, len))
    }

    fn check(self, call: &Call<'_>) -> Result<(), InferError> {
        let specs = self.specs(call)?;
        match self {
            Self::CosineSimilarity => {
                let eps = call.number("eps")?;
                let least = || InferError::value("eps", eps, "at least 0");
                if eps >= 0.0 { Ok(()) } else { Err(least()) }
            }
            Self::CosineEmbedding => {
                let target = call.tensor("target")?;
                let fits = |spec: &&TensorSpec| spec.ndim() == target.ndim() + 1;
                if target.ndim() > 1 || !specs.iter().all(fits) {
                    let wanted = "[n] for inputs [n, d], [] for inputs [d]";
                    return Err(InferError::shape("target", &target.shape, wanted));
                }
                Ok(())
            }
            Self::Triplet => {
                let ndim = specs[0].ndim();
                let mut named = self.tensors().iter().zip(&specs);
                if let Some((name, spec)) = named.find(|(_, spec)| spec.dtype == DType::Bool) {
                    return Err(InferError::dtype(name, spec.dtype, "a type of numbers"));
                }
                let odd = self.tensors().iter().zip(&specs).find(|(_, spec)| spec.ndim() != ndim);
                odd.map_or(Ok(()), |(name, spec)| {
                    let wanted = format!("of {ndim} dimensions, as anchor");
                    Err(InferError::shape(name, &spec.shape, wanted))
                })
            }
        }
    }

    fn shape(self, call: &Call<'_>) -> Result<Vec<usize>, InferError> {
        let (shape, _) = self.rows(call)?;
        if self == Self::CosineEmbedding {
            return common_shape([shape.as_slice(), call.tensor("target")?.shape.as_slice()]);
        }
        Ok(shape)
    }

    fn reduction(self, call: &Call<'_>) -> Result<Reduction, InferError> {
        if self == Self::CosineSimilarity { Ok(Reduction::Keep) } else { Reduction::of(call) }
    }

    fn values(self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Array, Error> {
        let rows = Rows::read(self.tensors(), self.dim(call)?, inputs)?;
        match self {
            Self::CosineSimilarity => {
                let eps = call.number("eps")?;
                Ok(rows.map(|rows| cosine_similarity(rows[0], rows[1], eps)))
            }
            Self::CosineEmbedding => {
                let margin = call.number("margin")?;
                let cosines = rows.map(|rows| cosine(rows[0], rows[1]));
                let shape = self.shape(call)?;
                let labels = inputs.get("target")?.array().broadcast(IxDyn(&shape));
                let cosines = cosines.broadcast(IxDyn(&shape)).zip(labels);
                let (cosines, labels) = cosines.expect("the shape is what they broadcast to");
                let loss = |(&cosine, &label): (&f64, &f64)| {
                    if is(label, 1.0) {
                        1.0 - cosine
                    } else if is(label, -1.0) {
                        positive(cosine - margin)
                    } else {
                        0.0
                    }
                };
                let values = cosines.iter().zip(&labels).map(loss).collect();
                Ok(Array::from_shape_vec(IxDyn(&shape), values).expect("one value per row"))
            }
            Self::Triplet => {
                let (margin, distances) = (call.number("margin")?, triplet(call)?);
                Ok(rows.map(|rows| {
                    let (near, far) = distances(rows);
                    positive(margin + near - far)
                }))
            }
        }
    }
}

impl Engine for Distance {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        self.check(call)?;
        let specs = self.specs(call)?;
        let dtype = promote(specs, &[]);
        // The losses add a small float, which makes f32 of integers.
        let signed = dtype.is_int() && dtype != DType::U8;
        let embeds = *self == Self::CosineEmbedding && !dtype.is_float();
        if (signed && *self == Self::Triplet) || embeds {
            return Ok(vec![(DType::F32, self.reduction(call)?.shape(&self.shape(call)?))]);
        }
        if !dtype.is_float() {
            return Err(InferError::dtype(self.tensors()[0], dtype, "a floating-point type"));
        }
        Ok(vec![(dtype, self.reduction(call)?.shape(&self.shape(call)?))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let values = self.values(call, inputs)?;
        let count = values.len() as f64;
        Ok(vec![self.reduction(call)?.apply(values, count)])
    }

    /// `1 - cos` cancels on the scale of 1, `margin + near - far` on that of the distances.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let scale = match self {
            Self::CosineSimilarity => return Ok(None),
            Self::CosineEmbedding => Array::ones(IxDyn(&self.shape(call)?)),
            Self::Triplet => {
                let rows = Rows::read(self.tensors(), -1, inputs)?;
                let (margin, distances) = (call.number("margin")?, triplet(call)?);
                rows.map(|rows| {
                    let (near, far) = distances(rows);
                    let scale = margin.abs() + near + far;
                    if scale.is_finite() { scale } else { 0.0 }
                })
            }
        };
        let count = scale.len().max(1) as f64;
        Ok(Some(vec![self.reduction(call)?.apply(scale, count)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let Ok((shape, len)) = self.rows(call) else { return 1 };
        match self.reduction(call) {
            Ok(Reduction::Keep) => len,
            _ => len.max(shape.iter().product()),
        }
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let Ok((shape, len)) = self.rows(call) else { return 0.0 };
        let elements = shape.iter().product::<usize>() as f64 * len as f64;
        elements * if *self == Self::Triplet { 8.0 } else { 6.0 }
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 150.0 } else { 1e15 }
    }
}
