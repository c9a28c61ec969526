//! The Kronecker product: every element of one tensor times every element of another.

use ndarray::IxDyn;

use crate::{record::DType, reference::Error};

use super::super::{
    Array, Call, Engine, ExactLimits, InferError, Inputs, Role, Shaped, integer_limit, promote,
    unravel,
};

/// `out[i * extents of other + j] = self[i] * other[j]`, per dimension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kron;

/// Extents of both tensors with as many dimensions, those that one lacks in front.
fn extents(call: &Call<'_>) -> Result<[Vec<usize>; 2], InferError> {
    let shapes = [&call.tensor("self")?.shape, &call.tensor("other")?.shape];
    let ndim = shapes[0].len().max(shapes[1].len());
    Ok(shapes.map(|shape| [vec![1; ndim - shape.len()].as_slice(), shape].concat()))
}

impl Engine for Kron {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let [left, right] = extents(call)?;
        let shape =
            left.iter().zip(&right).map(|(left, right)| left.saturating_mul(*right)).collect();
        let dtype = promote([call.tensor("self")?, call.tensor("other")?], &[]);
        Ok(vec![(dtype, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (dtype, shape) = self.infer(call)?.swap_remove(0);
        let [own, other] = extents(call)?;
        let read = |name: &str| -> Result<Vec<f64>, Error> {
            let values = inputs.get(name)?.array().iter();
            Ok(values.map(|&value| crate::record::tensor::round_to(dtype, value)).collect())
        };
        let (left, right) = (read("self")?, read("other")?);
        let element = |index: usize| {
            let position = unravel(index, &shape);
            let (mut at, mut by) = (0, 0);
            for (dim, place) in position.into_iter().enumerate() {
                at = at * own[dim] + place / other[dim];
                by = by * other[dim] + place % other[dim];
            }
            left[at] * right[by]
        };
        let values = (0..shape.iter().product()).map(element).collect();
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element")])
    }

    /// Both factors of each product are off.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let products = self.evaluate(call, inputs)?;
        Ok(Some(products.into_iter().map(|all| all.mapv(|x| x.abs() * 2.0_f64.sqrt())).collect()))
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 50.0 } else { 1e15 }
    }

    fn degree(&self) -> u32 {
        2
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }
}
