//! Ops of language model inference: rotary embedding, gated activations, expert routing.

pub(crate) mod routing;

#[cfg(test)]
mod tests;

use ndarray::IxDyn;

use crate::{
    parallel,
    record::DType,
    reference::{Error, U},
};

use super::super::{
    Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Role, Shaped, integer_limit,
    sum_limit,
};

/// Refuses tensors that are not of one floating-point type.
pub(super) fn one_float_type(call: &Call<'_>, names: &[&str]) -> Result<DType, InferError> {
    let first = call.tensor(names[0])?.dtype;
    if !first.is_float() {
        return Err(InferError::dtype(names[0], first, "a floating-point type"));
    }
    for name in names {
        let dtype = call.tensor(name)?.dtype;
        if dtype != first {
            return Err(InferError::dtype(name, dtype, first.name()));
        }
    }
    Ok(first)
}

/// Rotary position embedding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rope;

impl Rope {
    /// Applies a function of (first of the pair, second, cos, sin) that gives both results.
    fn map(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: impl Fn(f64, f64, f64, f64) -> (f64, f64) + Sync,
    ) -> Result<Array, Error> {
        let input = inputs.get("self")?;
        let (rows, width) = (input.shape[2], input.shape[3]);
        let interleaved = call.bool("interleaved")?;
        let half = width / 2;
        let (x, cos, sin) = (
            input.array().as_standard_layout(),
            inputs.get("cos")?.array().as_standard_layout(),
            inputs.get("sin")?.array().as_standard_layout(),
        );
        let flat =
            |array: &ndarray::CowArray<'_, f64, IxDyn>| array.iter().copied().collect::<Vec<f64>>();
        let (x, cos, sin) = (flat(&x), flat(&cos), flat(&sin));
        let mut out = vec![0.0; x.len()];
        if !out.is_empty() {
            parallel::fill_rows(&mut out, width, &|number, out| {
                let x = &x[number * width..][..width];
                let row = number % rows * half;
                for pair in 0..half {
                    let (first, second) =
                        if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + half) };
                    let angle = (cos[row + pair], sin[row + pair]);
                    (out[first], out[second]) = formula(x[first], x[second], angle.0, angle.1);
                }
            });
        }
        Ok(Array::from_shape_vec(IxDyn(&input.shape), out).expect("one value per element"))
    }
}

impl Engine for Rope {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["self", "cos", "sin"])?;
        let shape = &call.tensor("self")?.shape;
        call.bool("interleaved")?;
        let &[_, _, rows, width] = shape.as_slice() else {
            return Err(InferError::shape("self", shape, "[b, h, s, d]"));
        };
        if width % 2 != 0 {
            return Err(InferError::shape("self", shape, "[b, h, s, d] with an even d"));
        }
        for name in ["cos", "sin"] {
            let table = call.tensor(name)?;
            if table.shape != [rows, width / 2] {
                let wanted = format!("[{rows}, {}]", width / 2);
                return Err(InferError::shape(name, &table.shape, wanted));
            }
        }
        Ok(vec![(dtype, shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Self::map(call, inputs, |a, b, cos, sin| (a * cos - b * sin, b * cos + a * sin))?])
    }

    /// `sqrt(2 ((a cos)² + (b sin)²))`: both factors of each product are off.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let root = |left: f64, right: f64| (2.0 * (left * left + right * right)).sqrt();
        let both =
            |a: f64, b: f64, cos: f64, sin: f64| (root(a * cos, b * sin), root(b * cos, a * sin));
        Ok(Some(vec![Self::map(call, inputs, both)?]))
    }

    fn accumulation_len(&self, _call: &Call<'_>) -> usize {
        2
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        3.0 * n_out as f64
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        let dtype = call.case.dtype;
        let limit = integer_limit(dtype).min(sum_limit(dtype) / 16);
        Ok((if role == Role::Main { limit } else { 3 }, row))
    }
}

/// Returns a value as f32 arithmetic has it where it is too small for f32: 0, which an infinite
/// factor turns into NaN.
pub(super) fn in_range(value: f64) -> f64 {
    if value.abs() < f64::from(f32::MIN_POSITIVE) * f64::from(f32::EPSILON) {
        0.0_f64.copysign(value)
    } else {
        value
    }
}

/// A function of one element.
pub(crate) type Activation = fn(f64) -> f64;

/// An activation of one half of the last dimension times the other half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gated {
    /// The activation.
    pub activation: fn(&Call<'_>) -> Result<Activation, InferError>,
    /// Scale of the activation's intermediate values, as its own op has it.
    pub magnitude: fn(f64) -> f64,
}

impl Gated {
    /// Applies a function of (gate, factor).
    fn map(inputs: &Inputs<'_>, formula: impl Fn(f64, f64) -> f64 + Sync) -> Result<Array, Error> {
        let input = inputs.get("self")?;
        let mut shape = input.shape.clone();
        let width = shape.last().copied().unwrap_or(0);
        if let Some(last) = shape.last_mut() {
            *last = width / 2;
        }
        let x: Vec<f64> = input.array().iter().copied().collect();
        let row = |_: usize, row: &[f64]| {
            let (gates, factors) = row.split_at(width / 2);
            gates.iter().zip(factors).map(|(&gate, &by)| formula(gate, by)).collect::<Vec<f64>>()
        };
        let values = parallel::flat_map_rows(&x, width, &row);
        Ok(Array::from_shape_vec(IxDyn(&shape), values).expect("one value per pair"))
    }
}

impl Engine for Gated {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = one_float_type(call, &["self"])?;
        (self.activation)(call)?;
        let mut shape = call.tensor("self")?.shape.clone();
        match shape.last_mut() {
            Some(last) if *last % 2 == 0 => *last /= 2,
            _ => return Err(InferError::shape("self", &shape, "[.., 2 d]")),
        }
        Ok(vec![(dtype, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let activation = (self.activation)(call)?;
        Ok(vec![Self::map(inputs, |gate, by| in_range(activation(gate)) * by)?])
    }

    /// By central differences in the gate; the factor's rounding moves the result as its own.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let activation = (self.activation)(call)?;
        let spread = Self::map(inputs, |gate, by| {
            let above = activation(gate * (1.0 + U));
            let change = (above - activation(gate * (1.0 - U))) / (2.0 * U) * by;
            let own = activation(gate) * by;
            let square = |x: f64| if x.is_finite() { x * x } else { 0.0 };
            (square(change) + square(own)).sqrt()
        })?;
        Ok(Some(vec![spread]))
    }

    fn magnitude(
        &self,
        _call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        let scale = |gate: f64, by: f64| {
            if by.is_finite() { (self.magnitude)(gate) * by.abs() } else { 0.0 }
        };
        Ok(Some(vec![Self::map(inputs, scale)?]))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(1)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        6.0 * n_out as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 150.0 } else { 1e15 }
    }
}
