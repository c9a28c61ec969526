//! Ops that move elements: every output element is an element of an input, or a fill value.
//!
//! An op is a function from its call to [`Piece`]s, one per output: a shape, and where the element
//! at a position comes from. Shapes, values and single elements all follow from it.

pub(crate) mod arrange;
pub(crate) mod diagonal;
pub(crate) mod join;
pub(crate) mod pad;
pub(crate) mod resized;
pub(crate) mod views;

#[cfg(test)]
mod tests;

use ndarray::IxDyn;

use crate::{
    parallel,
    record::{DType, TensorSpec},
    reference::Error,
};

use super::super::{
    Array, Call, Engine, ExactLimits, InferError, Input, Inputs, Locality, Origin, Role, Shaped,
    integer_limit, unravel, work::covered,
};

/// Elements from which on all cores share the work.
const PARALLEL_FROM: usize = 1 << 14;

/// Elements that one task computes.
const CHUNK: usize = 1 << 12;

/// Where the element at a position of the output comes from: the number of a tensor and the
/// row-major index in it; `None` where it is the fill value.
pub(crate) type Source = Box<dyn Fn(&[usize]) -> Option<(usize, usize)> + Send + Sync>;

/// One output of an op that moves elements.
pub(crate) struct Piece {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where its elements come from.
    pub source: Source,
    /// The value of elements that come from nowhere.
    pub fill: f64,
    /// Its element type; that of the inputs where it is `None`.
    pub dtype: Option<DType>,
    /// Different elements of the inputs that it shows; every one of them where it is `None`.
    pub shown: Option<usize>,
}

impl Piece {
    /// Returns an output of nothing but moved elements.
    pub(crate) fn new(
        shape: Vec<usize>,
        source: impl Fn(&[usize]) -> Option<(usize, usize)> + Send + Sync + 'static,
    ) -> Self {
        Self { shape, source: Box::new(source), fill: 0.0, dtype: None, shown: None }
    }

    /// Returns an output whose position along each dimension decides on its own; `base` is the index
    /// in the only tensor that the axes count from.
    pub(crate) fn by_axes(axes: Vec<Axis>, base: usize) -> Self {
        let shape = axes.iter().map(|axis| axis.extent).collect();
        let shown = axes.iter().map(|axis| axis.place.shown(axis.extent)).product();
        let moved = Self::new(shape, move |position| {
            let mut index = base;
            for (axis, &at) in axes.iter().zip(position) {
                index += axis.place.of(at)? * axis.stride;
            }
            Some((0, index))
        });
        Self { shown: Some(shown), ..moved }
    }
}

/// A dimension of an output, and which place of the input's dimension each of its places shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    /// Places along it.
    pub extent: usize,
    /// Row-major stride of the input's dimension.
    pub stride: usize,
    /// Where a place is in the input.
    pub place: IndexMap,
}

/// The place in the input's dimension that belongs to a place of the output's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IndexMap {
    /// The same.
    Same,
    /// Counted from the back of this many.
    Reverse(usize),
    /// The first of this many comes behind the last.
    Modulo(usize),
    /// So many further, modulo so many.
    Turn(usize, usize),
    /// From a place on, in steps.
    Steps(usize, usize),
    /// Each so many times in a row.
    Each(usize),
    /// Always the first.
    First,
    /// So many places before, in a dimension of so many; outside it, the result of a function.
    Padded(i64, i64, fn(i64, i64) -> Option<i64>),
}

impl IndexMap {
    /// Returns how many places of the input so many of the output show.
    fn shown(self, extent: usize) -> usize {
        match self {
            Self::Same | Self::Reverse(_) | Self::Steps(..) => extent,
            Self::Modulo(n) | Self::Turn(_, n) => extent.min(n),
            Self::Each(times) => extent.div_ceil(times.max(1)),
            Self::First => extent.min(1),
            Self::Padded(before, inside, _) => {
                // Places further out show none, or one that a nearer place shows.
                let at = |place: i64| usize::try_from(place.saturating_add(before)).unwrap_or(0);
                let near = at(-inside - 1)..at(2 * inside + 2).min(extent);
                let inside = usize::try_from(inside).unwrap_or(0);
                covered(inside, near.filter_map(|at| self.of(at)))
            }
        }
    }

    fn of(self, at: usize) -> Option<usize> {
        Some(match self {
            Self::Same => at,
            Self::Reverse(n) => n - 1 - at,
            Self::Modulo(n) => at % n,
            Self::Turn(by, n) => (at + by) % n,
            Self::Steps(start, step) => start + at * step,
            Self::Each(times) => at / times,
            Self::First => 0,
            Self::Padded(before, extent, outside) => {
                let at = i64::try_from(at).ok()? - before;
                let place = if (0..extent).contains(&at) { at } else { outside(at, extent)? };
                usize::try_from(place).ok()?
            }
        })
    }
}

/// Returns the row-major strides of a shape.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    TensorSpec::contiguous(DType::Bool, shape).stride
}

/// Returns the axes of a plain copy.
pub(crate) fn identity(shape: &[usize]) -> Vec<Axis> {
    let axis = |(&extent, stride)| Axis { extent, stride, place: IndexMap::Same };
    shape.iter().zip(strides(shape)).map(axis).collect()
}

/// Elements that an output may have: beyond the memory of every GPU, below every overflow.
const MAX_ELEMENTS: usize = 1 << 40;

/// Refuses outputs that no device holds.
fn bounded(piece: &Piece) -> Result<(), InferError> {
    let extents = piece.shape.iter();
    let elements = extents.copied().try_fold(1_usize, |n, extent| n.checked_mul(extent.max(1)));
    match elements {
        Some(elements) if elements <= MAX_ELEMENTS => Ok(()),
        _ => Err(InferError::shape("the output", &piece.shape, "of at most 2^40 elements")),
    }
}

/// An op that moves elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Movement {
    /// Returns the outputs of a call.
    pub pieces: fn(&Call<'_>) -> Result<Vec<Piece>, InferError>,
}

/// Returns the type that all inputs are promoted to.
fn dtype(call: &Call<'_>) -> DType {
    let tensors = call.case.args.iter().flat_map(|arg| arg.value.tensors());
    super::super::promote(tensors.map(|(_, tensor)| &tensor.spec), &[])
}

/// Steps to the next position in row-major order.
fn advance(position: &mut [usize], shape: &[usize]) {
    for (at, &extent) in position.iter_mut().zip(shape).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}

/// Computes a piece from the elements of the inputs.
fn moved(piece: &Piece, inputs: &[&[f64]]) -> Array {
    let numel: usize = piece.shape.iter().product();
    let mut values = vec![0.0; numel];
    let fill = |number: usize, chunk: &mut [f64]| {
        let mut position = unravel(number * CHUNK, &piece.shape);
        for value in chunk {
            *value = (piece.source)(&position).map_or(piece.fill, |(of, at)| inputs[of][at]);
            advance(&mut position, &piece.shape);
        }
    };
    if numel < PARALLEL_FROM {
        values.chunks_mut(CHUNK).enumerate().for_each(|(number, chunk)| fill(number, chunk));
    } else {
        parallel::fill_rows(&mut values, CHUNK, &fill);
    }
    Array::from_shape_vec(IxDyn(&piece.shape), values).expect("one value per element")
}

impl Engine for Movement {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let dtype = dtype(call);
        let shaped = |piece: Piece| {
            bounded(&piece)?;
            Ok((piece.dtype.unwrap_or(dtype), piece.shape))
        };
        (self.pieces)(call)?.into_iter().map(shaped).collect()
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let tensors: Vec<_> =
            inputs.all().map(|(_, input)| input.array().as_standard_layout()).collect();
        let flat: Vec<&[f64]> =
            tensors.iter().map(|array| array.as_slice().unwrap_or(&[])).collect();
        Ok((self.pieces)(call)?.iter().map(|piece| moved(piece, &flat)).collect())
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let pieces = match (self.pieces)(call) {
            Ok(pieces) => pieces,
            Err(error) => return Some(Err(error.into())),
        };
        let piece = pieces.get(output)?;
        let tensors: Vec<&Input<'_>> = inputs.all().map(|(_, input)| input).collect();
        let element = |&index: &usize| match (piece.source)(&unravel(index, &piece.shape)) {
            Some((of, at)) => tensors[of].at(&unravel(at, &tensors[of].shape)),
            None => piece.fill,
        };
        Some(Ok(indices.iter().map(element).collect()))
    }

    fn origins(
        &self,
        call: &Call<'_>,
        indices: &[usize],
        _value: &dyn Fn(usize, usize) -> f64,
    ) -> Option<Vec<Origin>> {
        let pieces = (self.pieces)(call).ok()?;
        let piece = pieces.first()?;
        let origin = |&index: &usize| match (piece.source)(&unravel(index, &piece.shape)) {
            Some((input, index)) => Origin::Element { input, index },
            None => Origin::Constant(piece.fill),
        };
        Some(indices.iter().map(origin).collect())
    }

    /// |x|: moved elements have the error of the input. (Ops that move elements are exact; this counts
    /// only where one is part of a larger computation.)
    fn spread(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Option<Vec<Array>>, Error> {
        let mut spreads = self.evaluate(call, inputs)?;
        for spread in &mut spreads {
            spread.mapv_inplace(f64::abs);
        }
        Ok(Some(spreads))
    }

    fn locality(&self, _call: &Call<'_>) -> Locality {
        Locality::Single
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let pieces = (self.pieces)(call).ok()?;
        // Those of several outputs differ.
        pieces.iter().map(|piece| piece.shown).sum()
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }
}
