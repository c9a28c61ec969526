//! Sorting.

use super::super::super::{
    def::{ALL, NUMBERS, OpBuilder},
    families::sort::Order,
};

pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) \
            -> (Tensor values, Tensor indices)",
            Order::TopK,
            "The k largest elements (the k smallest where largest is false) of each slice of self \
            along dimension dim (negative ones count from the back), and their indices in the slice, \
            as i64. In both outputs dim has extent k, which is between 0 and the extent in self. With \
            sorted the elements come in falling order (rising, where largest is false), otherwise in \
            any order, the same for both outputs. values has the dtype of self and holds elements of \
            it: there is nothing to round. bool is not taken.\n\
            NaN is larger than every number, Inf included. Of equal elements any may be taken, in any \
            order, but each once. The two zeros are equal.",
        )
        .dtypes(NUMBERS)
        .exact()
        .outputs(&["the elements", "their indices, i64"]),
        OpBuilder::new(
            "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
            Order::Sort,
            "Each slice of self along dimension dim (negative ones count from the back) in rising \
            order, falling where descending, and the index in the slice of self that each element \
            comes from, as i64. values has the dtype of self and holds elements of it: there is \
            nothing to round.\n\
            NaN is larger than every number, Inf included. The order of equal elements is open, but \
            each index stands once. The two zeros are equal; false is less than true.",
        )
        .dtypes(ALL)
        .exact()
        .outputs(&["the sorted elements", "their indices, i64"]),
    ]
}
