//! The ways in which several values of one place become one.

use super::{
    super::super::{Array, Call, InferError, Inputs},
    scatter::{Scatter, Writes},
};
use crate::reference::Error;

/// A reduction of the values of a place, with or without the value that was there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reduction {
    kind: Kind,
    include_self: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Prod,
    Mean,
    Largest,
    Smallest,
}

impl Reduction {
    /// Reads the arguments of a call.
    pub(super) fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let kind = match call.opt_str("reduce")?.unwrap_or_default() {
            "sum" => Kind::Sum,
            "prod" => Kind::Prod,
            "mean" => Kind::Mean,
            "amax" => Kind::Largest,
            "amin" => Kind::Smallest,
            other => {
                let wanted = "sum, prod, mean, amax or amin";
                return Err(InferError::value("reduce", other, wanted));
            }
        };
        Ok(Self { kind, include_self: call.bool("include_self")? })
    }

    /// Returns the values of each place that something is written to, and of the others `None`.
    fn groups(
        self,
        own: &[f64],
        writes: &Writes,
        of: impl Fn(f64) -> f64,
    ) -> Vec<Option<Vec<f64>>> {
        let mut groups: Vec<Option<Vec<f64>>> = vec![None; own.len()];
        for (&place, &value) in writes.places.iter().zip(&writes.values) {
            let first = || if self.include_self { vec![own[place]] } else { Vec::new() };
            groups[place].get_or_insert_with(first).push(of(value));
        }
        groups
    }

    /// Returns the result of each place; a mean of integers is rounded down.
    pub(super) fn results(
        self,
        own: &[f64],
        writes: &Writes,
        of: impl Fn(f64) -> f64,
        integers: bool,
    ) -> Vec<f64> {
        let nan_or = |values: &[f64], pick: fn(f64, f64) -> f64| {
            let nan = values.iter().any(|value| value.is_nan());
            if nan { f64::NAN } else { values.iter().copied().reduce(pick).unwrap_or(f64::NAN) }
        };
        let result = |values: Vec<f64>| {
            let total = || super::super::sum::sum(values.iter().copied());
            match self.kind {
                Kind::Sum => total(),
                Kind::Prod => values.iter().product(),
                Kind::Mean if integers => (total() / values.len() as f64).floor(),
                Kind::Mean => total() / values.len() as f64,
                Kind::Largest => nan_or(&values, f64::max),
                Kind::Smallest => nan_or(&values, f64::min),
            }
        };
        let groups = self.groups(own, writes, of);
        groups.into_iter().zip(own).map(|(values, &own)| values.map_or(own, result)).collect()
    }

    /// Returns `sqrt(Σ x²)` of sums, over their number of means, `|y| sqrt(n)` of products, |y| of
    /// chosen values.
    pub(super) fn spread(self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Array, Error> {
        let own = inputs.get("self")?.array();
        let flat: Vec<f64> = own.iter().copied().collect();
        let groups = self.groups(&flat, &Scatter::Reduce.writes(call, inputs)?, |x| x);
        let chosen = |values: &[f64], pick: fn(f64, f64) -> f64| {
            values.iter().copied().reduce(pick).map_or(0.0, f64::abs)
        };
        let spread = |values: Vec<f64>| {
            let n = values.len() as f64;
            let root = values.iter().map(|x| x * x).sum::<f64>().sqrt();
            match self.kind {
                Kind::Sum => root,
                Kind::Mean => root / n,
                Kind::Prod => values.iter().product::<f64>().abs() * n.sqrt(),
                Kind::Largest => chosen(&values, f64::max),
                Kind::Smallest => chosen(&values, f64::min),
            }
        };
        let each = groups.into_iter().zip(&flat);
        let spreads = each.map(|(values, own)| values.map_or(own.abs(), spread)).collect();
        Ok(Array::from_shape_vec(own.raw_dim(), spreads).expect("one value per element"))
    }
}
