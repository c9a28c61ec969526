//! Norms of vectors, and vectors divided by theirs.
#![expect(clippy::float_cmp, reason = "orders are exact, and a norm is compared with its divisor")]

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Role, Shaped,
        normalise_dim, wider,
    },
    lanes,
    reduce::{
        dims, exact_terms, floating, folds_rows, keepdim, left, row_locality, slice_len,
        slice_locality,
    },
    sum::sum,
};

/// The norm of slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorNorm;

/// Slices divided by their norm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Normalize;

/// Returns the norm of some order: `(Σ |x|^p)^(1/p)` and its limits.
fn norm(x: &[f64], order: f64) -> f64 {
    let abs = x.iter().map(|x| x.abs());
    let pick = |pick: fn(f64, f64) -> f64| {
        let first = abs.clone().next().unwrap_or(0.0);
        abs.clone().fold(
            first,
            |best, x| if best.is_nan() || x.is_nan() { f64::NAN } else { pick(best, x) },
        )
    };
    if order == f64::INFINITY {
        pick(f64::max)
    } else if order == f64::NEG_INFINITY {
        pick(f64::min)
    } else if order == 0.0 {
        x.iter().filter(|&&x| x != 0.0).count() as f64
    } else if order == 1.0 {
        sum(abs)
    } else if order == 2.0 {
        sum(x.iter().map(|x| x * x)).sqrt()
    } else {
        sum(abs.map(|x| x.powf(order))).powf(1.0 / order)
    }
}

/// Returns how the norm moves relative to itself when each element does: `(|x_i| / norm)^p`.
fn shares(x: &[f64], order: f64, norm: f64) -> Vec<f64> {
    if order == 0.0 {
        return vec![0.0; x.len()];
    }
    let share = |x: f64| {
        if order.is_infinite() {
            f64::from(u8::from(x.abs() == norm))
        } else if x == 0.0 {
            0.0
        } else {
            (x.abs() / norm).powf(order)
        }
    };
    x.iter().map(|&x| share(x)).collect()
}

/// Refuses an order that has no value for no elements.
fn check_empty(shape: &[usize], dims: &[usize], order: f64) -> Result<(), InferError> {
    let empty = dims.iter().any(|&dim| shape[dim] == 0);
    if empty && (order < 0.0 || order == f64::INFINITY) {
        let wanted = format!("not empty along the dimensions that a norm of order {order} folds");
        return Err(InferError::shape("self", shape, wanted));
    }
    Ok(())
}

impl Engine for VectorNorm {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "self")?;
        check_empty(&spec.shape, &dims(call)?, call.number("ord")?)?;
        let dtype = call.opt_dtype("dtype")?.unwrap_or(spec.dtype);
        if !dtype.is_float() || wider(dtype, spec.dtype) != dtype {
            let wanted = format!("a floating-point type that holds {}", spec.dtype);
            return Err(InferError::value("dtype", dtype, wanted));
        }
        Ok(vec![(dtype, left(call)?)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let order = call.number("ord")?;
        let formula = |x: &[f64]| norm(x, order);
        Ok(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)])
    }

    /// `y sqrt(Σ (|x_i| / y)^2p)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let order = call.number("ord")?;
        let formula = |x: &[f64]| {
            let y = norm(x, order);
            if y == 0.0 { 0.0 } else { y * sum(shares(x, order, y).iter().map(|w| w * w)).sqrt() }
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
        call.tensor("self").map_or(0.0, |spec| 2.0 * spec.numel() as f64)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e9 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let order = call.number("ord").map_err(|_| "its order is no number")?;
        let limit = super::super::integer_limit(call.case.dtype);
        if order == 1.0 {
            return Ok(exact_terms(call.case.dtype, slice_len(call), folds_rows(call), row));
        }
        if order == 0.0 || order.is_infinite() {
            return Ok((limit, row));
        }
        Err("its results are irrational")
    }
}

impl Normalize {
    fn each(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: impl Fn(&[f64], f64, f64, f64, &mut [f64]) + Sync + Send,
    ) -> Result<Vec<Array>, Error> {
        let (order, eps) = (call.number("p")?, call.number("eps")?);
        let input = inputs.get("self")?;
        let dim = normalise_dim(call.int("dim")?, input.ndim())?;
        let fill = |x: &[f64], out: &mut [f64]| {
            let norm = norm(x, order);
            // NaN stays, unlike with `f64::max`.
            formula(x, order, norm, if norm < eps { eps } else { norm }, out);
        };
        Ok(vec![lanes::map(input, dim, fill)])
    }
}

impl Engine for Normalize {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = floating(call, "self")?;
        let dim = normalise_dim(call.int("dim")?, spec.ndim())?;
        let dims: Vec<usize> = (0..spec.ndim()).filter(|&other| other == dim).collect();
        check_empty(&spec.shape, &dims, call.number("p")?)?;
        Ok(vec![(spec.dtype, spec.shape.clone())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Self::each(call, inputs, |x, _, _, divisor, out| {
            for (out, x) in out.iter_mut().zip(x) {
                *out = x / divisor;
            }
        })
    }

    /// `|y_j| sqrt(1 - 2 w_j + Σ w_i²)`, w the shares of the elements in the norm.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let spread = Self::each(call, inputs, |x, order, norm, divisor, out| {
            let moving = norm == divisor && norm != 0.0;
            let shares = if moving { shares(x, order, norm) } else { vec![0.0; x.len()] };
            let all = sum(shares.iter().map(|w| w * w));
            for ((out, x), own) in out.iter_mut().zip(x).zip(&shares) {
                *out = (x / divisor).abs() * (1.0 - 2.0 * own + all).max(0.0).sqrt();
            }
        })?;
        Ok(Some(spread))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        let (Ok(spec), Ok(dim)) = (call.tensor("self"), call.int("dim")) else { return 1 };
        let dim = normalise_dim(dim, spec.ndim()).unwrap_or(0);
        spec.shape.get(dim).copied().unwrap_or(1)
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        let Ok(spec) = call.tensor("self") else { return Locality::Whole };
        let dim = call.int("dim").and_then(|dim| normalise_dim(dim, spec.ndim()));
        row_locality(call, dim)
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        3.0 * n_out as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e9 }
    }
}
