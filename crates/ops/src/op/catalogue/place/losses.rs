//! Losses of the elements at each place.

use super::super::super::{
    Role,
    def::OpBuilder,
    families::loss::{
        elementwise::{Elementwise, Shapes, Types},
        formulas,
    },
};
use crate::record::{Gen, List};

const PROBABILITIES: Gen = Gen::Listed { list: List::Probabilities };

/// How every one of these losses is reduced and computed.
const REDUCED: &str = "reduction 0 returns the values, 1 their mean, 2 their sum (0-dim outputs: one \
    element). Compute and accumulate in f32 and round once to the output's dtype; any order of \
    summation is right. The mean of no elements is NaN, the sum 0.";

/// Starts the row of a loss: its formula, then its results for special values.
fn loss(signature: &str, engine: Elementwise, formula: &str, special: &str) -> OpBuilder {
    OpBuilder::new(signature, engine, &format!("{formula} {REDUCED}\n{special}"))
        .outputs(&["the loss"])
}

/// Most losses' results for special values.
const IEEE: &str = "NaN gives NaN; infinities follow IEEE arithmetic: Inf - Inf is NaN. A result \
    beyond the output's range is Inf.";

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    distances().into_iter().chain(entropies()).chain(margins()).collect()
}

fn distances() -> Vec<OpBuilder> {
    let pair = "elementwise; self and target broadcast.";
    vec![
        loss(
            "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
            Elementwise {
                degree: Some(2),
                large: (150.0, 1e15),
                ..Elementwise::new(3.0, formulas::mse)
            },
            &format!(
                "(self - target)^2, {pair} Squares and sums of f16 inputs may exceed 65504 before the \
                division."
            ),
            IEEE,
        )
        .role("target", Role::Main),
        loss(
            "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
            Elementwise {
                degree: Some(1),
                types: Types::Numbers,
                ..Elementwise::new(3.0, formulas::l1)
            },
            &format!("|self - target|, {pair}"),
            IEEE,
        )
        .role("target", Role::Main),
        loss(
            "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
            Elementwise::new(5.0, formulas::smooth_l1),
            &format!(
                "With d = |self - target|: 0.5 * d^2 / beta where d < beta, else d - 0.5 * beta, {pair} \
                beta is not negative; with beta 0 every value is d."
            ),
            IEEE,
        )
        .role("target", Role::Main),
        loss(
            "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
            Elementwise { types: Types::Of("self"), ..Elementwise::new(5.0, formulas::huber) },
            &format!(
                "With d = |self - target|: 0.5 * d^2 where d < delta, else delta * (d - 0.5 * delta), \
                {pair} delta is positive. The output has self's dtype."
            ),
            IEEE,
        )
        .role("target", Role::Main),
    ]
}

fn entropies() -> Vec<OpBuilder> {
    vec![
        loss(
            "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
            Elementwise {
                types: Types::Floats,
                large: (1e3, 1e30),
                ..Elementwise::new(5.0, formulas::kl_div)
            },
            "self holds logarithms of probabilities, target probabilities: \
            target * log(target) - target * self, where the first term is 0 for target 0. With \
            log_target target holds logarithms too: exp(target) * (target - self). self and target \
            broadcast; the mean is over all elements.",
            "NaN gives NaN, also a negative target; infinities follow IEEE arithmetic: target 0 with \
            self -Inf is NaN (0 * Inf).",
        )
        .role("target", Role::Simplex)
        // A target of 0, a weight of 0 and padding are combined with it.
        .edges("self", Gen::LoneInfinity),
        loss(
            "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) \
            -> Tensor",
            Elementwise {
                tensors: &["self", "target", "weight"],
                shapes: Shapes::Pair,
                types: Types::Same,
                probabilities: true,
                ..Elementwise::new(6.0, formulas::bce)
            },
            "self and target are in 0..=1: \
            -(target * max(log(self), -100) + (1 - target) * max(log(1 - self), -100)), times weight, \
            which broadcasts to the others' shape; None counts as 1 and arrives as a null pointer. The \
            mean is over the number of elements, whatever the weights are. log(1 - self) must be \
            accurate for small self (log1p).",
            "A logarithm below -100, that of 0 among them, counts as -100. There is no NaN among the \
            inputs.",
        )
        .role("target", Role::Between(0.0, 1.0))
        .role("weight", Role::Gain)
        .edges("self", PROBABILITIES)
        .edges("target", PROBABILITIES),
        loss(
            "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, \
            Tensor? pos_weight=None, int reduction=1) -> Tensor",
            Elementwise {
                tensors: &["self", "target", "weight", "pos_weight"],
                types: Types::Of("target"),
                shapes: Shapes::To("target"),
                magnitude: Some(formulas::logit_scale),
                large: (1e3, 1e30),
                ..Elementwise::new(8.0, formulas::bce_with_logits)
            },
            "With ls(x) = min(x, 0) - log(1 + exp(-|x|)), the logarithm of the sigmoid, and \
            f = (pos_weight - 1) * target + 1: (1 - target) * self - f * ls(self), times weight. All \
            broadcast to target's shape; a weight that is None counts as 1 and arrives as a null \
            pointer. With pos_weight, self has target's shape. The mean is over the number of elements, \
            whatever the weights are. The error is judged on the scale of |self|, times weights \
            beyond 1.",
            "NaN gives NaN; infinities follow IEEE arithmetic in the formula as it is written: self \
            -Inf is NaN for a target in 0..1 (-Inf + Inf, 0 * Inf), +Inf is +Inf for a target below \
            1.",
        )
        .role("target", Role::Between(0.0, 1.0))
        .role("weight", Role::Gain)
        .role("pos_weight", Role::Gain)
        .edges("self", Gen::Listed { list: List::Infinities })
        .edges("target", PROBABILITIES)
        .edges("weight", Gen::Listed { list: List::Alternating }),
        loss(
            "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
            Elementwise {
                shapes: Shapes::To("self"),
                types: Types::Of("self"),
                large: (20.0, 20.0),
                ..Elementwise::new(4.0, formulas::soft_margin)
            },
            "log(1 + exp(-target * self)), elementwise; target holds -1 and 1 and broadcasts to the shape of \
            self. -target * self stays \
            below 88, the exponential finite in f32.",
            "NaN gives NaN; where target * self is +Inf the value is 0, where it is -Inf it is Inf.",
        )
        .role("target", Role::Sign),
    ]
}

fn margins() -> Vec<OpBuilder> {
    vec![
        loss(
            "hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) \
            -> Tensor",
            Elementwise {
                degree: Some(1),
                types: Types::Of("self"),
                ..Elementwise::new(3.0, formulas::hinge_embedding)
            },
            "self where target is 1, max(0, margin - self) where it is -1 (elsewhere their sum); \
            target holds -1 and 1, and broadcasts with self.",
            "NaN gives NaN (not 0); infinities follow IEEE arithmetic.",
        )
        .role("target", Role::Sign),
        loss(
            "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., \
            int reduction=1) -> Tensor",
            Elementwise {
                tensors: &["input1", "input2", "target"],
                degree: Some(1),
                types: Types::Float,
                ..Elementwise::new(4.0, formulas::margin_ranking)
            },
            "max(0, -target * (input1 - input2) + margin), elementwise; target holds -1 and 1. The \
            three broadcast. Integers are converted to f32 and give f32.",
            "NaN gives NaN (not 0); infinities follow IEEE arithmetic: Inf - Inf is NaN.",
        )
        .role("input2", Role::Main)
        .role("target", Role::Sign),
        loss(
            "hinge_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
            Elementwise { degree: Some(1), ..Elementwise::new(3.0, formulas::hinge) },
            "max(0, 1 - self * target), elementwise; target holds -1 and 1, and broadcasts with self.",
            "NaN gives NaN (not 0); an infinity gives Inf or 0.",
        )
        .own()
        .role("target", Role::Sign),
    ]
}
