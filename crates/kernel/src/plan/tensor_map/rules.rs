//! The rules of the driver, in the words of a plan.

use kgen_record::tensor_map::{TensorMap, TensorMapError, TensorMapMode};

use super::{
    super::{Problem, call::Args},
    args::{
        BOX, CHANNELS, ELEMENT_STRIDES, IM2COL, INTERLEAVE, OOB, PIXELS, SHAPE, STRIDES, SWIZZLE, X,
    },
};

/// Words a rule that a map breaks, with dimensions counted as in `x.shape`.
pub(super) fn refused(
    args: &Args<'_>,
    map: &TensorMap,
    label: &str,
    error: &TensorMapError,
) -> Problem {
    let rank = map.rank();
    let mut message = error.to_string();
    if let Some(dim) = dimension(error) {
        let shown = format!("dimension {}", rank.saturating_sub(dim + 1));
        message = message.replacen(&format!("dimension {dim}"), &shown, 1);
    }
    let (slot, hint) = match error {
        TensorMapError::Address { address, align, .. } => {
            message = format!(
                "`{label}` begins at byte {address} of its buffer; a tensor map needs a multiple of {align}"
            );
            (X, "ask for `x.align >= 16` first, and pass pointers where it is less")
        }
        TensorMapError::StrideAlignment { .. } => (
            STRIDES,
            "ask for `x.stride[i] * x.itemsize % 16 == 0` first, and pass pointers where it is not so",
        ),
        TensorMapError::Rank { mode, least, rank } => {
            message = format!("a tensor map in {mode} mode is of rank {least} to 5, not {rank}");
            (SHAPE, "give another view of the same elements by `shape` and `strides`")
        }
        TensorMapError::Extent { .. } => {
            (SHAPE, "give another view of the same elements by `shape` and `strides`")
        }
        TensorMapError::StrideSize { .. } => (STRIDES, "no tensor is that large"),
        TensorMapError::Box { .. } => (BOX, "copy several boxes"),
        TensorMapError::ElementStride { .. } => {
            (ELEMENT_STRIDES, "take every n-th element in the kernel")
        }
        TensorMapError::InnerAlignment { .. } if map_is_im2col(map) => {
            (CHANNELS, "copy whole multiples of 16 bytes")
        }
        TensorMapError::InnerAlignment { .. } => (BOX, "copy whole multiples of 16 bytes"),
        TensorMapError::InnerSpan { .. } => (SWIZZLE, "copy a narrower box, several times"),
        TensorMapError::InterleaveRank { .. } | TensorMapError::InterleaveSwizzle => {
            (INTERLEAVE, "leave it out: only layouts such as NC/8HWC8 need it")
        }
        TensorMapError::Fill { .. } => (OOB, "`oob=\"zero\"`"),
        TensorMapError::Corner { .. } | TensorMapError::EmptyBox { .. } => (
            IM2COL,
            "corners are offsets: the lower one `-padding`, the upper one `padding - (kernel - 1) * dilation`",
        ),
        TensorMapError::Channels { .. } => (CHANNELS, "copy several times"),
        TensorMapError::Pixels { .. } => (PIXELS, "copy several times"),
        _ => (X, "see the rules of `cuTensorMapEncodeTiled`"),
    };
    let at = args.optional(slot).unwrap_or_else(|| args.get(X)).1.start;
    Problem::new(at, message).hint(hint)
}

const fn map_is_im2col(map: &TensorMap) -> bool {
    matches!(map.mode, TensorMapMode::Im2col { .. })
}

/// Returns the dimension that a rule names, counted from the innermost.
const fn dimension(error: &TensorMapError) -> Option<usize> {
    match error {
        TensorMapError::Extent { dim, .. }
        | TensorMapError::StrideAlignment { dim, .. }
        | TensorMapError::StrideSize { dim, .. }
        | TensorMapError::Box { dim, .. }
        | TensorMapError::ElementStride { dim, .. }
        | TensorMapError::Corner { dim, .. }
        | TensorMapError::EmptyBox { dim, .. } => Some(*dim),
        _ => None,
    }
}
