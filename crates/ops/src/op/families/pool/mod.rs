//! Pooling: averages and maxima of windows.

pub(crate) mod backward;
mod windows;

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Input, Inputs, Locality, Role, Shaped,
        integer_limit, sum_limit, unravel,
    },
    conv::{SPATIAL, Triple},
};

use windows::{Span, Windows};

/// Windows per dimension up to which their sizes are looked at one by one.
const EXACT_WINDOWS: usize = 1 << 20;

/// The result of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Its mean.
    Average,
    /// Its maximum.
    Maximum,
    /// Its maximum, and where that is in its plane.
    MaximumAt,
}

/// A pooling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    pub fold: Fold,
    /// Spatial dimensions.
    pub spatial: usize,
    /// Whether windows are chosen for an output size.
    pub adaptive: bool,
}

/// The divisor of an average.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Divisor {
    /// The elements of the window that are there.
    Inside,
    /// Those, and the padding.
    Padded,
    /// A number.
    Given(f64),
}

impl Divisor {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        if call.op.param("divisor_override").is_some()
            && let Some(divisor) = call.opt_int("divisor_override")?
        {
            if divisor == 0 {
                return Err(InferError::value("divisor_override", 0, "anything but 0"));
            }
            return Ok(Self::Given(divisor as f64));
        }
        let padded = call.op.param("count_include_pad").is_some();
        Ok(if padded && call.bool("count_include_pad")? { Self::Padded } else { Self::Inside })
    }

    fn value(self, window: [Span; SPATIAL]) -> f64 {
        match self {
            Self::Inside => window.iter().map(|span| span.len as f64).product(),
            Self::Padded => window.iter().map(|span| span.padded as f64).product(),
            Self::Given(divisor) => divisor,
        }
    }
}

/// Calls a function with the flat index, within its plane, of each element of a window, in
/// row-major order.
fn each(window: [Span; SPATIAL], input: Triple, mut visit: impl FnMut(usize)) {
    let along = |span: Span| (0..span.len).map(move |at| span.first + at * span.step);
    for depth in along(window[0]) {
        for row in along(window[1]) {
            for column in along(window[2]) {
                visit((depth * input[1] + row) * input[2] + column);
            }
        }
    }
}

/// The elements of a plane by their flat index.
type Plane<'p> = dyn Fn(usize) -> f64 + 'p;

/// Returns the first maximum of a window and its index; the last NaN where there is one.
fn maximum(window: [Span; SPATIAL], input: Triple, plane: &Plane<'_>) -> (f64, usize) {
    let mut best: Option<(f64, usize)> = None;
    each(window, input, |at| {
        let value = plane(at);
        if best.is_none_or(|(max, _)| value > max || value.is_nan()) {
            best = Some((value, at));
        }
    });
    best.unwrap_or((f64::NEG_INFINITY, 0))
}

impl Pool {
    /// Computes one element of one output.
    fn element(
        self,
        output: usize,
        divisor: Divisor,
        window: [Span; SPATIAL],
        input: Triple,
        plane: &Plane<'_>,
    ) -> f64 {
        match self.fold {
            Fold::Average => {
                let mut total = super::sum::Sum::default();
                each(window, input, |at| total.add(plane(at)));
                total.value() / divisor.value(window)
            }
            _ if output == 0 => maximum(window, input, plane).0,
            _ => maximum(window, input, plane).1 as f64,
        }
    }

    fn n_outputs(self) -> usize {
        if self.fold == Fold::MaximumAt { 2 } else { 1 }
    }

    /// Computes all elements of one output.
    fn all(
        self,
        windows: &Windows,
        values: &[f64],
        element: impl Fn([Span; SPATIAL], &Plane<'_>) -> f64 + Sync,
    ) -> Array {
        let n_input: usize = windows.input.iter().product();
        let n_output: usize = windows.output.iter().product();
        let shape = windows.shape();
        let mut out = vec![0.0; shape.iter().product()];
        if out.is_empty() {
            return Array::from_shape_vec(IxDyn(&shape), out).expect("there are no elements");
        }
        parallel::fill_rows(&mut out, n_output, &|number, out| {
            let plane = &values[number * n_input..][..n_input];
            for (index, out) in out.iter_mut().enumerate() {
                let place = super::conv::split(index, windows.output);
                *out = element(windows.window(place), &|at| plane[at]);
            }
        });
        Array::from_shape_vec(IxDyn(&shape), out).expect("one value per element")
    }

    /// Computes some elements of one output.
    fn some(
        self,
        windows: &Windows,
        input: &Input<'_>,
        indices: &[usize],
        element: impl Fn([Span; SPATIAL], &Plane<'_>) -> f64 + Sync,
    ) -> Vec<f64> {
        let n_output: usize = windows.output.iter().product();
        let spatial = &input.shape[windows.lead.len()..];
        let point = |place: usize| {
            let index = indices[place];
            let lead = unravel(index / n_output, &windows.lead);
            let place = super::conv::split(index % n_output, windows.output);
            let plane = |at: usize| input.at(&[lead.as_slice(), &unravel(at, spatial)].concat());
            element(windows.window(place), &plane)
        };
        parallel::map(indices.len(), &point)
    }
}

/// `sqrt(Σ x²) / divisor` of an average; |x| of a maximum.
fn spread(
    pool: Pool,
    output: usize,
    divisor: Divisor,
    window: [Span; SPATIAL],
    input: Triple,
    plane: &Plane<'_>,
) -> f64 {
    match pool.fold {
        Fold::Average => {
            let mut total = 0.0;
            each(window, input, |at| total += plane(at).powi(2));
            total.sqrt() / divisor.value(window).abs()
        }
        _ if output == 0 => maximum(window, input, plane).0.abs(),
        _ => 0.0,
    }
}

impl Engine for Pool {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        let integers = self.fold != Fold::Average && !self.adaptive && self.spatial > 1;
        let fits = spec.dtype.is_float() || (integers && spec.dtype.is_int());
        if !fits || spec.dtype.is_fp8() {
            let wanted = "a floating-point type of at least 16 bits";
            return Err(InferError::dtype("self", spec.dtype, wanted));
        }
        let places = self.adaptive && self.fold == Fold::MaximumAt;
        if places && spec.shape.iter().skip(1).any(|&extent| extent == 0) {
            return Err(InferError::shape(
                "self",
                &spec.shape,
                "only empty in its first dimension",
            ));
        }
        let shape = Windows::of(self, call)?.shape();
        Divisor::of(call)?;
        let mut outputs = vec![(spec.dtype, shape.clone())];
        if self.n_outputs() == 2 {
            outputs.push((DType::I64, shape));
        }
        Ok(outputs)
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(self.spatial)
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (windows, divisor) = (Windows::of(self, call)?, Divisor::of(call)?);
        let values = inputs.get("self")?.array().as_slice().unwrap_or(&[]);
        let one = |output: usize| {
            self.all(&windows, values, |window, plane| {
                self.element(output, divisor, window, windows.input, plane)
            })
        };
        Ok((0..self.n_outputs()).map(one).collect())
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at = || {
            let (windows, divisor) = (Windows::of(self, call)?, Divisor::of(call)?);
            Ok(self.some(&windows, inputs.get("self")?, indices, |window, plane| {
                self.element(output, divisor, window, windows.input, plane)
            }))
        };
        Some(at())
    }

    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let (windows, divisor) = (Windows::of(self, call)?, Divisor::of(call)?);
        let values = inputs.get("self")?.array().as_slice().unwrap_or(&[]);
        let one = |output: usize| {
            self.all(&windows, values, |window, plane| {
                spread(*self, output, divisor, window, windows.input, plane)
            })
        };
        Ok(Some((0..self.n_outputs()).map(one).collect()))
    }

    fn spread_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at = || {
            let (windows, divisor) = (Windows::of(self, call)?, Divisor::of(call)?);
            Ok(self.some(&windows, inputs.get("self")?, indices, |window, plane| {
                spread(*self, output, divisor, window, windows.input, plane)
            }))
        };
        Some(at())
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        match self.fold {
            Fold::Average => Windows::of(self, call).map_or(1, |windows| windows.largest().max(1)),
            _ => 1,
        }
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let largest = Windows::of(self, call).map_or(1, |windows| windows.largest());
        (n_out / self.n_outputs()) as f64 * largest as f64
    }

    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        Windows::of(self, call).ok().map(|windows| windows.covered())
    }

    /// Windows that overlap share their sums and maxima.
    fn least_flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 2e4 } else { 1e15 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        let dtype = call.case.dtype;
        if self.fold != Fold::Average {
            return Ok((integer_limit(dtype), row));
        }
        let invalid = "the call is not valid";
        let windows = Windows::of(self, call).map_err(|_| invalid)?;
        if windows.output.iter().any(|&count| count > EXACT_WINDOWS) {
            return Err("there are too many windows");
        }
        let even = match Divisor::of(call).map_err(|_| invalid)? {
            Divisor::Given(divisor) => divisor.abs().log2().fract() == 0.0,
            Divisor::Padded => windows.sizes(true).all(usize::is_power_of_two),
            Divisor::Inside => windows.sizes(false).all(usize::is_power_of_two),
        };
        if !even {
            return Err("an average is exact only over a power of two");
        }
        Ok((integer_limit(dtype).min(sum_limit(dtype) / windows.largest().max(1)), row))
    }
}
