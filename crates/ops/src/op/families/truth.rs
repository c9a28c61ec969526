//! Reductions to a truth value.

use crate::{
    record::{DType, Gen, InputDistribution},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Locality, Param,
        Role, Shaped, generators,
    },
    lanes,
    reduce::{dims, keepdim, left, plain, slice_len, slice_locality},
};

/// Elements from which on a single answer rests on one of them.
const MANY: usize = 1 << 10;

/// An integer whose low 32 bits are 0.
const HIGH_WORD: i64 = 1 << 40;

/// Whether elements are not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    /// At least one.
    Any,
    /// Each.
    All,
}

impl Engine for Truth {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = if plain(call)?.dtype == DType::U8 { DType::U8 } else { DType::Bool };
        Ok(vec![(dtype, left(call)?)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let formula = |x: &[f64]| {
            let holds = match self {
                Self::Any => x.iter().any(|&x| x != 0.0),
                Self::All => x.iter().all(|&x| x != 0.0),
            };
            f64::from(u8::from(holds))
        };
        Ok(vec![lanes::fold(inputs.get("self")?, &dims(call)?, keepdim(call)?, formula)])
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        slice_locality(call)
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        call.tensor("self").map_or(0.0, |spec| spec.numel() as f64)
    }

    /// The first element that decides ends a search.
    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let n_out = left(call).map_or(0, |shape| shape.iter().product());
        Some(if slice_len(call) == 0 { 0 } else { n_out })
    }

    fn least_flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64
    }

    /// Zeros and ones in proportions that make either answer as likely, where there are several. A
    /// single one rests on one element: among many that say nothing, or NaN, or an integer
    /// without low words.
    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        let Ok(spec) = plain(call) else { return generators::by_role(self, call, param) };
        let len = slice_len(call);
        let single = len == spec.numel();
        let lone = |value: i64| match self {
            Self::Any => Gen::Lone { value, rest: 0 },
            Self::All => Gen::Lone { value: 0, rest: value },
        };
        Ok(match call.case.distribution {
            InputDistribution::Normal if single && len >= MANY => lone(1),
            InputDistribution::SpecialRows if single => {
                Gen::LoneNan { rest: u8::from(*self == Self::All) }
            }
            InputDistribution::Wide if single && spec.dtype == DType::I64 => lone(HIGH_WORD),
            InputDistribution::Normal => {
                let rare = (0.7 / len.max(1) as f64).min(0.5);
                Gen::Mask { p: if *self == Self::Any { rare } else { 1.0 - rare } }
            }
            _ => return generators::by_role(self, call, param),
        })
    }

    fn exact(&self, _call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((1, if *self == Self::Any { 1 } else { row }))
    }
}
