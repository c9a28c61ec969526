//! Whether elements are among those of another tensor.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, InputDistribution, tensor::round_to},
    reference::Error,
};

use super::super::{
    Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators, promote,
};

/// `isin`: NaN is among nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsIn;

impl Engine for IsIn {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        for name in ["elements", "test_elements"] {
            let dtype = call.tensor(name)?.dtype;
            if dtype == DType::Bool || dtype.is_fp8() {
                return Err(InferError::dtype(
                    name,
                    dtype,
                    "a type of numbers of at least 16 bits, or integers",
                ));
            }
        }
        Ok(vec![(DType::Bool, call.tensor("elements")?.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let common = promote([call.tensor("elements")?, call.tensor("test_elements")?], &[]);
        let invert = call.bool("invert")?;
        let tested = inputs.get("test_elements")?.array();
        let mut tested: Vec<f64> =
            tested.iter().map(|&value| round_to(common, value) + 0.0).collect();
        tested.retain(|value| !value.is_nan());
        tested.sort_by(f64::total_cmp);
        let input = inputs.get("elements")?;
        let found = |&value: &f64| {
            let value = round_to(common, value) + 0.0;
            let found = tested.binary_search_by(|other| other.total_cmp(&value)).is_ok();
            f64::from(u8::from(found != invert))
        };
        let values: Vec<f64> = input.array().iter().map(found).collect();
        Ok(vec![Array::from_shape_vec(IxDyn(&input.shape), values).expect("one value per element")])
    }

    fn spread(&self, call: &Call<'_>, _inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(vec![Array::zeros(IxDyn(&call.tensor("elements")?.shape))]))
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// Few different values, of which some are found.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let tensor = call.opt_tensor(&param.name);
        if call.case.distribution == InputDistribution::Normal
            && tensor.is_some_and(|spec| spec.dtype.is_float())
        {
            return Ok(Gen::Int { low: -9, high: 9 });
        }
        generators::by_role(self, call, param)
    }

    /// One found element ends the search, and nothing is in an empty set.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let none = call.opt_tensor("test_elements").is_some_and(|spec| spec.numel() == 0);
        (none || name == "test_elements").then_some(0)
    }
}
