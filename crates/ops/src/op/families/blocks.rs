//! Images cut into blocks and put together again: elements move, none is computed.

use ndarray::IxDyn;

use crate::{parallel, record::DType, reference::Error};

use super::{
    super::{
        Array, Call, Engine, ExactLimits, InferError, Input, Inputs, Role, Shaped, integer_limit,
        unravel, work::covered,
    },
    conv::{Triple, option},
};

/// A rearrangement of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// The blocks that a convolution multiplies, one per column.
    Im2Col,
    /// Channels become pixels.
    PixelShuffle,
}

/// Where the elements of a rearranged image come from.
enum Layout {
    Columns(Columns),
    /// Factor, and the number of dimensions before the channels.
    Pixels(usize, usize),
}

/// Sizes of an `im2col`; the first number of each triple is not used.
pub(super) struct Columns {
    pub batched: bool,
    pub kernel: Triple,
    dilation: Triple,
    padding: Triple,
    stride: Triple,
    pub input: [usize; 2],
    pub output: [usize; 2],
}

impl Columns {
    fn of(call: &Call<'_>) -> Result<Self, InferError> {
        let spec = call.tensor("self")?;
        let wrong = |wanted: &str| Err(InferError::shape("self", &spec.shape, wanted));
        let batched = match spec.ndim() {
            3 => false,
            4 => true,
            _ => return wrong("[c, h, w] or [n, c, h, w]"),
        };
        if spec.shape[usize::from(batched)..].contains(&0) {
            return wrong("[c, h, w] or [n, c, h, w], only n empty");
        }
        let input = [spec.shape[spec.ndim() - 2], spec.shape[spec.ndim() - 1]];
        Self::sized(call, batched, input)
    }

    /// Returns the blocks of an image of a known size.
    pub(super) fn sized(
        call: &Call<'_>,
        batched: bool,
        input: [usize; 2],
    ) -> Result<Self, InferError> {
        let list = |name: &str, least| {
            let given = call.ints(name)?;
            if given.len() != 2 {
                return Err(InferError::value(name, format!("{given:?}"), "two integers"));
            }
            option(call, name, 2, least, 0)
        };
        let (kernel, dilation) = (list("kernel_size", 1)?, list("dilation", 1)?);
        let (padding, stride) = (list("padding", 0)?, list("stride", 1)?);
        let mut output = [0; 2];
        for dim in 0..2 {
            let reach = dilation[dim + 1] * (kernel[dim + 1] - 1) + 1;
            match (input[dim] + 2 * padding[dim + 1]).checked_sub(reach) {
                Some(room) => output[dim] = room / stride[dim + 1] + 1,
                None => {
                    let wanted = "at least as large as a block";
                    return Err(InferError::shape("the image", &input, wanted));
                }
            }
        }
        Ok(Self { batched, kernel, dilation, padding, stride, input, output })
    }

    /// Returns how many places along a dimension are in a block.
    fn covered(&self, dim: usize) -> usize {
        let taps = (0..self.output[dim]).flat_map(|place| {
            (0..self.kernel[dim + 1])
                .map(move |tap| place * self.stride[dim + 1] + tap * self.dilation[dim + 1])
        });
        covered(self.input[dim], taps.filter_map(|at| at.checked_sub(self.padding[dim + 1])))
    }

    /// Returns the position that an element comes from; `None` in the padding.
    pub(super) fn source(&self, position: &[usize]) -> Option<Vec<usize>> {
        let (row, column) = (position[usize::from(self.batched)], *position.last()?);
        let taps = [row / self.kernel[2] % self.kernel[1], row % self.kernel[2]];
        let places = [column / self.output[1], column % self.output[1]];
        let mut source = if self.batched { vec![position[0]] } else { Vec::new() };
        source.push(row / (self.kernel[1] * self.kernel[2]));
        for dim in 0..2 {
            let padded = places[dim] * self.stride[dim + 1] + taps[dim] * self.dilation[dim + 1];
            let at = padded.checked_sub(self.padding[dim + 1])?;
            if at >= self.input[dim] {
                return None;
            }
            source.push(at);
        }
        Some(source)
    }
}

impl Layout {
    fn of(blocks: Blocks, call: &Call<'_>) -> Result<Self, InferError> {
        let spec = call.tensor("self")?;
        match blocks {
            Blocks::Im2Col => {
                let fits = spec.dtype.is_float() && !spec.dtype.is_fp8();
                if !fits && spec.dtype != DType::Bool {
                    let wanted = "a floating-point type of at least 16 bits, or bool";
                    return Err(InferError::dtype("self", spec.dtype, wanted));
                }
                Ok(Self::Columns(Columns::of(call)?))
            }
            Blocks::PixelShuffle => {
                let given = call.int("upscale_factor")?;
                let factor = match usize::try_from(given) {
                    Ok(factor) if factor > 0 && factor < 1 << 16 => factor,
                    _ => return Err(InferError::value("upscale_factor", given, "at least 1")),
                };
                let square = factor * factor;
                let Some(lead) = spec.ndim().checked_sub(3) else {
                    return Err(InferError::shape("self", &spec.shape, "[.., c, h, w]"));
                };
                if !spec.shape[lead].is_multiple_of(square) {
                    let wanted = format!("[.., c, h, w] with c a multiple of {square}");
                    return Err(InferError::shape("self", &spec.shape, wanted));
                }
                Ok(Self::Pixels(factor, lead))
            }
        }
    }

    fn shape(&self, input: &[usize]) -> Vec<usize> {
        match self {
            Self::Columns(columns) => {
                let batched = usize::from(columns.batched);
                let block = columns.kernel[1] * columns.kernel[2];
                let mut shape = input[..batched].to_vec();
                shape.push(input[batched].saturating_mul(block));
                shape.push(columns.output.iter().product());
                shape
            }
            Self::Pixels(factor, lead) => {
                let mut shape = input.to_vec();
                shape[*lead] /= factor * factor;
                shape[lead + 1] *= factor;
                shape[lead + 2] *= factor;
                shape
            }
        }
    }

    fn source(&self, position: &[usize]) -> Option<Vec<usize>> {
        match self {
            Self::Columns(columns) => columns.source(position),
            Self::Pixels(factor, lead) => {
                let mut source = position.to_vec();
                let (row, column) = (position[lead + 1], position[lead + 2]);
                source[*lead] =
                    (position[*lead] * factor + row % factor) * factor + column % factor;
                source[lead + 1] = row / factor;
                source[lead + 2] = column / factor;
                Some(source)
            }
        }
    }

    fn element(&self, input: &Input<'_>, shape: &[usize], index: usize) -> f64 {
        self.source(&unravel(index, shape)).map_or(0.0, |source| input.at(&source))
    }
}

impl Engine for Blocks {
    fn infer(&self, call: &Call<'_>) -> Result<Vec<Shaped>, InferError> {
        let spec = call.tensor("self")?;
        Ok(vec![(spec.dtype, Layout::of(*self, call)?.shape(&spec.shape))])
    }

    fn reads(&self, call: &Call<'_>, _name: &str) -> Option<usize> {
        let Layout::Columns(columns) = Layout::of(*self, call).ok()? else { return None };
        let spec = call.tensor("self").ok()?;
        let planes: usize = spec.shape[..spec.ndim() - 2].iter().product();
        Some(planes * columns.covered(0) * columns.covered(1))
    }

    fn evaluate(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Result<Vec<Array>, Error> {
        let (layout, input) = (Layout::of(*self, call)?, inputs.get("self")?);
        let shape = layout.shape(&input.shape);
        let _ = input.array();
        let element = |index: usize| layout.element(input, &shape, index);
        let values = parallel::map(shape.iter().product(), &element);
        Ok(vec![Array::from_shape_vec(IxDyn(&shape), values).expect("one value per element")])
    }

    fn evaluate_at(
        &self,
        call: &Call<'_>,
        inputs: &Inputs<'_>,
        _output: usize,
        indices: &[usize],
    ) -> Option<Result<Vec<f64>, Error>> {
        let at = || {
            let (layout, input) = (Layout::of(*self, call)?, inputs.get("self")?);
            let shape = layout.shape(&input.shape);
            Ok(indices.iter().map(|&index| layout.element(input, &shape, index)).collect())
        };
        Some(at())
    }

    fn flops(&self, _call: &Call<'_>, _n_out: usize) -> f64 {
        0.0
    }

    fn large(&self, dtype: DType) -> f64 {
        if dtype == DType::F16 { 2e4 } else { 1e15 }
    }

    fn exact(&self, call: &Call<'_>, _role: Role, row: usize) -> ExactLimits {
        Ok((integer_limit(call.case.dtype), row))
    }
}
