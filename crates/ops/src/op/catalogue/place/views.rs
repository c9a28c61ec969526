//! Views of `PyTorch`, as copies.

use super::{
    super::super::{def::OpBuilder, families::movement::views},
    moved,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        moved(
            "permute_copy(Tensor self, int[] dims) -> Tensor",
            views::permute,
            "Dimension i of the output is dimension dims[i] of self; dims names each dimension once \
            (negative ones count from the back).",
        )
        .name("permute")
        .outputs(&["the permuted tensor"]),
        moved(
            "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
            views::transpose,
            "Exchanges dimensions dim0 and dim1 (negative ones count from the back; they may be the \
            same).",
        )
        .name("transpose")
        .alias(&["transpose.int"])
        .outputs(&["the transposed tensor"]),
        moved(
            "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
            views::expand,
            "Repeats dimensions of extent 1 to the extents in size; size may have more entries than \
            self has dimensions, the further ones are new dimensions in front. -1 keeps an extent. \
            implicit has no meaning.",
        )
        .name("expand")
        .outputs(&["the expanded tensor"]),
        moved(
            "view_copy(Tensor self, SymInt[] size) -> Tensor",
            views::view,
            "The elements of self in row-major order of its shape (whatever its strides are), in \
            shape size; one extent may be -1, which stands for what is left over.",
        )
        .name("view")
        .outputs(&["the reshaped tensor"]),
        moved(
            "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
            views::unbind,
            "Takes self apart along dim (negative ones count from the back): output i of the \
            list, out[i], is self at place i of dim, without that dimension.",
        )
        .name("unbind")
        .alias(&["unbind.int"])
        .outputs(&["the slices"]),
        moved(
            "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
            views::split,
            "Cuts self along dim (negative ones count from the back) into pieces of split_size \
            places, the last one perhaps shorter: the outputs out[0], out[1], .. of the list. A \
            dimension of extent 0 gives one empty piece.",
        )
        .name("split")
        .alias(&["split.Tensor"])
        .outputs(&["the pieces"]),
        moved(
            "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, \
            SymInt step=1) -> Tensor",
            views::slice,
            "The places start, start + step, .. before end along dim. Negative start and end count \
            from the back; both are then cut to 0..n, n the extent. None means 0 and n. step is at \
            least 1; the output has max(0, ceil((end - start) / step)) places.",
        )
        .name("slice")
        .alias(&["slice.Tensor"])
        .outputs(&["the slice"]),
        moved(
            "select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
            views::select,
            "Place index along dim, without that dimension; a negative index counts from the back.",
        )
        .name("select")
        .alias(&["select.int"])
        .outputs(&["the selected slice"]),
        moved(
            "unsqueeze_copy(Tensor self, int dim) -> Tensor",
            views::unsqueeze,
            "Inserts a dimension of extent 1 at dim, which is from -(ndim + 1) to ndim.",
        )
        .name("unsqueeze")
        .outputs(&["the tensor with one more dimension"]),
        moved(
            "diag(Tensor self, int diagonal=0) -> Tensor",
            views::diag,
            "Of a matrix, its diagonal: the elements [i, i + diagonal] (a negative diagonal: \
            [i - diagonal, i]), none where it lies outside. Of a 1-dim tensor of n elements, the \
            square matrix of n + |diagonal| rows with them on that diagonal and 0 elsewhere.",
        )
        .outputs(&["the diagonal, or the matrix with it"]),
    ]
}
