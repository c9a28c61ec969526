//! Cumulative ops.

use super::super::super::{
    def::{ALL, FLOATS, NUMBERS, OpBuilder},
    families::scan::Scan,
};

pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
            Scan::Sum,
            "out[i] = x[0] + .. + x[i] for each slice x of self along dimension dim (negative ones \
            count from the back). The output has the shape of self, and dtype where that is given, \
            else the dtype of self, or i64 where self is of integers or bool. Elements are converted \
            to an integer dtype first (the fraction is cut off). Accumulate floats in f32 (f16 and \
            bf16 inputs too) and round each sum once to the output's dtype; integers wrap. Any \
            grouping of the sums is right.\n\
            From NaN on, or once Inf and -Inf have met, sums are NaN; from one infinity on they are \
            that infinity.",
        )
        .dtypes(ALL)
        .outputs(&["the running sums"]),
        OpBuilder::new(
            "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
            Scan::Prod,
            "out[i] = x[0] * .. * x[i] for each slice x of self along dimension dim (negative ones \
            count from the back). The output has the shape of self, and dtype where that is given, \
            else the dtype of self, or i64 where self is of integers or bool. Elements are converted \
            to an integer dtype first (the fraction is cut off). Multiply floats in f32 (f16 and bf16 \
            inputs too) and round each product once to the output's dtype; integers wrap. Any \
            grouping is right.\n\
            From NaN on, or once 0 and an infinity have met, products are NaN.",
        )
        .dtypes(ALL)
        .outputs(&["the running products"]),
        OpBuilder::new(
            "logcumsumexp(Tensor self, int dim) -> Tensor",
            Scan::LogSumExp,
            "out[i] = log(exp(x[0]) + .. + exp(x[i])) for each slice x of self along dimension dim \
            (negative ones count from the back), computed relative to a running maximum: inputs reach \
            1e4 and more. Compute in f32 and round once to the output's dtype, which is that of self, \
            a floating-point type.\n\
            From NaN on results are NaN, from Inf on (without NaN) Inf. As long as all elements are \
            -Inf the result is -Inf.",
        )
        .dtypes(FLOATS)
        .outputs(&["the running logarithms"]),
        OpBuilder::new(
            "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
            Scan::Max,
            "values[i] is the largest of x[0], .., x[i] for each slice x of self along dimension dim \
            (negative ones count from the back), and indices[i] its index in the slice, as i64. values \
            has the dtype of self and holds elements of it: there is nothing to round.\n\
            From NaN on values are NaN, and the indices those of a NaN. Where several of x[0], .., \
            x[i] are as large, the index of any of them is right. The two zeros are equal.",
        )
        .dtypes(NUMBERS)
        .exact()
        .outputs(&["the largest elements so far", "their indices, i64"]),
        OpBuilder::new(
            "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
            Scan::Min,
            "values[i] is the smallest of x[0], .., x[i] for each slice x of self along dimension dim \
            (negative ones count from the back), and indices[i] its index in the slice, as i64. values \
            has the dtype of self and holds elements of it: there is nothing to round.\n\
            From NaN on values are NaN, and the indices those of a NaN. Where several of x[0], .., \
            x[i] are as small, the index of any of them is right. The two zeros are equal.",
        )
        .dtypes(NUMBERS)
        .exact()
        .outputs(&["the smallest elements so far", "their indices, i64"]),
    ]
}
