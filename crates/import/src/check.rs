//! Compares a definition's reference with the module's own results in f64.

use kgen_ops::{
    op::{Array, Input, Inputs},
    record::Gen,
};

use crate::{Imported, name::name, trace::Check};

/// A result of the reference that is not the module's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// The reference gives no result.
    #[error("the reference fails: {0}")]
    Fails(String),
    /// Other extents.
    #[error("result {output} has shape {got:?}, the module's has {expected:?}")]
    Shape {
        /// Which output.
        output: usize,
        /// The reference's extents.
        got: Vec<usize>,
        /// The module's extents.
        expected: Vec<usize>,
    },
    /// An element that is too far off.
    #[error("result {output} differs at {index}: {got:e}, the module gives {expected:e}")]
    Value {
        /// Which output.
        output: usize,
        /// The element in row-major order.
        index: usize,
        /// The reference's value.
        got: f64,
        /// The module's value.
        expected: f64,
    },
}

/// Largest difference, as a part of the largest magnitude of a result: both compute in f64.
const TOLERANCE: f64 = 1e-9;

/// Smallest magnitude that differences are held against: results that cancel to 0 are rounding errors.
const LEAST_SCALE: f64 = 1e-4;

/// Compares the reference of a variant with the module's results; returns the largest difference, as a
/// part of the result's largest magnitude.
///
/// # Errors
///
/// [`CheckError`] where they are not the same.
pub fn check(imported: &Imported, variant: usize, check: &Check) -> Result<f64, CheckError> {
    let (op, case) = (&imported.op, &imported.cases[variant]);
    let values = |wanted: &str| {
        let found = check.tensors.iter().find(|(key, _)| name(key) == wanted);
        found.and_then(|(_, values)| values.array())
    };
    let missing = |name: &str| CheckError::Fails(format!("`{name}` has no values"));
    let mut tensors = Vec::new();
    for (name, tensor) in case.tensors() {
        // A number in the place of a tensor is none of the module's.
        let values = match (values(&name), tensor.generator) {
            (Some(values), _) => values,
            (None, Gen::Constant { value }) => Array::from_elem(tensor.spec.shape.clone(), value),
            (None, _) => return Err(missing(&name)),
        };
        tensors.push((name.to_string(), Input::computed(tensor.spec.dtype, values)));
    }
    let expected = check.outputs.iter().map(|values| values.array().ok_or_else(|| missing("out")));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    let inputs = Inputs::computed(tensors);
    let got = op.engine.evaluate(&op.call(case), &inputs);
    let got = got.map_err(|error| CheckError::Fails(error.to_string()))?;
    let mut largest = 0f64;
    for (output, (got, expected)) in got.iter().zip(&expected).enumerate() {
        if got.shape() != expected.shape() {
            let (got, expected) = (got.shape().to_vec(), expected.shape().to_vec());
            return Err(CheckError::Shape { output, got, expected });
        }
        let finite = expected.iter().filter(|value| value.is_finite());
        let scale = finite.fold(LEAST_SCALE, |scale, value| scale.max(value.abs()));
        for (index, (&got, &expected)) in got.iter().zip(expected).enumerate() {
            let same = got.total_cmp(&expected).is_eq() || (got.is_nan() && expected.is_nan());
            let difference = if same { 0.0 } else { (got - expected).abs() / scale };
            if difference.is_nan() || difference > TOLERANCE {
                return Err(CheckError::Value { output, index, got, expected });
            }
            largest = largest.max(difference);
        }
    }
    Ok(largest)
}
