//! One output of the reference against PyTorch's in f64 and in the storage dtype.

use kgen_ops::{
    op::OpDef,
    record::{DType, tensor::round_to},
    reference::{Bound, U},
};

use crate::policy::{EITHER_ZERO, f64_tolerance, least_scale, roundings, smallest, unit};

/// An output with its records; elements in row-major order.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    /// The op.
    pub op: &'a OpDef,
    /// Element type.
    pub dtype: DType,
    /// The values of the reference.
    pub reference: &'a [f64],
    /// How an honest computation may differ from it.
    pub bound: &'a Bound,
    /// PyTorch's result in the storage dtype.
    pub stored: &'a [f64],
    /// PyTorch's result in f64; `None` where the output is not floating-point.
    pub f64: Option<Vec<f64>>,
    /// Terms that an element is the sum of.
    pub terms: usize,
}

/// Compares every element; the error names the first that is wrong.
pub(crate) fn output(output: &Output<'_>) -> Result<(), String> {
    for index in 0..output.reference.len() {
        let stored = stored(output, index);
        let found = f64_result(output, index).err().or(stored.err());
        if let Some(found) = found {
            return Err(format!("element {index}: {found}"));
        }
    }
    Ok(())
}

/// Magnitude that the errors of an element are relative to: of its value, or of terms that cancel in it.
fn scale(output: &Output<'_>, index: usize) -> f64 {
    let bound = output.bound;
    let unit = if output.dtype == DType::F64 { unit(DType::F64) } else { U };
    let magnitude = bound.magnitude.as_ref().map_or(0.0, |magnitude| magnitude[index]);
    let least = least_scale(&output.op.name);
    output.reference[index].abs().max(bound.s[index] / unit).max(magnitude).max(least)
}

fn f64_result(output: &Output<'_>, index: usize) -> Result<(), String> {
    let Some(recorded) = &output.f64 else { return Ok(()) };
    let (got, wanted) = (output.reference[index], recorded[index]);
    let tolerance = f64_tolerance(&output.op.name) * scale(output, index) + f64::MIN_POSITIVE;
    // Exact ops may round a value before they pass it on: copies to another type.
    let rounded = output.op.exact && same(got, round_to(output.dtype, wanted));
    if same(got, wanted) || rounded || (got - wanted).abs() <= tolerance {
        return zero(output, index, wanted);
    }
    Err(format!("{got:?} instead of {wanted:?} in f64"))
}

/// Equal, or both NaN. The sign of zero does not count.
#[expect(clippy::float_cmp, reason = "equal bits are meant")]
fn same(left: f64, right: f64) -> bool {
    left == right || (left.is_nan() && right.is_nan())
}

/// The sign of a zero that both records have.
#[expect(clippy::float_cmp, reason = "zeros are meant")]
fn zero(output: &Output<'_>, index: usize, wanted: f64) -> Result<(), String> {
    let (got, stored) = (output.reference[index], output.stored[index]);
    let agreed = output.op.exact
        && EITHER_ZERO.iter().all(|(op, _)| *op != output.op.name)
        && [got, wanted, stored] == [0.0; 3]
        && wanted.is_sign_negative() == stored.is_sign_negative();
    if agreed && got.is_sign_negative() != wanted.is_sign_negative() {
        return Err(format!("{got:?} instead of {wanted:?}"));
    }
    Ok(())
}

fn stored(output: &Output<'_>, index: usize) -> Result<(), String> {
    let Output { op, dtype, .. } = *output;
    let exact = output.reference[index];
    let (got, wanted) = (round_to(dtype, exact), output.stored[index]);
    if same(got, wanted) {
        return Ok(());
    }
    if !op.is_exact(dtype) {
        let roundings = roundings(&op.name);
        // PyTorch rounds partial sums in an order of its own.
        let roundings = roundings * (output.terms as f64).sqrt();
        let jump = output.bound.jumps.as_ref().map_or(0.0, |jumps| jumps[index]);
        let tolerance = roundings * (unit(dtype) * scale(output, index) + smallest(dtype)) + jump;
        // A value that rounds to an infinity may also stay just below it.
        let limit = dtype.max_value() * (1.0 + unit(dtype));
        let clamped = |value: f64| value.clamp(-limit, limit);
        if (clamped(exact) - clamped(wanted)).abs() <= tolerance && !exact.is_infinite() {
            return Ok(());
        }
    }
    Err(format!("{exact:?} is {got:?} in {dtype} instead of {wanted:?}"))
}
