//! Ops whose output elements are sums of an input's elements times weights that the call alone says.

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Role, Shaped,
        integer_limit, sum_limit, unravel,
    },
    adjoint::by_rows_and_columns,
    sum::sum,
};

/// The terms of an output element: row-major indices in the input, and weights.
pub(crate) type Terms = Vec<(usize, f64)>;

/// Returns the terms of the element at a position.
pub(crate) type TermsAt = Box<dyn Fn(&[usize]) -> Terms + Send + Sync>;

/// The weights of an element as they are when they are rounded.
pub(crate) struct Rounded {
    /// The terms that rounding can bring in; NaN is a weight that it makes 0, or more, or leaves out.
    pub terms: Terms,
    /// Scale of the weights' own error.
    pub scale: Scale,
}

/// The scale of the error of rounded weights.
pub(crate) enum Scale {
    /// The largest element times this: few elements, and weights of which each may be off by as much.
    Largest(f64),
    /// The sum of elements times these, whatever the order of the sum.
    Sum(Terms),
}

/// Returns the rounded weights at a position.
pub(crate) type RoundedAt = Box<dyn Fn(&[usize]) -> Rounded + Send + Sync>;

/// An output of weighted sums.
pub(crate) struct Sums {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its element type; that of the input where it is `None`.
    pub dtype: Option<DType>,
    /// The terms of the element at a position.
    pub terms: TermsAt,
    /// The weights at a position where they are rounded themselves.
    pub rounded: Option<RoundedAt>,
    /// Most terms of an element.
    pub longest: usize,
    /// Different elements of the input that count; every one of them where it is `None`.
    pub read: Option<usize>,
}

/// An op of weighted sums.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighted {
    /// The input whose elements are summed.
    pub input: &'static str,
    /// Returns the sums of a call.
    pub sums: fn(&Call<'_>) -> Result<Sums, InferError>,
    /// Whether all weights are 1 or 0, so that sums of integers are exact.
    pub plain: bool,
}

impl Weighted {
    /// Computes a function of the terms' weights and values per output element.
    fn all(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        of: impl Fn(&mut dyn Iterator<Item = f64>) -> f64 + Sync,
    ) -> Result<Vec<Array>, Error> {
        let sums = (self.sums)(call)?;
        let array = inputs.get(self.input)?.array().as_standard_layout();
        let flat = array.as_slice().unwrap_or(&[]);
        let numel = sums.shape.iter().product();
        let element = |index: usize| {
            let terms = (sums.terms)(&unravel(index, &sums.shape));
            of(&mut terms.into_iter().map(|(at, weight)| weight * flat[at]))
        };
        let values = parallel::map(numel, &element);
        Ok(vec![Array::from_shape_vec(IxDyn(&sums.shape), values).expect("one value per element")])
    }
}

impl Engine for Weighted {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let sums = (self.sums)(call)?;
        Ok(vec![(sums.dtype.unwrap_or(call.tensor(self.input)?.dtype), sums.shape)])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        self.all(call, inputs, |terms| sum(terms))
    }

    /// `sqrt(Σ (w x)²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let spread =
            self.all(call, inputs, |terms| terms.map(|term| term * term).sum::<f64>().sqrt());
        Ok(Some(spread?))
    }

    /// The scale of what rounded weights may add.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let sums = (self.sums)(call)?;
        let Some(rounded) = sums.rounded else { return Ok(None) };
        let array = inputs.get(self.input)?.array().as_standard_layout();
        let flat = array.as_slice().unwrap_or(&[]);
        let size = |at: usize| if flat[at].is_finite() { flat[at].abs() } else { 0.0 };
        // The bound has this factor already, which is of sums in any order.
        let orders = (sums.longest as f64).sqrt();
        let element = |index: usize| {
            let Rounded { terms, scale } = rounded(&unravel(index, &sums.shape));
            match scale {
                Scale::Largest(factor) => {
                    factor * terms.into_iter().map(|(at, _)| size(at)).fold(0.0, f64::max)
                }
                Scale::Sum(terms) => {
                    terms.into_iter().map(|(at, scale)| scale * size(at)).sum::<f64>() / orders
                }
            }
        };
        let numel = sums.shape.iter().product();
        let values = parallel::map(numel, &element);
        Ok(Some(vec![
            Array::from_shape_vec(IxDyn(&sums.shape), values).expect("one value per element"),
        ]))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Whole
    }

    /// An element of weight 0 counts or not as weights are rounded, which tells where it is not finite.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Ok(sums), Ok(input), [got], [expected]) =
            ((self.sums)(call), inputs.get(self.input), got, expected)
        else {
            return;
        };
        let Some(rounded) = sums.rounded.filter(|_| got.shape() == expected.shape()) else {
            return;
        };
        let array = input.array().as_standard_layout();
        let flat = array.as_slice().unwrap_or(&[]);
        accept_open_choices(got, expected, flat, |index| {
            rounded(&unravel(index, &sums.shape)).terms
        });
    }

    fn leaves_choices(&self) -> bool {
        !self.plain
    }

    fn accumulation_len(&self, call: &Call<'_>) -> usize {
        (self.sums)(call).map_or(1, |sums| sums.longest)
    }

    fn flops(&self, call: &Call<'_>, n_out: usize) -> f64 {
        let terms = self.accumulation_len(call) as f64;
        n_out as f64 * if self.plain { terms } else { 2.0 * terms }
    }

    fn least_flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    /// Elements that no sum has are not read, nor those of tensors whose shape alone counts.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        if name != self.input {
            return Some(0);
        }
        (self.sums)(call).ok()?.read
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        if !self.plain {
            return Err("its weights are no short binary fractions");
        }
        let dtype = call.case.dtype;
        let longest = self.accumulation_len(call).max(1);
        Ok((integer_limit(dtype).min(sum_limit(dtype) / longest), row))
    }
}

/// Share of a sum that a result of 16 bits may be off by.
const COARSE: f64 = 1.0 / 256.0;

/// Sets results to those expected where they are those of other weights and rounding decides.
///
/// `terms`: those of an element, with weights of NaN where rounding decides. `input`: what they count.
pub(crate) fn accept_open_choices(
    got: &mut Array,
    expected: &Array,
    input: &[f64],
    terms: impl Fn(usize) -> Terms,
) {
    for (index, (got, &expected)) in got.iter_mut().zip(expected).enumerate() {
        if is_open_choice(*got, expected, input, || terms(index)) {
            *got = expected;
        }
    }
}

/// Returns whether a result that differs from the reference in being finite, or in what it is instead, is
/// that of other weights where rounding decides.
#[expect(clippy::float_cmp, reason = "infinities of one sign are equal")]
fn is_open_choice(got: f64, expected: f64, input: &[f64], terms: impl FnOnce() -> Terms) -> bool {
    let same = got == expected || (got.is_nan() && expected.is_nan());
    if same || (got.is_finite() && expected.is_finite()) {
        return false;
    }
    let terms = terms();
    let is_open = |(at, weight): &&(usize, f64)| weight.is_nan() && !input[*at].is_finite();
    let open: Vec<f64> = terms.iter().filter(is_open).map(|(at, _)| input[*at]).collect();
    if open.is_empty() {
        return false;
    }
    let decided = terms.iter().filter(|term| !is_open(term));
    // Finite elements of an open weight add next to nothing.
    let products = decided.filter(|(_, weight)| !weight.is_nan()).map(|(at, w)| w * input[*at]);
    let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
    match got {
        _ if sum.is_nan() => got.is_nan(),
        _ if got.is_nan() => true,
        // A weight next to 0 may have either sign.
        _ if got.is_infinite() => {
            sum == got || (sum.is_finite() && open.iter().any(|x| x.is_infinite()))
        }
        _ => (got - sum).abs() <= COARSE * size + f64::from(f32::MIN_POSITIVE),
    }
}

/// Joins the terms of the dimensions of an output: indices count in units of strides, weights are
/// multiplied.
pub(crate) fn joined(base: usize, dims: &[(&[(usize, f64)], usize)]) -> Terms {
    let mut terms = vec![(base, 1.0)];
    for (places, stride) in dims {
        let mut longer = Vec::with_capacity(terms.len() * places.len());
        for (index, weight) in &terms {
            longer.extend(places.iter().map(|(at, by)| (index + at * stride, weight * by)));
        }
        terms = longer;
    }
    terms
}

/// The sum of a matrix's diagonal.
pub(crate) fn trace(call: &Call<'_>) -> Result<Sums, InferError> {
    let spec = call.tensor("self")?;
    let &[rows, columns] = spec.shape.as_slice() else {
        return Err(InferError::shape("self", &spec.shape, "[m, n]"));
    };
    if spec.dtype.is_fp8() {
        return Err(InferError::dtype("self", spec.dtype, "no 8-bit floating-point type"));
    }
    let n = rows.min(columns);
    Ok(Sums {
        shape: Vec::new(),
        dtype: (!spec.dtype.is_float()).then_some(DType::I64),
        terms: Box::new(move |_| (0..n).map(|at| (at * (columns + 1), 1.0)).collect()),
        rounded: None,
        longest: n.max(1),
        read: Some(n),
    })
}

/// The gradient of sliding windows along a dimension.
pub(crate) fn unfold_backward(call: &Call<'_>) -> Result<Sums, InferError> {
    let spec = super::reduce::floating(call, "grad_in")?;
    let shape = super::backward::sizes(call, "input_sizes")?;
    let positive = |name: &str, least: i64| {
        let value = call.int(name)?;
        let wanted = format!("at least {least}");
        let fits = usize::try_from(value).ok().filter(|_| value >= least);
        fits.ok_or_else(|| InferError::value(name, value, wanted))
    };
    let (size, step) = (positive("size", 1)?, positive("step", 1)?);
    let dim = super::super::normalise_dim(call.int("dim")?, shape.len())?;
    if shape.is_empty() && size == 1 && spec.shape == [1] {
        return Ok(Sums {
            shape,
            dtype: None,
            terms: Box::new(|_| vec![(0, 1.0)]),
            rounded: None,
            longest: 1,
            read: None,
        });
    }
    let room = shape.get(dim).and_then(|extent| extent.checked_sub(size));
    let Some(room) = room else {
        return Err(InferError::value("size", size, "at most the extent of the dimension"));
    };
    let windows = room / step + 1;
    let mut own = shape.clone();
    own[dim] = windows;
    own.push(size);
    if spec.shape != own {
        return Err(InferError::shape("grad_in", &spec.shape, format!("{own:?}")));
    }
    let strides = super::movement::strides(&own);
    Ok(Sums {
        shape,
        dtype: None,
        terms: Box::new(move |position| {
            let others = position.iter().zip(&strides).enumerate().filter(|(at, _)| *at != dim);
            let base: usize = others.map(|(_, (at, stride))| at * stride).sum();
            let at = position[dim];
            let first = (at + 1).saturating_sub(size).div_ceil(step);
            let last = (at / step).min(windows - 1);
            let term = |window: usize| (base + window * strides[dim] + at - window * step, 1.0);
            (first..=last).map(term).collect()
        }),
        rounded: None,
        longest: size.div_ceil(step),
        read: None,
    })
}

/// The gradient of adaptive averages of two dimensions.
pub(crate) fn adaptive_average_backward(call: &Call<'_>) -> Result<Sums, InferError> {
    let spec = super::reduce::floating(call, "grad_output")?;
    let own = super::reduce::floating(call, "self")?;
    if own.dtype != spec.dtype {
        return Err(InferError::dtype("grad_output", spec.dtype, own.dtype.name()));
    }
    let ndim = own.ndim();
    let lead = ndim.saturating_sub(2);
    if !(3..=4).contains(&ndim) || own.shape[ndim - 3..].contains(&0) {
        return Err(InferError::shape(
            "self",
            &own.shape,
            "[c, h, w] or [n, c, h, w], only n empty",
        ));
    }
    if spec.ndim() != ndim
        || spec.shape[..lead] != own.shape[..lead]
        || spec.shape[lead..].contains(&0)
    {
        let wanted = "that of self but for the last two dimensions";
        return Err(InferError::shape("grad_output", &spec.shape, wanted));
    }
    let dim = |at: usize| windows_of(own.shape[at], spec.shape[at]);
    let plane = [spec.shape[lead], spec.shape[lead + 1]];
    Ok(by_rows_and_columns(own.shape.clone(), plane, dim(lead), dim(lead + 1)))
}

/// Returns, per place of a dimension, the adaptive windows that hold it, each with one by its length.
fn windows_of(extent: usize, count: usize) -> Vec<Terms> {
    let mut places = vec![Vec::new(); extent];
    for window in 0..count {
        let (first, end) = (window * extent / count, ((window + 1) * extent).div_ceil(count));
        for place in &mut places[first..end] {
            place.push((window, 1.0 / (end - first) as f64));
        }
    }
    places
}
