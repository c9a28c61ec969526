//! Scans: each element is the fold of the elements up to it.

use crate::{
    record::{DType, Gen},
    reference::Error,
};

use super::{
    super::{
        Array, Call, DistributionError, Engine, ExactLimits, InferError, Inputs, Locality, Param,
        Role, Shaped, generators, integer_limit, normalise_dim,
    },
    extreme::{element, tied},
    lanes,
    reduce::{
        converted, exact_factor, exact_terms, factor_generator, floating, plain, row_locality,
        total_dtype,
    },
    sum::Sum,
};

/// A scan along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scan {
    /// Sums.
    Sum,
    /// Products.
    Prod,
    /// Logarithms of sums of exponentials.
    LogSumExp,
    /// Largest elements and the indices of the last of them.
    Max,
    /// Smallest elements and the indices of the last of them.
    Min,
}

fn dim(call: &Call<'_>) -> Result<usize, InferError> {
    normalise_dim(call.int("dim")?, call.tensor("self")?.ndim())
}

fn len(call: &Call<'_>) -> usize {
    let (Ok(spec), Ok(dim)) = (call.tensor("self"), dim(call)) else { return 1 };
    spec.shape.get(dim).copied().unwrap_or(1)
}

/// Returns whether a scan goes along the last dimension.
fn along_rows(call: &Call<'_>) -> bool {
    let (Ok(spec), Ok(dim)) = (call.tensor("self"), dim(call)) else { return false };
    dim + 1 == spec.ndim()
}

/// Products; in integers modulo 2^64.
#[expect(clippy::cast_possible_truncation, reason = "integers below 2^53 are f64 exactly")]
fn products(integers: bool, x: impl Iterator<Item = f64>, out: &mut [f64]) {
    let (mut whole, mut product) = (1_i64, 1.0);
    for (out, x) in out.iter_mut().zip(x) {
        if integers {
            whole = whole.wrapping_mul(x as i64);
            *out = whole as f64;
        } else {
            product *= x;
            *out = product;
        }
    }
}

/// A running `log Σ exp x`: the sum is kept relative to the maximum.
#[derive(Clone, Copy)]
struct Running {
    max: f64,
    /// `Σ exp(x - max)`.
    sum: f64,
    /// `Σ (exp(x - max) x)²`.
    squares: f64,
}

impl Running {
    const START: Self = Self { max: f64::NEG_INFINITY, sum: 0.0, squares: 0.0 };

    fn add(&mut self, x: f64) {
        if x.is_nan() || self.max.is_nan() {
            self.max = f64::NAN;
            return;
        }
        let max = self.max.max(x);
        if max.is_infinite() {
            *self = Self { max, sum: 1.0, squares: 0.0 };
            return;
        }
        let (scale, term) = ((self.max - max).exp(), (x - max).exp());
        self.sum = self.sum * scale + term;
        self.squares = self.squares * scale * scale + (term * x).powi(2);
        self.max = max;
    }

    fn value(self) -> f64 {
        self.max + self.sum.ln()
    }

    fn spread(self) -> f64 {
        self.squares.sqrt() / self.sum
    }

    fn scale(self) -> f64 {
        self.max.abs() + self.sum.ln().max(1.0)
    }
}

/// Fills in a running sum of exponentials after each element.
fn running(x: &[f64], out: &mut [f64], tell: fn(Running) -> f64) {
    let mut state = Running::START;
    for (out, &x) in out.iter_mut().zip(x) {
        state.add(x);
        *out = tell(state);
    }
}

/// The most extreme element so far and the index of the last one that equals it.
fn extremes(reaches: fn(&f64, &f64) -> bool, x: &[f64], [values, indices]: [&mut [f64]; 2]) {
    let mut best = 0;
    for (index, x_i) in x.iter().enumerate() {
        if x_i.is_nan() || reaches(x_i, &x[best]) {
            best = index;
        }
        values[index] = x[best];
        indices[index] = best as f64;
    }
}

impl Scan {
    const fn is_extreme(self) -> bool {
        matches!(self, Self::Max | Self::Min)
    }
}

impl Engine for Scan {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let shape = plain(call)?.shape.clone();
        dim(call)?;
        Ok(match self {
            Self::Sum | Self::Prod => {
                let dtype = total_dtype(call)?;
                if dtype == DType::Bool {
                    return Err(InferError::value("dtype", dtype, "a number type"));
                }
                vec![(dtype, shape)]
            }
            Self::LogSumExp => vec![(floating(call, "self")?.dtype, shape)],
            Self::Max | Self::Min => {
                vec![(call.tensor("self")?.dtype, shape.clone()), (DType::I64, shape)]
            }
        })
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (input, dim) = (inputs.get("self")?, dim(call)?);
        let to =
            if matches!(self, Self::Sum | Self::Prod) { call.opt_dtype("dtype")? } else { None };
        let integers = total_dtype(call).is_ok_and(|dtype| !dtype.is_float());
        let one = |fill: &(dyn Fn(&[f64], &mut [f64]) + Sync)| vec![lanes::map(input, dim, fill)];
        Ok(match self {
            Self::Sum => one(&|x, out| {
                let mut total = Sum::default();
                for (out, &x) in out.iter_mut().zip(x) {
                    total.add(converted(to, x));
                    *out = total.value();
                }
            }),
            Self::Prod => {
                one(&|x, out| products(integers, x.iter().map(|&x| converted(to, x)), out))
            }
            Self::LogSumExp => one(&|x, out| running(x, out, Running::value)),
            Self::Max | Self::Min => {
                let reaches = if *self == Self::Max { f64::ge } else { f64::le };
                lanes::maps(input, dim, len(call), |x, out| extremes(reaches, x, out)).into()
            }
        })
    }

    /// `sqrt(Σ x²)` of the elements so far; for products `|y| sqrt(n)`, for logarithms
    /// `sqrt(Σ (p x)²)`; integers do not move.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if !self.is_extreme() && !inputs.get("self")?.dtype.is_float() {
            return Ok(None);
        }
        let fill = |x: &[f64], out: &mut [f64]| match self {
            Self::Sum => {
                let mut total = Sum::default();
                for (out, x) in out.iter_mut().zip(x) {
                    total.add(x * x);
                    *out = total.value().sqrt();
                }
            }
            Self::Prod => {
                products(false, x.iter().copied(), out);
                for (index, out) in out.iter_mut().enumerate() {
                    *out = out.abs() * ((index + 1) as f64).sqrt();
                }
            }
            Self::LogSumExp => running(x, out, Running::spread),
            Self::Max | Self::Min => out.fill(0.0),
        };
        let spread = lanes::map(inputs.get("self")?, dim(call)?, fill);
        Ok(Some(if self.is_extreme() { vec![spread.clone(), spread] } else { vec![spread] }))
    }

    /// Of logarithms, the maximum and the logarithm of a rounded sum of at least 1.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if *self != Self::LogSumExp {
            return Ok(None);
        }
        let fill = |x: &[f64], out: &mut [f64]| running(x, out, Running::scale);
        Ok(Some(vec![lanes::map(inputs.get("self")?, dim(call)?, fill)]))
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        if self.is_extreme() { 1 } else { len(call) }
    }

    fn locality(&self, call: &Call<'_>) -> Locality {
        row_locality(call, dim(call))
    }

    fn flops(&self, call: &Call<'_>, _n_out: usize) -> f64 {
        let each = if *self == Self::LogSumExp { 4.0 } else { 1.0 };
        call.tensor("self").map_or(0.0, |spec| each * spec.numel() as f64)
    }

    fn generator(&self, call: &Call<'_>, param: &Param) -> Result<Gen, DistributionError> {
        match self {
            Self::Prod => factor_generator(self, call, param, len(call)),
            _ => generators::by_role(self, call, param),
        }
    }

    fn large(&self, dtype: DType) -> f64 {
        match (self, dtype) {
            (Self::LogSumExp, _) => 1e4,
            (_, DType::F16) => 1e3,
            _ => 1e15,
        }
    }

    fn shifted(&self) -> (f64, f64) {
        if *self == Self::LogSumExp { (1000.0, 3.0) } else { (100.0, 1.0) }
    }

    /// Ones: an f16 accumulator stops counting at 2048.
    fn constant(&self) -> f64 {
        1.0
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let (dtype, len) = (call.case.dtype, len(call).max(1));
        match self {
            Self::Sum => Ok(exact_terms(dtype, len, along_rows(call), row)),
            Self::Prod => Ok((exact_factor(dtype, len), row)),
            Self::Max | Self::Min => Ok((integer_limit(dtype), row)),
            Self::LogSumExp => Err("its results are irrational"),
        }
    }

    /// An index of an equal element that is not behind becomes the last one.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Some(got), Some(expected)) = (got.last_mut(), expected.last()) else { return };
        let (Ok(input), Ok(dim)) = (inputs.get("self"), dim(call)) else { return };
        if !self.leaves_choices() || got.shape() != expected.shape() {
            return;
        }
        let choose = |x: &[f64], at: usize, mine: f64, best: f64| {
            let within = mine <= at as f64;
            match (element(x, mine), element(x, best)) {
                (Some(one), Some(other)) if within && tied(one, other) => best,
                _ => mine,
            }
        };
        lanes::revise(input, dim, got, expected, |x, got, expected| {
            for (at, (got, &best)) in got.iter_mut().zip(expected).enumerate() {
                *got = choose(x, at, *got, best);
            }
        });
    }

    fn leaves_choices(&self) -> bool {
        self.is_extreme()
    }
}
