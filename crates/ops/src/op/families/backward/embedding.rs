//! The gradient of an embedding's table: rows of gradients, added where the indices say.

use ndarray::IxDyn;

use crate::{record::TensorSpec, reference::Error};

use super::{
    super::{
        super::{
            Array, Call, Engine, ExactLimits, InferError, Inputs, Param, Role, Shaped,
            integer_limit, sum_limit,
        },
        index::{check_bound, index_spec, read},
        sum::Sum,
    },
    check,
};

/// Rows of gradients added to rows of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmbeddingBackward;

fn n_rows(call: &Call<'_>) -> Result<usize, InferError> {
    let n = call.int("num_weights")?;
    usize::try_from(n).map_err(|_| InferError::value("num_weights", n, "not negative"))
}

impl EmbeddingBackward {
    fn width(spec: &TensorSpec) -> Result<usize, InferError> {
        let width = spec.shape.last().copied();
        width.ok_or_else(|| InferError::shape("grad_output", &[], "that of indices and the width"))
    }

    /// Adds rows, after a function of each element; `finish` is called with a sum and the count of
    /// its row.
    fn add(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        of: impl Fn(f64) -> f64,
        finish: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<Array>, Error> {
        let (rows, width) = (n_rows(call)?, Self::width(call.tensor("grad_output")?)?);
        let indices = read(inputs.get("indices")?, "indices", rows, false)?;
        let padding = usize::try_from(call.int("padding_idx")?).ok();
        let scaled = call.bool("scale_grad_by_freq")?;
        let grads = inputs.get("grad_output")?.array().as_slice().unwrap_or(&[]);
        let mut sums = vec![Sum::default(); rows * width];
        let mut counts = vec![0.0; rows];
        for (number, &row) in indices.iter().enumerate().filter(|(_, row)| Some(**row) != padding) {
            counts[row] += 1.0;
            let grads = &grads[number * width..][..width];
            sums[row * width..][..width]
                .iter_mut()
                .zip(grads)
                .for_each(|(sum, &grad)| sum.add(of(grad)));
        }
        let value = |(at, sum): (usize, &Sum)| {
            let count: f64 = if scaled { counts[at / width] } else { 1.0 };
            finish(sum.value(), count.max(1.0))
        };
        let values = sums.iter().enumerate().map(value).collect();
        Ok(vec![
            Array::from_shape_vec(IxDyn(&[rows, width]), values).expect("one value per element"),
        ])
    }
}

impl Engine for EmbeddingBackward {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = super::super::reduce::floating(call, "grad_output")?;
        let indices = index_spec(call, "indices")?;
        let width = Self::width(spec)?;
        let rows = n_rows(call)?;
        check("grad_output", spec, spec.dtype, &[indices.shape.as_slice(), &[width]].concat())?;
        check_bound("indices", indices.numel(), rows)?;
        if rows.checked_mul(width.max(1)).is_none_or(|n| n > 1 << 40) {
            return Err(InferError::value("num_weights", rows, "of at most 2^40 elements in all"));
        }
        call.int("padding_idx")?;
        call.bool("scale_grad_by_freq")?;
        Ok(vec![(spec.dtype, vec![rows, width])])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Self::add(call, inputs, |x| x, |sum, count| sum / count)
    }

    /// `sqrt(Σ g²)`, divided as the sum is.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(Self::add(call, inputs, |x| x * x, |sum, count| sum.sqrt() / count)?))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        call.tensor("indices").map_or(1, TensorSpec::numel)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("grad_output").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// Every index may be that of the padding.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let padded = call.int("padding_idx").is_ok_and(|index| index >= 0);
        (name == "grad_output" && padded).then_some(0)
    }

    fn index_bound(&self, call: &Call<'_>, _param: &Param) -> u64 {
        n_rows(call).map_or(1, |rows| rows as u64)
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        if call.bool("scale_grad_by_freq").unwrap_or(true) {
            return Err("it divides by counts");
        }
        let dtype = call.case.dtype;
        Ok((integer_limit(dtype).min(sum_limit(dtype) / self.accumulation_len(call).max(1)), row))
    }
}
