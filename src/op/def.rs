//! The definition of an op and the engine that computes it.

use crate::record::{ArgValue, Case, DType, OpKey, TensorSpec};

use super::{InferError, Param, ParamKind, Work, catalogue, infer, plan_name, work};

/// An operator: a name, an `ATen` schema and everything that kgen needs to judge a kernel for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpDef {
    /// The name in kgen, for example `relu`.
    pub name: &'static str,
    /// The overload it is bound to, for example `aten.relu.default`.
    pub schema: &'static str,
    /// The overload's signature, for example `relu(Tensor self) -> Tensor`.
    pub signature: &'static str,
    /// What the op computes, for people and models: formula, dtypes, NaN, infinities, -0, ties,
    /// empty inputs.
    pub semantics: &'static str,
    /// What each output is.
    pub outputs: &'static [&'static str],
    /// The parameters in the order of the schema.
    pub params: &'static [Param],
    /// What computes it.
    pub engine: Engine,
    /// Whether every output must equal the correctly rounded reference bit for bit, whatever the
    /// inputs.
    pub exact: bool,
    /// Factors on the tolerance per dtype, each with the measurement that set it; 1 where absent.
    pub slack: &'static [(DType, f64)],
}

/// The family of formulas that an op belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One input, each element on its own.
    Unary(Unary),
    /// Two inputs that broadcast, each element on its own.
    Binary(Binary),
    /// Some dimensions are folded into one value.
    Reduce(Reduce),
    /// Exponentials divided by their sum along one dimension.
    Softmax,
    /// Normalisation over the last dimensions.
    Norm(Norm),
    /// Product of two matrices.
    MatMul,
    /// A loss of predictions and targets.
    Loss(Loss),
}

/// Formulas of [`Engine::Unary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `max(x, 0)`.
    Relu,
    /// Gaussian error linear unit, by `erf` or by `tanh`.
    Gelu,
    /// `x / (1 + exp(-x))`.
    Silu,
}

/// Formulas of [`Engine::Binary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `self + alpha * other`.
    Add,
    /// `self * other`.
    Mul,
}

/// Formulas of [`Engine::Reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The sum.
    Sum,
}

/// Formulas of [`Engine::Norm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Mean and variance.
    Layer,
    /// Root of the mean square.
    Rms,
}

/// Formulas of [`Engine::Loss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Squared difference.
    Mse,
    /// Negative log-likelihood of softmax at a class index.
    CrossEntropy,
}

/// A name that is no op.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown op `{name}`{}", did_you_mean(.near))]
pub struct UnknownOp {
    /// The name that was asked for.
    pub name: String,
    /// Known names that are near, the nearest first.
    pub near: Vec<String>,
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!(" (did you mean {}?)", quoted.join(", "))
}

/// Finds an op by its name (`relu`) or by its overload (`aten.relu.default`).
///
/// # Errors
///
/// [`UnknownOp`] with up to three near names.
pub fn find(name: &str) -> Result<&'static OpDef, UnknownOp> {
    let known = catalogue::all().iter().find(|op| op.name == name || op.schema == name);
    known.ok_or_else(|| {
        let mut scored: Vec<(f64, &str)> = catalogue::all()
            .iter()
            .map(|op| {
                let by_name = strsim::jaro_winkler(name, op.name);
                (by_name.max(strsim::jaro_winkler(name, op.schema)), op.name)
            })
            .filter(|(score, _)| *score > 0.75)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near = scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect();
        UnknownOp { name: name.to_owned(), near }
    })
}

impl OpDef {
    /// Returns the name of the op's folder in a run.
    #[must_use]
    pub fn key(&self) -> OpKey {
        OpKey(self.name.to_owned())
    }

    /// Returns layout and dtype of each output: contiguous, in the order of the schema.
    ///
    /// # Errors
    ///
    /// [`InferError`] when the op is not defined for these arguments.
    pub fn infer(&self, case: &Case) -> Result<Vec<TensorSpec>, InferError> {
        infer::infer(self, case)
    }

    /// Returns the names that a plan knows the outputs by: `out`, or `out0`, `out1`, ...
    #[must_use]
    pub fn output_names(&self, n_outputs: usize) -> Vec<String> {
        if n_outputs == 1 {
            return vec!["out".to_owned()];
        }
        (0..n_outputs).map(|index| format!("out{index}")).collect()
    }

    /// Returns the names that a plan knows the arguments by, in the order of the schema: the
    /// schema's, with a trailing `_` where that is a builtin of the plan language.
    #[must_use]
    pub fn plan_names(&self) -> Vec<String> {
        self.params.iter().map(|param| plan_name(param.name)).collect()
    }

    /// Returns the parameter with this name, in the schema's or in the plan's spelling.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.name == name || plan_name(param.name) == name)
    }

    /// Returns the arithmetic and the memory traffic that the case needs at least.
    #[must_use]
    pub fn work(&self, case: &Case) -> Work {
        work::work(self, case)
    }

    /// Returns the longest chain of additions behind one output element, at least 1.
    #[must_use]
    pub fn accumulation_len(&self, case: &Case) -> usize {
        work::accumulation_len(self, case).max(1)
    }

    /// Tells whether outputs must equal the correctly rounded reference bit for bit.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns the factor on the tolerance for outputs of a dtype.
    #[must_use]
    pub fn slack(&self, dtype: DType) -> f64 {
        self.slack.iter().find(|(of, _)| *of == dtype).map_or(1.0, |(_, factor)| *factor)
    }

    /// Returns the type macros of a case: `T_<name>` for each tensor parameter, left-out ones
    /// included, and `T_<output>` for each output.
    ///
    /// An optional tensor that was left out has the case's dtype, so that one kernel file compiles
    /// for both.
    ///
    /// # Errors
    ///
    /// [`InferError`] when the op is not defined for these arguments.
    pub fn type_macros(&self, case: &Case) -> Result<Vec<(String, DType)>, InferError> {
        let outputs = self.infer(case)?;
        let mut macros = Vec::new();
        for param in self.params {
            let ParamKind::Tensor { .. } = param.kind else { continue };
            let name = plan_name(param.name);
            let dtype = match case.arg(&name) {
                Some(ArgValue::Tensor(tensor)) => tensor.spec.dtype,
                _ => case.dtype,
            };
            macros.push((format!("T_{name}"), dtype));
        }
        for (name, spec) in self.output_names(outputs.len()).into_iter().zip(&outputs) {
            macros.push((format!("T_{name}"), spec.dtype));
        }
        Ok(macros)
    }
}
