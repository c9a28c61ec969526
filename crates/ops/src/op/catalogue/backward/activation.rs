//! Gradients of activations.

use crate::record::ArgValue;

use super::super::super::{
    Role,
    def::{self, OpBuilder},
    families::pointwise::{Map, Output, Pointwise, Takes},
    formulas::backward as of,
};

/// Semantics that all of them share.
const SHARED: &str = "Both tensors broadcast (aligned at their last dimensions, a missing dimension \
    or one of extent 1 repeats) and have floating-point types; the output has the promoted type, in \
    which f32 arithmetic is rounded once.";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    [choices(), of_results(), smooth(), pieces(), vec![dropout()]].into_iter().flatten().collect()
}

const fn engine(flops: f64, tensors: &'static [&'static str], map: Map) -> Pointwise {
    Pointwise {
        tensors,
        output: Output::Promoted,
        takes: Takes::Floats,
        magnitude: Some(Map::Two(of::floor_scale)),
        degree: 2,
        large: (100.0, 1e15),
        ..Pointwise::unary(flops, map)
    }
}

/// A gradient that is the formula of the result's gradient g and the forward op's input x.
fn of_input(options: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let (name, options) = options.split_once('(').unwrap_or((options, ")"));
    let comma = if options == ")" { "" } else { ", " };
    let signature = format!("{name}(Tensor grad_output, Tensor self{comma}{options} -> Tensor");
    let text =
        format!("With g = grad_output[i], x = self[i]: out[i] = {formula}. {SHARED}\n{specials}");
    OpBuilder::new(&signature, engine, &text)
        .role("self", Role::Main)
        .outputs(&["the gradient of the forward op's input"])
}

/// Exact: the gradient or 0.
fn choices() -> Vec<OpBuilder> {
    let choice = |map| Pointwise {
        magnitude: None,
        ..engine(1.0, &["grad_output", "self"], Map::Call(map))
    };
    let whole = |map| Pointwise { takes: Takes::Numbers, integers_stay: true, ..choice(map) };
    vec![
        of_input(
            "threshold_backward(Scalar threshold)",
            whole(of::threshold),
            "0 if x <= threshold, else g",
            "This is the gradient of relu (threshold 0) and threshold. The result is exact; integers \
            are taken too, for which threshold is cut to a whole number. A NaN x gives g.",
        )
        .dtypes(def::NUMBERS)
        .exact(),
        of_input(
            "hardtanh_backward(Scalar min_val, Scalar max_val)",
            choice(of::hardtanh),
            "0 if x <= min_val or x >= max_val, else g",
            "The result is exact; the limits are rounded to f32 (f64 for f64), not to a 16-bit dtype. A NaN x gives g.",
        )
        .exact(),
        of_input(
            "softshrink_backward(Scalar lambd)",
            choice(of::shrink),
            "0 if -lambd <= x <= lambd, else g",
            "The result is exact. A NaN x gives g.",
        )
        .default("lambd", ArgValue::Float(0.5))
        .exact(),
    ]
}

/// Of dropout, whose mask says what was kept.
fn dropout() -> OpBuilder {
    let engine = Pointwise {
        mask: Some("mask"),
        output: Output::First,
        takes: Takes::Floats,
        ..Pointwise::unary(2.0, Map::Call(of::dropout))
    };
    OpBuilder::new(
        "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
        Pointwise { tensors: &["grad_output", "mask"], ..engine },
        "out[i] = grad_output[i] * mask[i] * scale, where mask is bool and true counts as 1. grad_output and \
        mask broadcast (aligned at their last dimensions, a missing dimension or one of extent 1 repeats). \
        Compute in f32 and round once to the dtype of grad_output.\n\
        Products follow IEEE arithmetic: NaN and infinities times 0 are NaN, also where mask is false.",
    )
    .role("mask", Role::Mask)
    .outputs(&["the gradient of the forward op's input"])
}

/// Of the forward op's result.
fn of_results() -> Vec<OpBuilder> {
    let result = |map| engine(3.0, &["grad_output", "output"], Map::Two(map));
    let row = |name: &str, map, formula: &str, low: f64| {
        let text = format!(
            "With g = grad_output[i] and y = output[i], the forward op's result: out[i] = {formula}. \
            {SHARED}\nProducts follow IEEE arithmetic: Inf * 0 is NaN."
        );
        OpBuilder::new(
            &format!("{name}(Tensor grad_output, Tensor output) -> Tensor"),
            result(map),
            &text,
        )
        .role("output", Role::Between(low, 1.0))
        .outputs(&["the gradient of the forward op's input"])
    };
    vec![
        row("sigmoid_backward", of::sigmoid_of, "g * (1 - y) * y", 0.0),
        row("tanh_backward", of::tanh, "g * (1 - y * y)", -1.0),
    ]
}

fn smooth() -> Vec<OpBuilder> {
    let input = |flops, map, scale| Pointwise {
        magnitude: Some(scale),
        ..engine(flops, &["grad_output", "self"], map)
    };
    vec![
        of_input(
            "silu_backward",
            input(7.0, Map::Two(of::silu), Map::Two(of::silu_scale)),
            "g * s * (1 + x * (1 - s)) with s = 1 / (1 + exp(-x))",
            "exp(-x) may overflow to Inf for x below -88; the result is then 0 of either sign. NaN \
            and infinite x give NaN.",
        ),
        of_input(
            "gelu_backward(*, str approximate='none')",
            // The cube of larger ones overflows f32.
            Pointwise { large: (100.0, 1e10), ..input(9.0, Map::Call(of::gelu), Map::Call(of::gelu_scale)) },
            "g times the derivative of gelu at x",
            "approximate == \"none\": the derivative is 0.5 * (1 + erf(x / sqrt(2))) + x * \
            exp(-x * x / 2) / sqrt(2 * pi).\n\
            approximate == \"tanh\": with u = sqrt(2 / pi) * (x + 0.044715 * x^3), t = tanh(u) and \
            u' = sqrt(2 / pi) * (1 + 3 * 0.044715 * x^2) it is 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * u'.\n\
            Both must be supported and are not interchangeable; the plan sees the string. The error is \
            judged on the scale of |g|, and of what 1 - t * t is multiplied by, so their cancellation is accepted; \
            tanh.approx, erf from a table or f16 arithmetic are not. NaN and infinite x give NaN, and so \
            does an x of which a power overflows f32.",
        )
        .choices("approximate", &["none", "tanh"]),
        of_input(
            "mish_backward",
            // PyTorch writes it in the type of `self`, and refuses what cannot be cast to that.
            Pointwise {
                takes: Takes::SameFloats,
                ..input(9.0, Map::Two(of::mish), Map::Two(of::mish_scale))
            },
            "g * (t + x * s * (1 - t * t)) with t = tanh(log(1 + exp(x))), s = 1 / (1 + exp(-x))",
            "The error is judged on the scale of |g| * (t + |x| * s). NaN and infinite x give NaN.",
        ),
    ]
}

fn pieces() -> Vec<OpBuilder> {
    let both: &'static [&'static str] = &["grad_output", "self"];
    vec![
        of_input(
            "leaky_relu_backward(Scalar negative_slope, bool self_is_result)",
            engine(1.0, both, Map::Call(of::leaky_relu)),
            "g if x > 0, else g * negative_slope",
            "With self_is_result, self is the forward op's result, which has the same sign: the formula is \
            the same, and negative_slope is not negative. A NaN x gives g * negative_slope.",
        )
        .default("self_is_result", ArgValue::Bool(false)),
        OpBuilder::new(
            "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool \
            is_result, Tensor self_or_result) -> Tensor",
            Pointwise {
                magnitude: Some(Map::Call(of::elu_scale)),
                ..engine(5.0, &["grad_output", "self_or_result"], Map::Call(of::elu))
            },
            &format!(
                "With g = grad_output[i], x = self_or_result[i]: out[i] = g * scale where x is not <= 0 \
                (NaN included). Else, where is_result is false and x the forward op's input: out[i] = g * \
                input_scale * alpha * scale * exp(x * input_scale); where it is true and x the forward \
                op's result: out[i] = g * input_scale * (x + alpha * scale), and alpha is not negative. \
                {SHARED}"
            ),
        )
        .role("self_or_result", Role::Main)
        .outputs(&["the gradient of the forward op's input"]),
        of_input(
            "hardswish_backward",
            engine(3.0, both, Map::Two(of::hardswish)),
            "0 if x <= -3, g * (x / 3 + 0.5) if x < 3, else g",
            "A NaN x gives g.",
        ),
        of_input(
            "hardsigmoid_backward",
            engine(1.0, both, Map::Two(of::hardsigmoid)),
            "g / 6 if -3 < x < 3, else 0, 1 / 6 being the f32 number nearest to it",
            "A NaN x gives 0.",
        ),
        of_input(
            "softplus_backward(Scalar beta, Scalar threshold)",
            engine(4.0, both, Map::Call(of::softplus)),
            "g if x * beta > threshold, else g * z / (z + 1) with z = exp(x * beta)",
            "NaN x gives NaN; large x must not give Inf / Inf.",
        ),
        of_input(
            "logit_backward(float? eps=None)",
            engine(3.0, both, Map::Call(of::logit)),
            "g / (x * (1 - x)); for x outside of [eps, 1 - eps] it is 0, where eps is None for x outside \
            of [0, 1] NaN",
            "IEEE arithmetic: where x is 0 or 1 and inside of these limits it is infinite or NaN, of the \
            sign of g and of the zero.",
        )
        .role("self", Role::Between(0.0, 1.0)),
    ]
}
