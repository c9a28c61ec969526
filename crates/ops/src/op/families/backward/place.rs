//! Gradients of views: the gradient in its place, zeros elsewhere.

use super::{
    super::{
        super::{Call, InferError, normalise_dim},
        movement::{Piece, strides},
    },
    sizes,
};

/// Returns the input's shape and the dimension of a call.
fn target(call: &Call<'_>) -> Result<(Vec<usize>, usize), InferError> {
    let shape = sizes(call, "input_sizes")?;
    if shape.is_empty() {
        return Err(InferError::value("input_sizes", "[]", "at least one size"));
    }
    let dim = normalise_dim(call.int("dim")?, shape.len())?;
    Ok((shape, dim))
}

fn check(call: &Call<'_>, shape: &[usize]) -> Result<(), InferError> {
    let given = &call.tensor("grad_output")?.shape;
    if given == shape {
        return Ok(());
    }
    Err(InferError::shape("grad_output", given, format!("{shape:?}")))
}

/// Of one place along a dimension.
pub(crate) fn select(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (shape, dim) = target(call)?;
    let index = call.int("index")?;
    let extent = i64::try_from(shape[dim]).unwrap_or(i64::MAX);
    let place = if index < 0 { index + extent } else { index };
    if !(0..extent).contains(&place) {
        return Err(InferError::value("index", index, format!("in -{extent}..{extent}")));
    }
    let mut left = shape.clone();
    left.remove(dim);
    check(call, &left)?;
    let steps = strides(&left);
    Ok(vec![Piece::new(shape, move |position| {
        if i64::try_from(position[dim]) != Ok(place) {
            return None;
        }
        let others = position.iter().enumerate().filter(|(at, _)| *at != dim);
        Some((0, others.zip(&steps).map(|((_, at), step)| at * step).sum()))
    })])
}

/// Of a range along a dimension, in steps.
pub(crate) fn slice(call: &Call<'_>) -> Result<Vec<Piece>, InferError> {
    let (shape, dim) = target(call)?;
    let extent = i64::try_from(shape[dim]).unwrap_or(i64::MAX);
    let step = call.int("step")?;
    let Some(step) = usize::try_from(step).ok().filter(|step| *step > 0) else {
        return Err(InferError::value("step", step, "positive"));
    };
    let place = |at: i64, least: usize| {
        let front = if at < 0 { at.saturating_add(extent) } else { at };
        usize::try_from(front.clamp(0, extent)).unwrap_or(0).max(least)
    };
    let start = place(call.int("start")?, 0);
    let end = place(call.int("end")?, start);
    let mut cut = shape.clone();
    cut[dim] = (end - start).div_ceil(step);
    check(call, &cut)?;
    let steps = strides(&cut);
    Ok(vec![Piece::new(shape, move |position| {
        let behind = position[dim].checked_sub(start)?;
        if position[dim] >= end || !behind.is_multiple_of(step) {
            return None;
        }
        let index: usize = position.iter().zip(&steps).map(|(at, stride)| at * stride).sum();
        Some((0, index - position[dim] * steps[dim] + behind / step * steps[dim]))
    })])
}
