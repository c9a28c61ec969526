//! Ops that compute each output element from the elements at its place in every input, after
//! broadcasting.

use ndarray::{ArrayD, IxDyn, Zip};
use rayon::prelude::*;

use crate::{
    record::{DType, TensorSpec},
    reference::{Error, U},
};

use super::super::{
    Array, Call, Engine, InferError, Input, Inputs, Role, Scalar, Shaped, broadcast, integer_limit,
    promote,
};

/// A formula with the numbers of its call bound: elements of the inputs in, an element out.
pub(crate) type Formula = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// Elements from which on all cores share the work.
const PARALLEL_FROM: usize = 1 << 14;

/// Most inputs of an elementwise op.
const MAX_INPUTS: usize = 4;

/// Element type of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// That of all inputs and numbers, promoted.
    Promoted,
    /// Promoted; integers become f32.
    Float,
    /// bool.
    Bool,
    /// That of the first tensor.
    First,
    /// What the argument `dtype` says; that of the first tensor where it is left out.
    Argument,
}

/// Which element types the inputs may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any.
    Any,
    /// Any but bool.
    Numbers,
    /// Floating-point types.
    Floats,
    /// Integers and bool.
    Integral,
}

/// An elementwise op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointwise {
    /// Names of the tensors that broadcast; one that is left out has no element in the formula.
    pub tensors: &'static [&'static str],
    /// Names of the numbers that take part in promotion.
    pub scalars: &'static [&'static str],
    /// Binds the numbers of a call, given the type that the computation is done in.
    pub formula: fn(&Call<'_>, DType) -> Result<Formula, InferError>,
    /// Element type of the result.
    pub output: Output,
    /// Element types of the inputs.
    pub takes: Takes,
    /// Floating-point operations per element.
    pub flops: f64,
    /// Scale of intermediate values where it is larger than the result.
    pub hint: Option<fn(&[f64]) -> f64>,
    /// Whether integers give integers, so that exact inputs ask for equal bits.
    pub integers_stay: bool,
    /// Standard deviation of the large family: in f16, in other types.
    pub large: (f64, f64),
}

impl Pointwise {
    /// Returns an op of one floating-point input that keeps its type.
    #[must_use]
    pub(crate) const fn unary(
        flops: f64,
        formula: fn(&Call<'_>, DType) -> Result<Formula, InferError>,
    ) -> Self {
        Self {
            tensors: &["self"],
            scalars: &[],
            formula,
            output: Output::Float,
            takes: Takes::Any,
            flops,
            hint: None,
            integers_stay: false,
            large: (1e4, 1e15),
        }
    }

    /// Returns an op of two inputs that broadcast.
    #[must_use]
    pub(crate) const fn binary(
        flops: f64,
        formula: fn(&Call<'_>, DType) -> Result<Formula, InferError>,
    ) -> Self {
        Self {
            tensors: &["self", "other"],
            output: Output::Promoted,
            integers_stay: true,
            ..Self::unary(flops, formula)
        }
    }

    /// Returns the type that the computation is done in.
    fn common(&self, call: &Call<'_>) -> Result<DType, InferError> {
        let mut specs: Vec<&TensorSpec> = Vec::new();
        for name in self.tensors {
            if let Some(spec) = call.opt_tensor(name) {
                self.check(name, spec)?;
                specs.push(spec);
            }
        }
        let mut scalars: Vec<Scalar> = Vec::new();
        for name in self.scalars {
            scalars.extend(call.opt_scalar(name)?);
        }
        // A mask chooses, it does not promote.
        let values = specs.iter().copied();
        let promoted = if self.tensors[0] == "condition" {
            promote(values.skip(1), &scalars)
        } else {
            promote(values, &scalars)
        };
        Ok(match self.output {
            Output::Float if !promoted.is_float() => DType::F32,
            _ => promoted,
        })
    }

    fn check(&self, name: &str, spec: &TensorSpec) -> Result<(), InferError> {
        let dtype = spec.dtype;
        let (fits, wanted) = match self.takes {
            Takes::Any => (true, ""),
            Takes::Numbers => (dtype != DType::Bool, "an integer or floating-point type"),
            Takes::Floats => (dtype.is_float(), "a floating-point type"),
            Takes::Integral => (!dtype.is_float(), "an integer type or bool"),
        };
        if fits { Ok(()) } else { Err(InferError::dtype(name, dtype, wanted)) }
    }

    /// Returns the inputs of a call in the order of the formula.
    fn operands<'i, 'a>(&self, inputs: &'i Inputs<'a>) -> Vec<&'i Input<'a>> {
        self.tensors.iter().filter_map(|name| inputs.opt(name)).collect()
    }
}

/// Applies a function of the elements at each place, after broadcasting.
pub(crate) fn apply(
    operands: &[&Input<'_>],
    formula: impl Fn(&[f64]) -> f64 + Send + Sync,
) -> Result<Array, InferError> {
    let shape = common_shape(operands.iter().map(|operand| operand.shape.as_slice()))?;
    if let [only] = operands {
        return Ok(unary(only.array(), formula));
    }
    let views: Vec<_> = operands
        .iter()
        .map(|operand| {
            let view = operand.array().broadcast(IxDyn(&shape));
            view.expect("the shape is what all of them broadcast to")
                .as_standard_layout()
                .into_owned()
        })
        .collect();
    let flat: Vec<&[f64]> = views.iter().map(|view| view.as_slice().unwrap_or(&[])).collect();
    let element = |index: usize| {
        let mut at = [0.0; MAX_INPUTS];
        for (slot, values) in at.iter_mut().zip(&flat) {
            *slot = values[index];
        }
        formula(&at[..flat.len()])
    };
    let numel: usize = shape.iter().product();
    let values: Vec<f64> = if numel >= PARALLEL_FROM {
        (0..numel).into_par_iter().map(element).collect()
    } else {
        (0..numel).map(element).collect()
    };
    Ok(Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element"))
}

fn unary(input: &Array, formula: impl Fn(&[f64]) -> f64 + Send + Sync) -> Array {
    if input.len() < PARALLEL_FROM {
        return input.mapv(|x| formula(&[x]));
    }
    let mut out = ArrayD::zeros(input.raw_dim());
    Zip::from(&mut out).and(input).par_for_each(|out, &x| *out = formula(&[x]));
    out
}

/// Returns the shape that all shapes broadcast to.
pub(crate) fn common_shape<'a>(
    shapes: impl IntoIterator<Item = &'a [usize]>,
) -> Result<Vec<usize>, InferError> {
    shapes.into_iter().try_fold(Vec::new(), |shape, other| broadcast(&shape, other))
}

impl Engine for Pointwise {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let common = self.common(call)?;
        call.tensor(self.tensors[0])?;
        drop((self.formula)(call, common)?);
        let specs = self.tensors.iter().filter_map(|name| call.opt_tensor(name));
        let shape = common_shape(specs.map(|spec| spec.shape.as_slice()))?;
        let first = call.tensor(self.tensors[0])?.dtype;
        let dtype = match self.output {
            Output::Promoted | Output::Float => common,
            Output::Bool => DType::Bool,
            Output::First => first,
            Output::Argument => call.opt_dtype("dtype")?.unwrap_or(first),
        };
        Ok(vec![(dtype, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let formula = (self.formula)(call, self.common(call)?)?;
        Ok(vec![apply(&self.operands(inputs), formula)?])
    }

    /// By central differences: each output element depends on one element of each input.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let formula = (self.formula)(call, self.common(call)?)?;
        let operands = self.operands(inputs);
        let floats: Vec<bool> = operands.iter().map(|operand| operand.dtype.is_float()).collect();
        let spread = apply(&operands, |at| {
            let mut moved = [0.0; MAX_INPUTS];
            let mut square = 0.0;
            for changed in (0..at.len()).filter(|&changed| floats[changed]) {
                moved[..at.len()].copy_from_slice(at);
                moved[changed] = at[changed] * (1.0 + U);
                let above = formula(&moved[..at.len()]);
                moved[changed] = at[changed] * (1.0 - U);
                let change = (above - formula(&moved[..at.len()])) / (2.0 * U);
                square += if change.is_finite() { change * change } else { 0.0 };
            }
            square.sqrt()
        })?;
        Ok(Some(vec![spread]))
    }

    fn hint(&self, _call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let Some(hint) = self.hint else { return Ok(None) };
        Ok(Some(vec![apply(&self.operands(inputs), hint)?]))
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        self.flops * n_out as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { self.large.0 } else { self.large.1 }
    }

    fn exact(
        &self,
        call: &Call<'_>,
        _role: Role,
        row: usize,
    ) -> Result<(usize, usize), &'static str> {
        if self.integers_stay {
            Ok((integer_limit(call.case.dtype), row))
        } else {
            Err("its results are irrational")
        }
    }
}
