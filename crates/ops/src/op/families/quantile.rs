//! Quantiles: elements of sorted slices, and numbers between two of them.

use ndarray::IxDyn;

use crate::{
    record::{DType, Gen, InputDistribution, tensor::round_to},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, InferError, Inputs, Param, Shaped, generators,
    },
    lanes::Rows,
    reduce::{dims, left},
};

/// Quantiles of slices, at positions that a tensor holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantile;

/// The choices of `interpolation`.
pub(crate) const WAYS: &[&str] = &["linear", "lower", "higher", "midpoint", "nearest"];

/// Two neighbours in the order of a slice, and the weight of the second.
#[derive(Debug, Clone, Copy)]
struct Between {
    below: usize,
    above: usize,
    weight: f64,
    /// The rank as it is computed: its rounding is the weight's error.
    rank: f64,
}

impl Between {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are those of elements"
    )]
    fn of(way: &str, rank: f64) -> Self {
        let (below, above) = match way {
            "lower" => (rank.floor(), rank.floor()),
            "higher" => (rank.ceil(), rank.ceil()),
            "nearest" => (rank.round_ties_even(), rank.round_ties_even()),
            _ => (rank.floor(), rank.ceil()),
        };
        let weight = match way {
            "linear" => rank - below,
            "midpoint" => 0.5,
            _ => 0.0,
        };
        Self { below: below as usize, above: above as usize, weight, rank }
    }
}

/// Returns the place of a quantile in a sorted slice: the product in the slice's type decides where it
/// is an element's, or halfway to the next.
fn rank(dtype: DType, q: f64, len: usize) -> f64 {
    let exact = q * (len - 1) as f64;
    let rounded = round_to(dtype, exact);
    if (2.0 * rounded).fract() == 0.0 { rounded } else { exact }
}

/// Returns a number between two, computed from the nearer one.
fn interpolated(below: f64, above: f64, weight: f64) -> f64 {
    if weight < 0.5 {
        below + weight * (above - below)
    } else {
        above - (above - below) * (1.0 - weight)
    }
}

impl Quantile {
    /// Computes a function of the neighbours' values for each position and slice.
    fn each(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: impl Fn(&str, Between, f64, f64) -> f64,
    ) -> Result<Vec<Array>, Error> {
        let (input, way) = (inputs.get("self")?, call.str("interpolation")?);
        let sorted: Vec<Vec<f64>> =
            Rows::of(input, &dims(call)?).iter().map(|row| sorted(row.to_vec())).collect();
        let mut values = Vec::new();
        for &q in inputs.get("q")?.array() {
            if !(0.0..=1.0).contains(&q) {
                return Err(InferError::value("q", q, "in 0..=1").into());
            }
            values.extend(sorted.iter().map(|row| {
                let between = Between::of(way, rank(input.dtype, q, row.len()));
                formula(way, between, row[between.below], row[between.above])
            }));
        }
        let shape = [&call.tensor("q")?.shape[..], &left(call)?].concat();
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one value per quantile")])
    }
}

/// Returns a slice in ascending order; all NaN where it holds one.
fn sorted(mut row: Vec<f64>) -> Vec<f64> {
    if row.iter().any(|x| x.is_nan()) {
        return vec![f64::NAN; row.len()];
    }
    row.sort_unstable_by(f64::total_cmp);
    row
}

impl Engine for Quantile {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        if !matches!(spec.dtype, DType::F32 | DType::F64) {
            return Err(InferError::dtype("self", spec.dtype, "f32 or f64"));
        }
        if spec.numel() == 0 {
            return Err(InferError::shape("self", &spec.shape, "not empty"));
        }
        let q = call.tensor("q")?;
        if q.dtype != spec.dtype {
            return Err(InferError::dtype("q", q.dtype, spec.dtype.name()));
        }
        if q.ndim() > 1 {
            return Err(InferError::shape("q", &q.shape, "[] or [k]"));
        }
        let way = call.str("interpolation")?;
        if !WAYS.contains(&way) {
            return Err(InferError::value("interpolation", way, WAYS.join(", ")));
        }
        Ok(vec![(spec.dtype, [&q.shape[..], &left(call)?].concat())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Self::each(call, inputs, |way, between, below, above| match way {
            "linear" | "midpoint" => interpolated(below, above, between.weight),
            _ => below,
        })
    }

    /// That of an interpolation between two elements, whose weight errs as the rank does; elements
    /// themselves are copied.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let spread = Self::each(call, inputs, |way, between, below, above| {
            let Between { weight, rank, .. } = between;
            let moved = match way {
                "linear" => rank * (above - below),
                "midpoint" => 0.0,
                _ => return 0.0,
            };
            let terms = [(1.0 - weight) * below, weight * above, moved];
            terms.iter().map(|term| term * term).sum::<f64>().sqrt()
        })?;
        Ok(Some(spread))
    }

    /// A position that is off by a rounding may be another element's.
    fn rounds_differences(&self) -> bool {
        true
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let none = call.tensor("q").is_ok_and(|q| q.numel() == 0);
        none.then_some(0)
    }

    /// Positions are in 0..=1 in every distribution.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name == "q" && call.case.distribution != InputDistribution::Edges {
            return Ok(Gen::Uniform { low: 0.0, high: 1.0 });
        }
        generators::by_role(self, call, param)
    }
}
