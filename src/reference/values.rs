//! Inputs as dense f64 arrays.

use std::borrow::Cow;

use crate::record::{Case, HostTensor};

use super::{Error, parallel};

/// One tensor argument in row-major order, without gaps.
#[derive(Debug, Clone)]
pub(super) struct Dense {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// Whether the values were rounded when the tensor was made: indices are exact.
    pub is_float: bool,
    /// The values.
    pub values: Vec<f64>,
}

/// The tensor arguments of a case by name.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    tensors: Vec<(String, Dense)>,
}

impl Inputs {
    pub(super) fn read(case: &Case, inputs: &[HostTensor]) -> Self {
        let tensors = case.tensors().zip(inputs).map(|((name, _), input)| {
            let dense = Dense {
                shape: input.spec.shape.clone(),
                is_float: input.spec.dtype.is_float(),
                values: dense(input),
            };
            (name.to_owned(), dense)
        });
        Self { tensors: tensors.collect() }
    }

    /// Returns a tensor by its position among the tensor arguments.
    pub(super) fn at(&self, index: usize) -> &Dense {
        &self.tensors[index].1
    }

    /// Returns a tensor by name; `None` when it was left out.
    pub(super) fn get(&self, name: &str) -> Option<&Dense> {
        self.tensors.iter().find(|(of, _)| of == name).map(|(_, dense)| dense)
    }

    /// Returns the tensors to change them.
    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = &mut Dense> {
        self.tensors.iter_mut().map(|(_, dense)| dense)
    }

    /// Returns the number of elements of the largest tensor.
    pub(super) fn largest(&self) -> usize {
        self.tensors.iter().map(|(_, dense)| dense.values.len()).max().unwrap_or(0)
    }
}

fn dense(input: &HostTensor) -> Vec<f64> {
    if !input.spec.is_contiguous() {
        return input.to_f64();
    }
    let mut values = vec![0.0; input.spec.numel()];
    let first = input.spec.offset;
    parallel::fill(&mut values, 1, |start, share| {
        for (index, value) in share.iter_mut().enumerate() {
            *value = input.get(first + start + index);
        }
    });
    values
}

impl Dense {
    /// Returns the values repeated to a shape that this one broadcasts to.
    pub(super) fn broadcast(&self, shape: &[usize]) -> Cow<'_, [f64]> {
        if self.shape == shape {
            return Cow::Borrowed(&self.values);
        }
        let missing = shape.len() - self.shape.len();
        let mut stride = vec![0; shape.len()];
        let mut step = 1;
        for dim in (0..self.shape.len()).rev() {
            if self.shape[dim] != 1 {
                stride[missing + dim] = step;
            }
            step *= self.shape[dim];
        }
        Cow::Owned(walk(shape, &stride).into_iter().map(|index| self.values[index]).collect())
    }
}

/// Returns `Σ position[d] * stride[d]` for every position of a shape, in row-major order.
pub(super) fn walk(shape: &[usize], stride: &[usize]) -> Vec<usize> {
    let numel = shape.iter().product();
    let mut indices = Vec::with_capacity(numel);
    let mut position = vec![0; shape.len()];
    let mut index = 0;
    for _ in 0..numel {
        indices.push(index);
        for dim in (0..shape.len()).rev() {
            position[dim] += 1;
            index += stride[dim];
            if position[dim] < shape[dim] {
                break;
            }
            index -= stride[dim] * shape[dim];
            position[dim] = 0;
        }
    }
    indices
}

/// Reads a float argument that cannot be `None`.
pub(super) fn number(case: &Case, name: &str) -> Result<f64, Error> {
    Ok(crate::op::float_arg(case, name)?.unwrap_or(0.0))
}
