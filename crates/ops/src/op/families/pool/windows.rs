//! The windows of a pooling: which input elements an output element comes from.

use crate::record::{TensorSpec, WindowAxis};

use super::super::super::{Call, InferError, work::covered};
use super::super::conv::{SPATIAL, Triple, option, triple};
use super::{Fold, Pool};

/// The input elements along one dimension that an output element comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub first: usize,
    /// How many there are.
    pub len: usize,
    /// Distance between neighbours.
    pub step: usize,
    /// How many there are with the padding.
    pub padded: usize,
}

/// The windows along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Along {
    /// Extent of the input.
    extent: usize,
    /// Windows.
    count: usize,
    /// How they lie; `None` where they are chosen for their count.
    sliding: Option<Sliding>,
}

/// Windows of one size at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sliding {
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

impl Along {
    /// Returns the part of a window inside the input.
    fn span(self, at: usize) -> Span {
        let Self { extent, count, .. } = self;
        let Some(Sliding { kernel, stride, padding, dilation }) = self.sliding else {
            let first = at * extent / count;
            let len = ((at + 1) * extent).div_ceil(count) - first;
            return Span { first, len, step: 1, padded: len };
        };
        // Counted from the begin of the padding.
        let start = at * stride;
        let skipped = padding.saturating_sub(start).div_ceil(dilation);
        let first = (start + skipped * dilation).saturating_sub(padding);
        let fit = extent.saturating_sub(first).div_ceil(dilation);
        let end = (start + kernel).min(extent + 2 * padding);
        Span {
            first,
            len: fit.min(kernel.saturating_sub(skipped)),
            step: dilation,
            padded: end.saturating_sub(start),
        }
    }

    /// Returns the windows as a generator takes them; `None` where they are chosen for their count.
    fn axis(self) -> Option<WindowAxis> {
        let Sliding { kernel, stride, padding, dilation } = self.sliding?;
        Some(WindowAxis {
            extent: self.extent as u64,
            count: self.count as u64,
            kernel: kernel as u64,
            stride: stride as u64,
            padding: padding as u64,
            dilation: dilation as u64,
        })
    }

    /// Returns a bound of the elements of a window.
    fn largest(self) -> usize {
        match self.sliding {
            Some(Sliding { kernel, dilation, .. }) => kernel.min(self.extent.div_ceil(dilation)),
            None if self.count == 0 => 0,
            None if self.extent.is_multiple_of(self.count) => self.extent / self.count,
            None => (self.extent / self.count + 2).min(self.extent),
        }
    }
}

/// The windows of a pooling of known sizes.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    pub spatial: usize,
    /// Shape of the input up to its spatial dimensions.
    pub lead: Vec<usize>,
    pub input: Triple,
    pub output: Triple,
    along: [Along; SPATIAL],
}

impl Windows {
    pub(super) fn of(pool: &Pool, call: &Call<'_>) -> Result<Self, InferError> {
        let spec = call.tensor("self")?;
        let n = pool.spatial;
        let lead = lead(pool, spec)?;
        let input = triple(&spec.shape[lead.len()..]);
        let along =
            if pool.adaptive { adaptive(call, n, input) } else { sliding(pool, call, input) };
        let along = along?;
        Ok(Self { spatial: n, lead, input, output: along.map(|along| along.count), along })
    }

    /// Returns the shape of the result.
    pub(super) fn shape(&self) -> Vec<usize> {
        [self.lead.as_slice(), &self.output[SPATIAL - self.spatial..]].concat()
    }

    /// Returns the window of an output element.
    pub(super) fn window(&self, place: Triple) -> [Span; SPATIAL] {
        [0, 1, 2].map(|dim| self.along[dim].span(place[dim]))
    }

    /// Returns the windows along the last two dimensions; `None` where their count was given.
    pub(super) fn image(&self) -> Option<[WindowAxis; 2]> {
        let [_, rows, columns] = self.along;
        Some([rows.axis()?, columns.axis()?])
    }

    /// Returns a bound of the elements of a window.
    pub(super) fn largest(&self) -> usize {
        self.along.iter().map(|along| along.largest()).product()
    }

    /// Returns how many input elements are in a window.
    pub(super) fn covered(&self) -> usize {
        let along = self.along.iter().map(|along| {
            let places = (0..along.count).map(|at| along.span(at));
            covered(
                along.extent,
                places.flat_map(|Span { first, len, step, .. }| {
                    (0..len).map(move |at| first + at * step)
                }),
            )
        });
        self.lead.iter().product::<usize>() * along.product::<usize>()
    }

    /// Returns all window sizes along each dimension, without or with the padding.
    pub(super) fn sizes(&self, padded: bool) -> impl Iterator<Item = usize> {
        let spans = self.along.iter().flat_map(|along| (0..along.count).map(|at| along.span(at)));
        spans.map(move |span| if padded { span.padded } else { span.len })
    }
}

/// Checks the rank and that only the batch is empty; returns the dimensions before the spatial
/// ones.
fn lead(pool: &Pool, spec: &TensorSpec) -> Result<Vec<usize>, InferError> {
    let n = pool.spatial;
    let wanted = || format!("[c, ..] or [n, c, ..] with {n} spatial dimensions, none empty");
    let wrong = || InferError::shape("self", &spec.shape, wanted());
    if spec.ndim() != n + 1 && spec.ndim() != n + 2 {
        return Err(wrong());
    }
    let lead = spec.ndim() - n;
    // The channels may be missing only where the windows fit the input and are averaged in a plane.
    let first = match (pool.adaptive && pool.fold == Fold::Average && n < 3, lead) {
        (true, _) => lead,
        (false, 1) if pool.adaptive => 1,
        (false, 1) => 0,
        (false, _) => 1,
    };
    if spec.shape[first..].contains(&0) {
        return Err(wrong());
    }
    Ok(spec.shape[..lead].to_vec())
}

fn adaptive(call: &Call<'_>, n: usize, input: Triple) -> Result<[Along; SPATIAL], InferError> {
    let given = call.ints("output_size")?;
    if given.len() != n {
        let wanted = format!("{n} sizes");
        return Err(InferError::value("output_size", format!("{given:?}"), wanted));
    }
    let output = option(call, "output_size", n, 0, 1)?;
    Ok([0, 1, 2].map(|dim| Along { extent: input[dim], count: output[dim], sliding: None }))
}

fn sliding(pool: &Pool, call: &Call<'_>, input: Triple) -> Result<[Along; SPATIAL], InferError> {
    let n = pool.spatial;
    let kernel = option(call, "kernel_size", n, 1, 1)?;
    let stride = match call.opt_ints("stride")? {
        Some(stride) if !stride.is_empty() => option(call, "stride", n, 1, 1)?,
        _ => kernel,
    };
    let padding = option(call, "padding", n, 0, 0)?;
    let dilated = call.op.param("dilation").is_some();
    let dilation = if dilated { option(call, "dilation", n, 1, 1)? } else { [1; SPATIAL] };
    let ceil = call.bool("ceil_mode")?;
    let mut along = [Along::default(); SPATIAL];
    for (dim, along) in along.iter_mut().enumerate() {
        let (k, s, p, d) = (kernel[dim], stride[dim], padding[dim], dilation[dim]);
        if p > k / 2 {
            let wanted = "at most half of kernel_size";
            return Err(InferError::value("padding", p, wanted));
        }
        let reach = d * (k - 1) + 1;
        let Some(room) = (input[dim] + 2 * p).checked_sub(reach) else {
            let shape = &call.tensor("self")?.shape;
            let wanted = "at least as large as the window in each spatial dimension";
            return Err(InferError::shape("self", shape, wanted));
        };
        if n == 3 && pool.fold == Fold::Average && input[dim] < k {
            let wanted = "at least as large as kernel_size in each spatial dimension";
            return Err(InferError::shape("self", &call.tensor("self")?.shape, wanted));
        }
        let mut count = if ceil { room.div_ceil(s) } else { room / s } + 1;
        // The last window must begin inside the input or the padding before it.
        if ceil && (count - 1) * s >= input[dim] + p {
            count -= 1;
        }
        let sliding = Sliding { kernel: k, stride: s, padding: p, dilation: d };
        *along = Along { extent: input[dim], count, sliding: Some(sliding) };
    }
    Ok(along)
}
