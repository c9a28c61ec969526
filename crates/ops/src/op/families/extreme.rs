//! Largest and smallest elements, and where they are.

use crate::{record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Role, Shaped, integer_limit,
    },
    lanes,
    reduce::{dims, keepdim, left, plain, slice_len, slice_locality},
};

/// Which end of the order is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The largest element.
    Max,
    /// The smallest element.
    Min,
    /// The element in the middle of the order; of two the smaller one.
    Middle,
}

/// The output for the extreme element of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returned {
    /// Its value.
    Value,
    /// Its index in the slice.
    Index,
    /// Both.
    Both,
    /// Its value, and that of the other end.
    Ends,
}

/// Extreme elements of slices; NaN is beyond every number on either end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extreme(pub(crate) End, pub(crate) Returned);

/// Returns whether two elements are the same to an order: equal, or both NaN.
#[expect(clippy::float_cmp, reason = "elements are compared, not results")]
pub(crate) fn tied(left: f64, right: f64) -> bool {
    left == right || (left.is_nan() && right.is_nan())
}

impl End {
    /// Returns the first extreme element and its index; of no elements, NaN and 0.
    fn of(self, x: &[f64]) -> [f64; 2] {
        if self == Self::Middle {
            return middle(x);
        }
        let mut best = 0;
        for (index, &x_i) in x.iter().enumerate().skip(1) {
            let beyond = match self {
                Self::Max => x_i > x[best],
                Self::Min | Self::Middle => x_i < x[best],
            };
            if beyond || (x_i.is_nan() && !x[best].is_nan()) {
                best = index;
            }
        }
        [x.first().map_or(f64::NAN, |_| x[best]), best as f64]
    }
}

/// Returns the first NaN, else the lower median, and its index; of no elements, NaN and 0.
fn middle(x: &[f64]) -> [f64; 2] {
    if let Some(at) = x.iter().position(|x| x.is_nan()) {
        return [f64::NAN, at as f64];
    }
    let mut order: Vec<usize> = (0..x.len()).collect();
    let Some(half) = x.len().checked_sub(1).map(|last| last / 2) else { return [f64::NAN, 0.0] };
    let (_, &mut at, _) = order.select_nth_unstable_by(half, |&a, &b| x[a].total_cmp(&x[b]));
    [x[at], at as f64]
}

impl Engine for Extreme {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = plain(call)?;
        if (self.1 == Returned::Index || self.0 == End::Middle) && spec.dtype == DType::Bool {
            return Err(InferError::dtype("self", spec.dtype, "a number type"));
        }
        let shape = left(call)?;
        let may_be_empty = self.0 == End::Middle && self.1 == Returned::Value;
        if !may_be_empty && dims(call)?.iter().any(|&dim| spec.shape[dim] == 0) {
            let wanted = "not empty along the dimensions that are folded";
            return Err(InferError::shape("self", &spec.shape, wanted));
        }
        let (value, index) = ((spec.dtype, shape.clone()), (DType::I64, shape));
        Ok(match self.1 {
            Returned::Value => vec![value],
            Returned::Index => vec![index],
            Returned::Both => vec![value, index],
            Returned::Ends => vec![value.clone(), value],
        })
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let formula = |x: &[f64]| match self.1 {
            Returned::Ends => [End::Min.of(x)[0], End::Max.of(x)[0]],
            _ => self.0.of(x),
        };
        let both = lanes::folds(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula);
        let [value, index] = both;
        Ok(match self.1 {
            Returned::Value => vec![value],
            Returned::Index => vec![index],
            Returned::Both | Returned::Ends => vec![value, index],
        })
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

    /// The index of the only element is known.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        (self.1 == Returned::Index && slice_len(call) == 1).then_some(0)
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }

    /// An index of an element that is as extreme becomes the first one.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Some(got), Some(expected)) = (got.last_mut(), expected.last()) else { return };
        let (Ok(input), Ok(dims)) = (inputs.get("self"), dims(call)) else { return };
        if !self.leaves_choices() || got.shape() != expected.shape() {
            return;
        }
        let slices = lanes::Rows::of(input, &dims);
        for ((got, &first), x) in got.iter_mut().zip(expected).zip(slices.iter()) {
            if let (Some(mine), Some(best)) = (element(x, *got), element(x, first))
                && tied(mine, best)
            {
                *got = first;
            }
        }
    }

    fn leaves_choices(&self) -> bool {
        matches!(self.1, Returned::Index | Returned::Both)
    }
}

/// Returns a computed index of a slice as a position; `None` where it is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
pub(crate) fn position(x: &[f64], index: f64) -> Option<usize> {
    let whole = index >= 0.0 && index < x.len() as f64 && index.fract() == 0.0;
    whole.then_some(index as usize)
}

/// Returns the element that a computed index names; `None` where it is no index.
pub(crate) fn element(x: &[f64], index: f64) -> Option<f64> {
    position(x, index).map(|at| x[at])
}
