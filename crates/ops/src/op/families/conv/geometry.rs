//! Sizes of a convolution: everything is brought to three spatial dimensions.

use crate::record::{DType, TensorSpec};

use super::super::super::{Call, InferError, Shaped, work::covered};

/// Most spatial dimensions.
pub(crate) const SPATIAL: usize = 3;

/// One number per spatial dimension; the missing ones lead.
pub(crate) type Triple = [usize; SPATIAL];

/// A convolution of known sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Number of spatial dimensions.
    pub spatial: usize,
    /// Whether the input has a batch dimension.
    pub batched: bool,
    pub batch: usize,
    pub groups: usize,
    /// Input channels of one group.
    pub in_channels: usize,
    /// Output channels of one group.
    pub out_channels: usize,
    pub input: Triple,
    pub kernel: Triple,
    pub stride: Triple,
    pub padding: Triple,
    pub dilation: Triple,
    pub output: Triple,
    pub transposed: bool,
    pub dtype: DType,
}

/// Returns the last dimensions of a shape as sizes, led by ones.
pub(crate) fn triple(extents: &[usize]) -> Triple {
    let mut triple = [1; SPATIAL];
    let skipped = SPATIAL.saturating_sub(extents.len());
    for (to, &extent) in triple[skipped..].iter_mut().zip(extents) {
        *to = extent;
    }
    triple
}

/// Largest stride, padding and the like: beyond every tensor, and sizes cannot overflow.
const MAX_OPTION: i64 = 1 << 20;

/// Most groups.
const MAX_GROUPS: usize = 1 << 20;

/// Reads a list of `n` integers, each at least `least`; one integer counts for all dimensions and
/// leading entries are `absent`.
pub(crate) fn option(
    call: &Call<'_>,
    name: &str,
    n: usize,
    least: i64,
    absent: usize,
) -> Result<Triple, InferError> {
    let given = call.ints(name)?;
    let wanted = || format!("one integer or {n}, each {least} to {MAX_OPTION}");
    let wrong = || InferError::value(name, format!("{given:?}"), wanted());
    if given.len() != 1 && given.len() != n {
        return Err(wrong());
    }
    let mut triple = [absent; SPATIAL];
    for (place, to) in triple[SPATIAL - n..].iter_mut().enumerate() {
        let value = given[if given.len() == 1 { 0 } else { place }];
        if !(least..=MAX_OPTION).contains(&value) {
            return Err(wrong());
        }
        *to = usize::try_from(value).map_err(|_| wrong())?;
    }
    Ok(triple)
}

/// Checks the input of an op of `n` spatial dimensions: `[c, ..]` where it may lack the batch, or
/// `[n, c, ..]`.
fn batched(input: &TensorSpec, spatial: usize, alone: bool) -> Result<bool, InferError> {
    match input.ndim() {
        n if n == spatial + 2 => Ok(true),
        n if n == spatial + 1 && alone => Ok(false),
        _ => {
            let wanted = format!("[n, c, ..] with {spatial} spatial dimensions");
            Err(InferError::shape("input", &input.shape, wanted))
        }
    }
}

impl Geometry {
    /// Takes a call apart; `spatial` is the number in the op's name, if it has one.
    pub(crate) fn of(
        call: &Call<'_>,
        spatial: Option<usize>,
        transposed: bool,
    ) -> Result<Self, InferError> {
        let (input, weight) = (call.tensor("input")?, call.tensor("weight")?);
        let n = spatial.unwrap_or_else(|| weight.ndim().saturating_sub(2));
        if !(1..=SPATIAL).contains(&n) || weight.ndim() != n + 2 {
            let wanted = format!("[out, in, ..] with {} spatial dimensions", n.clamp(1, SPATIAL));
            return Err(InferError::shape("weight", &weight.shape, wanted));
        }
        let batched = batched(input, n, spatial.is_some())?;
        let first = usize::from(batched);
        let groups = call.int("groups")?;
        let Some(groups) = usize::try_from(groups).ok().filter(|n| (1..=MAX_GROUPS).contains(n))
        else {
            let wanted = format!("1 to {MAX_GROUPS}");
            return Err(InferError::value("groups", groups, wanted));
        };
        let mut geometry = Self {
            spatial: n,
            batched,
            batch: if batched { input.shape[0] } else { 1 },
            groups,
            in_channels: input.shape[first] / groups,
            out_channels: weight.shape[usize::from(transposed)],
            input: triple(&input.shape[first + 1..]),
            kernel: triple(&weight.shape[2..]),
            stride: option(call, "stride", n, 1, 1)?,
            padding: option(call, "padding", n, 0, 0)?,
            dilation: option(call, "dilation", n, 1, 1)?,
            output: [0; SPATIAL],
            transposed,
            dtype: dtype(call)?,
        };
        geometry.check_channels(input.shape[first], weight)?;
        geometry.check_bias(call)?;
        let extra = match call.op.param("output_padding") {
            Some(_) => option(call, "output_padding", n, 0, 0)?,
            None => [0; SPATIAL],
        };
        geometry.output = if transposed {
            geometry.transposed_output(call, extra)?
        } else {
            geometry.plain_output(call)?
        };
        Ok(geometry)
    }

    fn check_channels(&mut self, channels: usize, weight: &TensorSpec) -> Result<(), InferError> {
        let wrong = |wanted: String| Err(InferError::shape("weight", &weight.shape, wanted));
        if weight.shape[2..].contains(&0) {
            return wrong("a kernel of at least one element".to_owned());
        }
        let groups = self.groups;
        if self.transposed {
            let empty = weight.shape[1] == 0;
            if weight.shape[0] != channels || !channels.is_multiple_of(groups) || empty {
                return wrong(format!("[{channels}, out / {groups}, ..], not empty"));
            }
            return Ok(());
        }
        let fits = weight.shape[1] * groups == channels
            && weight.shape[0] >= groups
            && weight.shape[0].is_multiple_of(groups);
        if !fits {
            return wrong(format!("[out, {channels} / {groups}, ..], out a multiple of {groups}"));
        }
        self.out_channels = weight.shape[0] / groups;
        Ok(())
    }

    fn check_bias(&self, call: &Call<'_>) -> Result<(), InferError> {
        let channels = self.groups * self.out_channels;
        match call.opt_tensor("bias") {
            Some(bias) if bias.shape != [channels] => {
                Err(InferError::shape("bias", &bias.shape, format!("[{channels}]")))
            }
            _ => Ok(()),
        }
    }

    fn plain_output(&self, call: &Call<'_>) -> Result<Triple, InferError> {
        let mut output = [0; SPATIAL];
        for (dim, output) in output.iter_mut().enumerate() {
            let padded = self.input[dim] + 2 * self.padding[dim];
            let reach = self.dilation[dim] * (self.kernel[dim] - 1) + 1;
            if padded < reach || self.input[dim] == 0 {
                let shape = &call.tensor("input")?.shape;
                let wanted = "at least as large as the kernel in each spatial dimension";
                return Err(InferError::shape("input", shape, wanted));
            }
            *output = (padded - reach) / self.stride[dim] + 1;
        }
        Ok(output)
    }

    fn transposed_output(&self, call: &Call<'_>, extra: Triple) -> Result<Triple, InferError> {
        let mut output = [0; SPATIAL];
        for (dim, output) in output.iter_mut().enumerate() {
            let leads = dim < SPATIAL - self.spatial;
            if !leads && extra[dim] >= self.stride[dim].max(self.dilation[dim]) {
                let wanted = "smaller than stride or dilation";
                let given = format!("{:?}", call.ints("output_padding")?);
                return Err(InferError::value("output_padding", given, wanted));
            }
            let reach = self.dilation[dim] * (self.kernel[dim] - 1) + 1;
            let steps = self.input[dim].checked_sub(1).map(|steps| steps * self.stride[dim]);
            let full = steps.map(|steps| steps + reach + extra[dim]);
            *output = match full.and_then(|full| full.checked_sub(2 * self.padding[dim])) {
                Some(extent) if extent > 0 => extent,
                _ => {
                    let shape = &call.tensor("input")?.shape;
                    let wanted = "large enough for an output of at least one element";
                    return Err(InferError::shape("input", shape, wanted));
                }
            };
        }
        Ok(output)
    }

    /// Returns element type and shape of the result.
    pub(crate) fn shaped(&self) -> Shaped {
        let mut shape = if self.batched { vec![self.batch] } else { Vec::new() };
        shape.push(self.groups * self.out_channels);
        shape.extend(&self.output[SPATIAL - self.spatial..]);
        (self.dtype, shape)
    }

    /// Returns the elements of the kernel of one pair of channels.
    pub(crate) fn kernel_len(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Returns the longest sum behind one element.
    pub(crate) fn n_terms(&self) -> usize {
        self.in_channels * self.kernel_len()
    }

    /// Returns how many places of the input and of the kernel pair with one of the other, each beside
    /// the number of all places.
    pub(crate) fn met(&self) -> [[usize; 2]; 2] {
        let mut met = [[1; 2]; 2];
        for dim in 0..SPATIAL {
            let mut pairs = Vec::new();
            for output in 0..self.output[dim] {
                for kernel in 0..self.kernel[dim] {
                    if let Some(at) = self.along(dim, output, kernel) {
                        pairs.push((at, kernel));
                    }
                }
            }
            let (input, kernel) = (self.input[dim], self.kernel[dim]);
            met[0][0] *= covered(input, pairs.iter().map(|(at, _)| *at));
            met[1][0] *= covered(kernel, pairs.iter().map(|(_, kernel)| *kernel));
            met[0][1] *= input;
            met[1][1] *= kernel;
        }
        met
    }

    /// Returns [`Geometry::source`] along one dimension.
    fn along(&self, dim: usize, output: usize, kernel: usize) -> Option<usize> {
        let tap = kernel * self.dilation[dim];
        let (stride, padding) = (self.stride[dim], self.padding[dim]);
        let at = if self.transposed {
            let full = (output + padding).checked_sub(tap)?;
            full.is_multiple_of(stride).then_some(full / stride)?
        } else {
            (output * stride + tap).checked_sub(padding)?
        };
        (at < self.input[dim]).then_some(at)
    }

    /// Returns where in the input the element comes from that an output position reads at a
    /// position of the kernel; `None` where there is padding or, transposed, a gap.
    pub(crate) fn source(&self, output: Triple, kernel: Triple) -> Option<Triple> {
        let mut source = [0; SPATIAL];
        for (dim, source) in source.iter_mut().enumerate() {
            *source = self.along(dim, output[dim], kernel[dim])?;
        }
        Some(source)
    }
}

fn dtype(call: &Call<'_>) -> Result<DType, InferError> {
    let dtype = call.tensor("input")?.dtype;
    if dtype == DType::Bool || dtype.is_fp8() {
        let wanted = "an integer or floating-point type of at least 16 bits";
        return Err(InferError::dtype("input", dtype, wanted));
    }
    for name in ["weight", "bias"] {
        match call.opt_tensor(name) {
            Some(spec) if spec.dtype != dtype => {
                return Err(InferError::dtype(name, spec.dtype, dtype.name()));
            }
            _ => {}
        }
    }
    Ok(dtype)
}
