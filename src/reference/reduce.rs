//! Reductions over dimensions.

use crate::{
    op::{Reduce, ints_arg, normalise_dims},
    record::Case,
};

use super::{
    Error,
    sum::Sum,
    values::{Dense, Inputs, walk},
};

pub(super) fn evaluate(reduce: Reduce, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    match reduce {
        Reduce::Sum => fold(case, inputs.at(0), |x| x),
    }
}

/// `sqrt(Σ x²)`.
pub(super) fn spread(reduce: Reduce, case: &Case, inputs: &Inputs) -> Result<Vec<f64>, Error> {
    match reduce {
        Reduce::Sum => {
            let squares = fold(case, inputs.at(0), |x| x * x)?;
            Ok(squares.into_iter().map(f64::sqrt).collect())
        }
    }
}

/// Sums a function of the elements over the case's `dim`.
fn fold(case: &Case, input: &Dense, term: impl Fn(f64) -> f64) -> Result<Vec<f64>, Error> {
    let dims = normalise_dims(ints_arg(case, "dim")?, input.shape.len())?;
    let mut stride = vec![0; input.shape.len()];
    let mut n_out = 1;
    for dim in (0..input.shape.len()).rev() {
        if !dims.contains(&dim) {
            stride[dim] = n_out;
            n_out *= input.shape[dim];
        }
    }
    let mut sums = vec![Sum::default(); n_out];
    for (&value, target) in input.values.iter().zip(walk(&input.shape, &stride)) {
        sums[target].add(term(value));
    }
    Ok(sums.into_iter().map(Sum::value).collect())
}
