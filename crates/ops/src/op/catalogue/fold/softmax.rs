//! Softmax and its logarithm.

use crate::record::ArgValue;

use super::super::super::{def::OpBuilder, families::softmax::Softmax};

pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
            Softmax::Plain,
            "Along dimension dim (negative ones count from the back), for each slice x: \
            out[j] = exp(x[j] - max(x)) / sum_k exp(x[k] - max(x)). Compute in f32 and round once to \
            the output's dtype, which is that of self, or f32 for a self of f16 with half_to_float. The maximum \
            must be subtracted: inputs reach 1e4 and more.\n\
            A slice that holds NaN or +Inf gives NaN everywhere. -Inf gives 0, wherever it stands in \
            the slice, the first place included; a slice of nothing but -Inf gives NaN.",
        )
        .name("softmax")
        .alias(&["nn.functional.softmax"])
        .default("half_to_float", ArgValue::Bool(false))
        .outputs(&["the probabilities"]),
        OpBuilder::new(
            "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
            Softmax::Safe,
            "Along dimension dim (negative ones count from the back), for each slice x: \
            out[j] = exp(x[j] - max(x)) / sum_k exp(x[k] - max(x)), and 0 everywhere in a slice of \
            nothing but -Inf. Compute in f32 and round once to the output's dtype, which is dtype where \
            that is given (one wider than self's), else that of self. The maximum must be subtracted: \
            inputs reach 1e4 and more.\n\
            A slice that holds NaN or +Inf gives NaN everywhere. -Inf gives 0, wherever it stands in \
            the slice, the first place included.",
        )
        .name("safe_softmax")
        .outputs(&["the probabilities"]),
        OpBuilder::new(
            "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
            Softmax::Log,
            "Along dimension dim (negative ones count from the back), for each slice x: \
            out[j] = x[j] - max(x) - log(sum_k exp(x[k] - max(x))). Compute in f32 and round once to \
            the output's dtype, which is that of self, or f32 for a self of f16 with half_to_float. The maximum \
            must be subtracted: inputs reach 1e4 and more, and the logarithm of a computed softmax is \
            wrong where that is 0.\n\
            A slice that holds NaN or +Inf gives NaN everywhere. -Inf gives -Inf; a slice of nothing \
            but -Inf gives NaN.",
        )
        .name("log_softmax")
        .alias(&["nn.functional.log_softmax"])
        .default("half_to_float", ArgValue::Bool(false))
        .outputs(&["the logarithms of the probabilities"]),
    ]
}
