//! Places repeated as often as a tensor says.

use ndarray::{Axis, IxDyn};

use crate::{
    record::{Gen, TensorSpec},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Param, Role,
        Shaped, generators, integer_limit, normalise_dim,
    },
    index::index_spec,
    reduce::plain,
};

/// `repeat_interleave` by a tensor of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// Of the places of a dimension.
    Places,
    /// Of the counts' own numbers.
    Numbers,
}

/// The places that are repeated: those of a dimension, or of the flat tensor.
struct Repeated {
    dim: usize,
    /// The shape that is repeated.
    shape: Vec<usize>,
}

impl Repeats {
    /// Returns the extent of the result.
    fn len(call: &Call<'_>) -> Result<usize, InferError> {
        let Some(given) = call.opt_int("output_size")? else {
            let wanted = "given: values would decide about the shape";
            return Err(InferError::value("output_size", "None", wanted).lacking());
        };
        let len = usize::try_from(given).ok();
        len.ok_or_else(|| InferError::value("output_size", given, "not negative"))
    }

    fn repeated(self, call: &Call<'_>) -> Result<Repeated, InferError> {
        if self == Self::Numbers {
            let shape = call.tensor("repeats")?.shape.clone();
            return Ok(Repeated { dim: 0, shape });
        }
        let spec = plain(call)?;
        let Some(dim) = call.opt_int("dim")? else {
            return Ok(Repeated { dim: 0, shape: vec![spec.numel()] });
        };
        if spec.ndim() == 0 {
            return Err(InferError::shape("self", &spec.shape, "of at least one dimension"));
        }
        Ok(Repeated { dim: normalise_dim(dim, spec.ndim())?, shape: spec.shape.clone() })
    }

    /// Checks the shape of the counts: one per place, or one for all.
    fn check(self, counts: &TensorSpec, extent: usize) -> Result<(), InferError> {
        let (fits, wanted) = match self {
            Self::Numbers => (counts.ndim() == 1, "of one dimension".to_owned()),
            Self::Places => {
                (counts.ndim() <= 1 && [extent, 1].contains(&counts.numel()), format!("[{extent}]"))
            }
        };
        if fits { Ok(()) } else { Err(InferError::shape("repeats", &counts.shape, wanted)) }
    }
}

/// Returns the place that each place of the result repeats.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are not negative integers, and no larger than the result"
)]
fn places(counts: &Array, extent: usize, len: usize) -> Result<Vec<usize>, Error> {
    let total: f64 = counts.iter().sum();
    let all = if counts.len() == extent { total } else { total * extent as f64 };
    if let Some(count) = counts.iter().find(|count| **count < 0.0) {
        return Err(InferError::value("repeats", count, "not negative").into());
    }
    if (all - len as f64).abs() > 0.0 {
        let wanted = format!("{all}, the sum of `repeats`");
        return Err(InferError::value("output_size", len, wanted).into());
    }
    let each = counts.iter().cycle().take(extent).enumerate();
    Ok(each.flat_map(|(place, &count)| std::iter::repeat_n(place, count as usize)).collect())
}

impl Engine for Repeats {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let counts = index_spec(call, "repeats")?;
        let Repeated { dim, mut shape } = self.repeated(call)?;
        self.check(counts, shape.get(dim).copied().unwrap_or(1))?;
        let dtype = if *self == Self::Numbers { counts.dtype } else { plain(call)?.dtype };
        shape[dim] = Self::len(call)?;
        Ok(vec![(dtype, shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let Repeated { dim, shape } = self.repeated(call)?;
        let counts = inputs.get("repeats")?.array();
        let places = places(counts, shape[dim], Self::len(call)?)?;
        if *self == Self::Numbers {
            let numbers = places.iter().map(|&place| place as f64).collect();
            let numbers = Array::from_shape_vec(IxDyn(&[places.len()]), numbers);
            return Ok(vec![numbers.expect("one value per place")]);
        }
        let values = inputs.get("self")?.array().as_standard_layout().into_owned();
        let values = values.into_shape_with_order(IxDyn(&shape)).expect("as many elements");
        Ok(vec![values.select(Axis(dim), &places)])
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// Any place may be repeated no time.
    fn reads(&self, _call: &Call<'_>, name: &str) -> Option<usize> {
        (name == "self").then_some(0)
    }

    /// Counts whose sum is the extent of the result.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        if param.name != "repeats" {
            return generators::by_role(self, call, param);
        }
        let total = Self::len(call).unwrap_or(0);
        let repeated = self.repeated(call).ok();
        let extent = repeated.map_or(1, |Repeated { dim, shape }| shape[dim]);
        let own = call.tensor("repeats").map_or(1, |counts| counts.numel());
        if own == 1 && extent > 1 {
            return Ok(Gen::Constant { value: (total / extent) as f64 });
        }
        Ok(Gen::Counts { total: total as u64 })
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }
}
