//! Copies and conversions.

use crate::record::DType;

use super::super::super::{
    Role,
    def::OpBuilder,
    families::pointwise::{Map, Output, Pointwise},
    formulas::select as of,
};

/// Every type that a kernel may get.
const COPIED: &[DType] = &[
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U8,
    DType::Bool,
];

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let same = Pointwise::choice(Map::One(of::identity));
    vec![
        OpBuilder::new(
            "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
            device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? \
            memory_format=None) -> Tensor",
            Pointwise { output: Output::Argument, ..same },
            "out = self converted to dtype (None: self's own). The shape is that of self, the output \
            contiguous.\n\
            The result is exact: floating-point types round to nearest even, once (f32 to bf16 too), \
            beyond the largest finite value to Inf; f8e4m3 has no Inf, there it is NaN. A \
            floating-point number becomes an integer without its fraction (-2.7 gives -2), an integer \
            keeps its low bits in a smaller type, bool is 1 for everything but 0 (NaN included). NaN \
            and what is beyond an integer type's range have no defined integer. NaN stays NaN, \
            infinities and -0 stay where the type has them.",
        )
        .name("to_copy")
        .dtypes(COPIED)
        .exact()
        .signed_zero()
        .outputs(&["the converted tensor"]),
        OpBuilder::new(
            "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
            same,
            "out = self, element by element: shape and dtype are those of self, the output is \
            contiguous whatever self's strides are.\n\
            Bits are copied: NaN, infinities and -0 stay.",
        )
        .dtypes(COPIED)
        .exact()
        .signed_zero()
        .outputs(&["the copy"]),
        OpBuilder::new(
            "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
            Pointwise {
                tensors: &["self", "src"],
                ..Pointwise::choice(Map::Call(of::copy))
            },
            "out = src, in the shape and the dtype of self, whose values do not matter: src \
            broadcasts to self's shape (a missing dimension or one of extent 1 repeats) and is \
            converted to self's dtype.\n\
            The result is exact: floating-point types round to nearest even, once; a floating-point \
            number becomes an integer without its fraction; bool is 1 for everything but 0. NaN, \
            infinities and -0 stay where the type has them.",
        )
        .role("src", Role::Main)
        .alias(&["copy_"])
        .dtypes(COPIED)
        .exact()
        .signed_zero()
        .outputs(&["the copy"]),
    ]
}
