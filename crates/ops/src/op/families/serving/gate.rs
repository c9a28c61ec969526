//! Gated activations: one half of the last dimension, through a function, times the other half.

use crate::{
    parallel,
    record::DType,
    reference::{Error, U},
};

use super::{
    super::super::{Array, Call, Engine, InferError, Inputs, Locality, Shaped},
    super::llm::{in_range, one_float_type},
    array, flat, number, one_number, saturated, width, with_width,
};

/// A gate's function of one element.
pub(crate) type Function = Box<dyn Fn(f64) -> f64 + Sync>;

/// An activation of one half of the last dimension times the other half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate {
    /// The activation.
    pub activation: fn(&Call<'_>) -> Result<Function, InferError>,
    /// Scale of the activation's intermediate values, as its own op has it.
    pub magnitude: fn(f64) -> f64,
    /// Whether the gates are the first half.
    pub first: bool,
    /// Whether the activation chooses by a comparison of its operand with a constant.
    pub chooses: bool,
    /// Whether the result is divided by `scale` and stored in f8e4m3.
    pub quantised: bool,
}

impl Gate {
    /// Applies a function of (gate, factor).
    fn map(
        &self,
        inputs: &Inputs<'_>,
        formula: impl Fn(f64, f64) -> f64 + Sync,
    ) -> Result<Array, Error> {
        let input = inputs.first()?;
        let (x, width) = (flat(input), width(&input.shape));
        let row = |_: usize, row: &[f64]| {
            let (left, right) = row.split_at(width / 2);
            let (gates, factors) = if self.first { (left, right) } else { (right, left) };
            gates.iter().zip(factors).map(|(&gate, &by)| formula(gate, by)).collect::<Vec<f64>>()
        };
        let values = parallel::flat_map_rows(&x, width, &row);
        Ok(array(&with_width(&input.shape, width / 2), values))
    }

    /// Returns the reciprocal of the scale, 1 where there is none.
    fn factor(&self, inputs: &Inputs<'_>) -> f64 {
        if self.quantised { number(inputs, "scale").map_or(1.0, f64::recip) } else { 1.0 }
    }
}

impl Engine for Gate {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let name = call.op.params[0].name.as_str();
        let dtype = one_float_type(call, &[name])?;
        drop((self.activation)(call)?);
        if self.quantised {
            one_number(call, "scale", DType::F32)?;
        }
        let shape = &call.tensor(name)?.shape;
        if shape.is_empty() || !width(shape).is_multiple_of(2) {
            return Err(InferError::shape(name, shape, "[.., 2 d]"));
        }
        let dtype = if self.quantised { DType::F8E4M3 } else { dtype };
        Ok(vec![(dtype, with_width(shape, width(shape) / 2))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (activation, factor) = ((self.activation)(call)?, self.factor(inputs));
        Ok(vec![self.map(inputs, |gate, by| {
            let product = in_range(activation(gate)) * by;
            if self.quantised { saturated(product * factor) } else { product }
        })?])
    }

    /// By central differences in the gate; the roundings of factor and scale move the result as its
    /// own.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let (activation, factor) = ((self.activation)(call)?, self.factor(inputs));
        let own = if self.quantised { 2.0 } else { 1.0 };
        let square = |x: f64| if x.is_finite() { x * x } else { 0.0 };
        let spread = self.map(inputs, |gate, by| {
            let value = activation(gate) * by * factor;
            let change = if self.chooses {
                value
            } else {
                let above = activation(gate * (1.0 + U));
                (above - activation(gate * (1.0 - U))) / (2.0 * U) * by * factor
            };
            (square(change) + own * square(value)).sqrt()
        })?;
        Ok(Some(vec![spread]))
    }

    fn rounds_differences(&self) -> bool {
        self.chooses
    }

    fn magnitude(
        &self,
        _call: &Call<'_>,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Vec<Array>>, Error> {
        let factor = self.factor(inputs).abs();
        let scale = |gate: f64, by: f64| {
            let scale = (self.magnitude)(gate) * by.abs() * factor;
            if scale.is_finite() { scale } else { 0.0 }
        };
        Ok(Some(vec![self.map(inputs, scale)?]))
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
