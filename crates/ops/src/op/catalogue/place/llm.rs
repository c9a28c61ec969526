//! Ops of language model inference. They are kgen's own: there is no overload of that name.

use super::super::super::{
    Call, InferError, OpFamily,
    def::OpBuilder,
    families::llm::{Activation, Gated, Rope, routing::TopkSoftmax},
    formulas::{activation, floor_scale, magnitude},
};

/// Returns the form of gelu that a call asks for.
fn gelu(call: &Call<'_>) -> Result<Activation, InferError> {
    match call.str("approximate")? {
        "none" => Ok(activation::gelu_erf),
        "tanh" => Ok(activation::gelu_tanh),
        other => Err(InferError::value("approximate", other, "none or tanh")),
    }
}

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "rope(Tensor self, Tensor cos, Tensor sin, bool interleaved=False) -> Tensor",
            Rope,
            "Rotary position embedding: self is [b, h, s, d] with an even d, cos and sin are \
            [s, d / 2] in the same dtype. In each row [b, h, s, :] the pairs (x1, x2) = \
            (x[i], x[i + d / 2]), or (x[2 i], x[2 i + 1]) with interleaved, become \
            (x1 * cos - x2 * sin, x2 * cos + x1 * sin) with cos[s, i] and sin[s, i], at the same \
            places. Compute in f32 and round once to the output's dtype.\n\
            NaN and infinities follow IEEE arithmetic and reach their own pair alone.",
        )
        .family(OpFamily::Elementwise)
        .own()
        .alias(&["rotary_embedding"])
        .outputs(&["the rotated tensor"]),
        OpBuilder::new(
            "silu_and_mul(Tensor self) -> Tensor",
            Gated { activation: |_| Ok(activation::silu), magnitude: floor_scale },
            "The last dimension of self, of even extent 2 d, is cut into gates g (the first d) and \
            factors u (the others): out = g / (1 + exp(-g)) * u, of extent d, in f32, rounded once to \
            the output's dtype (the product is not rounded in between).\n\
            NaN gives NaN; a gate of +Inf is +Inf, one of -Inf NaN (-Inf / Inf), times u by IEEE \
            arithmetic.",
        )
        .family(OpFamily::Elementwise)
        .own()
        .alias(&["swiglu"])
        .outputs(&["the gated tensor"]),
        OpBuilder::new(
            "gelu_and_mul(Tensor self, *, str approximate='none') -> Tensor",
            Gated { activation: gelu, magnitude },
            "The last dimension of self, of even extent 2 d, is cut into gates g (the first d) and \
            factors u (the others): out = gelu(g) * u, of extent d, in f32, rounded once to the \
            output's dtype (the product is not rounded in between). gelu(g) is \
            0.5 * g * (1 + erf(g / sqrt(2))) for approximate == \"none\" and \
            0.5 * g * (1 + tanh(sqrt(2 / pi) * (g + 0.044715 * g^3))) for \"tanh\"; both must be \
            supported. The error is judged on the scale of |g * u|.\n\
            NaN gives NaN; a gate of +Inf is +Inf, one of -Inf NaN (-Inf * 0), times u by IEEE \
            arithmetic.",
        )
        .family(OpFamily::Elementwise)
        .own()
        .alias(&["geglu"])
        .choices("approximate", &["none", "tanh"])
        .outputs(&["the gated tensor"]),
        OpBuilder::new(
            "topk_softmax(Tensor gating, int k, bool renormalize=True) \
            -> (Tensor weights, Tensor indices)",
            TopkSoftmax,
            "For each row of gating along the last dimension (the experts): p = softmax(row), \
            exp(x - max) over their sum, in f32; weights are the k largest p in falling order, with \
            renormalize divided by their sum, as f32 whatever gating's dtype is; indices are their \
            places as int64. Of p that are equal, or so within a few roundings, any may come first, \
            but no place twice.\n\
            A row that holds NaN or +Inf has p NaN everywhere: its weights are NaN, its indices any \
            different places. A logit of -Inf has p = 0.",
        )
        .family(OpFamily::Softmax)
        .own()
        .outputs(&["the weights", "the places of the experts"]),
    ]
}
