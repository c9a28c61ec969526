//! f64 evaluation of the ops on rounded inputs: what decides correctness.
//!
//! [`evaluate`] computes every output element in f64 from the inputs as they were rounded to their
//! dtypes. [`sensitivity`] says how much an honest f32 computation may move each element: `s` is
//! the root mean square of the result's change when every input is multiplied by `1 + δ`, δ uniform
//! in ±2u, u = 2^-24. Up to [`PERTURB_BELOW`] elements it is measured with eight such runs, above
//! (and for matrix products always) it is the first-order closed form
//! `2u/sqrt(3) * sqrt(Σ (∂y/∂x_i * x_i)²)`; a test holds the two against each other.
//!
//! Exact ops and the exact family have no bound: bit equality is asked for, `s` is 0 there.
//! Products too large for a full evaluation ([`sampled`]) are evaluated at chosen elements with
//! [`evaluate_at`].

mod elementwise;
mod loss;
mod matmul;
mod norm;
mod parallel;
mod perturb;
mod reduce;
mod softmax;
mod sum;
mod values;

#[cfg(test)]
mod tests;

use crate::{
    op::{self, ArgError, Engine, InferError, Loss, OpDef, UnknownOp},
    record::{Case, Family, HostTensor},
};

use values::Inputs;

/// Unit roundoff of f32, in which every op computes whatever its inputs are.
pub const U: f64 = 1.0 / (1_u64 << 24) as f64;

/// Elements (of the largest tensor) below which sensitivity is measured by perturbation.
pub const PERTURB_BELOW: usize = 64 << 10;

/// Floating-point operations above which a matrix product is judged at chosen elements: one to two
/// seconds of one core with AVX2, for the product and its sensitivity each.
const FULL_PRODUCT_FLOPS: f64 = 4e10;

/// What cannot be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The case names an op that kgen does not know.
    #[error(transparent)]
    Op(#[from] UnknownOp),
    /// The op is not defined for the case's arguments.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// The inputs are not those of the case.
    #[error("case `{case}` has {wanted} tensor arguments, got {got} inputs or other shapes")]
    Inputs {
        /// The case.
        case: String,
        /// Tensor arguments of the case.
        wanted: usize,
        /// Inputs given.
        got: usize,
    },
    /// A target of a loss is no class.
    #[error("target {target} of row {row} is not in 0..{classes}")]
    Target {
        /// The row.
        row: usize,
        /// Its target.
        target: i64,
        /// Number of classes.
        classes: usize,
    },
}

impl From<ArgError> for Error {
    fn from(error: ArgError) -> Self {
        Self::Infer(error.into())
    }
}

/// How much an honest computation may move each element of one output.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Root mean square of the element's change under the rounding of its inputs; 0 where the
    /// element is not finite.
    pub s: Vec<f64>,
    /// Forward scale of each element where cancellation inside the formula makes it larger than
    /// the result, for example |x| of gelu.
    pub hint: Option<Vec<f64>>,
}

/// Evaluates a case: per output, its elements in row-major order.
///
/// # Errors
///
/// [`Error`] when the case is no valid call or the inputs are not its tensors, in order.
pub fn evaluate(case: &Case, inputs: &[HostTensor]) -> Result<Vec<Vec<f64>>, Error> {
    let op = checked(case, inputs)?;
    Ok(vec![engine(op, case, &Inputs::read(case, inputs))?])
}

/// Returns the bounds of a case, one per output; `outputs` is what [`evaluate`] returned.
///
/// # Errors
///
/// As [`evaluate`].
pub fn sensitivity(
    case: &Case,
    inputs: &[HostTensor],
    outputs: &[Vec<f64>],
) -> Result<Vec<Bound>, Error> {
    let op = checked(case, inputs)?;
    let Some(output) = outputs.first() else { return Ok(Vec::new()) };
    let inputs = Inputs::read(case, inputs);
    let small = inputs.largest().max(output.len()) < PERTURB_BELOW;
    let s = if op.exact || case.family == Family::Exact {
        vec![0.0; output.len()]
    } else if small && op.engine != Engine::MatMul {
        perturb::sensitivity(op, case, &inputs, output)?
    } else {
        closed_form(op, case, &inputs)?
    };
    Ok(vec![Bound { s, hint: hint(op, case, &inputs)? }])
}

/// Tells whether a full evaluation would take longer than about a second: such a case is judged at
/// chosen elements with [`evaluate_at`] and [`sensitivity_at`].
#[must_use]
pub fn sampled(case: &Case) -> bool {
    let Ok(op) = op::find(&case.op) else { return false };
    op.engine == Engine::MatMul && op.work(case).flops > FULL_PRODUCT_FLOPS
}

/// Evaluates the first output of a case at some of its elements (row-major indices).
///
/// Cheap for the ops that [`sampled`] is true for; the others are evaluated in full.
///
/// # Errors
///
/// As [`evaluate`].
///
/// # Panics
///
/// When an index is not below the output's number of elements.
pub fn evaluate_at(
    case: &Case,
    inputs: &[HostTensor],
    indices: &[usize],
) -> Result<Vec<f64>, Error> {
    let op = checked(case, inputs)?;
    if op.engine == Engine::MatMul {
        return Ok(matmul::at(inputs, indices).into_iter().map(|point| point.value).collect());
    }
    let all = engine(op, case, &Inputs::read(case, inputs))?;
    Ok(indices.iter().map(|&index| all[index]).collect())
}

/// Returns the bound of the first output at some of its elements, in the order of `indices`.
///
/// # Errors
///
/// As [`evaluate`].
///
/// # Panics
///
/// When an index is not below the output's number of elements.
pub fn sensitivity_at(
    case: &Case,
    inputs: &[HostTensor],
    indices: &[usize],
) -> Result<Bound, Error> {
    let op = checked(case, inputs)?;
    if op.engine == Engine::MatMul {
        let s = matmul::at(inputs, indices).into_iter().map(|point| point.sensitivity).collect();
        return Ok(Bound { s, hint: None });
    }
    let inputs = Inputs::read(case, inputs);
    let s = closed_form(op, case, &inputs)?;
    let pick = |all: Vec<f64>| indices.iter().map(|&index| all[index]).collect();
    Ok(Bound { s: pick(s), hint: hint(op, case, &inputs)?.map(pick) })
}

/// Finds the op and checks that case and inputs fit it.
fn checked(case: &Case, inputs: &[HostTensor]) -> Result<&'static OpDef, Error> {
    let op = op::find(&case.op)?;
    op.infer(case)?;
    let wanted = case.tensors().count();
    let fit = case.tensors().zip(inputs).all(|((_, tensor), input)| tensor.spec == input.spec);
    if wanted != inputs.len() || !fit {
        return Err(Error::Inputs { case: case.id.clone(), wanted, got: inputs.len() });
    }
    Ok(op)
}

fn engine(op: &OpDef, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    match op.engine {
        Engine::Unary(unary) => elementwise::unary(unary, case, inputs),
        Engine::Binary(binary) => elementwise::binary(binary, case, inputs),
        Engine::Reduce(reduce) => reduce::evaluate(reduce, case, inputs),
        Engine::Softmax => softmax::evaluate(case, inputs),
        Engine::Norm(norm) => norm::evaluate(norm, case, inputs),
        Engine::MatMul => Ok(matmul::product(inputs)),
        Engine::Loss(Loss::Mse) => loss::mse(case, inputs),
        Engine::Loss(Loss::CrossEntropy) => loss::cross_entropy(case, inputs),
    }
}

/// The first-order closed form of the sensitivity, one value per output element.
fn closed_form(op: &OpDef, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    let mut s = match op.engine {
        Engine::Unary(unary) => elementwise::unary_spread(unary, case, inputs)?,
        Engine::Binary(binary) => elementwise::binary_spread(binary, case, inputs)?,
        Engine::Reduce(reduce) => reduce::spread(reduce, case, inputs)?,
        Engine::Softmax => softmax::spread(case, inputs)?,
        Engine::Norm(norm) => norm::spread(norm, case, inputs)?,
        Engine::MatMul => matmul::spread(inputs),
        Engine::Loss(Loss::Mse) => loss::mse_spread(case, inputs)?,
        Engine::Loss(Loss::CrossEntropy) => loss::cross_entropy_spread(case, inputs)?,
    };
    for s in &mut s {
        let scaled = *s * DELTA_RMS;
        *s = if scaled.is_finite() { scaled } else { 0.0 };
    }
    Ok(s)
}

/// Root mean square of δ, which is uniform in ±2u.
const DELTA_RMS: f64 = 2.0 * U * 0.577_350_269_189_625_8;

/// Forward scales that the result hides, see each engine.
fn hint(op: &OpDef, case: &Case, inputs: &Inputs) -> Result<Option<Vec<f64>>, Error> {
    match op.engine {
        Engine::Unary(unary) => elementwise::unary_hint(unary, inputs),
        Engine::Loss(Loss::CrossEntropy) => loss::cross_entropy_hint(case, inputs).map(Some),
        Engine::Binary(_)
        | Engine::Reduce(_)
        | Engine::Softmax
        | Engine::Norm(_)
        | Engine::MatMul
        | Engine::Loss(Loss::Mse) => Ok(None),
    }
}
