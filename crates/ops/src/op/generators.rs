//! The generators of a case's inputs: which values make sense for a parameter in each family.

use crate::{
    record::{Case, DType, Family, Gen, List},
    reference::is_exact_beyond_f64,
};

use super::{Call, Engine, OpDef, Param, Role, plan_name};

/// A family that makes no sense for an op or a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("family `{}` makes no sense for this case of `{op}`: {reason}", .family.name())]
pub struct FamilyError {
    /// The op.
    pub op: String,
    /// The family.
    pub family: Family,
    /// Why.
    pub reason: &'static str,
}

/// Sums of magnitude below this are exact in f32, in every order.
pub(crate) const EXACT_SUM: usize = 1 << 24;

/// Sums of magnitude below this are in the range of f16.
pub(crate) const F16_SUM: usize = 60_000;

/// Returns a generator for each tensor of the case, in the order of [`Case::tensors`].
pub(super) fn generators(op: &OpDef, case: &Case) -> Result<Vec<Gen>, FamilyError> {
    let call = op.call(case);
    let mut generators = Vec::new();
    for param in op.tensor_params() {
        let Some(value) = case.arg(&plan_name(&param.name)) else { continue };
        for (element, _) in value.tensors() {
            generators.push(op.engine.element_generator(&call, param, element)?);
        }
    }
    Ok(generators)
}

/// Chooses by what the parameter is for.
///
/// # Errors
///
/// [`FamilyError`] where the family makes no sense for the op.
pub(super) fn by_role<E: Engine + ?Sized>(
    engine: &E,
    call: &Call<'_>,
    param: &Param,
) -> Result<Gen, FamilyError> {
    let dtype = dtype_of(call, param);
    let family = call.case.family;
    Ok(match param.role {
        // An offset that is no integer would make the sums inexact.
        Role::Bias if family == Family::Exact => exact(engine, call, param)?,
        Role::Gain => Gen::Normal { mean: 1.0, std: 0.25 },
        Role::Bias => Gen::Normal { mean: 0.0, std: 0.5 },
        Role::Index => indices(engine.index_bound(call, param), family),
        Role::ClassIndex => class_index(call, engine.index_bound(call, param)),
        Role::Mask => Gen::Mask { p: 0.5 },
        Role::Sign => Gen::Sign,
        // A probability of exactly 0 has no logarithm.
        Role::Simplex if family == Family::Edges => Gen::Mask { p: 0.25 },
        // The logarithm of a negative one is NaN.
        Role::Simplex if family == Family::Shifted => Gen::Normal { mean: 0.0, std: 1.0 },
        Role::Simplex => Gen::Simplex,
        Role::ScaleF32 => Gen::LogNormal { std: 0.5 },
        Role::Positive if family == Family::Edges => Gen::Mask { p: 0.5 },
        Role::Positive if family == Family::Normal => Gen::LogNormal { std: 1.0 },
        Role::Between(low, high) if family == Family::Normal => Gen::Uniform { low, high },
        Role::Divisor if dtype.is_int() && family == Family::Wide => {
            Gen::Wide { bits: wide(call, dtype), nonzero: true }
        }
        Role::Divisor if dtype.is_int() => Gen::NonZero { magnitude: 11 },
        Role::Divisor if dtype.is_float() && family == Family::Edges => {
            Gen::Listed { list: List::Divisors }
        }
        Role::Divisor if dtype == DType::Bool => Gen::Constant { value: 1.0 },
        Role::Exponent if dtype.is_int() && family == Family::Wide => {
            Gen::Int { low: -40, high: 40 }
        }
        Role::Exponent if dtype.is_int() => Gen::Int { low: 0, high: 4 },
        _ if dtype.is_int() && family == Family::Wide => {
            Gen::Wide { bits: wide(call, dtype), nonzero: false }
        }
        _ if dtype == DType::Bool => Gen::Mask { p: 0.5 },
        _ if dtype.is_int() => integers(dtype, family),
        Role::Second | Role::Exponent => data(engine, call, param, true)?,
        _ => data(engine, call, param, false)?,
    })
}

/// Returns the type of a parameter's tensor.
fn dtype_of(call: &Call<'_>, param: &Param) -> DType {
    let value = call.arg(&param.name);
    let first = value.and_then(|value| value.tensors().next());
    first.map_or(call.case.dtype, |(_, tensor)| tensor.spec.dtype)
}

/// Small integers: sums and products of a few stay in the range of their type.
const fn integers(dtype: DType, family: Family) -> Gen {
    match (family, dtype) {
        (Family::Ties, _) => Gen::Int { low: 0, high: 3 },
        (_, DType::U8) => Gen::Int { low: 0, high: 11 },
        (_, DType::I8) => Gen::Int { low: -11, high: 11 },
        // Equal ones are rare in a long row.
        (Family::SpecialRows, DType::I64 | DType::I32) => Gen::Int { low: -1 << 30, high: 1 << 30 },
        (Family::Large, DType::I64 | DType::I32) => Gen::Int { low: -30_000, high: 30_000 },
        _ => Gen::Int { low: -100, high: 100 },
    }
}

/// Returns how many bits wide integers may be: all of their type, or as many as a reference in f64
/// holds with the op's results. The smallest integer has no quotient by -1.
fn wide(call: &Call<'_>, dtype: DType) -> u32 {
    let width = match dtype {
        DType::U8 => 8,
        DType::I8 => 7,
        DType::I16 => 15,
        DType::I32 => 31,
        _ => 63,
    };
    match call.op.name.as_str() {
        "floor_divide" | "fmod" | "remainder" => width - 1,
        _ if is_exact_beyond_f64(call) => width,
        _ => width.min(52),
    }
}

/// In the family of edges about one index in four is the last, the others are the first.
const fn indices(bound: u64, family: Family) -> Gen {
    match family {
        Family::Edges => Gen::IndexOr { bound: 1, other: bound.saturating_sub(1).cast_signed() },
        _ => Gen::Index { bound },
    }
}

fn class_index(call: &Call<'_>, bound: u64) -> Gen {
    // A case that names another index than the default has targets equal to it.
    match call.opt_int("ignore_index") {
        Ok(Some(other)) if call.case.names_ignored => Gen::IndexOr { bound, other },
        _ => Gen::Index { bound },
    }
}

fn data<E: Engine + ?Sized>(
    engine: &E,
    call: &Call<'_>,
    param: &Param,
    second: bool,
) -> Result<Gen, FamilyError> {
    let normal = Gen::Normal { mean: 0.0, std: 1.0 };
    let Case { family, dtype, .. } = *call.case;
    Ok(match family {
        Family::Exact => exact(engine, call, param)?,
        Family::Shifted => {
            let (mean, std) = engine.shifted();
            Gen::Normal { mean, std }
        }
        Family::Constant => Gen::Constant { value: engine.constant() },
        Family::Edges => match call.op.name.as_str() {
            "floor_divide" | "remainder" | "fmod" | "div.Tensor_mode" => {
                Gen::Listed { list: List::Multiples }
            }
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "maximum" | "minimum" | "add" | "sub"
            | "outer" => Gen::Listed { list: List::Extremes },
            // A target of 0, a weight of 0 and padding meet it.
            "kl_div" => Gen::LoneInfinity,
            "nll_loss" => Gen::Listed { list: List::Extremes },
            "conv1d" | "conv2d" if !second => Gen::LoneInfinity,
            // Half of the sums overflow f16.
            "mm" | "mv" if !second => Gen::Normal { mean: 0.0, std: 1e4 },
            "round" | "trunc" | "ceil" | "floor" => Gen::Listed { list: List::Halves },
            _ => normal,
        },
        Family::Normal => normal,
        Family::Uniform => Gen::Uniform { low: 0.0, high: 1.0 },
        // Products of two that are subnormal are 0.
        Family::Subnormal if matches!(call.op.name.as_str(), "mul" | "square") => {
            Gen::Normal { mean: 0.0, std: subnormal(dtype).sqrt() }
        }
        Family::Subnormal => Gen::Normal { mean: 0.0, std: subnormal(dtype) },
        Family::Zeros => Gen::Constant { value: 0.0 },
        Family::OneHot => one_hot(call, param, second),
        Family::HeavyTail | Family::Large | Family::Ties if second => normal,
        // Zeros among the factors that meet infinities and NaN, whose products are NaN.
        Family::Specials if second => Gen::Ties,
        Family::SpecialRows if second => Gen::LoneInfinity,
        Family::SpecialRows if engine.sums_products() => Gen::Mask { p: 0.5 },
        Family::SpecialRows => Gen::SpecialRows { negative_nan: engine.ignores_sign_of_nan() },
        Family::HeavyTail | Family::Wide => Gen::HeavyTail,
        Family::Large => Gen::Normal { mean: 0.0, std: engine.large(dtype) },
        Family::Ties => Gen::Ties,
        Family::Specials => Gen::Specials,
    })
}

/// A scale at which values of a type are subnormal.
const fn subnormal(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 1e-6,
        DType::F64 => 1e-310,
        _ => 1e-39,
    }
}

/// One element of 1 per row of the second factor picks single elements of the first.
fn one_hot(call: &Call<'_>, param: &Param, second: bool) -> Gen {
    if !second {
        return Gen::Normal { mean: 0.0, std: 1.0 };
    }
    let last = call.opt_tensor(&param.name).and_then(|spec| spec.shape.last().copied());
    let row = u32::try_from(last.unwrap_or(1).max(1)).unwrap_or(u32::MAX);
    Gen::Exact { magnitude: 1, nonzero: 1, row }
}

/// Largest integers whose products stay exact in f32, and which a coarser type (TF32, bf16 in an
/// f32 op) cannot hold.
#[must_use]
pub(crate) const fn integer_limit(dtype: DType) -> usize {
    match dtype {
        DType::F8E4M3 => 15,
        DType::F8E5M2 => 7,
        DType::F16 => 31,
        DType::BF16 => 127,
        _ => 4095,
    }
}

/// The largest sum that a dtype's results may come to.
#[must_use]
pub(crate) const fn sum_limit(dtype: DType) -> usize {
    if matches!(dtype, DType::F16) { F16_SUM } else { EXACT_SUM }
}

fn exact<E: Engine + ?Sized>(
    engine: &E,
    call: &Call<'_>,
    param: &Param,
) -> Result<Gen, FamilyError> {
    let error = |reason| FamilyError { op: call.op.name.clone(), family: Family::Exact, reason };
    let last = call.opt_tensor(&param.name).and_then(|spec| spec.shape.last().copied());
    let row = last.unwrap_or(1).max(1);
    let (magnitude, nonzero) = engine.exact(call, param.role, row).map_err(error)?;
    if magnitude == 0 {
        return Err(error("the sums are too long to be exact"));
    }
    let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(Gen::Exact { magnitude: narrow(magnitude), nonzero: narrow(nonzero), row: narrow(row) })
}
