//! The generators of a case's inputs: which values make sense for a parameter in each distribution.

use crate::{
    record::{Case, DType, Gen, InputDistribution, List},
    reference::is_exact_beyond_f64,
};

use super::{Call, Engine, OpDef, Param, Role};

/// A distribution that makes no sense for an op or a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("distribution `{}` makes no sense for this case of `{op}`: {reason}", .distribution.name())]
pub struct DistributionError {
    /// The op.
    pub op: String,
    /// The distribution.
    pub distribution: InputDistribution,
    /// Why.
    pub reason: &'static str,
}

/// Sums of magnitude below this are exact in f32, in every order.
pub(crate) const EXACT_SUM: usize = 1 << 24;

/// Sums of magnitude below this are in the range of f16.
pub(crate) const F16_SUM: usize = 60_000;

/// Smallest magnitude of the first factors of products that cancel.
const CANCELLING_SCALE: f64 = 16_384.0;

/// The second factors of products that cancel.
pub(super) const CANCELLING_SECOND: Gen = Gen::Uniform { low: 1.0, high: 1.125 };

/// Returns the generator of the first factor of sums that cancel along one of its dimensions.
///
/// `extent`, `inner`: as in [`Gen::Cancelling`]; `terms`: products in a sum. Half of them come to
/// more than f16 holds, and their sum to less.
pub(super) fn cancelling(extent: usize, inner: usize, terms: usize) -> Gen {
    let longest = f64::from(1 << 18) / (terms.max(1) as f64).sqrt();
    Gen::Cancelling {
        scale: CANCELLING_SCALE.min(longest),
        extent: extent.max(1) as u64,
        inner: inner.max(1) as u64,
    }
}

/// Returns a generator for each tensor of the case, in the order of [`Case::tensors`].
pub(super) fn generators(op: &OpDef, case: &Case) -> Result<Vec<Gen>, DistributionError> {
    let call = op.call(case);
    let mut generators = Vec::new();
    for param in op.tensor_params() {
        let Some(value) = case.arg(&param.name) else { continue };
        for (element, _) in value.tensors() {
            generators.push(op.engine.element_generator(&call, param, element)?);
        }
    }
    Ok(generators)
}

/// Chooses by the parameter's role.
///
/// # Errors
///
/// [`DistributionError`] where the distribution makes no sense for the op.
pub(super) fn by_role(
    engine: &dyn Engine,
    call: &Call<'_>,
    param: &Param,
) -> Result<Gen, DistributionError> {
    let dtype = dtype_of(call, param);
    let distribution = call.case.distribution;
    if let Some(edges) =
        param.edges.filter(|_| distribution == InputDistribution::Edges && dtype.is_float())
    {
        return Ok(edges);
    }
    Ok(match param.role {
        // An offset that is no integer would make the sums inexact.
        Role::Bias if distribution == InputDistribution::Exact => exact(engine, call, param)?,
        Role::Gain => Gen::Normal { mean: 1.0, std: 0.25 },
        Role::Bias => Gen::Normal { mean: 0.0, std: 0.5 },
        Role::Index => indices(engine.index_bound(call, param), distribution),
        Role::ClassIndex => class_index(call, engine.index_bound(call, param)),
        Role::Mask => Gen::Mask { p: 0.5 },
        Role::Sign => Gen::Sign,
        // A probability of exactly 0 has no logarithm.
        Role::Simplex if distribution == InputDistribution::Edges => Gen::Mask { p: 0.25 },
        // The logarithm of a negative one is NaN.
        Role::Simplex if distribution == InputDistribution::Shifted => {
            Gen::Normal { mean: 0.0, std: 1.0 }
        }
        Role::Simplex => Gen::Simplex,
        Role::ScaleF32 => Gen::LogNormal { std: 0.5 },
        Role::Positive if distribution == InputDistribution::Edges => Gen::Mask { p: 0.5 },
        Role::Positive if distribution == InputDistribution::Normal => Gen::LogNormal { std: 1.0 },
        Role::Between(low, high) if distribution == InputDistribution::Normal => {
            Gen::Uniform { low, high }
        }
        Role::Divisor if dtype.is_int() && distribution == InputDistribution::Wide => {
            Gen::Wide { bits: wide(call, dtype), except: Some(0) }
        }
        Role::Divisor if dtype.is_int() => Gen::NonZero { magnitude: 11 },
        Role::Divisor if dtype.is_float() && distribution == InputDistribution::Edges => {
            Gen::Listed { list: List::Divisors }
        }
        Role::Divisor if dtype == DType::Bool => Gen::Constant { value: 1.0 },
        Role::Exponent if dtype.is_int() && distribution == InputDistribution::Wide => {
            Gen::Int { low: -40, high: 40 }
        }
        Role::Exponent if dtype.is_int() => Gen::Int { low: 0, high: 4 },
        _ if dtype.is_int() && distribution == InputDistribution::Wide => wide_data(call, dtype),
        _ if dtype == DType::Bool => Gen::Mask { p: 0.5 },
        _ if dtype.is_int() => integers(dtype, distribution),
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
const fn integers(dtype: DType, distribution: InputDistribution) -> Gen {
    match (distribution, dtype) {
        (InputDistribution::Ties, _) => Gen::Int { low: 0, high: 3 },
        (_, DType::U8) => Gen::Int { low: 0, high: 11 },
        (_, DType::I8) => Gen::Int { low: -11, high: 11 },
        // Equal ones are rare in a long row.
        (InputDistribution::SpecialRows, DType::I64 | DType::I32) => {
            Gen::Int { low: -1 << 30, high: 1 << 30 }
        }
        (InputDistribution::Large, DType::I64 | DType::I32) => {
            Gen::Int { low: -30_000, high: 30_000 }
        }
        _ => Gen::Int { low: -100, high: 100 },
    }
}

/// Returns whether the op divides by one of its tensors, or by both in turn.
fn divides(call: &Call<'_>) -> bool {
    call.op.name == "gcd" || call.op.params.iter().any(|param| param.role == Role::Divisor)
}

/// Integers over the range of their type; the smallest one has no quotient by -1 and no absolute value.
fn wide_data(call: &Call<'_>, dtype: DType) -> Gen {
    let bits = wide(call, dtype);
    Gen::Wide { bits, except: divides(call).then_some(i64::MIN >> (63 - bits)) }
}

/// Returns how many bits wide integers may be: all of their type, or as many as a reference in f64
/// holds with the op's results.
fn wide(call: &Call<'_>, dtype: DType) -> u32 {
    let width = match dtype {
        // 2^8 is 0 in it.
        DType::U8 if divides(call) => 7,
        DType::U8 => 8,
        DType::I8 => 7,
        DType::I16 => 15,
        DType::I32 => 31,
        _ => 63,
    };
    if is_exact_beyond_f64(call) { width } else { width.min(52) }
}

/// In the distribution of edges about one index in four is the last, the others are the first.
const fn indices(bound: u64, distribution: InputDistribution) -> Gen {
    match distribution {
        InputDistribution::Edges => {
            Gen::IndexOr { bound: 1, other: bound.saturating_sub(1).cast_signed() }
        }
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

fn data(
    engine: &dyn Engine,
    call: &Call<'_>,
    param: &Param,
    second: bool,
) -> Result<Gen, DistributionError> {
    let normal = Gen::Normal { mean: 0.0, std: 1.0 };
    let Case { distribution, dtype, .. } = *call.case;
    Ok(match distribution {
        InputDistribution::Exact => exact(engine, call, param)?,
        InputDistribution::Shifted => {
            let (mean, std) = engine.shifted();
            Gen::Normal { mean, std }
        }
        InputDistribution::Constant => Gen::Constant { value: engine.constant() },
        InputDistribution::Normal | InputDistribution::Edges => normal,
        InputDistribution::Uniform => Gen::Uniform { low: 0.0, high: 1.0 },
        InputDistribution::Subnormal => {
            let std = subnormal(dtype).powf(f64::from(engine.degree()).recip());
            Gen::Normal { mean: 0.0, std }
        }
        InputDistribution::Cancelling => {
            engine.cancelling(call, param).ok_or_else(|| DistributionError {
                op: call.op.name.clone(),
                distribution,
                reason: "it sums no products",
            })?
        }
        InputDistribution::Zeros => Gen::Constant { value: 0.0 },
        InputDistribution::OneHot => one_hot(call, param, second),
        InputDistribution::HeavyTail | InputDistribution::Large | InputDistribution::Ties
            if second =>
        {
            normal
        }
        // Zeros among the factors of infinities and NaN, whose products are NaN.
        InputDistribution::Specials if second => Gen::Ties,
        InputDistribution::SpecialRows if second => Gen::LoneInfinity,
        InputDistribution::SpecialRows if engine.sums_products() => Gen::Mask { p: 0.5 },
        InputDistribution::SpecialRows => {
            Gen::SpecialRows { negative_nan: engine.ignores_sign_of_nan() }
        }
        InputDistribution::HeavyTail | InputDistribution::Wide => Gen::HeavyTail,
        InputDistribution::Large => Gen::Normal { mean: 0.0, std: engine.large(dtype) },
        InputDistribution::Ties => Gen::Ties,
        InputDistribution::Specials => Gen::Specials,
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

fn exact(engine: &dyn Engine, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
    let error = |reason| DistributionError {
        op: call.op.name.clone(),
        distribution: InputDistribution::Exact,
        reason,
    };
    let last = call.opt_tensor(&param.name).and_then(|spec| spec.shape.last().copied());
    let row = last.unwrap_or(1).max(1);
    let (magnitude, nonzero) = engine.exact(call, param.role, row).map_err(error)?;
    if magnitude == 0 {
        return Err(error("the sums are too long to be exact"));
    }
    let narrow = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(Gen::Exact { magnitude: narrow(magnitude), nonzero: narrow(nonzero), row: narrow(row) })
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_chosen_without_the_names_of_ops() {
        let text = include_str!("generators.rs");
        assert!(!text.contains(concat!("name", ".as_str()")));
    }
}
