//! Resampling of images: the nearest element, or two interpolated per dimension.

use ndarray::IxDyn;
use rayon::prelude::*;

use crate::{record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Shaped, work::covered},
    conv::option,
};

/// A resampling of the last two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resample {
    Nearest,
    Bilinear,
}

/// Where an output index lies between input elements.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tap {
    low: usize,
    high: usize,
    /// Weight of `high`; that of `low` is the rest.
    weight: f64,
    /// The place as it is computed: its rounding is what the weight is off by.
    place: f64,
}

/// Sizes of a call.
struct Grid {
    planes: usize,
    input: [usize; 2],
    output: [usize; 2],
    rows: Vec<Tap>,
    columns: Vec<Tap>,
}

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

    /// Applies a function of the four neighbours (with their weights) of each output element.
    fn map(&self, input: &Array, formula: impl Fn(Tap, Tap, [f64; 4]) -> f64 + Sync) -> Vec<f64> {
        let [height, width] = self.input;
        let values = input.as_slice().unwrap_or(&[]);
        let n_out = self.output[0] * self.output[1];
        let mut out = vec![0.0; self.planes * n_out];
        let planes = out.par_chunks_mut(n_out).zip(values.par_chunks(height * width));
        planes.for_each(|(out, plane)| {
            for (out, row) in out.chunks_exact_mut(self.output[1]).zip(&self.rows) {
                for (out, column) in out.iter_mut().zip(&self.columns) {
                    let at = |row: usize, column: usize| plane[row * width + column];
                    let four = [
                        at(row.low, column.low),
                        at(row.low, column.high),
                        at(row.high, column.low),
                        at(row.high, column.high),
                    ];
                    *out = formula(*row, *column, four);
                }
            }
        });
        out
    }
}

/// Returns input elements per output element: a factor that is given counts, where it is positive.
fn step(extent: usize, count: usize, given: Option<f64>) -> f64 {
    given.filter(|&scale| scale > 0.0).map_or(extent as f64 / count as f64, f64::recip)
}

/// The choice of an element is that of f32 arithmetic, in every type.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounding to f32 and down is the definition"
)]
fn nearest(extent: usize, count: usize, given: Option<f64>) -> Vec<Tap> {
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
fn linear(extent: usize, count: usize, given: Option<f64>, corners: bool) -> Vec<Tap> {
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

/// Returns the weights of the four neighbours.
fn weights(row: Tap, column: Tap) -> [f64; 4] {
    let (below, right) = (row.weight, column.weight);
    let (above, left) = (1.0 - below, 1.0 - right);
    [above * left, above * right, below * left, below * right]
}

impl Resample {
    fn shaped(grid: &Grid, call: &Call<'_>) -> Result<Shaped, InferError> {
        let spec = call.tensor("self")?;
        Ok((spec.dtype, [&spec.shape[..2], &grid.output].concat()))
    }

    fn outputs(
        self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        formula: fn(Tap, Tap, [f64; 4]) -> f64,
    ) -> Result<Vec<Array>, Error> {
        let grid = Grid::of(self, call)?;
        let (_, shape) = Self::shaped(&grid, call)?;
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

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        self.outputs(
            call,
            inputs,
            match self {
                Self::Nearest => |_, _, four| four[0],
                Self::Bilinear => |row, column, four| {
                    let terms = weights(row, column).into_iter().zip(four);
                    terms.map(|(weight, x)| weight * x).sum()
                },
            },
        )
    }

    /// `sqrt(Σ (w x)²)`.
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        Ok(Some(self.outputs(call, inputs, |row, column, four| {
            let terms = weights(row, column).into_iter().zip(four);
            terms.map(|(weight, x)| (weight * x).powi(2)).sum::<f64>().sqrt()
        })?))
    }

    /// The largest neighbour, times the place in the input: the weight of a neighbour is the
    /// fraction of that place, and is off by the rounding of the whole.
    fn hint(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        if *self == Self::Nearest {
            return Ok(None);
        }
        Ok(Some(self.outputs(call, inputs, |row, column, four| {
            let finite = four.into_iter().filter(|x| x.is_finite());
            let largest = finite.fold(0.0, |largest: f64, x| largest.max(x.abs()));
            largest * (1.0 + row.place + column.place)
        })?))
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

    fn exact(
        &self,
        call: &Call<'_>,
        _role: super::super::Role,
        row: usize,
    ) -> Result<(usize, usize), &'static str> {
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
