//! Layers of state space models: Mamba's.

use super::super::super::{
    OpFamily, Role,
    def::OpBuilder,
    families::serving::state::{CausalConv, SelectiveScan},
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "causal_conv1d_fn(Tensor x, Tensor weight, Tensor? bias=None, str? activation=None) -> \
            Tensor",
            CausalConv,
            "As that of causal-conv1d and vLLM: x is [batch, channels, n], weight [channels, w], bias \
            [channels] or None. out[b, c, t] = sum over i below w of x[b, c, t - w + 1 + i] * \
            weight[c, i], plus bias[c], with x = 0 before the first element; with activation \
            \"silu\" or \"swish\" that through v / (1 + exp(-v)). In f32, rounded once to the \
            dtype.\nNaN and infinities follow IEEE arithmetic.",
        )
        .family(OpFamily::Convolution)
        .own()
        .alias(&["causal_conv1d"])
        .role("bias", Role::Bias)
        .outputs(&["the filtered channels"]),
        OpBuilder::new(
            "selective_scan_fn(Tensor u, Tensor delta, Tensor A, Tensor B, Tensor C, Tensor? D=None, \
            Tensor? z=None, Tensor? delta_bias=None, bool delta_softplus=False) -> (Tensor out, Tensor \
            last_state)",
            SelectiveScan,
            "As that of mamba_ssm and vLLM: u, delta and z are [batch, channels, n] and B and C \
            [batch, groups, states, n] of one dtype; A is f32 [channels, states], D and delta_bias \
            f32 [channels]. Channel c reads group c / (channels / groups). From a state of 0, along \
            the last dimension: step = delta + delta_bias, through log(1 + exp(step)) with \
            delta_softplus; state = exp(step * A) * state + step * B * u; out = (sum over the states \
            of state * C + D * u) * z / (1 + exp(-z)), where arguments that are None leave their \
            term or factor out. last_state is the last one, f32 [batch, channels, states]. In f32, \
            rounded once to the dtype.\nNaN and infinities follow IEEE arithmetic.",
        )
        .family(OpFamily::Scan)
        .own()
        .alias(&["selective_scan_fwd"])
        .role("A", Role::ScaleF32)
        .role("D", Role::ScaleF32)
        .role("delta_bias", Role::ScaleF32)
        .outputs(&["the scanned channels", "the last state"]),
    ]
}
