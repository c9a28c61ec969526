//! Elements written one after another where a mask says.

use ndarray::IxDyn;

use crate::{record::DType, reference::Error};

use super::super::{
    Array, Call, Engine, ExactLimits, InferError, Inputs, Role, Shaped, broadcast, integer_limit,
};

/// `masked_scatter`: the next element of the source at each place of the mask, in row-major order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MaskedScatter;

fn shape(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
    broadcast(&call.tensor("self")?.shape, &call.tensor("mask")?.shape)
}

impl Engine for MaskedScatter {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let (spec, source) = (call.tensor("self")?, call.tensor("source")?);
        let mask = call.tensor("mask")?;
        if mask.dtype != DType::Bool {
            return Err(InferError::dtype("mask", mask.dtype, "bool"));
        }
        if source.dtype != spec.dtype {
            return Err(InferError::dtype("source", source.dtype, spec.dtype.name()));
        }
        Ok(vec![(spec.dtype, shape(call)?)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let shape = shape(call)?;
        let whole = |name: &str| -> Result<Array, Error> {
            let view = inputs.get(name)?.array().broadcast(IxDyn(&shape));
            Ok(view.expect("the shape is what both broadcast to").into_owned())
        };
        let (mut values, mask) = (whole("self")?, whole("mask")?);
        let mut source = inputs.get("source")?.array().iter();
        for (value, _) in values.iter_mut().zip(&mask).filter(|(_, mask)| **mask != 0.0) {
            let Some(next) = source.next() else {
                let wanted = "as many elements as the mask has places, at least";
                let source = &call.tensor("source")?.shape;
                return Err(InferError::shape("source", source, wanted).into());
            };
            *value = *next;
        }
        Ok(vec![values])
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let read = self.evaluate(call, inputs)?;
        Ok(Some(read.into_iter().map(|values| values.mapv(f64::abs)).collect()))
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// The mask may choose all places, or none.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name != "mask").then_some(0)
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }
}
