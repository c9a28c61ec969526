//! Sums, products, counts, truth values and extremes of slices.

use crate::record::{DType, Gen, List};

use super::super::super::{
    Role,
    def::{ALL, NUMBERS, OpBuilder},
    families::{
        extreme::{End, Extreme, Returned},
        quantile::{Quantile, WAYS},
        reduce::Total,
        truth::Truth,
    },
};

pub(super) fn rows() -> Vec<OpBuilder> {
    let mut rows = totals();
    rows.extend(extremes());
    rows.extend(truths());
    rows
}

fn totals() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, \
            ScalarType? dtype=None) -> Tensor",
            Total::Sum,
            "Sums self over the dimensions in dim (negative ones count from the back; None or \
            an empty list means all). The other dimensions keep their order; with keepdim the summed \
            ones stay with extent 1. The output has dtype where that is given, else the dtype of \
            self, or i64 where self is of integers or bool. Elements are converted to an integer \
            dtype (the fraction is cut off) or bool (not 0) before they are added; for a \
            floating-point dtype they are not rounded first. Accumulate floats in f32 (f16 and bf16 \
            inputs too) and round once to the output's dtype; integers wrap. Any order of summation \
            is right.\n\
            A sum of no elements is 0. NaN, or Inf with -Inf, gives NaN; otherwise an infinity wins. \
            A sum beyond the output's range is Inf.",
        )
        .dtypes(ALL)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, \
            ScalarType? dtype=None) -> Tensor",
            Total::NanSum,
            "Sums the elements of self that are not NaN over the dimensions in dim (negative ones \
            count from the back; None or an empty list means all). The other dimensions keep their \
            order; with keepdim the summed ones stay with extent 1. The output has dtype where that \
            is given, else the dtype of self, or i64 where self is of integers or bool. Accumulate \
            floats in f32 (f16 and bf16 inputs too) and round once to the output's dtype; integers \
            wrap. Any order of summation is right.\n\
            NaN counts as 0: a sum of no elements, or of nothing but NaN, is 0. Inf with -Inf gives \
            NaN; otherwise an infinity wins.",
        )
        .dtypes(ALL)
        .outputs(&["the sums"]),
        OpBuilder::new(
            "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, \
            ScalarType? dtype=None) -> Tensor",
            Total::Mean,
            "The sum of self over the dimensions in dim (negative ones count from the back; None or \
            an empty list means all), divided by the number of elements summed. With keepdim those \
            dimensions stay with extent 1. The output has dtype where that is given, else the dtype \
            of self; it must be a floating-point type, integers need a dtype. Accumulate and divide \
            in f32 and round once to the output's dtype. The sum may be beyond the output's range \
            while the mean is not. Any order of summation is right.\n\
            The mean of no elements is NaN. NaN, or Inf with -Inf, gives NaN; otherwise an infinity \
            wins.",
        )
        .outputs(&["the means"]),
        OpBuilder::new(
            "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, \
            ScalarType? dtype=None) -> Tensor",
            Total::Prod,
            "The product of self along dimension dim (negative ones count from the back); with \
            keepdim it stays with extent 1. The output has dtype where that is given, else the dtype \
            of self, or i64 where self is of integers or bool. Elements are converted to an integer \
            dtype (the fraction is cut off) or bool (not 0) before they are multiplied. Multiply \
            floats in f32 (f16 and bf16 inputs too) and round once to the output's dtype; integers \
            wrap. Any order is right.\n\
            A product of no elements is 1. NaN, or 0 with an infinity, gives NaN.",
        )
        .dtypes(ALL)
        .outputs(&["the products"]),
        OpBuilder::new(
            "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
            Total::CountNonzero,
            "The number of elements of self that are not 0, over the dimensions in dim (negative \
            ones count from the back; an empty list means all), as i64. The other dimensions keep \
            their order.\n\
            NaN and infinities count, -0 does not, subnormal numbers do. Of no elements it is 0.",
        )
        .dtypes(ALL)
        .exact()
        .outputs(&["the counts, i64"]),
    ]
}

fn extreme(signature: &str, end: End, alias: &str) -> OpBuilder {
    let which = if end == End::Max { "largest" } else { "smallest" };
    let semantics = format!(
        "The {which} element of self over the dimensions in dim (negative ones count from the back; \
        an empty list means all). The other dimensions keep their order; with keepdim the folded \
        ones stay with extent 1. The output has the dtype of self and holds elements of it: there is \
        nothing to round. A folded dimension must not be empty.\n\
        A slice that holds NaN gives NaN. The two zeros are equal: either may be returned."
    );
    OpBuilder::new(signature, Extreme(end, Returned::Value), &semantics)
        .alias(&[alias])
        .dtypes(ALL)
        .exact()
        .outputs(&["the extreme elements"])
}

fn median(signature: &str, name: &str, returned: Returned) -> OpBuilder {
    let (over, index, outputs): (_, _, &[&str]) = match returned {
        Returned::Both => (
            "each slice of self along dimension dim (negative ones count from the back; with keepdim it \
            stays with extent 1; it must not be empty)",
            ", and its index in the slice, as i64",
            &["the medians", "their indices, i64"],
        ),
        _ => ("self", "", &["the median"]),
    };
    let semantics = format!(
        "The median of {over}{index}: of n elements in ascending order the one at place (n - 1) / 2, \
        rounded down, so that of two in the middle it is the smaller one. It has the dtype of self and \
        is an element of it: there is nothing to round; bool is not taken.\n\
        NaN anywhere gives NaN (with an index, that of a NaN). Where several elements equal the median, \
        the index of any of them is right. The two zeros are equal. Of no elements it is NaN."
    );
    OpBuilder::new(signature, Extreme(End::Middle, returned), &semantics)
        .name(name)
        .dtypes(NUMBERS)
        .exact()
        .outputs(outputs)
}

fn quantile() -> OpBuilder {
    OpBuilder::new(
        "quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, \
        str interpolation='linear') -> Tensor",
        Quantile,
        "Quantiles of the slices of self along dimension dim (negative ones count from the back), or of \
        all of self without dim, at the positions in q ([] or [k], in 0..=1). With keepdim the dimension \
        stays with extent 1, without dim all do. The output has the dtype of self and q, f32 or f64, and \
        the shape of q followed by what is left of self. Of n elements in ascending order the one at rank \
        r = q * (n - 1), a product in that dtype, is the quantile. Between two, a at floor(r) and b at \
        ceil(r), interpolation decides: linear a + w * (b - a) with w = r - floor(r), computed as \
        b - (1 - w) * (b - a) from w = 0.5 on; lower a; higher b; midpoint b - 0.5 * (b - a); nearest the \
        element at r rounded half to even. The last of linear and midpoint are rounded, the others are \
        elements of self. self is not empty.\n\
        NaN anywhere in a slice gives NaN. linear and midpoint follow IEEE arithmetic also where a and b \
        are one element: Inf - Inf is NaN, so that an infinity at r gives NaN.",
    )
    .dtypes(&[DType::F32])
    .role("q", Role::Between(0.0, 1.0))
    .edges("q", Gen::Listed { list: List::Probabilities })
    .choices("interpolation", WAYS)
    .outputs(&["the quantiles"])
}

/// Both ends at once.
fn both_ends() -> OpBuilder {
    OpBuilder::new(
        "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        Extreme(End::Min, Returned::Ends),
        "The smallest element (first output) and the largest (second) of each slice of self along \
        dimension dim (negative ones count from the back), or of all of self without dim. With keepdim \
        the dimension stays with extent 1, without dim all do. Both outputs have the dtype of self and \
        hold elements of it: there is nothing to round. The slices must not be empty.\n\
        A slice that holds NaN gives NaN twice. The two zeros are equal: either may be returned.",
    )
    .dtypes(ALL)
    .exact()
    .outputs(&["the smallest elements", "the largest elements"])
}

fn extreme_dim(signature: &str, name: &str, end: End) -> OpBuilder {
    let which = if end == End::Max { "largest" } else { "smallest" };
    let semantics = format!(
        "The {which} element of each slice of self along dimension dim (negative ones count from the \
        back), and its index in the slice, as i64. With keepdim the dimension stays with extent 1. \
        values has the dtype of self and holds elements of it: there is nothing to round. The \
        dimension must not be empty.\n\
        NaN is beyond every number: a slice that holds NaN gives NaN and the index of a NaN. Where \
        several elements are as extreme, the index of any of them is right. The two zeros are equal."
    );
    OpBuilder::new(signature, Extreme(end, Returned::Both), &semantics)
        .name(name)
        .dtypes(ALL)
        .exact()
        .outputs(&["the extreme elements", "their indices, i64"])
}

fn arg_extreme(signature: &str, end: End) -> OpBuilder {
    let which = if end == End::Max { "largest" } else { "smallest" };
    let semantics = format!(
        "The index of the {which} element of each slice of self along dimension dim (negative ones \
        count from the back), as i64. Without dim it is the index in self flattened row by row. With \
        keepdim the dimension stays with extent 1, without dim all do. The slices must not be empty; \
        bool is not taken.\n\
        NaN is beyond every number: the index of a NaN is returned where there is one. Where several \
        elements are as extreme, the index of any of them is right. The two zeros are equal."
    );
    OpBuilder::new(signature, Extreme(end, Returned::Index), &semantics)
        .dtypes(NUMBERS)
        .exact()
        .outputs(&["the indices, i64"])
}

fn extremes() -> Vec<OpBuilder> {
    let both = "-> (Tensor values, Tensor indices)";
    vec![
        extreme("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", End::Max, "max"),
        extreme("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", End::Min, "min"),
        extreme_dim(
            &format!("max.dim(Tensor self, int dim, bool keepdim=False) {both}"),
            "max.dim",
            End::Max,
        ),
        extreme_dim(
            &format!("min.dim(Tensor self, int dim, bool keepdim=False) {both}"),
            "min.dim",
            End::Min,
        ),
        both_ends(),
        median("median(Tensor self) -> Tensor", "median", Returned::Value),
        median(
            &format!("median.dim(Tensor self, int dim, bool keepdim=False) {both}"),
            "median.dim",
            Returned::Both,
        ),
        quantile(),
        arg_extreme("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", End::Max),
        arg_extreme("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", End::Min),
    ]
}

fn truth(signature: &str, name: &str, of: Truth) -> OpBuilder {
    let (which, empty) = match of {
        Truth::Any => ("at least one element", "false"),
        Truth::All => ("every element", "true"),
    };
    let over = if name.ends_with("dims") {
        "of self over the dimensions in dim (negative ones count from the back; None means all, an \
        empty list none, so that each element is a slice; with keepdim they stay with extent 1)"
    } else if name.contains('.') {
        "of each slice of self along dimension dim (negative ones count from the back; with keepdim \
        it stays with extent 1)"
    } else {
        "of self"
    };
    let semantics = format!(
        "Whether {which} {over} is not 0, as bool; as u8 (0 or 1) where self is u8. Any dtype is \
        taken.\n\
        NaN and subnormal numbers are not 0, -0 is. Of no elements the result is {empty}."
    );
    OpBuilder::new(signature, of, &semantics)
        .name(name)
        .dtypes(ALL)
        .exact()
        .outputs(&["the answers"])
}

fn truths() -> Vec<OpBuilder> {
    vec![
        truth("any(Tensor self) -> Tensor", "any", Truth::Any),
        truth("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", "any.dim", Truth::Any),
        truth(
            "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
            "any.dims",
            Truth::Any,
        ),
        truth("all(Tensor self) -> Tensor", "all", Truth::All),
        truth(
            "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
            "all.dims",
            Truth::All,
        ),
        truth("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", "all.dim", Truth::All),
    ]
}
