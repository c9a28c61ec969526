//! Activations.

use super::{
    super::super::{
        Role,
        def::{self, OpBuilder},
        families::{
            glu::Glu,
            pointwise::{Map, Pointwise, Takes},
        },
        formulas::{activation as of, floor_scale, magnitude},
    },
    BROADCAST, ROUNDED, TO_F32, floats, of_self,
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [limited(), smooth(), exponential(), shrinking(), gated()].into_iter().flatten().collect()
}

/// An activation of floating-point types.
fn activation(name: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    with_options(&of_self(name), engine, formula, specials)
}

fn with_options(signature: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let text = format!(
        "With x = self[i]: out[i] = {formula}, {ROUNDED}, which is that of self; floating-point \
        types only.\n{specials}"
    );
    OpBuilder::new(signature, engine, &text).outputs(&["the activated tensor"])
}

/// Activations that choose between the input and constants: exact.
fn limited() -> Vec<OpBuilder> {
    let choice = |map| Pointwise { takes: Takes::Numbers, ..Pointwise::choice(map) };
    vec![
        OpBuilder::new(
            &of_self("relu"),
            choice(Map::One(of::relu)),
            "out[i] = self[i] if self[i] > 0, else 0. Shape and dtype are those of self; bool is not \
            taken.\n\
            The result is exact. NaN gives NaN (not 0: `fmaxf(x, 0)` is wrong here), +Inf gives \
            +Inf, -Inf gives 0, -0 gives 0 of either sign.",
        )
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the rectified tensor"]),
        OpBuilder::new(
            &of_self("relu6"),
            choice(Map::One(of::relu6)),
            "out[i] = min(max(self[i], 0), 6). Shape and dtype are those of self; bool is not taken.\
            \nThe result is exact. NaN gives NaN, +Inf gives 6, -Inf gives 0.",
        )
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the limited tensor"]),
        OpBuilder::new(
            "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
            choice(Map::Call(of::hardtanh)),
            "out[i] = min(max(self[i], min_val), max_val). Shape and dtype are those of self; bool \
            is not taken, and u8 takes no negative limits. For integers the limits are cut to whole \
            numbers (0.7 counts as 0).\n\
            The result is exact, the limits being rounded to the dtype. NaN gives NaN. Where min_val \
            exceeds max_val, max_val wins.",
        )
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the limited tensor"]),
        OpBuilder::new(
            "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
            choice(Map::Call(of::threshold)),
            "out[i] = value if self[i] <= threshold, else self[i]. Shape and dtype are those of \
            self; bool is not taken. For integers both numbers are cut to whole ones.\n\
            The result is exact, value being rounded to the dtype. NaN gives NaN, as it is not <= \
            anything.",
        )
        .dtypes(def::NUMBERS)
        .exact()
        .outputs(&["the tensor above the threshold"]),
        OpBuilder::new(
            "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
            Pointwise { takes: Takes::Floats, ..Pointwise::choice(Map::Call(of::hardshrink)) },
            "out[i] = 0 if -lambd <= self[i] <= lambd, else self[i]. Shape and dtype are those of \
            self; floating-point types only.\n\
            The result is exact. NaN gives NaN, infinities stay.",
        )
        .exact()
        .outputs(&["the shrunk tensor"]),
        with_options(
            "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
            floats(1.0, Map::Call(of::leaky_relu)),
            "x if x > 0, else x * negative_slope",
            "NaN gives NaN; -Inf gives -Inf times the slope, which is NaN for a slope of 0.",
        ),
        OpBuilder::new(
            "_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
            Pointwise {
                tensors: &["self", "weight"],
                takes: Takes::SameFloats,
                ..Pointwise::binary(1.0, Map::Two(of::prelu))
            },
            &format!(
                "out = self if self > 0, else self * weight, elementwise, {ROUNDED}. self and \
                weight have one floating-point type, which is the output's. {BROADCAST} (A weight \
                per channel arrives as [1, c, 1, ..].)\n\
                NaN gives NaN; products follow IEEE arithmetic: -Inf * 0 is NaN."
            ),
        )
        .role("weight", Role::Gain)
        .outputs(&["the activated tensor"]),
        OpBuilder::new(
            "prelu(Tensor self, Tensor weight) -> Tensor",
            Pointwise {
                tensors: &["self", "weight"],
                channel: Some("weight"),
                takes: Takes::SameFloats,
                ..Pointwise::binary(1.0, Map::Two(of::prelu))
            },
            &format!(
                "out = self if self > 0, else self * w, elementwise, {ROUNDED}; shape and dtype are \
                those of self. weight has the same floating-point type and at most one dimension: \
                one element, which is w everywhere, or one per place along dimension 1 of self (its \
                channels), w = weight[channel].\n\
                NaN gives NaN; products follow IEEE arithmetic: -Inf * 0 is NaN."
            ),
        )
        .role("weight", Role::Gain)
        .outputs(&["the activated tensor"]),
    ]
}

fn smooth() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            &of_self("sigmoid"),
            Pointwise { magnitude: Some(Map::One(floor_scale)), ..Pointwise::unary(3.0, Map::One(of::sigmoid)) },
            &format!(
                "out[i] = 1 / (1 + exp(-self[i])), {ROUNDED}. {TO_F32} exp(-x) may overflow to Inf \
                for x below -88; the result is then 0.\n\
                NaN gives NaN, +Inf gives 1, -Inf gives 0."
            ),
        )
        .alias(&["special_expit"])
        .outputs(&["the sigmoid"]),
        activation(
            "silu",
            Pointwise { magnitude: Some(Map::One(floor_scale)), ..floats(4.0, Map::One(of::silu)) },
            "x / (1 + exp(-x))",
            "exp(-x) may overflow to Inf for x below -88; the result is then 0 of either sign. NaN \
            gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf / Inf).",
        )
        .alias(&["swish"]),
        OpBuilder::new(
            "gelu(Tensor self, *, str approximate='none') -> Tensor",
            Pointwise { magnitude: Some(Map::One(magnitude)), ..floats(5.0, Map::Call(of::gelu)) },
            &format!(
                "With x = self[i], {ROUNDED}, which is that of self; floating-point types only:\n\
                approximate == \"none\": out = 0.5 * x * (1 + erf(x / sqrt(2))).\n\
                approximate == \"tanh\": out = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * \
                x^3))).\n\
                Both must be supported and are not interchangeable; the plan sees the string. The \
                error is judged on the scale of |x|, so the cancellation in 1 + erf(x) for negative \
                x is accepted; tanh.approx, erf from a table or f16 arithmetic are not.\n\
                NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf * 0)."
            ),
        )
        .choices("approximate", &["none", "tanh"])
        .outputs(&["the activated tensor"]),
        activation(
            "mish",
            Pointwise { magnitude: Some(Map::One(floor_scale)), ..floats(6.0, Map::One(of::mish)) },
            "x * tanh(log(1 + exp(x)))",
            "Use log1p(exp(x)): log(1 + exp(x)) loses all digits for negative x. exp(x) may overflow \
            only where the result is x anyway. NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that \
            is -Inf * 0).",
        ),
        activation(
            "hardswish",
            floats(4.0, Map::One(of::hardswish)),
            "x * min(max(x + 3, 0), 6) / 6",
            "NaN gives NaN, +Inf gives +Inf, -Inf gives NaN (that is -Inf * 0).",
        ),
        activation(
            "hardsigmoid",
            floats(3.0, Map::One(of::hardsigmoid)),
            "min(max(x + 3, 0), 6) / 6",
            "NaN gives NaN, +Inf gives 1, -Inf gives 0.",
        ),
        activation(
            "softsign",
            floats(3.0, Map::One(of::softsign)),
            "x / (1 + |x|)",
            "NaN and infinities give NaN (Inf / Inf).",
        )
        .own(),
    ]
}

fn exponential() -> Vec<OpBuilder> {
    vec![
        with_options(
            "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
            floats(4.0, Map::Call(of::elu)),
            "scale * x if x > 0, else scale * alpha * (exp(input_scale * x) - 1)",
            "Use expm1: exp(x) - 1 loses the digits of x near 0. NaN gives NaN, -Inf gives -scale * \
            alpha.",
        ),
        activation(
            "selu",
            floats(4.0, Map::Call(of::selu)),
            "s * x if x > 0, else s * a * (exp(x) - 1), with s = 1.0507009873554805 and \
            a = 1.6732632423543772",
            "Use expm1: exp(x) - 1 loses the digits of x near 0. NaN gives NaN, -Inf gives -s * a.",
        ),
        with_options(
            "celu(Tensor self, Scalar alpha=1.) -> Tensor",
            floats(4.0, Map::Call(of::celu)),
            "x if x > 0, else alpha * (exp(x / alpha) - 1)",
            "Use expm1: exp(x) - 1 loses the digits of x near 0. alpha is not 0. NaN gives NaN, -Inf \
            gives -alpha for a positive alpha.",
        ),
        with_options(
            "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
            Pointwise { magnitude: Some(Map::One(floor_scale)), ..floats(4.0, Map::Call(of::softplus)) },
            "x if beta * x > threshold, else log(1 + exp(beta * x)) / beta",
            "Use log1p(exp(x)): log(1 + exp(x)) loses all digits for negative x. NaN gives NaN, +Inf \
            gives +Inf, -Inf gives 0.",
        ),
        activation(
            "log_sigmoid",
            Pointwise { magnitude: Some(Map::One(floor_scale)), ..floats(4.0, Map::One(of::log_sigmoid)) },
            "min(x, 0) - log(1 + exp(-|x|)), which is log(sigmoid(x))",
            "Use log1p(exp(-|x|)): large x of either sign must neither overflow nor lose digits. NaN \
            gives NaN, +Inf gives 0, -Inf gives -Inf.",
        )
        .alias(&["logsigmoid"]),
    ]
}

/// Activations of which one half of the input gates the other.
fn gated() -> Vec<OpBuilder> {
    let text = format!(
        "out = a * sigmoid(b), where a is the first and b the second half of self along dimension dim \
        (negative ones count from the back), whose extent is even, {ROUNDED}, which is that of self; \
        floating-point types only.\n\
        NaN in either gives NaN; an infinite a by a sigmoid of 0 gives NaN."
    );
    vec![
        OpBuilder::new("glu(Tensor self, int dim=-1) -> Tensor", Glu, &text)
            .outputs(&["the gated half"]),
    ]
}

fn shrinking() -> Vec<OpBuilder> {
    vec![with_options(
        "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
        floats(1.0, Map::Call(of::softshrink)),
        "x - lambd if x > lambd, x + lambd if x < -lambd, else 0",
        "lambd is not negative. NaN gives NaN, infinities stay.",
    )]
}
