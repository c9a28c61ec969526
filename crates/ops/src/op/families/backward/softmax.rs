//! Gradients of softmax and its logarithm, of the results of the forward op.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, InputDistribution},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, InferError, Input, Inputs, Locality, Param,
            Shaped, generators, normalise_dim,
        },
        lanes::Rows,
        reduce::floating,
        sum::sum,
    },
    check,
};

/// The forward op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SoftmaxBackward {
    /// Softmax.
    Plain,
    /// Its logarithm.
    Log,
}

fn dim(call: &Call<'_>) -> Result<usize, InferError> {
    normalise_dim(call.int("dim")?, call.tensor("grad_output")?.ndim())
}

/// Returns the array whose slices along `dim` are the results of a function of two tensors' slices.
fn map(
    dim: usize,
    [first, second]: [&Input<'_>; 2],
    formula: impl Fn(&[f64], &[f64], &mut Vec<f64>),
) -> Array {
    let dims = if first.ndim() == 0 { Vec::new() } else { vec![dim] };
    let mut values = Vec::with_capacity(first.numel());
    let (rows, others) = (Rows::of(first, &dims), Rows::of(second, &dims));
    if first.numel() > 0 {
        rows.iter().zip(others.iter()).for_each(|(row, other)| formula(row, other, &mut values));
    }
    let mut shape = first.shape.clone();
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if let [dim] = dims[..] {
        let extent = shape.remove(dim);
        shape.push(extent);
        order.pop();
        order.insert(dim, shape.len() - 1);
    }
    let filled = Array::from_shape_vec(IxDyn(&shape), values).expect("each slice was filled");
    filled.permuted_axes(IxDyn(&order)).as_standard_layout().into_owned()
}

impl SoftmaxBackward {
    fn map(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: impl Fn(&[f64], &[f64], &mut Vec<f64>),
    ) -> Result<Vec<Array>, Error> {
        let operands = [inputs.get("grad_output")?, inputs.get("output")?];
        Ok(vec![map(dim(call)?, operands, formula)])
    }
}

impl Engine for SoftmaxBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "grad_output")?;
        check("output", call.tensor("output")?, spec.dtype, &spec.shape)?;
        dim(call)?;
        match call.opt_dtype("input_dtype")? {
            Some(DType::F16) if spec.dtype == DType::F32 => {
                Ok(vec![(DType::F16, spec.shape.clone())])
            }
            Some(dtype) if dtype != spec.dtype => Err(InferError::value(
                "input_dtype",
                dtype,
                format!("{}, that of grad_output, or f16 for f32", spec.dtype),
            )),
            _ => Ok(vec![(spec.dtype, spec.shape.clone())]),
        }
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Self::map(call, inputs, |g, y, out| {
            if *self == Self::Plain {
                let total = sum(g.iter().zip(y).map(|(g, y)| g * y));
                out.extend(g.iter().zip(y).map(|(g, y)| (g - total) * y));
            } else {
                let total = sum(g.iter().copied());
                out.extend(g.iter().zip(y).map(|(g, y)| g - y.exp() * total));
            }
        })
    }

    /// Both terms of the difference.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let scales = Self::map(call, inputs, |g, y, out| {
            if *self == Self::Plain {
                let total = sum(g.iter().zip(y).map(|(g, y)| g * y));
                out.extend(g.iter().zip(y).map(|(g, y)| (g.abs() + total.abs()) * y.abs()));
            } else {
                let total = sum(g.iter().copied());
                out.extend(g.iter().zip(y).map(|(g, y)| g.abs() + y.exp() * total.abs()));
            }
        });
        Ok(Some(scales?))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(spec), Ok(dim)) = (call.tensor("grad_output"), dim(call)) else { return 1 };
        spec.shape.get(dim).copied().unwrap_or(1)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        match (dim(call), call.tensor("grad_output")) {
            (Ok(dim), Ok(spec)) => Locality::along(&[dim], spec.ndim()),
            _ => Locality::Whole,
        }
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        4.0 * n_out as f64
    }

    fn degree(&self) -> u32 {
        2
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }

    /// The forward op's result is a distribution whatever its inputs were.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name != "output" || call.case.distribution == InputDistribution::Specials {
            return generators::by_role(self, call, param);
        }
        Ok(match self {
            Self::Plain => Gen::Simplex,
            Self::Log => Gen::Uniform { low: -8.0, high: 0.0 },
        })
    }
}
