//! Reductions: some dimensions are folded into one value.

use crate::{
    record::{DType, Gen, TensorSpec, tensor::round_to},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Locality, Param,
        Role, Shaped, generators, integer_limit, normalise_dims, reduced, sum_limit,
    },
    lanes,
    sum::sum,
};

/// A reduction whose elements are converted to a type first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Total {
    /// Sum.
    Sum,
    /// Sum divided by the number of elements.
    Mean,
    /// Sum without NaN.
    NanSum,
    /// Product.
    Prod,
    /// Number of elements that are not 0.
    CountNonzero,
}

/// Returns the dimensions that a call folds; all where it names none.
pub(crate) fn dims(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
    // `any.dims` and `all.dims` take an empty list at its word.
    if call.op.name.ends_with(".dims") && call.opt_ints("dim")?.is_some_and(|dims| dims.is_empty())
    {
        return Ok(Vec::new());
    }
    normalise_dims(call.opt_ints("dim")?.as_deref(), call.tensor("self")?.ndim())
}

/// Returns whether folded dimensions stay; no where the op cannot be asked.
pub(crate) fn keepdim(call: &Call<'_>) -> Result<bool, InferError> {
    if call.arg("keepdim").is_none() { Ok(false) } else { call.bool("keepdim") }
}

/// Returns the elements behind one output element.
pub(crate) fn slice_len(call: &Call<'_>) -> usize {
    let (Ok(spec), Ok(dims)) = (call.tensor("self"), dims(call)) else { return 1 };
    dims.into_iter().map(|dim| spec.shape[dim]).product()
}

/// Returns the locality of a fold: the row where the last dimensions are folded.
pub(crate) fn slice_locality(call: &Call<'_>) -> Locality {
    let (Ok(spec), Ok(dims)) = (call.tensor("self"), dims(call)) else { return Locality::Whole };
    Locality::along(&dims, spec.ndim())
}

/// Returns the locality of an element that stands for others along a dimension.
pub(crate) fn row_locality(call: &Call<'_>, dim: Result<usize, InferError>) -> Locality {
    let (Ok(spec), Ok(dim)) = (call.tensor("self"), dim) else { return Locality::Whole };
    Locality::along(&[dim], spec.ndim())
}

/// Returns the shape that is left.
pub(crate) fn left(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
    Ok(reduced(&call.tensor("self")?.shape, &dims(call)?, keepdim(call)?))
}

/// Returns the input, which may have any type but the 8-bit floating-point ones.
///
/// # Errors
///
/// [`InferError::DType`] for those.
pub(crate) fn plain<'a>(call: &Call<'a>) -> Result<&'a TensorSpec, InferError> {
    let spec = call.tensor("self")?;
    if spec.dtype.is_fp8() {
        return Err(InferError::dtype("self", spec.dtype, "no 8-bit floating-point type"));
    }
    Ok(spec)
}

/// Returns a tensor of a floating-point type, not an 8-bit one.
///
/// # Errors
///
/// [`InferError::DType`] for other types.
pub(crate) fn floating<'a>(call: &Call<'a>, name: &str) -> Result<&'a TensorSpec, InferError> {
    let spec = call.tensor(name)?;
    if !spec.dtype.is_float() || spec.dtype.is_fp8() {
        return Err(InferError::dtype(name, spec.dtype, "f64, f32, f16 or bf16"));
    }
    Ok(spec)
}

/// Returns an element as another type takes it: integers lose the fraction, bool is whether it is
/// 0; floating-point types keep it, they are rounded to when the result is stored.
pub(crate) fn converted(to: Option<DType>, value: f64) -> f64 {
    match to {
        Some(DType::Bool) => f64::from(u8::from(value != 0.0)),
        Some(dtype) if !dtype.is_float() => round_to(dtype, value),
        _ => value,
    }
}

/// Returns the type of a sum or product: the one asked for, or i64 for integers and bool.
pub(crate) fn total_dtype(call: &Call<'_>) -> Result<DType, InferError> {
    let of = plain(call)?.dtype;
    let default = if of.is_float() { of } else { DType::I64 };
    Ok(call.opt_dtype("dtype")?.unwrap_or(default))
}

/// Returns the product; in integers modulo 2^64.
#[expect(clippy::cast_possible_truncation, reason = "integers below 2^53 are f64 exactly")]
fn product(integers: bool, x: impl Iterator<Item = f64>) -> f64 {
    if integers {
        return x.fold(1_i64, |product, x| product.wrapping_mul(x as i64)) as f64;
    }
    x.product()
}

/// Returns integers whose products over slices stay below 2^53.
pub(crate) fn factors(len: usize) -> Gen {
    match len {
        0..=15 => Gen::Int { low: 1, high: 9 },
        16..=26 => Gen::Int { low: 1, high: 3 },
        27..=50 => Gen::Int { low: 1, high: 2 },
        _ => Gen::Sign,
    }
}

/// Returns generators of factors. In the main distribution they are the nearer to 1 the more there are:
/// products stay in range, so that each factor counts.
///
/// # Errors
///
/// As [`generators::by_role`].
pub(crate) fn factor_generator(
    engine: &dyn Engine,
    call: &Call<'_>,
    param: &Param,
    len: usize,
) -> Result<Gen, DistributionError> {
    use crate::record::InputDistribution::{Normal, Wide};
    let dtype = call.tensor("self").map_or(call.case.dtype, |spec| spec.dtype);
    match (dtype, call.case.distribution) {
        // Odd numbers: products of even ones soon come to 0 modulo 2^64.
        (dtype, Wide) if dtype.is_int() => Ok(Gen::Exact { magnitude: 4095, nonzero: 1, row: 1 }),
        (dtype, Normal) if dtype.is_float() => {
            Ok(Gen::Normal { mean: 1.0, std: (2.0 / (len.max(1) as f64).sqrt()).min(0.5) })
        }
        (DType::U8, _) => {
            Ok(if len <= 26 { Gen::Int { low: 1, high: 3 } } else { Gen::Int { low: 0, high: 1 } })
        }
        (dtype, _) if dtype.is_int() => Ok(factors(len)),
        _ => generators::by_role(engine, call, param),
    }
}

/// Returns magnitude and non-zero elements per row (along the last dimension, of `row` elements) of
/// integers whose sums over slices of `len` elements are exact: large ones, as few as that takes,
/// since a coarser type holds small ones. `rows`: the slices consist of whole rows.
pub(crate) fn exact_terms(dtype: DType, len: usize, rows: bool, row: usize) -> (usize, usize) {
    let limit = integer_limit(dtype);
    let terms = sum_limit(dtype) / limit;
    if len <= terms {
        return (limit, row);
    }
    match terms / len.div_ceil(row.max(1)) {
        nonzero @ 1.. if rows => (limit, nonzero.min(row)),
        _ => (limit.min(sum_limit(dtype) / len), row),
    }
}

/// Returns whether a call folds the last dimension.
pub(crate) fn folds_rows(call: &Call<'_>) -> bool {
    let (Ok(spec), Ok(dims)) = (call.tensor("self"), dims(call)) else { return false };
    spec.ndim().checked_sub(1).is_some_and(|last| dims.contains(&last))
}

/// Returns the largest odd integer whose power stays exact in every order.
pub(crate) fn exact_factor(dtype: DType, len: usize) -> usize {
    let fits = |factor: usize| {
        let power = u32::try_from(len).ok().and_then(|len| factor.checked_pow(len));
        power.is_some_and(|power| power <= sum_limit(dtype))
    };
    [31, 15, 7, 5, 3].into_iter().find(|&factor| fits(factor)).unwrap_or(1)
}

impl Total {
    fn folded(self, call: &Call<'_>, x: &[f64], to: Option<DType>) -> f64 {
        let terms = x.iter().map(|&x| converted(to, x));
        let integers = total_dtype(call).is_ok_and(|dtype| !dtype.is_float());
        match self {
            Self::Sum => sum(terms),
            Self::NanSum => sum(terms.filter(|x| !x.is_nan())),
            Self::Mean => sum(terms) / x.len() as f64,
            Self::Prod => product(integers, terms),
            Self::CountNonzero => x.iter().filter(|&&x| x != 0.0).count() as f64,
        }
    }
}

impl Engine for Total {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = plain(call)?;
        let dtype = match self {
            Self::CountNonzero => DType::I64,
            Self::Sum | Self::NanSum | Self::Prod => total_dtype(call)?,
            Self::Mean => {
                let dtype = call.opt_dtype("dtype")?.unwrap_or(spec.dtype);
                if !dtype.is_float() {
                    let wanted = "a floating-point type, or dtype one";
                    return Err(InferError::dtype("self", dtype, wanted));
                }
                dtype
            }
        };
        Ok(vec![(dtype, left(call)?)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let to = if *self == Self::CountNonzero { None } else { call.opt_dtype("dtype")? };
        let formula = |x: &[f64]| self.folded(call, x, to);
        Ok(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)])
    }

    /// `sqrt(Σ x²)`, for a product `|y| sqrt(n)`; integers do not move.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if !inputs.get("self")?.dtype.is_float() {
            return Ok(None);
        }
        let formula = |x: &[f64]| {
            let n = x.len() as f64;
            match self {
                Self::Sum => sum(x.iter().map(|x| x * x)).sqrt(),
                Self::NanSum => sum(x.iter().filter(|x| !x.is_nan()).map(|x| x * x)).sqrt(),
                Self::Mean => sum(x.iter().map(|x| x * x)).sqrt() / n,
                Self::Prod => x.iter().product::<f64>().abs() * n.sqrt(),
                Self::CountNonzero => 0.0,
            }
        };
        Ok(Some(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        slice_len(call)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        slice_locality(call)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        use crate::record::InputDistribution::Normal;
        match self {
            Self::Prod => factor_generator(self, call, param, slice_len(call)),
            Self::CountNonzero if call.case.distribution == Normal => Ok(Gen::Mask { p: 0.5 }),
            _ => generators::by_role(self, call, param),
        }
    }

    fn large(&self, dtype: DType) -> f64 {
        match (self, dtype) {
            (Self::Mean, DType::F16) => 1e4,
            (_, DType::F16) => 2e3,
            _ => 1e15,
        }
    }

    /// Ones: an f16 accumulator stops counting at 2048.
    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let dtype = call.case.dtype;
        let len = slice_len(call).max(1);
        match self {
            Self::Mean if !len.is_power_of_two() => Err("it divides by no power of two"),
            Self::Sum | Self::NanSum | Self::Mean => {
                Ok(exact_terms(dtype, len, folds_rows(call), row))
            }
            Self::Prod => Ok((exact_factor(dtype, len), row)),
            Self::CountNonzero => Ok((integer_limit(dtype), row.div_ceil(2))),
        }
    }
}
