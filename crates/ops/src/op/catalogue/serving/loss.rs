//! Losses and a layer of Liger-Kernel.

use super::super::super::{
    OpFamily, Role,
    def::OpBuilder,
    families::serving::{
        linear_loss::LinearCrossEntropy,
        loss::{Divergence, DynamicTanh},
    },
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    let labelled = "A row whose element of shift_labels (i64 [rows], or None) is ignore_index counts \
        for nothing; with no row that counts the result is 0.";
    let rows = vec![
        OpBuilder::new(
            "jsd(Tensor input, Tensor target, Tensor? shift_labels=None, float beta=0.5, int \
            ignore_index=-100) -> Tensor",
            Divergence::JensenShannon,
            &format!(
                "As Liger-Kernel's: with x = input and y = target, [rows, n], logarithms of \
                probabilities Q = exp(x) and P = exp(y): the sum over all elements of beta * P * y + \
                (1 - beta) * Q * x - M * log(M), M = beta * P + (1 - beta) * Q, over the number of \
                rows that count; for beta = 0 of P * (y - x), for beta = 1 of Q * (x - y). In f32, \
                rounded once to the dtype of input; a 0-dim tensor. {labelled}\nInfinities are not \
                given."
            ),
        )
        .role("shift_labels", Role::ClassIndex)
        .outputs(&["the divergence"]),
        OpBuilder::new(
            "tvd(Tensor p, Tensor q, Tensor? shift_labels=None, str reduction='batchmean', int \
            ignore_index=-100) -> Tensor",
            Divergence::TotalVariation,
            &format!(
                "As Liger-Kernel's: |p - q| / 2 of p and q, [rows, n], 0 in rows that do not count. \
                reduction \"none\" gives that, \"sum\" the sum of all elements, \"batchmean\" the sum \
                over the number of rows that count, \"mean\" over that of their elements. In f32, and so is \
                the result, also for 16-bit inputs. {labelled} (Liger-Kernel raises there.)\nNaN in a row that counts gives NaN."
            ),
        )
        .choices("reduction", &["batchmean", "sum", "mean", "none"])
        .role("p", Role::Simplex)
        .role("q", Role::Simplex)
        .role("shift_labels", Role::ClassIndex)
        .outputs(&["the distance"]),
        OpBuilder::new(
            "fused_linear_cross_entropy(Tensor input, Tensor weight, Tensor target, Tensor? bias=None, \
            int ignore_index=-100, float label_smoothing=0., str reduction='mean') -> Tensor",
            LinearCrossEntropy,
            "As Liger-Kernel's: the cross entropy of logits = input @ weight^T + bias, with input \
            [rows, h], weight [v, h], bias [v] or None, and target i64 [rows]: per row -sum over c of \
            w_c * log_softmax(logits)_c with w = label_smoothing / v, plus 1 - label_smoothing at \
            the target. Rows whose target is ignore_index count for nothing. reduction \"sum\" adds \
            the rows, \"mean\" divides by the number of those that count. Compute in f32 (logits that \
            are rounded to a 16-bit dtype are accepted only as far as the tolerance goes); the result \
            is f32 for 16-bit inputs too, a 0-dim tensor. With no row that counts the result is 0.",
        )
        .choices("reduction", &["mean", "sum"])
        .role("target", Role::ClassIndex)
        .role("bias", Role::Bias)
        .outputs(&["the loss"]),
    ];
    let layer = OpBuilder::new(
        "dyt(Tensor x, Tensor alpha, Tensor gamma, Tensor? beta=None) -> Tensor",
        DynamicTanh,
        "As Liger-Kernel's DyT: out = gamma * tanh(alpha * x) + beta, with alpha [1], and gamma and \
        beta [n] along the last dimension of x; beta None counts as 0. In f32, rounded once to the \
        dtype, which all share.\nNaN gives NaN, infinities the sign of alpha * x times gamma.",
    )
    .family(OpFamily::Elementwise)
    .alias(&["liger_dyt"])
    .role("alpha", Role::Gain)
    .role("gamma", Role::Gain)
    .role("beta", Role::Bias)
    .outputs(&["the layer's result"]);
    rows.into_iter()
        .map(|row| row.family(OpFamily::Loss))
        .chain([layer])
        .map(OpBuilder::own)
        .collect()
}
