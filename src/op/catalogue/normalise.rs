//! Ops that fold or normalise along dimensions.

use super::super::{
    Engine, Norm, OpDef, Reduce,
    param::{Fallback, Param, ParamKind, Role},
};

pub(super) const SUM: OpDef = OpDef {
    name: "sum",
    schema: "aten.sum.dim_IntList",
    signature: "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, \
        ScalarType? dtype=None) -> Tensor",
    semantics: "Sums self over the dimensions in dim (negative ones count from the back; None or \
        an empty list means all). The other dimensions keep their order; with keepdim the summed \
        ones stay with extent 1. Accumulate in f32 (f16 and bf16 inputs too) and round once to \
        the output's dtype, which is that of self; dtype is always None. Any order of summation \
        is right.\n\
        A sum of no elements is 0. NaN, or Inf with -Inf, gives NaN; otherwise an infinity wins. \
        A sum beyond the output's range is Inf.",
    outputs: &["the sums"],
    params: &[
        Param::tensor("self", Role::Main),
        Param::new("dim", ParamKind::Ints(Fallback::Absent)),
        Param::new("keepdim", ParamKind::Bool(Fallback::Value(false))),
        Param::new("dtype", ParamKind::Int(Fallback::Absent)),
    ],
    engine: Engine::Reduce(Reduce::Sum),
    exact: false,
    slack: &[],
};

pub(super) const SOFTMAX: OpDef = OpDef {
    name: "softmax",
    schema: "aten._softmax.default",
    signature: "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    semantics: "Along dimension dim (negative ones count from the back), for each slice x: \
        out[j] = exp(x[j] - max(x)) / sum_k exp(x[k] - max(x)). Compute in f32 and round once to \
        the output's dtype, which is that of self; half_to_float is always False. The maximum \
        must be subtracted: inputs reach 1e4 and more.\n\
        A slice that holds NaN or +Inf gives NaN everywhere. -Inf gives 0, wherever it stands in \
        the slice, the first place included; a slice of nothing but -Inf gives NaN.",
    outputs: &["the probabilities"],
    params: &[
        Param::tensor("self", Role::Main),
        Param::new("dim", ParamKind::Int(Fallback::Required)),
        Param::new("half_to_float", ParamKind::Bool(Fallback::Value(false))),
    ],
    engine: Engine::Softmax,
    exact: false,
    slack: &[],
};

pub(super) const LAYER_NORM: OpDef = OpDef {
    name: "layer_norm",
    schema: "aten.layer_norm.default",
    signature: "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, \
        Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    semantics: "The last len(normalized_shape) dimensions of input, whose extents are \
        normalized_shape, form rows of N elements. For each row x: mean = sum(x) / N, \
        var = sum((x - mean)^2) / N, out = (x - mean) / sqrt(var + eps) * weight + bias. weight \
        and bias have shape normalized_shape; one that is None counts as 1 or 0 and arrives as a \
        null pointer. Compute in f32 and round once to the output's dtype, which is that of \
        input. The variance must come from centred values (two passes or Welford): \
        E[x^2] - E[x]^2 loses too much on rows far from 0. cudnn_enable has no meaning.\n\
        A row that holds NaN or an infinity gives NaN everywhere. A constant row gives bias.",
    outputs: &["the normalised tensor"],
    params: &[
        Param::tensor("input", Role::Main),
        Param::new("normalized_shape", ParamKind::Ints(Fallback::Required)),
        Param::optional("weight", Role::Gain),
        Param::optional("bias", Role::Bias),
        Param::new("eps", ParamKind::Float(Fallback::Value(1e-5))),
        Param::new("cudnn_enable", ParamKind::Bool(Fallback::Value(true))),
    ],
    engine: Engine::Norm(Norm::Layer),
    exact: false,
    slack: &[],
};

pub(super) const RMS_NORM: OpDef = OpDef {
    name: "rms_norm",
    schema: "aten.rms_norm.default",
    signature: "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, \
        float? eps=None) -> Tensor",
    semantics: "The last len(normalized_shape) dimensions of input, whose extents are \
        normalized_shape, form rows of N elements. For each row x: \
        out = x / sqrt(sum(x^2) / N + eps) * weight. weight has shape normalized_shape; None \
        counts as 1 and arrives as a null pointer. Compute in f32 and round once to the output's \
        dtype, which is that of input. eps is always given.\n\
        A row that holds NaN gives NaN everywhere. In a row that holds an infinity (and no NaN) \
        the infinite elements give NaN and the finite ones 0 of either sign. A row of zeros \
        gives zeros.",
    outputs: &["the normalised tensor"],
    params: &[
        Param::tensor("input", Role::Main),
        Param::new("normalized_shape", ParamKind::Ints(Fallback::Required)),
        Param::optional("weight", Role::Gain),
        Param::new("eps", ParamKind::Float(Fallback::Required)),
    ],
    engine: Engine::Norm(Norm::Rms),
    exact: false,
    slack: &[],
};
