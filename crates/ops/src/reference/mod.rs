//! f64 evaluation of the ops on rounded inputs, which decides correctness.
//!
//! [`Reference`] computes every output element in f64 from the inputs as they were rounded to their
//! dtypes. [`Reference::bounds`] says how much an honest f32 computation may move each element: `s`
//! is the root mean square of the result's change when every input is multiplied by `1 + δ`, δ
//! uniform in ±2u, u = 2^-24. It is measured with eight such runs on small cases and wherever a
//! family has no closed form, and is the first-order closed form
//! `2u/sqrt(3) * sqrt(Σ (∂y/∂x_i * x_i)²)` otherwise; a test holds the two against each other.
//!
//! Exact ops, outputs of integer types and the exact distribution have no bound: bit equality is asked
//! for, `s` is 0 there. A case that is too large for a full evaluation ([`sampled`]) is evaluated at
//! chosen elements. Integers beyond 2^53 have [`Integers`] as their reference.

mod crossings;
mod integers;
mod part;
mod perturb;

#[cfg(test)]
mod tests;

pub use integers::{Integers, is_exact_beyond_f64};
pub use part::{Part, Runs, Subproblem};

use crate::{
    op::{Array, Call, Evaluator, InferError, Inputs, OpDef, ReferenceEvaluator, half_roundoff},
    record::{Case, DType, HostTensor},
};

/// Unit roundoff of f32, in which every op computes whatever its inputs are.
pub const U: f64 = 1.0 / (1_u64 << 24) as f64;

/// Unit roundoff of f64 over that of f32: bounds of f64 outputs are smaller by it.
const F64_OVER_F32: f64 = 1.0 / (1_u64 << 29) as f64;

/// Elements (of the largest tensor) below which sensitivity is measured by perturbation.
pub const PERTURB_BELOW: usize = 64 << 10;

/// Floating-point operations above which a case is judged at chosen elements, where its family can
/// evaluate single ones: one to two seconds of one core with AVX2, for the result and its
/// sensitivity each.
const FULL_FLOPS: f64 = 4e10;

/// A case that cannot be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
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
    /// A value that the op is not defined for.
    #[error("`{name}` has {value} at element {at}, which is not in 0..=1")]
    NoProbability {
        /// The argument.
        name: String,
        /// Flat position of the value.
        at: usize,
        /// The value.
        value: f64,
    },
    /// The kernel or the Python code that is the reference of a custom op does not work.
    #[error("the op's own reference failed: {reason}")]
    Elsewhere {
        /// Why.
        reason: String,
    },
    /// An index points outside its dimension.
    #[error("`{name}` has {index} at element {at}, which is not in 0..{bound}")]
    Index {
        /// The argument.
        name: String,
        /// Flat position of the index.
        at: usize,
        /// Its value.
        index: i64,
        /// Exclusive bound.
        bound: usize,
    },
}

/// How much an honest computation may move each element of one output.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Root mean square of the element's change under the rounding of its inputs; 0 where the
    /// element is not finite.
    pub s: Vec<f64>,
    /// Forward scale of each element where cancellation inside the formula makes it larger than
    /// the result, for example |x| of gelu.
    pub magnitude: Option<Vec<f64>>,
    /// Scale of intermediate values that may be rounded to the inputs' type, see
    /// [`Engine::rounded_inside`](crate::op::Engine::rounded_inside).
    pub inside: Option<Vec<f64>>,
    /// How far an integral quotient moves that is rounded first, where that is allowed, see
    /// [`Reference::quotient_jumps`].
    pub jumps: Option<Vec<f64>>,
}

/// A case with its inputs, ready to be evaluated.
#[derive(Debug)]
pub struct Reference<'a> {
    call: Call<'a>,
    inputs: Inputs<'a>,
}

impl<'a> Reference<'a> {
    /// Checks that case and inputs fit the op.
    ///
    /// # Errors
    ///
    /// [`Error`] when the case is no valid call or the inputs are not its tensors, in order.
    pub fn new(op: &'a OpDef, case: &'a Case, hosts: &'a [HostTensor]) -> Result<Self, Error> {
        op.infer(case)?;
        let wanted = case.tensors().count();
        let fit = case.tensors().zip(hosts).all(|((_, tensor), host)| tensor.spec == host.spec);
        if wanted != hosts.len() || !fit {
            return Err(Error::Inputs { case: case.id.clone(), wanted, got: hosts.len() });
        }
        Ok(Self { call: op.call(case), inputs: Inputs::read(case, hosts) })
    }

    /// Sets the evaluator of a reference that runs elsewhere.
    #[must_use]
    pub fn with_evaluator(mut self, evaluator: &'a ReferenceEvaluator<'a>) -> Self {
        self.call.evaluator = Some(Evaluator(evaluator));
        self
    }

    /// Returns the inputs.
    #[must_use]
    pub fn inputs(&self) -> &Inputs<'a> {
        &self.inputs
    }

    /// Evaluates every output.
    ///
    /// # Errors
    ///
    /// [`Error`] where values are invalid, such as an index out of range.
    pub fn evaluate(&self) -> Result<Vec<Array>, Error> {
        let outputs = self.call.op.engine.evaluate(&self.call, &self.inputs)?;
        // Row-major memory, so that outputs can be read as slices.
        Ok(outputs.into_iter().map(|output| output.as_standard_layout().into_owned()).collect())
    }

    /// Returns how far each element of an integral quotient moves when the quotient is rounded to
    /// its 16-bit type before it is cut: by one where it lies just below the next integer.
    ///
    /// `output`: the quotients, as [`Reference::evaluate`] returned them.
    ///
    /// # Errors
    ///
    /// As [`Reference::evaluate`].
    pub fn quotient_jumps(&self, output: &Array) -> Result<Array, Error> {
        let floored = match self.call.opt_str("rounding_mode") {
            Ok(Some(mode)) => mode == "floor",
            _ if self.call.op.param("rounding_mode").is_some() => return Ok(output * 0.0),
            _ => true,
        };
        let moved = |sign: f64| {
            let inputs = self.inputs.map(|index, input| match half_roundoff(input.dtype) {
                Some(roundoff) if index == 0 => input.array() * (1.0 + sign * roundoff),
                _ => input.array().clone(),
            });
            self.call.op.engine.evaluate(&self.call, &inputs)
        };
        let (up, down) = (moved(1.0)?.swap_remove(0), moved(-1.0)?.swap_remove(0));
        let jump = |&y: &f64, &up: &f64, &down: &f64| {
            // Flooring cuts a negative quotient away from 0.
            let distance = ((if floored && y < 0.0 { down } else { up }) - y).abs();
            if distance.is_finite() { distance } else { 0.0 }
        };
        Ok(ndarray::Zip::from(output).and(&up).and(&down).map_collect(jump))
    }

    /// Returns the bounds of every output; `outputs` are those of [`Reference::evaluate`].
    ///
    /// # Errors
    ///
    /// As [`Reference::evaluate`].
    pub fn bounds(&self, outputs: &[Array]) -> Result<Vec<Bound>, Error> {
        let engine = &self.call.op.engine;
        let magnitudes = engine.magnitude(&self.call, &self.inputs)?;
        let inside = engine.rounded_inside(&self.call, &self.inputs)?;
        let specs = self.call.op.infer(self.call.case)?;
        let dtypes: Vec<DType> = specs.iter().map(|spec| spec.dtype).collect();
        let spreads = self.spreads(outputs, &dtypes)?;
        let bounds = spreads.into_iter().enumerate().map(|(index, spread)| {
            let of = |all: &Option<Vec<Array>>| {
                all.as_ref().and_then(|all| Some(scales(all.get(index)?.iter())))
            };
            Bound {
                s: finite(spread, dtypes[index]),
                magnitude: of(&magnitudes),
                inside: of(&inside),
                jumps: None,
            }
        });
        Ok(bounds.collect())
    }

    /// Returns what [`Bound::s`] would be per output if it were measured with inputs that are off by roundings of
    /// a type whose unit roundoff is `factor` times that of f32, over `factor`: larger where the result bends
    /// within such a distance, as at the edge of a clamp.
    ///
    /// # Errors
    ///
    /// As [`Reference::evaluate`].
    pub fn coarse_spreads(&self, outputs: &[Array], factor: f64) -> Result<Vec<Vec<f64>>, Error> {
        let spreads = perturb::sensitivity(&self.call, &self.inputs, outputs, factor * U)?;
        Ok(spreads.into_iter().map(|spread| finite(spread / factor, DType::F32)).collect())
    }

    /// The sensitivity of every output to inputs that are off by f32 roundings.
    fn spreads(&self, outputs: &[Array], dtypes: &[DType]) -> Result<Vec<Array>, Error> {
        let Call { op, case, .. } = self.call;
        let exact = dtypes.iter().all(|&dtype| op.is_exact(dtype));
        if exact {
            return Ok(outputs.iter().map(|output| Array::zeros(output.raw_dim())).collect());
        }
        let largest = self.inputs.all().map(|(_, input)| input.numel());
        let largest = largest.chain(outputs.iter().map(Array::len)).max().unwrap_or(0);
        let cheap = op.work(case).flops < 64.0 * PERTURB_BELOW as f64;
        if largest < PERTURB_BELOW && cheap && !op.engine.spreads_at_every_size() {
            return perturb::sensitivity(&self.call, &self.inputs, outputs, U);
        }
        match op.engine.spread(&self.call, &self.inputs)? {
            Some(spreads) => Ok(spreads.into_iter().map(|s| s * DELTA_RMS).collect()),
            None => perturb::sensitivity(&self.call, &self.inputs, outputs, U),
        }
    }

    /// Evaluates one output at some of its elements (row-major indices).
    ///
    /// Cheap for the cases that [`sampled`] is true for; others are evaluated in full.
    ///
    /// # Errors
    ///
    /// As [`Reference::evaluate`].
    ///
    /// # Panics
    ///
    /// When the op has no such output, or an index is not below its number of elements.
    pub fn evaluate_at(&self, output: usize, indices: &[usize]) -> Result<Vec<f64>, Error> {
        let engine = &self.call.op.engine;
        match engine.evaluate_at(&self.call, &self.inputs, output, indices) {
            Some(values) => values,
            None => Ok(pick(&self.evaluate()?[output], indices)),
        }
    }

    /// Returns the bound of one output at some of its elements, in the order of `indices`.
    ///
    /// # Errors
    ///
    /// As [`Reference::evaluate`].
    ///
    /// # Panics
    ///
    /// As [`Reference::evaluate_at`].
    pub fn bound_at(&self, output: usize, indices: &[usize]) -> Result<Bound, Error> {
        let engine = &self.call.op.engine;
        let Some(spread) = engine.spread_at(&self.call, &self.inputs, output, indices) else {
            let all = self.bounds(&self.evaluate()?)?.swap_remove(output);
            let pick = |values: Vec<f64>| indices.iter().map(|&index| values[index]).collect();
            let (magnitude, inside) = (all.magnitude.map(pick), all.inside.map(pick));
            return Ok(Bound { s: pick(all.s), magnitude, inside, jumps: None });
        };
        let dtype = self.call.op.infer(self.call.case)?[output].dtype;
        let spread = Array::from(ndarray::Array1::from(spread?).into_dyn()) * DELTA_RMS;
        let magnitudes = engine.magnitude(&self.call, &self.inputs)?;
        let at =
            |all: Option<Vec<Array>>| all.map(|all| scales(pick(&all[output], indices).iter()));
        let inside = match engine.rounded_inside_at(&self.call, &self.inputs, output, indices) {
            Some(inside) => Some(scales(inside?.iter())),
            None => at(engine.rounded_inside(&self.call, &self.inputs)?),
        };
        Ok(Bound { s: finite(spread, dtype), magnitude: at(magnitudes), inside, jumps: None })
    }
}

fn pick(values: &Array, indices: &[usize]) -> Vec<f64> {
    let flat = values.as_standard_layout();
    let flat = flat.as_slice().unwrap_or(&[]);
    indices.iter().map(|&index| flat[index]).collect()
}

/// Returns forward scales; an element that is not finite has none.
fn scales<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    values.map(|&value| if value.is_finite() { value } else { 0.0 }).collect()
}

/// Returns the sensitivities of an output of a type; an element that is not finite has none.
fn finite(spread: Array, dtype: DType) -> Vec<f64> {
    let scale = match dtype {
        DType::F64 => F64_OVER_F32,
        _ if dtype.is_float() => 1.0,
        _ => 0.0,
    };
    spread.iter().map(|&s| if s.is_finite() { s * scale } else { 0.0 }).collect()
}

/// Returns whether a full evaluation would take longer than about a second: such a case is judged at
/// chosen elements.
#[must_use]
pub fn sampled(op: &OpDef, case: &Case) -> bool {
    op.work(case).flops > FULL_FLOPS
}

/// Root mean square of δ, which is uniform in ±2u: the response to a relative change of the inputs
/// is [`Bound::s`] over it.
pub const DELTA_RMS: f64 = 2.0 * U * 0.577_350_269_189_625_8;
