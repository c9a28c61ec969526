//! Resampling of images: the nearest element, or two interpolated per dimension.

use std::ops::RangeInclusive;

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Inputs, Locality, Shaped, work::covered,
    },
    conv::option,
    weighted::{Terms, accept_open_choices, joined},
};

/// A resampling of the last two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resample {
    Nearest,
    Bilinear,
}

/// Where an output index lies between input elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tap {
    pub(super) low: usize,
    pub(super) high: usize,
    /// Weight of `high`; that of `low` is the rest.
    pub(super) weight: f64,
    /// The place as it is computed: its rounding is the weight's error.
    pub(super) place: f64,
}

/// Sizes of a call.
struct Grid {
    planes: usize,
    input: [usize; 2],
    output: [usize; 2],
    rows: Vec<Tap>,
    columns: Vec<Tap>,
}

/// How far a place may be rounded, relative to one more than it.
pub(super) const ROUNDING: f64 = 1.0 / (1 << 20) as f64;

const SCALES: [&str; 2] = ["scales_h", "scales_w"];

impl Grid {
    fn of(resample: Resample, call: &Call<'_>) -> Result<Self, InferError> {
        let spec = call.tensor("self")?;
        let integers = resample == Resample::Nearest && spec.dtype == DType::U8;
        if !(spec.dtype.is_float() || integers) || spec.dtype.is_fp8() {
            let wanted = "a floating-point type of at least 16 bits";
            return Err(InferError::dtype("self", spec.dtype, wanted));
        }
        let &[n, c, height, width] = spec.shape.as_slice() else {
            return Err(InferError::shape("self", &spec.shape, "[n, c, h, w]"));
        };
        if [c, height, width].contains(&0) {
            return Err(InferError::shape("self", &spec.shape, "[n, c, h, w], only n empty"));
        }
        let given = call.ints("output_size")?;
        if given.len() != 2 {
            return Err(InferError::value("output_size", format!("{given:?}"), "two sizes"));
        }
        let [_, rows, columns] = option(call, "output_size", 2, 1, 1)?;
        let output = [rows, columns];
        let corners = resample == Resample::Bilinear && call.bool("align_corners")?;
        let mut taps = Vec::new();
        for (dim, extent) in [height, width].into_iter().enumerate() {
            let given = call.opt_number(SCALES[dim])?;
            taps.push(match resample {
                Resample::Nearest => nearest(extent, output[dim], given),
                Resample::Bilinear => linear(extent, output[dim], given, corners),
            });
        }
        let (columns, rows) = (taps.pop().unwrap_or_default(), taps.pop().unwrap_or_default());
        Ok(Self { planes: n * c, input: [height, width], output, rows, columns })
    }

    /// Applies a function of the taps and of the plane's elements `(row, column)` per output element.
    fn map(&self, input: &Array, formula: impl Formula) -> Vec<f64> {
        let [height, width] = self.input;
        let values = input.as_slice().unwrap_or(&[]);
        let n_out = self.output[0] * self.output[1];
        let mut out = vec![0.0; self.planes * n_out];
        parallel::fill_rows(&mut out, n_out, &|number, out| {
            let plane = &values[number * height * width..][..height * width];
            for (out, row) in out.chunks_exact_mut(self.output[1]).zip(&self.rows) {
                for (out, column) in out.iter_mut().zip(&self.columns) {
                    *out = formula(*row, *column, &|row, column| plane[row * width + column]);
                }
            }
        });
        out
    }
}

impl Tap {
    /// Returns the input elements that rounding of the place can bring in: a place just off an
    /// element can be computed as just beyond it, between other two.
    pub(super) fn reachable(self, extent: usize) -> RangeInclusive<usize> {
        let off = (1.0 + self.place) * ROUNDING;
        let low = if self.weight < off { self.low.saturating_sub(1) } else { self.low };
        let high = if 1.0 - self.weight < off { self.high + 1 } else { self.high };
        low..=high.min(extent - 1)
    }

    /// Returns the reachable elements with their weights: NaN for a weight that rounding of the place
    /// makes 0, or more than 0, or leaves out.
    pub(super) fn rounded(self, extent: usize) -> Terms {
        let off = (1.0 + self.place) * ROUNDING;
        let (near_low, near_high) = (self.weight < off, 1.0 - self.weight < off);
        let open = |is_open: bool, weight: f64| if is_open { f64::NAN } else { weight };
        // The first place is not rounded.
        let high = open(near_low && self.place > 0.0, self.weight);
        let mut terms = vec![(self.low, open(near_high, 1.0 - self.weight)), (self.high, high)];
        let beyond = self.reachable(extent).filter(|at| ![self.low, self.high].contains(at));
        terms.extend(beyond.filter(|_| self.place > 0.0).map(|at| (at, f64::NAN)));
        terms
    }
}

/// A function of an output element's row, its column and its plane's elements.
trait Formula: Fn(Tap, Tap, &dyn Fn(usize, usize) -> f64) -> f64 + Sync {}

impl<F: Fn(Tap, Tap, &dyn Fn(usize, usize) -> f64) -> f64 + Sync> Formula for F {}

/// Returns input elements per output element: a factor that is given counts, where it is positive.
pub(super) fn step(extent: usize, count: usize, given: Option<f64>) -> f64 {
    given.filter(|&scale| scale > 0.0).map_or(extent as f64 / count as f64, f64::recip)
}

/// The choice of an element is that of f32 arithmetic, in every type.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding to f32 and down is the definition"
)]
pub(super) fn nearest(extent: usize, count: usize, given: Option<f64>) -> Vec<Tap> {
    let step = match given.filter(|&scale| scale > 0.0) {
        Some(scale) => (1.0 / scale) as f32,
        None => extent as f32 / count as f32,
    };
    let tap = |index: usize| {
        let low = ((index as f32 * step).floor() as usize).min(extent - 1);
        Tap { low, high: low, weight: 0.0, place: 0.0 }
    };
    (0..count).map(tap).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places are not negative"
)]
pub(super) fn linear(extent: usize, count: usize, given: Option<f64>, corners: bool) -> Vec<Tap> {
    let tap = |index: usize| {
        let index = index as f64;
        let place = match (corners, count) {
            (true, 1) => 0.0,
            (true, _) => index * (extent - 1) as f64 / (count - 1) as f64,
            (false, _) => (step(extent, count, given) * (index + 0.5) - 0.5).max(0.0),
        };
        let low = (place as usize).min(extent - 1);
        let weight = (place - low as f64).min(1.0);
        Tap { low, high: (low + 1).min(extent - 1), weight, place }
    };
    (0..count).map(tap).collect()
}

/// Returns the four neighbours times their weights.
fn terms(row: Tap, column: Tap, at: &dyn Fn(usize, usize) -> f64) -> [f64; 4] {
    let (below, right) = (row.weight, column.weight);
    let (above, left) = (1.0 - below, 1.0 - right);
    [
        above * left * at(row.low, column.low),
        above * right * at(row.low, column.high),
        below * left * at(row.high, column.low),
        below * right * at(row.high, column.high),
    ]
}

impl Resample {
    fn shaped(grid: &Grid, call: &Call<'_>) -> Result<Shaped, InferError> {
        let spec = call.tensor("self")?;
        Ok((spec.dtype, [&spec.shape[..2], &grid.output].concat()))
    }

    fn outputs(
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        grid: &Grid,
        formula: impl Formula,
    ) -> Result<Vec<Array>, Error> {
        let (_, shape) = Self::shaped(grid, call)?;
        let values = grid.map(inputs.get("self")?.array(), formula);
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element")])
    }
}

impl Engine for Resample {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        Ok(vec![Self::shaped(&Grid::of(*self, call)?, call)?])
    }

    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let grid = Grid::of(*self, call).ok()?;
        let along = |taps: &[Tap], extent| {
            // An element of weight 0 says nothing.
            let high = taps.iter().filter(|tap| tap.weight > 0.0).map(|tap| tap.high);
            let low = taps.iter().filter(|tap| tap.weight < 1.0).map(|tap| tap.low);
            covered(extent, low.chain(high))
        };
        let [height, width] = grid.input;
        Some(grid.planes * along(&grid.rows, height) * along(&grid.columns, width))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Rows(2)
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let grid = Grid::of(*self, call)?;
        match self {
            Self::Nearest => {
                Self::outputs(call, inputs, &grid, |row, column, at| at(row.low, column.low))
            }
            Self::Bilinear => Self::outputs(call, inputs, &grid, |row, column, at| {
                terms(row, column, at).into_iter().sum()
            }),
        }
    }

    /// `sqrt(Σ (w x)²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let grid = Grid::of(*self, call)?;
        let spread = Self::outputs(call, inputs, &grid, |row, column, at| {
            terms(row, column, at).map(|term| term.powi(2)).iter().sum::<f64>().sqrt()
        });
        Ok(Some(spread?))
    }

    /// The largest neighbour, times the place in the input: the weight of a neighbour is the
    /// fraction of that place, and is off by the rounding of the whole.
    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if *self == Self::Nearest {
            return Ok(None);
        }
        let grid = Grid::of(*self, call)?;
        let [height, width] = grid.input;
        let magnitude = Self::outputs(call, inputs, &grid, |row, column, at| {
            let mut largest = 0.0_f64;
            for y in row.reachable(height) {
                for x in column.reachable(width) {
                    let value = at(y, x).abs();
                    largest = largest.max(if value.is_finite() { value } else { 0.0 });
                }
            }
            largest * (1.0 + row.place + column.place)
        });
        Ok(Some(magnitude?))
    }

    /// An element of weight 0 counts or not as the place is rounded, which tells where it is not finite.
    fn canonicalise(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        let (Ok(grid), Ok(input), [got], [expected]) =
            (Grid::of(*self, call), inputs.get("self"), got, expected)
        else {
            return;
        };
        if !self.leaves_choices() || got.shape() != expected.shape() {
            return;
        }
        let ([height, width], [rows, columns]) = (grid.input, grid.output);
        let values = input.array().as_slice().unwrap_or(&[]);
        accept_open_choices(got, expected, values, |at| {
            let row = grid.rows[at / columns % rows].rounded(height);
            let column = grid.columns[at % columns].rounded(width);
            let plane = at / (rows * columns) * height * width;
            joined(plane, &[(&row, width), (&column, 1)])
        });
    }

    fn leaves_choices(&self) -> bool {
        *self == Self::Bilinear
    }

    fn accumulation_len(&self, _call: &Call<'_>) -> usize {
        if *self == Self::Bilinear { 4 } else { 1 }
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        n_out as f64 * if *self == Self::Bilinear { 11.0 } else { 1.0 }
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e4 } else { 1e15 }
    }

    fn exact(&self, call: &Call<'_>, _role: super::super::Role, row: usize) -> ExactLimits {
        let limit = super::super::integer_limit(call.case.dtype);
        if *self == Self::Nearest {
            return Ok((limit, row));
        }
        let grid = Grid::of(*self, call).map_err(|_| "the call is not valid")?;
        // Weights of at most four binary digits each: with the elements, products fit in f32.
        let short = |tap: &Tap| (tap.weight * 16.0).fract() == 0.0;
        if grid.rows.iter().chain(&grid.columns).all(short) {
            Ok((limit, row))
        } else {
            Err("its weights are no short binary fractions")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::linear;

    /// The neighbours that arithmetic of f32 takes are among those that the bound looks at.
    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "arithmetic of f32 is the subject"
    )]
    fn rounded_places_are_within_reach() {
        for (extent, count) in [(58, 71), (161, 297), (1024, 2048), (3000, 1000)] {
            for corners in [true, false] {
                let mut beyond = 0;
                for (index, tap) in linear(extent, count, None, corners).into_iter().enumerate() {
                    let place = if corners {
                        index as f32 * ((extent - 1) as f32 / (count - 1) as f32)
                    } else {
                        ((index as f32 + 0.5) * (extent as f32 / count as f32) - 0.5).max(0.0)
                    };
                    let low = (place as usize).min(extent - 1);
                    let reachable = tap.reachable(extent);
                    assert!(reachable.contains(&low), "{extent} to {count}, index {index}");
                    assert!(reachable.contains(&(low + 1).min(extent - 1)), "{extent} to {count}");
                    beyond += usize::from(low != tap.low);
                }
                assert!(!corners || extent != 161 || beyond > 0, "no place is rounded across");
            }
        }
    }
}
