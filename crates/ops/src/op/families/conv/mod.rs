//! Convolutions of one to three spatial dimensions, plain and transposed.

mod geometry;
mod sums;

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::super::{
    Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Param, Role, Shaped,
    generators::{self, EXACT_SUM},
    integer_limit,
};

use sums::Sums;

pub(crate) use geometry::{Geometry, SPATIAL, Triple, option, triple};
pub(crate) use sums::split;

/// A convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conv {
    /// The op that takes everything as arguments.
    Any,
    /// Of so many spatial dimensions.
    Plain(usize),
    /// Transposed, of so many spatial dimensions.
    Transposed(usize),
}

impl Conv {
    fn geometry(self, call: &Call<'_>) -> Result<Geometry, InferError> {
        match self {
            Self::Any => Geometry::of(call, None, call.bool("transposed")?),
            Self::Plain(spatial) => Geometry::of(call, Some(spatial), false),
            Self::Transposed(spatial) => Geometry::of(call, Some(spatial), true),
        }
    }
}

/// Magnitudes of the factors of sums of `terms` products, all of them non-zero, that are exact in
/// f32 in every order, large enough that coarser sums are not.
pub(crate) fn exact_magnitude(dtype: DType, role: Role, terms: usize) -> usize {
    let limit = integer_limit(dtype);
    let terms = terms.max(1);
    let room = EXACT_SUM / terms;
    match (dtype, role) {
        // Signs are random: six standard deviations of the sum are in the range of f16.
        (DType::F16, Role::Main) => limit.min(room),
        (DType::F16, _) => {
            (30_000 / (limit * (terms.isqrt() + 1))).clamp(1, limit).min(room / limit)
        }
        (DType::BF16 | DType::F8E4M3 | DType::F8E5M2, Role::Main) => limit.min(room),
        (DType::BF16 | DType::F8E4M3 | DType::F8E5M2, _) => limit.min(room / limit),
        (_, Role::Main) => limit.min(room),
        _ => 1,
    }
}

impl Engine for Conv {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        Ok(vec![self.geometry(call)?.shaped()])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let geometry = self.geometry(call)?;
        let bias = |sum, bias: f64| sum + bias;
        Ok(vec![Sums::new(&geometry, inputs)?.all(|x| x, bias)])
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let bias = |sum, bias: f64| sum + bias;
        let at = |geometry: Geometry| Ok(Sums::new(&geometry, inputs)?.some(indices, |x| x, bias));
        Some(self.geometry(call).map_err(Error::from).and_then(at))
    }

    /// `sqrt(2 Σ (x w)² + b²)`: both factors of each product are off.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let geometry = self.geometry(call)?;
        Ok(Some(vec![Sums::new(&geometry, inputs)?.all(|x| x * x, root)]))
    }

    fn spread_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at =
            |geometry: Geometry| Ok(Sums::new(&geometry, inputs)?.some(indices, |x| x * x, root));
        Some(self.geometry(call).map_err(Error::from).and_then(at))
    }

    fn is_by_cudnn(&self) -> bool {
        true
    }

    fn sums_products(&self) -> bool {
        true
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        self.geometry(call).map_or(1, |geometry| geometry.n_terms().max(1))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Single
    }

    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let geometry = self.geometry(call).ok()?;
        let [input, kernel] = geometry.met();
        let share = match name {
            "input" => input,
            "weight" => kernel,
            _ => return None,
        };
        let [met, all] = share;
        Some(call.opt_tensor(name)?.numel() / all.max(1) * met)
    }

    /// Fast algorithms need as much as a kernel of one element, at the least.
    fn least_flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let kernel = self.geometry(call).map_or(1, |geometry| geometry.kernel_len());
        self.flops(call, n_out) / kernel.max(1) as f64
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let Ok(geometry) = self.geometry(call) else { return 0.0 };
        if !geometry.transposed {
            return 2.0 * n_out as f64 * geometry.n_terms() as f64;
        }
        // Each input element is multiplied by each element of its kernels once.
        let pairs = geometry.in_channels * geometry.groups * geometry.out_channels;
        let places: usize = geometry.input.iter().product();
        2.0 * (geometry.batch * pairs) as f64 * (places * geometry.kernel_len()) as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 300.0 } else { 1e15 }
    }

    /// Channels cancel.
    fn cancelling(&self, call: &Call<'_>, param: &Param) -> Option<Gen> {
        if param.name != "input" {
            return Some(generators::CANCELLING_SECOND);
        }
        let geometry = self.geometry(call).ok()?;
        let places = geometry.input.iter().product();
        Some(generators::cancelling(geometry.in_channels, places, geometry.n_terms()))
    }

    /// Ones: an f16 accumulator stops counting at 2048.
    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(&self, call: &Call<'_>, role: Role, row: usize) -> ExactLimits {
        Ok((exact_magnitude(call.case.dtype, role, self.accumulation_len(call)), row))
    }
}

fn root(squares: f64, bias: f64) -> f64 {
    (2.0 * squares + bias).sqrt()
}
