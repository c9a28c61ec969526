//! Sampling of an image at places that a tensor holds.

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{Array, Call, Engine, InferError, Inputs, Shaped},
    reduce::floating,
};

/// Samples of an image at the places of a grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GridSample;

/// Coefficient of cubic interpolation.
const CUBIC: f64 = -0.75;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Bilinear,
    Nearest,
    Bicubic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// The arguments of a call.
struct Sampler {
    mode: Mode,
    padding: Padding,
    corners: bool,
    shape: [usize; 4],
    input: [usize; 2],
}

impl Sampler {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let (input, grid) = (floating(call, "input")?, call.tensor("grid")?);
        if grid.dtype != input.dtype {
            return Err(InferError::dtype("grid", grid.dtype, input.dtype.name()));
        }
        let &[n, c, height, width] = input.shape.as_slice() else {
            return Err(InferError::shape("input", &input.shape, "[n, c, h, w]"));
        };
        if height * width == 0 {
            return Err(InferError::shape("input", &input.shape, "[n, c, h, w], h and w not 0"));
        }
        let &[batch, rows, columns, 2] = grid.shape.as_slice() else {
            return Err(InferError::shape("grid", &grid.shape, "[n, out_h, out_w, 2]"));
        };
        if batch != n {
            return Err(InferError::shape("grid", &grid.shape, format!("[{n}, out_h, out_w, 2]")));
        }
        let mode = match call.int("interpolation_mode")? {
            0 => Mode::Bilinear,
            1 => Mode::Nearest,
            2 => Mode::Bicubic,
            other => return Err(InferError::value("interpolation_mode", other, "0, 1 or 2")),
        };
        let padding = match call.int("padding_mode")? {
            0 => Padding::Zeros,
            1 => Padding::Border,
            2 => Padding::Reflection,
            other => return Err(InferError::value("padding_mode", other, "0, 1 or 2")),
        };
        let corners = call.bool("align_corners")?;
        Ok(Self { mode, padding, corners, shape: [n, c, rows, columns], input: [height, width] })
    }

    /// Returns the place in the image of a coordinate from -1 to 1.
    fn place(&self, coordinate: f64, extent: usize) -> f64 {
        let extent = extent as f64;
        if self.corners {
            (coordinate + 1.0) / 2.0 * (extent - 1.0)
        } else {
            ((coordinate + 1.0) * extent - 1.0) / 2.0
        }
    }

    /// Returns a place as the padding has it: places in the image stay.
    fn padded(&self, place: f64, extent: usize) -> f64 {
        let last = (extent - 1) as f64;
        // The larger of NaN and 0 is 0, as in CUDA.
        let clipped = |place: f64| place.max(0.0).min(last);
        let place = match self.padding {
            Padding::Zeros => place,
            Padding::Border => clipped(place),
            Padding::Reflection if self.corners => clipped(mirrored(place, 0.0, last)),
            Padding::Reflection => clipped(mirrored(place, -0.5, last + 0.5)),
        };
        let fits = place.is_finite() && place.abs() < f64::from(i32::MAX);
        if fits { place } else { -100.0 }
    }

    /// Returns the neighbours of a place along a dimension, with their weights.
    fn taps(&self, coordinate: f64, extent: usize) -> Vec<(f64, f64)> {
        let place = self.place(coordinate, extent);
        if self.mode == Mode::Bicubic {
            let first = place.floor();
            let away = place - first;
            let weights = [far(away + 1.0), near(away), near(1.0 - away), far(2.0 - away)];
            let tap = |(index, weight): (i32, f64)| {
                (self.padded(first - 1.0 + f64::from(index), extent), weight)
            };
            return (0..4).zip(weights).map(tap).collect();
        }
        let place = self.padded(place, extent);
        if self.mode == Mode::Nearest {
            return vec![(place.round_ties_even(), 1.0)];
        }
        let low = place.floor();
        vec![(low, low + 1.0 - place), (low + 1.0, place - low)]
    }

    /// Computes each output element of a plane and two coordinates.
    fn map(
        &self,
        inputs: &Inputs<'_>,
        formula: impl Fn(&Self, &[f64], [f64; 2]) -> f64 + Sync,
    ) -> Result<Array, Error> {
        let [_, channels, rows, columns] = self.shape;
        let (input, grid) = (inputs.get("input")?, inputs.get("grid")?);
        let (planes, grid) = (input.array(), grid.array());
        let (planes, grid) = (planes.as_slice().unwrap_or(&[]), grid.as_slice().unwrap_or(&[]));
        let (size, area) = (self.input[0] * self.input[1], rows * columns);
        let mut out = vec![0.0; self.shape.iter().product()];
        if !out.is_empty() {
            parallel::fill_rows(&mut out, area, &|number, out| {
                let plane = &planes[number * size..][..size];
                let grid = &grid[number / channels * area * 2..][..area * 2];
                for (out, at) in out.iter_mut().zip(grid.chunks_exact(2)) {
                    *out = formula(self, plane, [at[1], at[0]]);
                }
            });
        }
        Ok(Array::from_shape_vec(IxDyn(&self.shape), out).expect("one value per element"))
    }

    /// Returns an element of a plane; 0 outside of it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
    fn element(&self, plane: &[f64], row: f64, column: f64) -> Option<f64> {
        let [height, width] = self.input;
        let within = |at: f64, extent: usize| (0.0..extent as f64).contains(&at);
        let inside = within(row, height) && within(column, width);
        inside.then(|| plane[row as usize * width + column as usize])
    }

    fn sample(&self, plane: &[f64], [y, x]: [f64; 2]) -> f64 {
        let columns = self.taps(x, self.input[1]);
        let mut total = 0.0;
        for (row, row_weight) in self.taps(y, self.input[0]) {
            for (column, weight) in &columns {
                if let Some(value) = self.element(plane, row, *column) {
                    total += value * row_weight * weight;
                }
            }
        }
        total
    }

    /// The largest element around a place, times the place: its rounding is that of the weights.
    fn scale(&self, plane: &[f64], at: [f64; 2]) -> f64 {
        let places = [0, 1].map(|dim| {
            let place = self.place(at[dim], self.input[dim]);
            let near = self.padded(place, self.input[dim]);
            (near, if place.is_finite() { place.abs() } else { 0.0 })
        });
        let mut largest = 0.0_f64;
        for row in -3..=3 {
            for column in -3..=3 {
                let (row, column) = (f64::from(row), f64::from(column));
                let value =
                    self.element(plane, places[0].0.floor() + row, places[1].0.floor() + column);
                largest =
                    largest.max(value.filter(|value| value.is_finite()).map_or(0.0, f64::abs));
            }
        }
        // The polynomials of cubic weights have terms that cancel.
        let terms = if self.mode == Mode::Bicubic { 8.0 } else { 1.0 };
        terms * largest * (2.0 + places[0].1 + places[1].1)
    }
}

/// Returns a place mirrored at both ends as often as it takes.
fn mirrored(place: f64, low: f64, high: f64) -> f64 {
    let span = high - low;
    if span == 0.0 {
        return 0.0;
    }
    let away = (place - low).abs();
    let (rest, turns) = (away % span, (away / span).floor());
    if turns % 2.0 == 0.0 { rest + low } else { span - rest + low }
}

/// The weight of a neighbour less than 1 away.
fn near(x: f64) -> f64 {
    ((CUBIC + 2.0) * x - (CUBIC + 3.0)) * x * x + 1.0
}

/// The weight of a neighbour from 1 to 2 away.
fn far(x: f64) -> f64 {
    ((CUBIC * x - 5.0 * CUBIC) * x + 8.0 * CUBIC) * x - 4.0 * CUBIC
}

impl Engine for GridSample {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let sampler = Sampler::of(call)?;
        Ok(vec![(call.tensor("input")?.dtype, sampler.shape.to_vec())])
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        Ok(vec![Sampler::of(call)?.map(inputs, Sampler::sample)?])
    }

    fn magnitude(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let sampler = Sampler::of(call)?;
        if sampler.mode == Mode::Nearest {
            return Ok(None);
        }
        Ok(Some(vec![sampler.map(inputs, Sampler::scale)?]))
    }

    fn accumulation_len(&self, _call: &Call<'_>) -> usize {
        16
    }

    fn flops(&self, _call: &Call<'_>, n_out: usize) -> f64 {
        20.0 * n_out as f64
    }

    /// Places may lie outside of the image; of one element every place in it is the same.
    fn reads(&self, call: &Call<'_>, name: &str) -> Option<usize> {
        let single = Sampler::of(call).is_ok_and(|sampler| sampler.input == [1, 1]);
        (name == "input" || single).then_some(0)
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 1e3 } else { 1e15 }
    }
}
