//! Gradients of losses that treat each element on its own.

use crate::record::ArgValue;

use super::super::super::{
    Role,
    def::OpBuilder,
    families::pointwise::{Map, Output, Pointwise, Takes},
    formulas::backward as of,
};

/// A gradient with regard to self: the formula of the loss's gradient g, of x = self and of y = target.
fn row(options: &str, engine: Pointwise, formula: &str, specials: &str) -> OpBuilder {
    let (name, options) = options.split_once('(').unwrap_or((options, ")"));
    let signature =
        format!("{name}(Tensor grad_output, Tensor self, Tensor target, {options} -> Tensor");
    let text = format!(
        "out[i] = {formula}, where g, x and y are the elements of grad_output, self and target and f is 1, \
        divided by the number of elements of self for reduction 1 (mean). The three tensors broadcast \
        (aligned at their last dimensions, a missing dimension or one of extent 1 repeats) and have one \
        floating-point dtype. Compute in f32 and round once.\n{specials}"
    );
    OpBuilder::new(&signature, engine, &text)
        .role("self", Role::Main)
        .role("target", Role::Main)
        .outputs(&["the gradient of self"])
}

const fn engine(tensors: &'static [&'static str], map: Map, scale: Map) -> Pointwise {
    Pointwise {
        tensors,
        output: Output::Promoted,
        takes: Takes::SameFloats,
        magnitude: Some(scale),
        degree: 2,
        counts: true,
        large: (100.0, 1e15),
        ..Pointwise::unary(3.0, map)
    }
}

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let three: &'static [&'static str] = &["grad_output", "self", "target"];
    let ieee = "NaN and infinities follow IEEE arithmetic.";
    vec![
        row(
            "mse_loss_backward(int reduction)",
            engine(three, Map::Call(of::mse), Map::Call(of::mse_scale)),
            "f * 2 * (x - y) * g",
            ieee,
        ),
        row(
            "smooth_l1_loss_backward(int reduction, float beta)",
            engine(three, Map::Call(of::smooth_l1), Map::Call(of::smooth_l1_scale)),
            "f * d * g with d = (x - y) / beta, limited to [-1, 1]",
            "beta is positive. NaN gives NaN, an infinite difference the limit.",
        )
        .default("beta", ArgValue::Float(1.0)),
        row(
            "huber_loss_backward(int reduction, float delta)",
            engine(three, Map::Call(of::huber), Map::Call(of::huber_scale)),
            "f * d * g with d = x - y, limited to [-delta, delta]",
            "delta is positive. NaN gives NaN, an infinite difference the limit.",
        )
        .default("delta", ArgValue::Float(1.0)),
        row(
            "binary_cross_entropy_backward(Tensor? weight=None, int reduction=1)",
            engine(
                &["grad_output", "self", "target", "weight"],
                Map::Call(of::binary_cross_entropy),
                Map::Call(of::binary_cross_entropy_scale),
            ),
            "f * w * g * (x - y) / max((1 - x) * x, 1e-12), w being the element of weight, 1 where that is \
            None",
            &format!("x is a probability. {ieee}"),
        )
        // Nearer to 0 and 1 a quotient overflows f16 before the mean is taken; the edges are there.
        .role("self", Role::Between(0.002, 0.998))
        .role("target", Role::Between(0.0, 1.0))
        .role("weight", Role::Positive),
    ]
}
