//! Ops that write where an index or a mask says, and that look for elements.

use super::super::super::{
    Role,
    def::{self, OpBuilder},
    families::{
        index::{lookup::Lookup, scatter::Scatter},
        masked_scatter::MaskedScatter,
        members::IsIn,
    },
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let copied = |row: OpBuilder| row.dtypes(def::ALL).exact().signed_zero();
    vec![
        copied(OpBuilder::new(
            "take(Tensor self, Tensor index) -> Tensor",
            Lookup::Take,
            "out[i] = element index[i] of self in row-major order of its shape. The output has the shape of \
            index, which is int64 and in -n..n, n the number of elements of self; negative ones count from \
            the back, repetitions are allowed.\n\
            Elements are copied bit for bit, NaN among them.",
        ))
        .role("index", Role::Index)
        .outputs(&["the elements"]),
        copied(OpBuilder::new(
            "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
            Scatter::IndexCopy,
            "out = self, with place index[i] along dim replaced by place i of source (dim may be negative: \
            from the back). index is 1-dim (or 0-dim for one place), int64 in 0..self.shape[dim], and its \
            elements differ; source has self's shape but for dim, where it has one place per index, and \
            self's dtype.\n\
            Elements are copied bit for bit, NaN among them.",
        ))
        .role("index", Role::Index)
        .role("source", Role::Main)
        .outputs(&["the tensor with the slices"]),
        copied(OpBuilder::new(
            "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
            Scatter::IndexFill,
            "out = self, with value at the places index along dim (which may be negative: from the back). \
            index is 1-dim (or 0-dim for one place), int64 in -n..n, n the extent of dim; negative ones count \
            from the back, repetitions are allowed. value is converted to self's dtype (for integers its \
            fraction is cut off).\n\
            Elements are copied bit for bit, NaN among them.",
        ))
        .name("index_fill")
        .role("index", Role::Index)
        .outputs(&["the filled tensor"]),
        copied(OpBuilder::new(
            "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
            MaskedScatter,
            "out = self, in which the places where mask is true, in row-major order of the output, hold the \
            first elements of source in row-major order of its shape, one each. self and mask broadcast to \
            the shape of the output (aligned at their last dimensions, a missing dimension or one of extent 1 \
            repeats). source has self's dtype and at least as many elements as there are such places.\n\
            Elements are copied bit for bit, NaN among them.",
        ))
        .role("mask", Role::Mask)
        .role("source", Role::Main)
        .outputs(&["the tensor with the elements"]),
        OpBuilder::new(
            "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool \
            invert=False) -> Tensor",
            IsIn,
            "out[i] = whether elements[i] equals an element of test_elements, of any shape; with invert \
            whether it equals none. assume_unique has no meaning for the result. Both are converted to their \
            promoted dtype. The output is bool, of the shape of elements; without test_elements nothing is \
            found.\n\
            NaN equals nothing; -0 equals 0.",
        )
        .name("isin")
        .alias(&["isin.Tensor_Tensor"])
        .role("test_elements", Role::Main)
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the truth values"]),
    ]
}
