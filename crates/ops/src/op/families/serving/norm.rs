//! Root-mean-square norms of rows: of a sum, and with a quantised result.

use crate::{
    parallel,
    record::{DType, tensor::round_to},
    reference::Error,
};

use super::{
    super::super::{Array, Call, Engine, InferError, Inputs, Locality, Shaped},
    super::{llm::one_float_type, sum::sum},
    array, flat, number, of_shape, one_number, saturated, width,
};

/// Normalisation of rows by their root mean square.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RmsNorm {
    /// Whether `residual` is added first; the sum is then the second output.
    pub adds: bool,
    /// Whether the result is divided by `scale` and stored in f8e4m3.
    pub quantised: bool,
}

/// The rows that are normalised.
struct Rows {
    /// The rows, or the sums before they are rounded.
    total: Array,
    /// The rows as they are normalised: rounded to their type.
    rounded: Vec<f64>,
    gain: Vec<f64>,
    eps: f64,
}

impl RmsNorm {
    /// Returns the name of the first tensor.
    fn input<'a>(call: &Call<'a>) -> &'a str {
        &call.op.params[0].name
    }

    fn rows(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Rows, Error> {
        let input = inputs.first()?;
        let total = match self.adds {
            true => input.array() + inputs.get("residual")?.array(),
            false => input.array().clone(),
        };
        let rounded = total.iter().map(|&x| if self.adds { round_to(input.dtype, x) } else { x });
        let eps = if self.quantised { "epsilon" } else { "eps" };
        Ok(Rows {
            rounded: rounded.collect(),
            gain: flat(inputs.get("weight")?),
            eps: call.number(eps)?,
            total,
        })
    }

    /// Returns the reciprocal of the scale, 1 where there is none.
    fn factor(&self, inputs: &Inputs<'_>) -> f64 {
        if self.quantised { number(inputs, "scale").map_or(1.0, f64::recip) } else { 1.0 }
    }
}

impl Rows {
    /// Computes each element from (element, sum of squares and eps of its row, gain).
    fn map(&self, formula: impl Fn(&[f64], f64, &[f64]) -> Vec<f64> + Sync) -> Array {
        let row = |_: usize, row: &[f64]| {
            let squares = sum(row.iter().map(|x| x * x)) + row.len() as f64 * self.eps;
            formula(row, squares, &self.gain)
        };
        let values = parallel::flat_map_rows(&self.rounded, self.gain.len(), &row);
        array(self.total.shape(), values)
    }
}

/// Normalises a row.
fn normed(row: &[f64], squares: f64, gain: &[f64], factor: f64) -> Vec<f64> {
    let scale = 1.0 / (squares / row.len() as f64).sqrt();
    row.iter().zip(gain).map(|(x, gain)| x * scale * gain * factor).collect()
}

impl Engine for RmsNorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let name = Self::input(call);
        let dtype = one_float_type(call, &[name, "weight"])?;
        let shape = &call.tensor(name)?.shape;
        if shape.is_empty() {
            return Err(InferError::shape(name, shape, "of one dimension or more"));
        }
        of_shape(call, "weight", &[width(shape)])?;
        if self.quantised {
            one_number(call, "scale", DType::F32)?;
        }
        let out = if self.quantised { DType::F8E4M3 } else { dtype };
        let mut outputs = vec![(out, shape.clone())];
        if self.adds {
            one_float_type(call, &[name, "residual"])?;
            of_shape(call, "residual", shape)?;
            outputs.push((dtype, shape.clone()));
        }
        Ok(outputs)
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (rows, factor) = (self.rows(call, inputs)?, self.factor(inputs));
        let mut out = rows.map(|row, squares, gain| normed(row, squares, gain, factor));
        if self.quantised {
            out.mapv_inplace(saturated);
        }
        Ok(if self.adds { vec![out, rows.total] } else { vec![out] })
    }

    /// Of the norm, with `a_i = x_i² / Σ`: `y_i² ((1 - a_i)² + Σ a_j² - a_i² + 1)`, and once more
    /// `y_i²` for a scale; of the sum, that of its terms. Rounding the sum is the op's own.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let (rows, factor) = (self.rows(call, inputs)?, self.factor(inputs));
        let constant = if self.quantised { 2.0 } else { 1.0 };
        let out = rows.map(|row, squares, gain| {
            let shares: Vec<f64> = row.iter().map(|x| x * x / squares).collect();
            let all = sum(shares.iter().map(|a| a * a));
            let results = normed(row, squares, gain, factor);
            let spread = |(y, a): (f64, &f64)| {
                let square = (1.0 - a).powi(2) + all - a * a + constant;
                y.abs() * square.max(constant).sqrt()
            };
            results.into_iter().zip(&shares).map(spread).collect()
        });
        if !self.adds {
            return Ok(Some(vec![out]));
        }
        let input = inputs.first()?.array();
        let both = ndarray::Zip::from(input).and(inputs.get("residual")?.array());
        Ok(Some(vec![out, both.map_collect(|a, b| a.hypot(*b))]))
    }

    /// The sum is rounded: inputs that are off by a little may move it by a whole step.
    fn rounds_differences(&self) -> bool {
        self.adds
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor(Self::input(call)).map_or(1, |spec| width(&spec.shape))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(1)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        2.5 * n_out as f64
    }
}
