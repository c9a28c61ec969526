//! Memory layouts of input tensors.

use std::{fmt, str::FromStr};

use crate::record::{DType, TensorSpec};

/// How a tensor lies in its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major, without gaps.
    Contiguous,
    /// The last two dimensions are swapped in memory, as after `.t()`.
    Transposed,
    /// Rows are cut out of longer ones; a 1-dim tensor is every second element of a longer one.
    Gap,
    /// Row-major, but begins one element into its storage: aligned to the element only.
    Offset,
    /// The first dimension has stride 0, as after `.expand()`.
    Expanded,
    /// The second dimension is the innermost one in memory, as in `torch.channels_last`.
    ChannelsLast,
}

/// Columns by which the rows of [`Layout::Gap`] are longer than their part that is read.
const GAP: usize = 3;

/// Elements that a tensor may have: beyond the memory of every GPU, below every overflow.
const MAX_ELEMENTS: usize = 1 << 40;

/// A text that is no layout, or a layout that a shape cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// No such layout.
    #[error(
        "unknown layout `{0}` (known: contiguous, transposed, gap, offset, expanded, channels_last)"
    )]
    Unknown(String),
    /// More elements than any device holds.
    #[error("a shape of {} has too many elements (at most 2^40)", shape_text(.0))]
    TooLarge(Vec<usize>),
    /// Not for this many dimensions.
    #[error("layout `{layout}` needs at least {needed} dimensions, the shape has {ndim}")]
    TooFewDimensions {
        /// The layout.
        layout: Layout,
        /// Dimensions it needs.
        needed: usize,
        /// Dimensions there are.
        ndim: usize,
    },
}

fn shape_text(shape: &[usize]) -> String {
    format!("[{}]", super::joined(shape))
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 6] = [
        Self::Contiguous,
        Self::Transposed,
        Self::Gap,
        Self::Offset,
        Self::Expanded,
        Self::ChannelsLast,
    ];

    /// Returns the name, as suite files and case names spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "contiguous",
            Self::Transposed => "transposed",
            Self::Gap => "gap",
            Self::Offset => "offset",
            Self::Expanded => "expanded",
            Self::ChannelsLast => "channels_last",
        }
    }

    /// Lays a shape out.
    ///
    /// # Errors
    ///
    /// [`LayoutError::TooLarge`] when the extents multiply to more than 2^40, a 0 among them
    /// counted as 1; [`LayoutError::TooFewDimensions`] when the shape cannot be laid out so.
    pub fn spec(self, dtype: DType, shape: &[usize]) -> Result<TensorSpec, LayoutError> {
        let elements = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent.max(1)));
        if elements.is_none_or(|elements| MAX_ELEMENTS < elements) {
            return Err(LayoutError::TooLarge(shape.to_vec()));
        }
        let ndim = shape.len();
        let needed = match self {
            Self::Contiguous | Self::Offset => 0,
            Self::Gap | Self::Expanded => 1,
            Self::Transposed => 2,
            Self::ChannelsLast => 3,
        };
        if ndim < needed {
            return Err(LayoutError::TooFewDimensions { layout: self, needed, ndim });
        }
        let mut spec = TensorSpec::contiguous(dtype, shape);
        match self {
            Self::Contiguous => {}
            Self::Offset => spec.offset = 1,
            Self::Expanded => spec.stride[0] = 0,
            Self::ChannelsLast => {
                let mut moved = shape.to_vec();
                let channels = moved.remove(1);
                moved.push(channels);
                spec.stride = TensorSpec::contiguous(dtype, &moved).stride;
                let innermost = spec.stride.pop().expect("the shape has three dimensions");
                spec.stride.insert(1, innermost);
            }
            Self::Gap if ndim == 1 => spec.stride[0] = 2,
            Self::Gap => {
                let mut longer = shape.to_vec();
                longer[ndim - 1] += GAP;
                spec.stride = TensorSpec::contiguous(dtype, &longer).stride;
            }
            Self::Transposed => {
                let mut swapped = shape.to_vec();
                swapped.swap(ndim - 2, ndim - 1);
                spec.stride = TensorSpec::contiguous(dtype, &swapped).stride;
                spec.stride.swap(ndim - 2, ndim - 1);
            }
        }
        Ok(spec)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|layout| layout.name() == text);
        known.ok_or_else(|| LayoutError::Unknown(text.to_owned()))
    }
}
