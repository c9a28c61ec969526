//! Blocks added up to an image: the adjoint of `im2col`.

use ndarray::IxDyn;

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Inputs, Role, Shaped, integer_limit,
        sum_limit, unravel,
    },
    blocks::Columns,
    conv::option,
    movement::strides,
    reduce::floating,
    sum::Sum,
};

/// Sums of the elements of blocks that lie on a pixel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Col2Im;

fn columns(call: &Call<'_>) -> Result<(Columns, Vec<usize>), InferError> {
    let spec = floating(call, "self")?;
    let wanted = "[c * kh * kw, l] or [n, c * kh * kw, l], only n empty";
    let wrong = || InferError::shape("self", &spec.shape, wanted);
    let batched = spec.ndim() == 3;
    if !(2..=3).contains(&spec.ndim()) || spec.shape[usize::from(batched)..].contains(&0) {
        return Err(wrong());
    }
    let given = call.ints("output_size")?;
    if given.len() != 2 {
        return Err(InferError::value("output_size", format!("{given:?}"), "two integers"));
    }
    let [_, height, width] = option(call, "output_size", 2, 1, 1)?;
    let columns = Columns::sized(call, batched, [height, width])?;
    let block = columns.kernel[1] * columns.kernel[2];
    let (rows, places) = (spec.shape[spec.ndim() - 2], spec.shape[spec.ndim() - 1]);
    let wanted = columns.output.iter().product::<usize>();
    if !rows.is_multiple_of(block) || places != wanted {
        let wanted = format!("[.., a multiple of {block}, {wanted}]");
        return Err(InferError::shape("self", &spec.shape, wanted));
    }
    let mut shape = spec.shape[..usize::from(batched)].to_vec();
    shape.extend([rows / block, height, width]);
    Ok((columns, shape))
}

fn added(call: &Call<'_>, inputs: &Inputs<'_>, of: impl Fn(f64) -> f64) -> Result<Array, Error> {
    let (columns, shape) = columns(call)?;
    let input = inputs.get("self")?;
    let steps = strides(&shape);
    let mut sums = vec![Sum::default(); shape.iter().product()];
    for (index, &value) in input.array().iter().enumerate() {
        if let Some(at) = columns.source(&unravel(index, &input.shape)) {
            let place: usize = at.iter().zip(&steps).map(|(at, step)| at * step).sum();
            sums[place].add(of(value));
        }
    }
    let values = sums.into_iter().map(Sum::value).collect();
    Ok(Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element"))
}

impl Engine for Col2Im {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        Ok(vec![(call.tensor("self")?.dtype, columns(call)?.1)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![added(call, inputs, |x| x)?])
    }

    /// `sqrt(Σ x²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![added(call, inputs, |x| x * x)?.mapv(f64::sqrt)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        columns(call).map_or(1, |(columns, _)| columns.kernel[1] * columns.kernel[2])
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    /// Elements that lie in the padding, or outside of every block, count nowhere.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let spec = call.tensor("self").ok()?;
        let padded = call.ints("padding").ok()?.iter().any(|&pad| pad > 0);
        padded.then(|| spec.numel() / 2)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let dtype = call.case.dtype;
        let terms = self.accumulation_len(call).max(1);
        Ok((integer_limit(dtype).min(sum_limit(dtype) / terms), row))
    }
}
