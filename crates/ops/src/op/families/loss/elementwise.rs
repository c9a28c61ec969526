//! Losses of the elements at each place.

use crate::{
    record::{DType, Gen, InputDistribution, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        super::{
            Array, Call, DistributionError, Engine, ExactLimits, InferError, Input, Inputs, Param,
            Role, Shaped, broadcast, generators, integer_limit, promote,
        },
        pointwise::{self, Formula, apply, common_shape},
    },
    Reduction,
};

/// Which shapes go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shapes {
    /// All broadcast.
    Broadcast,
    /// All broadcast to the shape of one tensor.
    To(&'static str),
    /// `self` and `target` broadcast; the others must not make the result larger.
    Pair,
}

/// Which element types go together, and the result's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Types {
    /// All are promoted to a floating-point type.
    Promoted,
    /// Promoted; integers too, but for a mean.
    Numbers,
    /// All are promoted, and integers become f32: the formula adds a float.
    Float,
    /// Computed in the promoted type, but the result has the type of this tensor, which is a
    /// floating-point one.
    Of(&'static str),
    /// All are of floating-point types, and promoted.
    Floats,
    /// All have one floating-point type.
    Same,
}

/// A loss of the elements at each place, after broadcasting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elementwise {
    /// Names of the tensors; one that is left out has no element in the formula.
    pub tensors: &'static [&'static str],
    /// Binds the numbers of a call.
    pub formula: fn(&Call<'_>) -> Result<Formula, InferError>,
    /// Which shapes go together.
    pub shapes: Shapes,
    /// Which types go together.
    pub types: Types,
    /// Floating-point operations per element.
    pub flops: f64,
    /// Power of the inputs that integers come to, where they stay integers.
    pub degree: Option<u32>,
    /// Standard deviation of the large distribution: in f16, in other types.
    pub large: (f64, f64),
    /// Scale of intermediate values where it is larger than the result.
    pub magnitude: Option<fn(&[f64]) -> f64>,
    /// Whether the first tensor holds probabilities, so that only tame distributions make sense.
    pub probabilities: bool,
}

impl Elementwise {
    /// Returns a loss of `self` and `target`, which broadcast.
    pub(crate) const fn new(
        flops: f64,
        formula: fn(&Call<'_>) -> Result<Formula, InferError>,
    ) -> Self {
        Self {
            tensors: &["self", "target"],
            formula,
            shapes: Shapes::Broadcast,
            types: Types::Promoted,
            flops,
            degree: None,
            large: (1e3, 1e15),
            magnitude: None,
            probabilities: false,
        }
    }

    fn specs<'a>(
        &self,
        call: &Call<'a>,
    ) -> Result<Vec<(&'static str, &'a TensorSpec)>, InferError> {
        let mut specs = Vec::new();
        for name in self.tensors {
            let optional = call.op.param(name).is_some_and(|param| param.optional);
            match call.opt_tensor(name) {
                Some(spec) => specs.push((*name, spec)),
                None if optional => {}
                None => specs.push((*name, call.tensor(name)?)),
            }
        }
        Ok(specs)
    }

    fn dtype(&self, call: &Call<'_>) -> Result<DType, InferError> {
        let specs = self.specs(call)?;
        let (name, first) = specs[0];
        let odd = specs.iter().find(|(_, spec)| spec.dtype != first.dtype);
        if let Some((name, spec)) = odd.filter(|_| self.types == Types::Same) {
            return Err(InferError::dtype(name, spec.dtype, first.dtype.name()));
        }
        let promoted = promote(specs.iter().map(|(_, spec)| *spec), &[]);
        if let Types::Of(of) = self.types {
            let dtype = call.tensor(of)?.dtype;
            return if dtype.is_float() {
                Ok(dtype)
            } else {
                Err(InferError::dtype(of, dtype, "a floating-point type"))
            };
        }
        let unfit = specs.iter().find(|(_, spec)| match self.types {
            Types::Floats => !spec.dtype.is_float(),
            Types::Numbers | Types::Float => spec.dtype == DType::Bool,
            _ => false,
        });
        if let Some((name, spec)) = unfit {
            let wanted = if self.types == Types::Floats {
                "a floating-point type"
            } else {
                "a type of numbers"
            };
            return Err(InferError::dtype(name, spec.dtype, wanted));
        }
        if promoted.is_float() {
            return Ok(promoted);
        }
        match Reduction::of(call)? {
            // Differences of unsigned integers wrap: no loss anybody wants.
            _ if self.types == Types::Float && promoted.is_int() && promoted != DType::U8 => {
                Ok(DType::F32)
            }
            Reduction::Keep if self.types == Types::Numbers && promoted.is_int() => Ok(promoted),
            Reduction::Sum if self.types == Types::Numbers && promoted.is_int() => Ok(DType::I64),
            _ => Err(InferError::dtype(name, promoted, "a floating-point type")),
        }
    }

    fn shape(&self, call: &Call<'_>) -> Result<Vec<usize>, InferError> {
        let specs = self.specs(call)?;
        let shapes = || specs.iter().map(|(_, spec)| spec.shape.as_slice());
        let shape = match self.shapes {
            Shapes::Broadcast => return common_shape(shapes()),
            Shapes::To(name) => call.tensor(name)?.shape.clone(),
            Shapes::Pair => common_shape(shapes().take(2))?,
        };
        for (name, spec) in &specs {
            if broadcast(&shape, &spec.shape)? != shape {
                let wanted = format!("one that broadcasts to {shape:?}");
                return Err(InferError::shape(name, &spec.shape, wanted));
            }
        }
        Ok(shape)
    }

    fn operands<'i, 'a>(&self, inputs: &'i Inputs<'a>) -> Vec<&'i Input<'a>> {
        self.tensors.iter().filter_map(|name| inputs.opt(name)).collect()
    }
}

/// How far outside 0..=1 a probability may be: inputs that are off by a rounding are evaluated too.
const OFF: f64 = 1e-6;

fn check_probabilities(inputs: &Inputs<'_>) -> Result<(), Error> {
    for name in ["self", "target"] {
        let mut values = inputs.get(name)?.array().iter().copied().enumerate();
        if let Some((at, value)) = values.find(|(_, value)| !(-OFF..=1.0 + OFF).contains(value)) {
            return Err(Error::NoProbability { name: name.to_owned(), at, value });
        }
    }
    Ok(())
}

impl Engine for Elementwise {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        drop((self.formula)(call)?);
        Ok(vec![(self.dtype(call)?, Reduction::of(call)?.shape(&self.shape(call)?))])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        if self.probabilities {
            check_probabilities(inputs)?;
        }
        let values = apply(&self.operands(inputs), (self.formula)(call)?)?;
        let count = values.len() as f64;
        Ok(vec![Reduction::of(call)?.apply(values, count)])
    }

    /// By central differences: each value depends on one element of each input. Where an input is
    /// repeated its roundings are taken as independent.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let spread = pointwise::spread(&self.operands(inputs), (self.formula)(call)?)?;
        let count = spread.len() as f64;
        Ok(Some(vec![Reduction::of(call)?.spread(spread, count)]))
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let Some(magnitude) = self.magnitude else { return Ok(None) };
        let values = apply(&self.operands(inputs), magnitude)?;
        let count = values.len().max(1) as f64;
        Ok(Some(vec![Reduction::of(call)?.apply(values, count)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        match Reduction::of(call) {
            Ok(Reduction::Keep) => 1,
            _ => self.shape(call).map_or(1, |shape| shape.iter().product()),
        }
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        self.flops * self.shape(call).map_or(0.0, |shape| shape.iter().product::<usize>() as f64)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if call.case.distribution == InputDistribution::Edges && param.edges.is_some() {
            return generators::by_role(self, call, param);
        }
        if let Role::Between(low, high) = param.role {
            return Ok(Gen::Uniform { low, high });
        }
        // Of a mean little is left to see: one value that is special shows whether it was looked at.
        if call.case.distribution == InputDistribution::SpecialRows {
            let normal = Gen::Normal { mean: 0.0, std: 1.0 };
            return Ok(if param.name == "self" { Gen::LoneNan { rest: 0 } } else { normal });
        }
        if !self.probabilities || param.role != Role::Main {
            return generators::by_role(self, call, param);
        }
        match call.case.distribution {
            InputDistribution::Zeros | InputDistribution::Constant => {
                generators::by_role(self, call, param)
            }
            InputDistribution::Normal | InputDistribution::Uniform => {
                Ok(Gen::Uniform { low: 0.0, high: 1.0 })
            }
            distribution => Err(DistributionError {
                op: call.op.name.clone(),
                distribution,
                reason: "it is defined for probabilities alone",
            }),
        }
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { self.large.0 } else { self.large.1 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let Some(degree) = self.degree else { return Err("its results are irrational") };
        if call.opt_number("margin").ok().flatten().unwrap_or(0.0).fract() != 0.0 {
            return Err("the margin is no integer");
        }
        let len = self.accumulation_len(call).max(1);
        let dtype = call.case.dtype;
        let each = Reduction::of(call).unwrap_or(Reduction::Keep).exact_sum(dtype, len)? / len;
        // A difference is up to twice as large as its terms; a margin is small.
        let magnitude = if degree == 2 { each.isqrt() / 2 } else { each.saturating_sub(8) / 3 };
        Ok((magnitude.min(integer_limit(dtype) / 2), row))
    }
}
