//! Gradients of ops that are more than elementwise.
//!
//! Results are defined for any saved statistics, indices and results of a forward op, so that inputs need
//! only be plausible ones.

pub(crate) mod bag;
pub(crate) mod conv;
pub(crate) mod embedding;
pub(crate) mod nll;
pub(crate) mod norm;
pub(crate) mod place;
pub(crate) mod softmax;

use crate::record::{DType, TensorSpec};

use super::super::{Call, InferError, Shaped};

/// Gradients of input, weight and bias.
const N_GRADIENTS: usize = 3;

/// Reads which gradients a call asks for.
fn output_mask(call: &Call<'_>) -> Result<[bool; N_GRADIENTS], InferError> {
    let given = call.ints("output_mask")?;
    let mask: Result<[i64; N_GRADIENTS], _> = given.as_slice().try_into();
    match mask {
        Ok(mask) if mask.iter().all(|one| matches!(one, 0 | 1)) => Ok(mask.map(|one| one == 1)),
        _ => Err(InferError::value("output_mask", format!("{given:?}"), "3 of 0 and 1")),
    }
}

/// Returns the outputs of a call; one that is not asked for has no elements.
fn masked(mask: [bool; N_GRADIENTS], outputs: [Shaped; N_GRADIENTS]) -> Vec<Shaped> {
    let one = |(asked, (dtype, shape))| (dtype, if asked { shape } else { vec![0] });
    mask.into_iter().zip(outputs).map(one).collect()
}

/// Checks the shape and the type of a tensor beside others.
pub(super) fn check(
    name: &str,
    spec: &TensorSpec,
    dtype: DType,
    shape: &[usize],
) -> Result<(), InferError> {
    if spec.dtype != dtype {
        return Err(InferError::dtype(name, spec.dtype, dtype.name()));
    }
    if spec.shape != shape {
        return Err(InferError::shape(name, &spec.shape, format!("{shape:?}")));
    }
    Ok(())
}

/// Reads sizes that are not negative.
pub(crate) fn sizes(call: &Call<'_>, name: &str) -> Result<Vec<usize>, InferError> {
    let given = call.ints(name)?;
    let size = |&size: &i64| usize::try_from(size).ok();
    let sizes: Option<Vec<usize>> = given.iter().map(size).collect();
    sizes
        .ok_or_else(|| InferError::value(name, format!("{given:?}"), "sizes that are not negative"))
}
