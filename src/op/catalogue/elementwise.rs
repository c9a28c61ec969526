//! Ops that treat each element on its own.

use super::super::{
    Binary, Engine, OpDef, Unary,
    param::{Fallback, Param, ParamKind, Role},
};

pub(super) const RELU: OpDef = OpDef {
    name: "relu",
    schema: "aten.relu.default",
    signature: "relu(Tensor self) -> Tensor",
    semantics: "out[i] = self[i] if self[i] > 0, else 0. Shape and dtype are those of self.\n\
        The result is exact. NaN gives NaN (not 0: `fmaxf(x, 0)` is wrong here), +Inf gives +Inf, \
        -Inf gives 0, -0 gives 0 of either sign.",
    outputs: &["the rectified tensor"],
    params: &[Param::tensor("self", Role::Main)],
    engine: Engine::Unary(Unary::Relu),
    exact: true,
    slack: &[],
};

pub(super) const ADD: OpDef = OpDef {
    name: "add",
    schema: "aten.add.Tensor",
    signature: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    semantics: "out = self + alpha * other, elementwise, in f32, rounded once to the output's \
        dtype. self and other broadcast: shapes are aligned at their last dimensions, a missing \
        dimension or one of extent 1 repeats. alpha is passed as a number.\n\
        NaN and infinities follow IEEE arithmetic: Inf + (-Inf) is NaN. The sign of a zero result \
        is free.",
    outputs: &["the sum"],
    params: &[
        Param::tensor("self", Role::Main),
        Param::tensor("other", Role::Main),
        Param::new("alpha", ParamKind::Float(Fallback::Value(1.0))),
    ],
    engine: Engine::Binary(Binary::Add),
    exact: false,
    slack: &[],
};

pub(super) const MUL: OpDef = OpDef {
    name: "mul",
    schema: "aten.mul.Tensor",
    signature: "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    semantics: "out = self * other, elementwise, in f32, rounded once to the output's dtype. \
        self and other broadcast: shapes are aligned at their last dimensions, a missing dimension \
        or one of extent 1 repeats.\n\
        NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN. The sign of a zero result is \
        free.",
    outputs: &["the product"],
    params: &[Param::tensor("self", Role::Main), Param::tensor("other", Role::Main)],
    engine: Engine::Binary(Binary::Mul),
    exact: false,
    slack: &[],
};

pub(super) const GELU: OpDef = OpDef {
    name: "gelu",
    schema: "aten.gelu.default",
    signature: "gelu(Tensor self, *, str approximate='none') -> Tensor",
    semantics: "With x = self[i], in f32, rounded once to the output's dtype:\n\
        approximate == \"none\": out = 0.5 * x * (1 + erf(x / sqrt(2))).\n\
        approximate == \"tanh\": out = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).\n\
        Both must be supported and are not interchangeable; the plan sees the string. The error \
        is judged on the scale of |x|, so the cancellation in 1 + erf(x) for negative x is \
        accepted; tanh.approx, erf from a table or f16 arithmetic are not.\n\
        NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf * 0).",
    outputs: &["the activated tensor"],
    params: &[
        Param::tensor("self", Role::Main),
        Param::new("approximate", ParamKind::Str { default: "none", one_of: &["none", "tanh"] }),
    ],
    engine: Engine::Unary(Unary::Gelu),
    exact: false,
    slack: &[],
};

pub(super) const SILU: OpDef = OpDef {
    name: "silu",
    schema: "aten.silu.default",
    signature: "silu(Tensor self) -> Tensor",
    semantics: "out[i] = x / (1 + exp(-x)) with x = self[i], in f32, rounded once to the output's \
        dtype. exp(-x) may overflow to Inf for x below -88; the result is then 0 of either sign.\n\
        NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf / Inf).",
    outputs: &["the activated tensor"],
    params: &[Param::tensor("self", Role::Main)],
    engine: Engine::Unary(Unary::Silu),
    exact: false,
    slack: &[],
};
