//! Compares a definition's reference with the module's own results in f64.

use kgen_ops::{
    op::{Array, Input, Inputs, ModuleTensor},
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

/// Least change of a result that answers other inputs, as a part of the largest magnitude.
const LEAST_RESPONSE: f64 = 1e-6;

/// Factor and addend of other inputs: near ones, and far ones, behind a rectifier that the module's own do
/// not pass.
const OTHER_INPUTS: [(f64, f64); 2] = [(0.5, 0.25), (16.0, -8.0)];

/// A reference that gives the module's results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// The largest difference, as a part of the result's largest magnitude.
    pub difference: f64,
    /// Whether other inputs give other results.
    pub responds: bool,
}

/// Compares the reference of a variant with the module's results.
///
/// # Errors
///
/// [`CheckError`] where they are not the same.
pub fn check(imported: &Imported, variant: usize, check: &Check) -> Result<Checked, CheckError> {
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
        tensors.push((name.to_string(), tensor.spec.dtype, values));
    }
    let expected = check.outputs.iter().map(|values| values.array().ok_or_else(|| missing("out")));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    let evaluate = |change: &dyn Fn(&str, &Array) -> Array| {
        let changed = tensors.iter().map(|(name, dtype, values)| {
            (name.clone(), Input::computed(*dtype, change(name, values)))
        });
        let inputs = Inputs::computed(changed.collect());
        let got = op.engine.evaluate(&op.call(case), &inputs);
        got.map_err(|error| CheckError::Fails(error.to_string()))
    };
    let got = evaluate(&|_, values| values.clone())?;
    let is_input = |name: &str| {
        let parts = op.module.iter().flat_map(|module| &module.tensors);
        parts.into_iter().any(|(of, part)| of == name && *part == ModuleTensor::Input)
    };
    // Numbers that say where something lies stay.
    let is_float = |name: &str| tensors.iter().any(|(of, dtype, _)| of == name && dtype.is_float());
    let changed = |(scale, offset): (f64, f64)| {
        evaluate(&|name, values| match is_input(name) && is_float(name) {
            true => reversed(values).mapv(|value| scale * value + offset),
            false => values.clone(),
        })
    };
    let others = OTHER_INPUTS.into_iter().map(changed).collect::<Result<Vec<_>, _>>()?;
    let has_floats = tensors.iter().any(|(name, dtype, _)| is_input(name) && dtype.is_float());
    let mut responds = !has_floats;
    let mut largest = 0f64;
    for (output, (got, expected)) in got.iter().zip(&expected).enumerate() {
        if got.shape() != expected.shape() {
            let (got, expected) = (got.shape().to_vec(), expected.shape().to_vec());
            return Err(CheckError::Shape { output, got, expected });
        }
        let finite = expected.iter().filter(|value| value.is_finite());
        let scale = finite.fold(LEAST_SCALE, |scale, value| scale.max(value.abs()));
        for other in &others {
            let moved = got.iter().zip(&other[output]).map(|(got, other)| (got - other).abs());
            responds |= moved.fold(0.0, f64::max) > LEAST_RESPONSE * scale;
        }
        for (index, (&got, &expected)) in got.iter().zip(expected).enumerate() {
            let same = got.total_cmp(&expected).is_eq() || (got.is_nan() && expected.is_nan());
            let difference = if same { 0.0 } else { (got - expected).abs() / scale };
            if difference.is_nan() || difference > TOLERANCE {
                return Err(CheckError::Value { output, index, got, expected });
            }
            largest = largest.max(difference);
        }
    }
    Ok(Checked { difference: largest, responds })
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

    /// Checks a graph of `x` and `w`, [0.25, 0.75] and [1, -1], that gives these results.
    fn checked(graph: &str, results: &[f64]) -> Checked {
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
        check(&Imported { text, op, cases }, 0, &of_module).unwrap()
    }

    #[test]
    fn a_result_that_answers_no_input_is_degenerate() {
        assert!(checked("out = mul(x, w)", &[0.25, -0.75]).responds);
        assert!(!checked("h = sub(x, x)\nout = add(h, w)", &[1.0, -1.0]).responds);
        // No usual input passes the rectifier, larger ones do.
        assert!(checked("h = sub(x, 2.0)\ng = relu(h)\nout = mul(g, w)", &[0.0, -0.0]).responds);
    }
}
