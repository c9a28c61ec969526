//! Ops that compute each output element from the elements at its place in every input, after
//! broadcasting.

use ndarray::IxDyn;

use crate::{
    parallel,
    record::{Case, DType, Gen, InputDistribution, TensorSpec, tensor::round_to},
    reference::{Error, U},
};

use super::super::{
    Array, Call, DistributionError, Engine, ExactLimits, InferError, Input, Inputs, Locality,
    Param, Role, Scalar, Shaped, broadcast, generators, integer_limit, promote,
    work::unique_elements,
};

/// A formula with the numbers of its call bound: elements of the inputs in, an element out.
pub(crate) type Formula = Box<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// Elements from which on all cores share the work.
const PARALLEL_FROM: usize = 1 << 14;

/// Most inputs of an elementwise op.
const MAX_INPUTS: usize = 4;

/// The function of an op at each place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Map {
    /// A function of one element.
    One(fn(f64) -> f64),
    /// A function of two elements.
    Two(fn(f64, f64) -> f64),
    /// Binds the numbers of a call, given the type that the computation is done in; refuses calls
    /// that the op is not defined for.
    Call(fn(&Call<'_>, DType) -> Result<Formula, InferError>),
}

impl Map {
    fn bind(self, call: &Call<'_>, dtype: DType) -> Result<Formula, InferError> {
        match self {
            Self::One(function) => Ok(Box::new(move |at| function(at[0]))),
            Self::Two(function) => Ok(Box::new(move |at| function(at[0], at[1]))),
            Self::Call(bind) => bind(call, dtype),
        }
    }
}

/// Element type of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// That of all inputs and numbers, promoted.
    Promoted,
    /// Promoted; integers and bool become f32.
    Float,
    /// As [`Output::Float`] where the argument of this name is left out, else promoted.
    FloatWithout(&'static str),
    /// bool.
    Bool,
    /// That of the first tensor, whatever the others are.
    First,
    /// That of the first tensor; bool becomes i64.
    Number,
    /// The type of the argument `dtype`; that of the first tensor where it is left out.
    Argument,
}

/// Which element types the computation may be done in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any.
    Any,
    /// Any but bool.
    Numbers,
    /// Floating-point types.
    Floats,
    /// Floating-point types, the same for all tensors.
    SameFloats,
    /// Any, the same for all tensors.
    Same,
    /// Integers and bool.
    Integral,
    /// Integers.
    Integers,
}

/// An elementwise op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointwise {
    /// Names of the tensors that broadcast, in the order of the formula.
    pub tensors: &'static [&'static str],
    /// The one among them that has an element per place along dimension 1 of the first, or one
    /// element.
    pub channel: Option<&'static str>,
    /// The one among them that chooses and does not promote.
    pub mask: Option<&'static str>,
    /// Names of the numbers that take part in promotion.
    pub scalars: &'static [&'static str],
    /// The function at each place.
    pub map: Map,
    /// Element type of the result.
    pub output: Output,
    /// Element types of the computation.
    pub takes: Takes,
    /// Name of the tensor that must have no zeros where it is of an integer type.
    pub divisor: Option<&'static str>,
    /// Floating-point operations per element.
    pub flops: f64,
    /// Scale of intermediate values where it is larger than the result.
    pub magnitude: Option<Map>,
    /// Power of the inputs that the result is.
    pub degree: u32,
    /// Whether integers give integers, so that exact inputs ask for equal bits.
    pub integers_stay: bool,
    /// Whether the formula depends on the number of elements, so that a part is another call.
    pub counts: bool,
    /// Standard deviation of the large distribution: in f16, in other types.
    pub large: (f64, f64),
    /// The distribution that stands in for normal values where those would all give the same result.
    pub main: InputDistribution,
}

impl Pointwise {
    /// Returns an op of one input whose result is of a floating-point type.
    #[must_use]
    pub(crate) const fn unary(flops: f64, map: Map) -> Self {
        Self {
            tensors: &["self"],
            channel: None,
            mask: None,
            scalars: &[],
            map,
            output: Output::Float,
            takes: Takes::Any,
            divisor: None,
            flops,
            magnitude: None,
            degree: 1,
            integers_stay: false,
            counts: false,
            large: (1e4, 1e15),
            main: InputDistribution::Normal,
        }
    }

    /// Returns an op of one input whose result is one of few values or a part of the input, in the
    /// input's type: integers stay integers.
    #[must_use]
    pub(crate) const fn choice(map: Map) -> Self {
        Self { integers_stay: true, output: Output::First, ..Self::unary(1.0, map) }
    }

    /// Returns an op of two inputs that broadcast.
    #[must_use]
    pub(crate) const fn binary(flops: f64, map: Map) -> Self {
        Self {
            tensors: &["self", "other"],
            output: Output::Promoted,
            integers_stay: true,
            ..Self::unary(flops, map)
        }
    }

    /// Makes it an op of two inputs that broadcast.
    #[must_use]
    pub(crate) const fn of_two(self) -> Self {
        Self { tensors: &["self", "other"], ..self }
    }

    /// Returns the tensors of a call that decide about the type of the computation.
    fn values<'a>(&self, call: &Call<'a>) -> Result<Vec<&'a TensorSpec>, InferError> {
        let names = self.given(call).filter(|name| Some(*name) != self.mask);
        names.map(|name| call.tensor(name)).collect()
    }

    /// Returns the names of the tensors that are not left out.
    fn given(&self, call: &Call<'_>) -> impl Iterator<Item = &'static str> {
        self.tensors.iter().copied().filter(|name| call.opt_tensor(name).is_some())
    }

    /// Returns the type that the computation is done in: inputs are converted to it first.
    fn common(&self, call: &Call<'_>) -> Result<DType, InferError> {
        let values = self.values(call)?;
        let first = values[0].dtype;
        let mut scalars: Vec<Scalar> = Vec::new();
        for name in self.scalars {
            scalars.extend(call.opt_scalar(name)?);
        }
        let promoted = promote(values.iter().copied(), &scalars);
        let common = match self.output {
            Output::Number if first == DType::Bool => DType::I64,
            Output::First | Output::Number | Output::Argument => first,
            Output::Float if !promoted.is_float() => DType::F32,
            Output::FloatWithout(name) if !promoted.is_float() && call.opt_str(name)?.is_none() => {
                DType::F32
            }
            _ => promoted,
        };
        let other = values.iter().position(|spec| spec.dtype != first);
        if let (Takes::SameFloats | Takes::Same, Some(at)) = (self.takes, other) {
            let wanted = format!("{first}, as `{}`", self.tensors[0]);
            return Err(InferError::dtype(self.tensors[at], values[at].dtype, wanted));
        }
        let (fits, wanted) = match self.takes {
            Takes::Any | Takes::Same => (true, ""),
            Takes::Numbers => (common != DType::Bool, "an integer or floating-point type"),
            Takes::Floats | Takes::SameFloats => (common.is_float(), "a floating-point type"),
            Takes::Integers => (common.is_int(), "an integer type"),
            Takes::Integral => (!common.is_float(), "an integer type or bool"),
        };
        if fits { Ok(common) } else { Err(InferError::dtype(self.tensors[0], common, wanted)) }
    }

    fn output_type(&self, call: &Call<'_>, common: DType) -> Result<DType, InferError> {
        Ok(match self.output {
            Output::Bool => DType::Bool,
            Output::Argument => call.opt_dtype("dtype")?.unwrap_or(common),
            _ => common,
        })
    }

    /// Returns the shapes that broadcast, in the order of the formula.
    fn shapes(&self, call: &Call<'_>) -> Result<Vec<Vec<usize>>, InferError> {
        let first = &call.tensor(self.tensors[0])?.shape;
        let shape = |name: &'static str| {
            let own = &call.tensor(name)?.shape;
            if Some(name) == self.channel {
                along_channels(name, own, first)
            } else {
                Ok(own.clone())
            }
        };
        self.given(call).map(shape).collect()
    }

    fn check_mask(&self, call: &Call<'_>) -> Result<(), InferError> {
        let Some(name) = self.mask else { return Ok(()) };
        let dtype = call.tensor(name)?.dtype;
        // torch's `where` still takes u8, with a warning.
        let fits = dtype == DType::Bool || (dtype == DType::U8 && name == "condition");
        if fits { Ok(()) } else { Err(InferError::dtype(name, dtype, "bool")) }
    }

    /// Calls a function with the inputs in the order of the formula, converted to the common type.
    fn with_operands<T>(
        &self,
        common: DType,
        inputs: &Inputs<'_>,
        then: impl FnOnce(&[&Input<'_>]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut given: Vec<&Input<'_>> = Vec::with_capacity(self.tensors.len());
        let mut converted: Vec<Option<Input<'static>>> = Vec::with_capacity(self.tensors.len());
        for name in self.tensors {
            let Some(input) = inputs.opt(name) else { continue };
            let converts = Some(*name) != self.mask && input.dtype != common;
            converted.push(if Some(*name) == self.channel {
                let shape = along_channels(name, &input.shape, &given[0].shape)?;
                let values = input.array().clone().into_shape_with_order(IxDyn(&shape));
                Some(Input::computed(input.dtype, values.expect("as many elements")))
            } else {
                converts.then(|| {
                    let values = input.array().mapv(|value| round_to(common, value));
                    Input::computed(input.dtype, values)
                })
            });
            given.push(input);
        }
        let pairs = given.into_iter().zip(&converted);
        let operands: Vec<_> = pairs.map(|(of, to)| to.as_ref().unwrap_or(of)).collect();
        then(&operands)
    }

    /// Refuses integer divisions by zero.
    fn check_divisor(&self, common: DType, inputs: &Inputs<'_>) -> Result<(), Error> {
        let Some(name) = self.divisor.filter(|_| !common.is_float()) else { return Ok(()) };
        if inputs.get(name)?.view().iter().any(|&value| value == 0.0) {
            return Err(InferError::value(name, 0, "not 0 in a division of integers").into());
        }
        Ok(())
    }
}

/// Returns the shape in which a tensor of one element per channel broadcasts with another.
fn along_channels(name: &str, own: &[usize], first: &[usize]) -> Result<Vec<usize>, InferError> {
    let channels = first.get(1).copied().unwrap_or(1);
    match own {
        [] | [1] => Ok(Vec::new()),
        &[extent] if extent == channels && first.len() > 1 => {
            let mut shape = vec![1; first.len()];
            shape[1] = extent;
            Ok(shape)
        }
        _ => Err(InferError::shape(name, own, format!("[1] or [{channels}]"))),
    }
}

/// Returns a value as a type holds it where that is no matter of rounding: NaN is true, and beyond
/// the largest fp8 number there is Inf or NaN.
fn representable(dtype: DType, value: f64) -> f64 {
    let rounded = round_to(dtype, value);
    if dtype.is_float() && rounded.is_finite() { value } else { rounded }
}

/// Applies a function of the elements at each place, after broadcasting.
pub(crate) fn apply(
    operands: &[&Input<'_>],
    formula: impl Fn(&[f64]) -> f64 + Send + Sync,
) -> Result<Array, InferError> {
    let shape = common_shape(operands.iter().map(|operand| operand.shape.as_slice()))?;
    if let [only] = operands {
        return Ok(unary(only.array(), formula));
    }
    let views: Vec<_> = operands
        .iter()
        .map(|operand| {
            let view = operand.array().broadcast(IxDyn(&shape));
            view.expect("the shape is what all of them broadcast to")
                .as_standard_layout()
                .into_owned()
        })
        .collect();
    let flat: Vec<&[f64]> = views.iter().map(|view| view.as_slice().unwrap_or(&[])).collect();
    let element = |index: usize| {
        let mut at = [0.0; MAX_INPUTS];
        for (slot, values) in at.iter_mut().zip(&flat) {
            *slot = values[index];
        }
        formula(&at[..flat.len()])
    };
    let numel: usize = shape.iter().product();
    let values: Vec<f64> = if numel >= PARALLEL_FROM {
        parallel::map(numel, &element)
    } else {
        (0..numel).map(element).collect()
    };
    Ok(Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element"))
}

/// Returns `sqrt(Σ (∂y/∂x_i x_i)²)` of a formula at each place, by central differences.
pub(crate) fn spread(
    operands: &[&Input<'_>],
    formula: impl Fn(&[f64]) -> f64 + Send + Sync,
) -> Result<Array, InferError> {
    let floats: Vec<bool> = operands.iter().map(|operand| operand.dtype.is_float()).collect();
    apply(operands, |at| {
        let mut moved = [0.0; MAX_INPUTS];
        let mut square = 0.0;
        for changed in (0..at.len()).filter(|&changed| floats[changed]) {
            moved[..at.len()].copy_from_slice(at);
            moved[changed] = at[changed] * (1.0 + U);
            let above = formula(&moved[..at.len()]);
            moved[changed] = at[changed] * (1.0 - U);
            let change = (above - formula(&moved[..at.len()])) / (2.0 * U);
            square += if change.is_finite() { change * change } else { 0.0 };
        }
        square.sqrt()
    })
}

/// Ops of which either argument may decide at every place: as little as the smaller one is read.
const EITHER: &[&str] = &[
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_or",
    "bitwise_left_shift",
    "bitwise_right_shift",
];

/// Arguments that values of the others make needless at every place: `x && false`, `pow(x, 0)`,
/// the slope of positive elements, elements that are overwritten, gradients that become 0.
const SKIPPED: &[(&str, &str)] = &[
    ("logical_and", "other"),
    ("logical_or", "other"),
    ("bitwise_and", "other"),
    ("bitwise_or", "other"),
    ("bitwise_left_shift", "other"),
    ("bitwise_right_shift", "other"),
    ("clamp.Tensor", "min"),
    ("clamp.Tensor", "max"),
    ("mul", "other"),
    ("pow", "self"),
    ("pow.Tensor_Scalar", "self"),
    ("prelu", "weight"),
    ("_prelu_kernel", "weight"),
    ("copy", "self"),
    ("threshold_backward", "grad_output"),
    ("hardtanh_backward", "grad_output"),
    ("hardswish_backward", "grad_output"),
    ("hardsigmoid_backward", "grad_output"),
    ("softshrink_backward", "grad_output"),
    ("heaviside", "values"),
];

fn skipped(call: &Call<'_>, name: &str) -> bool {
    let no_bound = ["min", "max"].iter().any(|bound| {
        let bound = call.opt_number(bound).ok().flatten();
        call.op.name.starts_with("clamp") && bound.is_some_and(f64::is_nan)
    });
    if no_bound {
        return true;
    }
    let listed = SKIPPED.contains(&(call.op.name.as_str(), name));
    match call.op.name.as_str() {
        // NaN times 0 is NaN: only integers need no second factor.
        "mul" => listed && !call.case.dtype.is_float(),
        "pow.Tensor_Scalar" => {
            listed && call.opt_number("exponent").is_ok_and(|exponent| exponent == Some(0.0))
        }
        _ => listed,
    }
}

fn unary(input: &Array, formula: impl Fn(&[f64]) -> f64 + Send + Sync) -> Array {
    if input.len() < PARALLEL_FROM {
        return input.mapv(|x| formula(&[x]));
    }
    let flat = input.as_standard_layout();
    let flat = flat.as_slice().unwrap_or(&[]);
    let values = parallel::map(flat.len(), &|index| formula(&[flat[index]]));
    Array::from_shape_vec(input.raw_dim(), values).expect("one value per element")
}

/// Returns the shape that all shapes broadcast to.
pub(crate) fn common_shape<'a>(
    shapes: impl IntoIterator<Item = &'a [usize]>,
) -> Result<Vec<usize>, InferError> {
    shapes.into_iter().try_fold(Vec::new(), |shape, other| broadcast(&shape, other))
}

impl Engine for Pointwise {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let common = self.common(call)?;
        self.check_mask(call)?;
        let shape = common_shape(self.shapes(call)?.iter().map(Vec::as_slice))?;
        drop(self.map.bind(call, common)?);
        Ok(vec![(self.output_type(call, common)?, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let common = self.common(call)?;
        let formula = self.map.bind(call, common)?;
        self.check_divisor(common, inputs)?;
        let output = self.output_type(call, common)?;
        self.with_operands(common, inputs, |operands| {
            let mut values = apply(operands, formula)?;
            if self.output == Output::Argument && output != common {
                values.mapv_inplace(|value| representable(output, value));
            }
            Ok(vec![values])
        })
    }

    /// By central differences: each output element depends on one element of each input.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let common = self.common(call)?;
        let formula = self.map.bind(call, common)?;
        self.with_operands(common, inputs, |operands| Ok(Some(vec![spread(operands, formula)?])))
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let Some(magnitude) = self.magnitude else { return Ok(None) };
        let common = self.common(call)?;
        let magnitude = magnitude.bind(call, common)?;
        self.with_operands(common, inputs, |operands| Ok(Some(vec![apply(operands, magnitude)?])))
    }

    fn is_elementwise(&self) -> bool {
        !self.counts && self.channel.is_none()
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        if self.counts { Locality::Whole } else { Locality::Elements }
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        self.flops * n_out as f64
    }

    /// A choice reads one of two at each place, and a fill value nothing at all: the smaller one
    /// counts.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        if let Some(mask) = self.mask {
            let chosen: Vec<&str> = self.tensors.iter().copied().filter(|of| *of != mask).collect();
            return match chosen.as_slice() {
                _ if name == mask => None,
                [first, second] if name == *first => call.opt_tensor(second).map(unique_elements),
                _ => Some(0),
            };
        }
        if name == "self" && EITHER.contains(&call.op.name.as_str()) {
            return call.opt_tensor("other").map(unique_elements);
        }
        skipped(call, name).then_some(0)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if self.main == call.case.distribution
            || call.case.distribution != InputDistribution::Normal
        {
            return generators::by_role(self, call, param);
        }
        let case = Case { distribution: self.main, ..call.case.clone() };
        generators::by_role(self, &call.op.call(&case), param)
    }

    fn degree(&self) -> u32 {
        self.degree
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { self.large.0 } else { self.large.1 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let stay = match self.output {
            Output::FloatWithout(name) => matches!(call.opt_str(name), Ok(Some(_))),
            _ => self.integers_stay,
        };
        if stay {
            Ok((integer_limit(call.case.dtype), row))
        } else {
            Err("its results are irrational")
        }
    }
}
