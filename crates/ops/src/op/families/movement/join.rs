//! Tensors put together.

use crate::record::TensorSpec;

use super::{
    super::super::{Call, InferError, normalise_dim},
    Piece, strides,
};

/// Returns the tensors of a list, of which none may be left out.
fn list<'a>(call: &Call<'a>) -> Result<Vec<&'a TensorSpec>, InferError> {
    let tensors: Option<Vec<_>> = call.tensors("tensors")?.into_iter().collect();
    let wanted = "a list of one tensor or more";
    let tensors = tensors.ok_or_else(|| InferError::value("tensors", "None", wanted))?;
    if tensors.is_empty() {
        return Err(InferError::value("tensors", "[]", wanted));
    }
    Ok(tensors)
}

/// One part of a joined tensor: which tensor, its places along the dimension before it, its
/// strides.
struct Part {
    tensor: usize,
    first: usize,
    strides: Vec<usize>,
}

/// Tensors one after the other along a dimension; as in `PyTorch`, 1-dim tensors without elements
/// are passed over.
pub(crate) fn cat(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let tensors = list(call)?;
    if tensors.iter().any(|spec| spec.ndim() == 0) {
        return Err(InferError::shape("tensors", &[], "of one dimension or more each"));
    }
    let counts = |spec: &TensorSpec| spec.shape != [0];
    let Some(model) = tensors.iter().find(|spec| counts(spec)) else {
        return Ok(vec![Piece::new(vec![0], |_| None)]);
    };
    let dim = normalise_dim(call.int("dim")?, model.ndim())?;
    let mut shape = model.shape.clone();
    shape[dim] = 0;
    let mut parts = Vec::new();
    for (tensor, spec) in tensors.iter().enumerate().filter(|(_, spec)| counts(spec)) {
        let agrees = spec.ndim() == shape.len()
            && (0..shape.len()).all(|at| at == dim || spec.shape[at] == shape[at]);
        if !agrees {
            let wanted = format!("{:?} but for dimension {dim}", model.shape);
            return Err(InferError::shape(&format!("tensors[{tensor}]"), &spec.shape, wanted));
        }
        parts.push(Part { tensor, first: shape[dim], strides: strides(&spec.shape) });
        shape[dim] += spec.shape[dim];
    }
    Ok(vec![Piece::new(shape, move |position| {
        let number = parts.partition_point(|part| part.first <= position[dim]);
        let part = &parts[number - 1];
        let flat: usize = position.iter().zip(&part.strides).map(|(at, step)| at * step).sum();
        Some((part.tensor, flat - part.first * part.strides[dim]))
    })])
}

/// Tensors of one shape along a new dimension.
pub(crate) fn stack(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let tensors = list(call)?;
    let model = &tensors[0].shape;
    if let Some((tensor, spec)) = tensors.iter().enumerate().find(|(_, spec)| spec.shape != *model)
    {
        let wanted = format!("{model:?}, that of the first");
        return Err(InferError::shape(&format!("tensors[{tensor}]"), &spec.shape, wanted));
    }
    let dim = normalise_dim(call.int("dim")?, model.len() + 1)?;
    let mut shape = model.clone();
    shape.insert(dim, tensors.len());
    let mut steps = strides(model);
    steps.insert(dim, 0);
    Ok(vec![Piece::new(shape, move |position| {
        let flat = position.iter().zip(&steps).map(|(at, step)| at * step).sum();
        Some((position[dim], flat))
    })])
}
