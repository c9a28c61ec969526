//! A wrong implementation of an op must differ from it on some case of `opinfo`: zeros, a copy of
//! the first input, the mean of the right result.

use crate::{
    op::{Array, OpDef},
    record::{Case, DType, InputDistribution, tensor::round_to},
    reference::{Bound, Reference},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cheat {
    Zeros,
    First,
    Mean,
}

pub(super) const CHEATS: [Cheat; 3] = [Cheat::Zeros, Cheat::First, Cheat::Mean];

/// Cheats that are right: the op, the cheat and why.
const RIGHT: &[(&str, Cheat, &str)] = &[
    ("new_zeros", Cheat::Zeros, "it is zeros"),
    ("new_zeros", Cheat::Mean, "it is zeros"),
    ("new_ones", Cheat::Mean, "it is ones"),
    ("clone", Cheat::First, "it is a copy"),
    ("to_copy", Cheat::First, "it is a copy in another type"),
    ("view", Cheat::First, "it is a copy"),
    ("unsqueeze", Cheat::First, "it is a copy"),
];

/// The elements of a cheat's output; `None` where it says nothing.
fn output(cheat: Cheat, first: &Array, values: &Array) -> Option<Vec<f64>> {
    match cheat {
        Cheat::Zeros => Some(vec![0.0; values.len()]),
        Cheat::First if first.is_empty() => None,
        Cheat::First => Some(first.iter().copied().cycle().take(values.len()).collect()),
        Cheat::Mean if values.len() < 2 => None,
        Cheat::Mean => {
            let finite: Vec<f64> = values.iter().copied().filter(|y| y.is_finite()).collect();
            let mean = finite.iter().sum::<f64>() / finite.len().max(1) as f64;
            Some(vec![mean; values.len()])
        }
    }
}

/// Returns whether an element is further off than any rule of rounding forgives.
fn wrong(dtype: DType, exact: bool, bound: &Bound, index: usize, y: f64, got: f64) -> bool {
    let (want, got) = (round_to(dtype, y), round_to(dtype, got));
    if want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan()) {
        return false;
    }
    let Some((digits, _)) = dtype.format().filter(|_| !exact) else { return want - got != 0.0 };
    if !(want.is_finite() && got.is_finite()) {
        return true;
    }
    let of = |scales: &Option<Vec<f64>>| scales.as_ref().map_or(0.0, |scales| scales[index]);
    let scale = want.abs().max(of(&bound.magnitude)).max(of(&bound.inside));
    let tolerance = scale * 2f64.powi(1 - digits).max(0.02) + 1e3 * bound.s[index];
    (want - got).abs() > tolerance
}

impl Cheat {
    /// Returns whether the cheat is an implementation of the op.
    pub(super) fn is_right(self, op: &str) -> bool {
        RIGHT.iter().any(|(of, cheat, _)| *of == op && *cheat == self)
    }
}

/// Returns for each cheat whether it is caught; `None` where it says nothing.
pub(super) fn caught(
    op: &OpDef,
    case: &Case,
    reference: &Reference<'_>,
    values: &[Array],
    bounds: &[Bound],
) -> [Option<bool>; 3] {
    let dtypes: Vec<DType> = op.infer(case).unwrap().iter().map(|spec| spec.dtype).collect();
    let none = Array::zeros(ndarray::IxDyn(&[0]));
    let first = reference.inputs().first().map_or(&none, |input| input.array());
    CHEATS.map(|cheat| {
        let outputs = values.iter().zip(bounds).zip(&dtypes);
        let verdicts = outputs.filter_map(|((values, bound), &dtype)| {
            let exact = op.is_exact(dtype) || case.distribution == InputDistribution::Exact;
            let got = output(cheat, first, values)?;
            let pairs = values.iter().zip(got).enumerate();
            let mut pairs =
                pairs.filter(|(index, (y, got))| wrong(dtype, exact, bound, *index, **y, *got));
            Some(pairs.next().is_some())
        });
        verdicts.reduce(|left, right| left || right)
    })
}
