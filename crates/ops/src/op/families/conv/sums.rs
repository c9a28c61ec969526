//! The sums of a convolution.

use ndarray::{ArrayView2, IxDyn};

use crate::{parallel, reference::Error};

use super::super::super::{Array, Input, Inputs};
use super::super::sum::sum;
use super::geometry::{Geometry, SPATIAL, Triple};

/// Output positions whose patches are gathered into one matrix.
const BLOCK: usize = 1024;

/// A convolution with its tensors.
pub(super) struct Sums<'g, 'i, 'a> {
    geometry: &'g Geometry,
    input: &'i Input<'a>,
    weight: &'i Input<'a>,
    bias: Option<&'i Input<'a>>,
}

/// Splits an index in row-major order over three dimensions.
pub(crate) fn split(index: usize, shape: Triple) -> Triple {
    let [_, height, width] = shape.map(|extent| extent.max(1));
    [index / (height * width), index / width % height, index % width]
}

fn join(place: Triple, shape: Triple) -> usize {
    (place[0] * shape[1] + place[1]) * shape[2] + place[2]
}

impl<'g, 'i, 'a> Sums<'g, 'i, 'a> {
    pub(super) fn new(geometry: &'g Geometry, inputs: &'i Inputs<'a>) -> Result<Self, Error> {
        let (input, weight) = (inputs.get("input")?, inputs.get("weight")?);
        Ok(Self { geometry, input, weight, bias: inputs.opt("bias") })
    }

    /// Computes every element: sums of products of the mapped elements, finished with the mapped
    /// bias.
    pub(super) fn all(&self, map: fn(f64) -> f64, finish: fn(f64, f64) -> f64) -> Array {
        let geometry = self.geometry;
        let Geometry { batch, groups, out_channels, .. } = *geometry;
        let n_places: usize = geometry.output.iter().product();
        let (_, shape) = geometry.shaped();
        let mut out = vec![0.0; batch * groups * out_channels * n_places];
        let input: Vec<f64> = self.input.array().iter().map(|&x| map(x)).collect();
        let weight = self.matrix(map);
        let weights = weight.chunks((out_channels * geometry.n_terms()).max(1));
        let weights: Vec<&[f64]> = weights.collect();
        let n_blocks = n_places.div_ceil(BLOCK);
        if out.is_empty() {
            return Array::from_shape_vec(IxDyn(&shape), out).expect("there are no elements");
        }
        let blocks = parallel::map(batch * groups * n_blocks, &|job| {
            let first = job % n_blocks * BLOCK;
            let places = first..n_places.min(first + BLOCK);
            let plane = job / n_blocks;
            let weight = weights.get(plane % groups).copied().unwrap_or(&[]);
            self.block(&input, plane, places, weight)
        });
        for (job, block) in blocks.into_iter().enumerate() {
            let plane = job / n_blocks;
            let first = job % n_blocks * BLOCK;
            let len = block.len() / out_channels;
            for (channel, row) in block.chunks_exact(len).enumerate() {
                let of = plane % groups * out_channels + channel;
                let bias = self.bias.map_or(0.0, |bias| map(bias.at(&[of])));
                let to = (plane * out_channels + channel) * n_places + first;
                for (out, &sum) in out[to..].iter_mut().zip(row) {
                    *out = finish(sum, bias);
                }
            }
        }
        Array::from_shape_vec(IxDyn(&shape), out).expect("one value per element of the output")
    }

    /// Returns the weights as one matrix [out channels, in channels * kernel] per group.
    fn matrix(&self, map: fn(f64) -> f64) -> Vec<f64> {
        let geometry = self.geometry;
        let plain = self.weight.array().iter().map(|&x| map(x));
        if !geometry.transposed {
            return plain.collect();
        }
        let plain: Vec<f64> = plain.collect();
        let Geometry { groups, in_channels, out_channels, .. } = *geometry;
        let kernel = geometry.kernel_len();
        let mut matrix = Vec::with_capacity(plain.len());
        for group in 0..groups {
            for out in 0..out_channels {
                for channel in 0..in_channels {
                    let from = ((group * in_channels + channel) * out_channels + out) * kernel;
                    matrix.extend_from_slice(&plain[from..from + kernel]);
                }
            }
        }
        matrix
    }

    /// Computes the elements of one group at some places: [out channels, places].
    fn block(
        &self,
        input: &[f64],
        plane: usize,
        places: std::ops::Range<usize>,
        weight: &[f64],
    ) -> Vec<f64> {
        let geometry = self.geometry;
        let (terms, n_places) = (geometry.n_terms(), places.len());
        let n_input: usize = geometry.input.iter().product();
        let kernel = geometry.kernel_len();
        let channels = &input[plane * geometry.in_channels * n_input..];
        let mut patches = vec![0.0; terms * n_places];
        for (column, place) in places.enumerate() {
            let place = split(place, geometry.output);
            for tap in 0..kernel {
                let source = geometry.source(place, split(tap, geometry.kernel));
                let Some(source) = source else { continue };
                let source = join(source, geometry.input);
                for channel in 0..geometry.in_channels {
                    let row = channel * kernel + tap;
                    patches[row * n_places + column] = channels[channel * n_input + source];
                }
            }
        }
        let weight = ArrayView2::from_shape((geometry.out_channels, terms), weight);
        let patches = ArrayView2::from_shape((terms, n_places), &patches);
        match (weight, patches) {
            (Ok(weight), Ok(patches)) => weight.dot(&patches).iter().copied().collect(),
            _ => vec![0.0; geometry.out_channels * n_places],
        }
    }

    /// Computes some elements.
    pub(super) fn some(
        &self,
        indices: &[usize],
        map: fn(f64) -> f64,
        finish: fn(f64, f64) -> f64,
    ) -> Vec<f64> {
        parallel::map(indices.len(), &|place| self.at(indices[place], map, finish))
    }

    fn at(&self, index: usize, map: fn(f64) -> f64, finish: fn(f64, f64) -> f64) -> f64 {
        let geometry = self.geometry;
        let n_places: usize = geometry.output.iter().product();
        let place = split(index % n_places, geometry.output);
        let channels = geometry.groups * geometry.out_channels;
        let (batch, of) = (index / n_places / channels, index / n_places % channels);
        let (group, own) = (of / geometry.out_channels, of % geometry.out_channels);
        let first = group * geometry.in_channels;
        let mut terms = Vec::with_capacity(geometry.n_terms());
        for tap in 0..geometry.kernel_len() {
            let tap = split(tap, geometry.kernel);
            let Some(source) = geometry.source(place, tap) else { continue };
            for channel in 0..geometry.in_channels {
                let weight = if geometry.transposed {
                    self.position(&[first + channel, own], tap)
                } else {
                    self.position(&[of, channel], tap)
                };
                let lead = [batch, first + channel];
                let lead = if geometry.batched { &lead[..] } else { &lead[1..] };
                let input = self.position(lead, source);
                terms.push(map(self.input.at(&input)) * map(self.weight.at(&weight)));
            }
        }
        finish(sum(terms), self.bias.map_or(0.0, |bias| map(bias.at(&[of]))))
    }

    /// Returns a position: leading indices and those of the spatial dimensions that there are.
    fn position(&self, lead: &[usize], place: Triple) -> Vec<usize> {
        [lead, &place[SPATIAL - self.geometry.spatial..]].concat()
    }
}
