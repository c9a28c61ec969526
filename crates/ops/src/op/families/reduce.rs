//! Reductions: some dimensions are folded into one value.

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, InferError, Inputs, Role, Shaped, integer_limit, normalise_dims,
        reduced, sum_limit,
    },
    lanes,
    sum::sum,
};

/// A reduction that is a sum of a function of the elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sum;

fn dims(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
    normalise_dims(call.opt_ints("dim")?.as_deref(), call.tensor("self")?.ndim())
}

impl Engine for Sum {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        let shape = reduced(&spec.shape, &dims(call)?, call.bool("keepdim")?);
        let plain = if spec.dtype.is_float() { spec.dtype } else { DType::I64 };
        Ok(vec![(call.opt_dtype("dtype")?.unwrap_or(plain), shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let keepdim = call.bool("keepdim")?;
        let total = |x: &[f64]| sum(x.iter().copied());
        Ok(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim, total)])
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let keepdim = call.bool("keepdim")?;
        let root = |x: &[f64]| sum(x.iter().map(|x| x * x)).sqrt();
        Ok(Some(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim, root)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(spec), Ok(dims)) = (call.tensor("self"), dims(call)) else { return 1 };
        dims.into_iter().map(|dim| spec.shape[dim]).product()
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 2e3 } else { 1e15 }
    }

    /// Ones: an f16 accumulator stops counting at 2048.
    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(
        &self,
        call: &Call<'_>,
        _role: Role,
        row: usize,
    ) -> Result<(usize, usize), &'static str> {
        let dtype = call.case.dtype;
        let len = self.accumulation_len(call).max(1);
        Ok((integer_limit(dtype).min(sum_limit(dtype) / len), row))
    }
}
