//! The windows of a pooling: which input elements an output element comes from.

use crate::record::TensorSpec;

use super::super::super::{Call, InferError};
use super::super::conv::{SPATIAL, Triple, option, triple};
use super::Pool;

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

/// The windows of a pooling of known sizes.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    pub spatial: usize,
    /// Shape of the input up to its spatial dimensions.
    pub lead: Vec<usize>,
    pub input: Triple,
    pub output: Triple,
    /// Per dimension and output index.
    spans: [Vec<Span>; SPATIAL],
}

impl Windows {
    pub(super) fn of(pool: &Pool, call: &Call<'_>) -> Result<Self, InferError> {
        let spec = call.tensor("self")?;
        let n = pool.spatial;
        let lead = lead(pool, spec)?;
        let input = triple(&spec.shape[lead.len()..]);
        let spans =
            if pool.adaptive { adaptive(call, n, input) } else { sliding(pool, call, input) };
        let spans = spans?;
        let mut output = [0; SPATIAL];
        for (extent, spans) in output.iter_mut().zip(&spans) {
            *extent = spans.len();
        }
        Ok(Self { spatial: n, lead, input, output, spans })
    }

    /// Returns the shape of the result.
    pub(super) fn shape(&self) -> Vec<usize> {
        [self.lead.as_slice(), &self.output[SPATIAL - self.spatial..]].concat()
    }

    /// Returns the window of an output element.
    pub(super) fn window(&self, place: Triple) -> [Span; SPATIAL] {
        [0, 1, 2].map(|dim| self.spans[dim][place[dim]])
    }

    /// Returns the windows' largest number of elements.
    pub(super) fn largest(&self) -> usize {
        let largest = |spans: &Vec<Span>| spans.iter().map(|span| span.len).max().unwrap_or(0);
        self.spans.iter().map(largest).product()
    }

    /// Returns all window sizes along each dimension, without or with the padding.
    pub(super) fn sizes(&self, padded: bool) -> impl Iterator<Item = usize> {
        let size = move |span: &Span| if padded { span.padded } else { span.len };
        self.spans.iter().flatten().map(size)
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
    // The channels may be missing only where the windows fit the input.
    let first = match (pool.adaptive, lead) {
        (true, _) => lead,
        (false, 1) => 0,
        (false, _) => 1,
    };
    if spec.shape[first..].contains(&0) {
        return Err(wrong());
    }
    Ok(spec.shape[..lead].to_vec())
}

fn adaptive(call: &Call<'_>, n: usize, input: Triple) -> Result<[Vec<Span>; SPATIAL], InferError> {
    let given = call.ints("output_size")?;
    let output: Option<Vec<usize>> = given.iter().map(|&size| usize::try_from(size).ok()).collect();
    let Some(output) = output.filter(|output| output.len() == n) else {
        let wanted = format!("{n} sizes, none negative");
        return Err(InferError::value("output_size", format!("{given:?}"), wanted));
    };
    let output = triple(&output);
    Ok([0, 1, 2].map(|dim| {
        let (extent, count) = (input[dim], output[dim]);
        let span = |at: usize| {
            let first = at * extent / count;
            let len = ((at + 1) * extent).div_ceil(count) - first;
            Span { first, len, step: 1, padded: len }
        };
        (0..count).map(span).collect()
    }))
}

fn sliding(
    pool: &Pool,
    call: &Call<'_>,
    input: Triple,
) -> Result<[Vec<Span>; SPATIAL], InferError> {
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
    let mut spans: [Vec<Span>; SPATIAL] = Default::default();
    for (dim, spans) in spans.iter_mut().enumerate() {
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
        let mut count = if ceil { room.div_ceil(s) } else { room / s } + 1;
        // The last window must begin inside the input or the padding before it.
        if ceil && (count - 1) * s >= input[dim] + p {
            count -= 1;
        }
        spans.extend((0..count).map(|at| span(at * s, [k, d, p], input[dim])));
    }
    Ok(spans)
}

/// Returns the part of a window inside the input; `start` counts from the begin of the padding.
fn span(start: usize, [kernel, dilation, padding]: [usize; 3], extent: usize) -> Span {
    let taps = (0..kernel).map(|tap| start + tap * dilation);
    let inside = taps.filter_map(|at| at.checked_sub(padding)).filter(|&at| at < extent);
    let inside: Vec<usize> = inside.collect();
    let end = (start + kernel).min(extent + 2 * padding);
    Span {
        first: inside.first().copied().unwrap_or(0),
        len: inside.len(),
        step: dilation,
        padded: end.saturating_sub(start),
    }
}
