//! Compares a definition's reference with the module's own results in f64.

use kgen_ops::{
    op::{Array, Input, Inputs, ModuleTensor, OpDef},
    record::{Case, DType, Gen},
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

/// Least change of a result that answers other inputs, as a part of the largest magnitude.
const LEAST_RESPONSE: f64 = 1e-6;

/// Factor and addend of other inputs: near ones, and far ones, behind a rectifier that the module's own do
/// not pass.
const OTHER_INPUTS: [(f64, f64); 2] = [(0.5, 0.25), (16.0, -8.0)];

/// Compares the reference of a variant with the module's results; returns the largest difference, as a part of
/// the result's largest magnitude.
///
/// # Errors
///
/// [`CheckError`] where they are not the same.
pub fn check(imported: &Imported, variant: usize, check: &Check) -> Result<f64, CheckError> {
    let version = Version::new(imported, variant, check)?;
    let got = version.evaluate(|_, values| values.clone())?;
    let mut largest = 0f64;
    for (output, (got, expected)) in got.iter().zip(&version.expected).enumerate() {
        if got.shape() != expected.shape() {
            let (got, expected) = (got.shape().to_vec(), expected.shape().to_vec());
            return Err(CheckError::Shape { output, got, expected });
        }
        let scale = scale(expected);
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

/// Returns whether other inputs give a variant other results, by its reference; where no input is a number,
/// they do.
///
/// # Errors
///
/// [`CheckError`] where the reference gives no result.
pub fn responds(imported: &Imported, variant: usize, check: &Check) -> Result<bool, CheckError> {
    let version = Version::new(imported, variant, check)?;
    let parts = imported.op.module.iter().flat_map(|module| &module.tensors);
    let inputs: Vec<&str> = parts
        .filter(|(_, part)| *part == ModuleTensor::Input)
        .map(|(name, _)| name.as_str())
        .collect();
    // Numbers that say where something lies stay.
    let is_changed = |name: &str, dtype: DType| inputs.contains(&name) && dtype.is_float();
    if !version.tensors.iter().any(|(name, dtype, _)| is_changed(name, *dtype)) {
        return Ok(true);
    }
    for (scale_by, offset) in OTHER_INPUTS {
        let other = version.evaluate(|(name, dtype), values| match is_changed(name, dtype) {
            true => reversed(values).mapv(|value| scale_by * value + offset),
            false => values.clone(),
        })?;
        let moved = version.expected.iter().zip(&other).any(|(expected, other)| {
            let moved = expected.iter().zip(other).map(|(of, other)| (of - other).abs());
            moved.fold(0.0, f64::max) > LEAST_RESPONSE * scale(expected)
        });
        if moved {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the largest magnitude of a result.
fn scale(expected: &Array) -> f64 {
    let finite = expected.iter().filter(|value| value.is_finite());
    finite.fold(LEAST_SCALE, |scale, value| scale.max(value.abs()))
}

/// A variant with the module's tensors and results.
struct Version<'a> {
    op: &'a OpDef,
    case: &'a Case,
    tensors: Vec<(String, DType, Array)>,
    expected: Vec<Array>,
}

impl<'a> Version<'a> {
    fn new(imported: &'a Imported, variant: usize, check: &Check) -> Result<Self, CheckError> {
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
                (None, Gen::Constant { value }) => {
                    Array::from_elem(tensor.spec.shape.clone(), value)
                }
                (None, _) => return Err(missing(&name)),
            };
            tensors.push((name.to_string(), tensor.spec.dtype, values));
        }
        let expected = check.outputs.iter();
        let expected = expected.map(|values| values.array().ok_or_else(|| missing("out")));
        Ok(Self { op, case, tensors, expected: expected.collect::<Result<_, _>>()? })
    }

    /// Evaluates the reference on changed tensors.
    fn evaluate(
        &self,
        change: impl Fn((&str, DType), &Array) -> Array,
    ) -> Result<Vec<Array>, CheckError> {
        let changed = self.tensors.iter().map(|(name, dtype, values)| {
            (name.clone(), Input::computed(*dtype, change((name, *dtype), values)))
        });
        let inputs = Inputs::computed(changed.collect());
        let got = self.op.engine.evaluate(&self.op.call(self.case), &inputs);
        got.map_err(|error| CheckError::Fails(error.to_string()))
    }
}

/// Returns the elements in reverse order.
fn reversed(values: &Array) -> Array {
    let mut elements: Vec<f64> = values.iter().copied().collect();
    elements.reverse();
    Array::from_shape_vec(values.raw_dim(), elements).expect("as many elements")
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use kgen_ops::{op, suite};

    use super::*;
    use crate::trace::Values;

    /// Whether a graph of `x` and `w`, [0.25, 0.75] and [1, -1], that gives these results responds.
    fn responding(graph: &str, results: &[f64]) -> bool {
        let text = format!(
            "format = 1\nname = \"net\"\nsemantics = \"x\"\ndtypes = [\"f32\"]\n[tensors]\nx = \"[n]\"\n\
            w = {{ shape = \"[n]\", init = \"normal(0.0, 1.0)\", path = \"w\" }}\n[reference]\ngraph = \"\"\"\n{graph}\n\"\"\"\n[module]\n\
            file = \"net.py\"\nclass = \"Model\"\ntorch = \"2.11\"\nsource = \"class Model: pass\"\n\
            variants = [{{}}]\n[[cases]]\nn = 2\n"
        );
        let op = op::custom(&text).unwrap();
        let suite = suite::of_op(op.clone(), "net.toml").unwrap().strict().unwrap();
        let cases = suite.cases("net", None, 1).unwrap();
        let values = |values: &[f64]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            Values { shape: vec![values.len()], data: BASE64_STANDARD.encode(bytes) }
        };
        let tensors = [("x", values(&[0.25, 0.75])), ("w", values(&[1.0, -1.0]))];
        let tensors = tensors.map(|(name, values)| (name.to_owned(), values)).into();
        let of_module = Check { tensors, outputs: vec![values(results)] };
        let imported = Imported { text, op, cases, drawn: Vec::new() };
        assert_eq!(check(&imported, 0, &of_module), Ok(0.0));
        responds(&imported, 0, &of_module).unwrap()
    }

    #[test]
    fn a_result_that_answers_no_input_is_degenerate() {
        assert!(responding("out = mul(x, w)", &[0.25, -0.75]));
        assert!(!responding("h = sub(x, x)\nout = add(h, w)", &[1.0, -1.0]));
        // No usual input passes the rectifier, larger ones do.
        assert!(responding("h = sub(x, 2.0)\ng = relu(h)\nout = mul(g, w)", &[0.0, -0.0]));
    }
}
