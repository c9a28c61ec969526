//! Ops that treat each element on its own.

use super::super::{
    Role,
    def::{self, Row},
    families::pointwise::{Output, Pointwise, Takes},
    formulas::{SILU_FLOOR, add, gelu, magnitude, mul, relu, silu},
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::new(
            "relu(Tensor self) -> Tensor",
            Pointwise { integers_stay: true, output: Output::First, ..Pointwise::unary(1.0, relu) },
            "out[i] = self[i] if self[i] > 0, else 0. Shape and dtype are those of self.\n\
            The result is exact. NaN gives NaN (not 0: `fmaxf(x, 0)` is wrong here), +Inf gives +Inf, \
            -Inf gives 0, -0 gives 0 of either sign.",
        )
        .alias(&["relu.out"])
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the rectified tensor"]),
        Row::new(
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            Pointwise { scalars: &["alpha"], ..Pointwise::binary(2.0, add) },
            "out = self + alpha * other, elementwise, in f32, rounded once to the output's \
            dtype. self and other broadcast: shapes are aligned at their last dimensions, a missing \
            dimension or one of extent 1 repeats. alpha is passed as a number.\n\
            NaN and infinities follow IEEE arithmetic: Inf + (-Inf) is NaN. The sign of a zero result \
            is free.",
        )
        .role("other", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the sum"]),
        Row::new(
            "mul.Tensor(Tensor self, Tensor other) -> Tensor",
            Pointwise { large: (50.0, 1e15), ..Pointwise::binary(1.0, mul) },
            "out = self * other, elementwise, in f32, rounded once to the output's dtype. \
            self and other broadcast: shapes are aligned at their last dimensions, a missing dimension \
            or one of extent 1 repeats.\n\
            NaN and infinities follow IEEE arithmetic: Inf * 0 is NaN. The sign of a zero result is \
            free.",
        )
        .role("other", Role::Main)
        .dtypes(def::NUMBERS)
        .outputs(&["the product"]),
        Row::new(
            "gelu(Tensor self, *, str approximate='none') -> Tensor",
            Pointwise { takes: Takes::Floats, hint: Some(magnitude), ..Pointwise::unary(5.0, gelu) },
            "With x = self[i], in f32, rounded once to the output's dtype:\n\
            approximate == \"none\": out = 0.5 * x * (1 + erf(x / sqrt(2))).\n\
            approximate == \"tanh\": out = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).\n\
            Both must be supported and are not interchangeable; the plan sees the string. The error \
            is judged on the scale of |x|, so the cancellation in 1 + erf(x) for negative x is \
            accepted; tanh.approx, erf from a table or f16 arithmetic are not.\n\
            NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf * 0).",
        )
        .choices("approximate", &["none", "tanh"])
        .outputs(&["the activated tensor"]),
        Row::new(
            "silu(Tensor self) -> Tensor",
            Pointwise { takes: Takes::Floats, hint: Some(|_| SILU_FLOOR), ..Pointwise::unary(4.0, silu) },
            "out[i] = x / (1 + exp(-x)) with x = self[i], in f32, rounded once to the output's \
            dtype. exp(-x) may overflow to Inf for x below -88; the result is then 0 of either sign.\n\
            NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf / Inf).",
        )
        .alias(&["swish"])
        .outputs(&["the activated tensor"]),
    ]
}
