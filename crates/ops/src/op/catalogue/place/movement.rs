//! Ops that join, pad, repeat and rearrange.

use crate::record::DType;

use super::{
    super::super::{
        OpFamily, Role,
        def::{self, OpBuilder},
        families::{
            movement::{arrange, diagonal, join, pad, resized},
            repeats::Repeats,
        },
    },
    moved,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    joined().into_iter().chain(rearranged()).chain(counted()).chain(made()).collect()
}

fn joined() -> Vec<OpBuilder> {
    vec![
        moved(
            "cat(Tensor[] tensors, int dim=0) -> Tensor",
            join::cat,
            "Puts the tensors one after the other along dimension dim (negative ones count from the \
            back). They agree in all other extents; an extent of 0 along dim is fine. As an exception \
            from that, 1-dim tensors of shape [0] are passed over whatever the others' shapes are. \
            Tensors of different dtypes are promoted to the wider one, and their values with them.",
        )
        .alias(&["concat", "concatenate"])
        .outputs(&["the joined tensor"]),
        moved(
            "stack(Tensor[] tensors, int dim=0) -> Tensor",
            join::stack,
            "Puts tensors of one shape next to each other along a new dimension dim, which may be \
            from -(ndim + 1) to ndim: out[.., i, ..] = tensors[i][..]. Tensors of different dtypes \
            are promoted to the wider one.",
        )
        .outputs(&["the stacked tensor"]),
        moved(
            "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
            pad::constant,
            "pad holds pairs (before, after), the first for the last dimension, the second for the \
            one before it and so on; dimensions without a pair stay. That many elements equal to \
            value, rounded to self's dtype (integers: the fraction is cut off), are put before and \
            after; a negative number cuts that many elements off instead, at most as many as there \
            are.",
        )
        .outputs(&["the padded tensor"]),
        moved(
            "reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
            pad::reflection1d,
            "self is [c, w] or [n, c, w]; padding is (before, after) for w, each less than w. The \
            padding mirrors the row at its first and last element, which are not repeated: \
            [a b c d] padded by (2, 1) is [c b a b c d c]. A negative number cuts off.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
        moved(
            "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
            pad::reflection2d,
            "self is [c, h, w] or [n, c, h, w]; padding is (left, right, top, bottom): the first two \
            for w, the others for h, each less than its extent. The padding mirrors the image at its \
            first and last column and row, which are not repeated. A negative number cuts off.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
        moved(
            "reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
            pad::reflection3d,
            "self is [c, d, h, w] or [n, c, d, h, w]; padding is (left, right, top, bottom, front, back): \
            the first two for w, then for h, then for d, each less than its extent. The padding mirrors \
            the volume at its first and last planes, which are not repeated. A negative number cuts off.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
        moved(
            "replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
            pad::replication1d,
            "self is [c, w] or [n, c, w]; padding is (before, after) for w. The padding repeats the first \
            and the last element of the row. A negative number cuts off.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
        moved(
            "replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
            pad::replication3d,
            "self is [c, d, h, w] or [n, c, d, h, w]; padding is (left, right, top, bottom, front, back): \
            the first two for w, then for h, then for d. The padding repeats the nearest element of the \
            volume. A negative number cuts off.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
        moved(
            "_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
            pad::circular,
            "self is [n, c, w], [n, c, h, w] or [n, c, d, h, w]; pad holds pairs (before, after), the \
            first for w, the next for the dimension before it and so on, each at most its extent. The \
            padding continues at the other end: [a b c] padded by (2, 1) is [b c a b c a]. A negative \
            number cuts off.",
        )
        .name("pad_circular")
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
        moved(
            "replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
            pad::replication2d,
            "self is [c, h, w] or [n, c, h, w]; padding is (left, right, top, bottom): the first two \
            for w, the others for h. The padding repeats the nearest element of the image. A negative \
            number cuts off.",
        )
        .dtypes(def::NUMBERS)
        .outputs(&["the padded tensor"]),
    ]
}

/// Places repeated as often as a tensor says.
fn counted() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, \
            SymInt? output_size=None) -> Tensor",
            Repeats::Places,
            "Repeats each place along dim (negative ones count from the back) as often in a row as repeats \
            says: [a b c] by [2 0 1] is [a a c]. repeats (int64 or int32, not negative) is [n] with n the \
            extent, or of one element, which counts for all places. Without dim self is taken as flat, and so \
            is the output. output_size is always given, the sum of all counts and the resulting extent \
            (without it the shape would be left to the data).\n\
            NaN and infinities are copied.",
        )
        .name("repeat_interleave.self_Tensor")
        .family(OpFamily::Movement)
        .role("repeats", Role::Index)
        .dtypes(def::ALL)
        .exact()
        .signed_zero()
        .outputs(&["the repeated tensor"]),
        OpBuilder::new(
            "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
            Repeats::Numbers,
            "The number of each place of repeats ([n], int64 or int32, not negative), as often in a row as \
            its element says: [2 0 1] gives [0 0 2]. The output has the dtype of repeats. output_size is \
            always given, the sum of repeats and the extent of the output (without it the shape would be left \
            to the data).\n\
            There are no floating-point numbers, so no NaN.",
        )
        .name("repeat_interleave.Tensor")
        .family(OpFamily::Movement)
        .role("repeats", Role::Index)
        .dtypes(&[DType::I64])
        .exact()
        .outputs(&["the repeated numbers"]),
    ]
}

fn rearranged() -> Vec<OpBuilder> {
    vec![
        moved(
            "repeat(Tensor self, SymInt[] repeats) -> Tensor",
            arrange::repeat,
            "Puts self repeats[i] times after itself along each dimension i; repeats has at least as \
            many entries as self has dimensions, those too many are new dimensions in front. The \
            output's extents are the products; 0 gives a tensor without elements.",
        )
        .outputs(&["the repeated tensor"]),
        moved(
            "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, \
            SymInt? output_size=None) -> Tensor",
            arrange::repeat_interleave,
            "Repeats each place along dim repeats times in a row: [a b] by 2 is [a a b b]. Without \
            dim self is taken as flat, and so is the output. output_size, if given, is the resulting \
            extent.",
        )
        .outputs(&["the repeated tensor"]),
        moved(
            "flip(Tensor self, int[] dims) -> Tensor",
            arrange::flip,
            "Reverses the order of the places along each dimension in dims (negative ones count from \
            the back); an empty list reverses nothing.",
        )
        .outputs(&["the flipped tensor"]),
        moved(
            "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
            arrange::roll,
            "Moves places along each dimension in dims by the shift of the same number; what leaves \
            at one end comes in at the other: out[(i + shift) % n] = self[i], the remainder never \
            negative. A dimension may be named more than once, shifts then add up. With an empty dims \
            there is one shift, along the flat tensor.",
        )
        .outputs(&["the rolled tensor"]),
        moved(
            "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, \
            SymInt step=1) -> Tensor",
            arrange::slice_scatter,
            "self with the places start, start + step, .. before end along dim replaced by src, which \
            has the shape of that slice. Negative start and end count from the back; both are then cut \
            to 0..n, n the extent. None means 0 and n. step is at least 1.",
        )
        .role("src", Role::Main)
        .outputs(&["the tensor with the slice"]),
        moved(
            "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
            arrange::select_scatter,
            "self with place index along dim replaced by src, which has the shape of self without that \
            dimension; a negative index counts from the back.",
        )
        .role("src", Role::Main)
        .outputs(&["the tensor with the slice"]),
        moved(
            "tril(Tensor self, SymInt diagonal=0) -> Tensor",
            arrange::tril,
            "Keeps the elements [.., i, j] with j - i <= diagonal of the last two dimensions, and \
            sets the others to 0 (+0, whatever they were: NaN too).",
        )
        .outputs(&["the lower triangle"]),
        moved(
            "triu(Tensor self, SymInt diagonal=0) -> Tensor",
            arrange::triu,
            "Keeps the elements [.., i, j] with j - i >= diagonal of the last two dimensions, and \
            sets the others to 0 (+0, whatever they were: NaN too).",
        )
        .outputs(&["the upper triangle"]),
        moved(
            "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
            diagonal::embed,
            "Makes the last dimension of self, of extent n, the diagonal of matrices of extent n + |offset| \
            over dim1 and dim2 of the output, which has one dimension more; the other dimensions keep their \
            order. The elements whose place along dim2 is that along dim1 plus offset hold self, all others \
            are 0. dim1 and dim2 differ; negative ones count from the back.",
        )
        .outputs(&["the matrices"]),
        moved(
            "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
            resized::pixel_unshuffle,
            "Makes channels of pixels: self [.., c, h * r, w * r] with r = downscale_factor gives [.., c * r * \
            r, h, w], out[.., (ch * r + i) * r + j, y, x] = self[.., ch, y * r + i, x * r + j].",
        )
        .alias(&["nn.functional.pixel_unshuffle"])
        .outputs(&["the channels"]),
    ]
}

fn made() -> Vec<OpBuilder> {
    vec![
        moved(
            "new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
            Device? device=None, bool? pin_memory=None) -> Tensor",
            arrange::new_zeros,
            "A tensor of shape size, all 0, whatever self holds. Its dtype is dtype, or that of self \
            where it is None.",
        )
        .outputs(&["zeros"]),
        moved(
            "new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
            Device? device=None, bool? pin_memory=None) -> Tensor",
            arrange::new_ones,
            "A tensor of shape size, all 1, whatever self holds. Its dtype is dtype, or that of self \
            where it is None.",
        )
        .role("self", Role::Main)
        .outputs(&["ones"]),
    ]
}
