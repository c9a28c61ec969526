//! Losses.

use super::super::{
    Role,
    def::Row,
    families::loss::{CrossEntropy, Mse},
};

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::new(
            "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
            Mse,
            "With d = (self - target)^2 elementwise: reduction 0 returns d, 1 its mean, 2 its \
            sum (0-dim outputs: one element). self and target have one shape. Compute and accumulate in \
            f32 and round once to the output's dtype: squares and sums of f16 inputs may exceed \
            65504 before the division. Any order of summation is right.\n\
            The mean of no elements is NaN, the sum 0. NaN and infinities follow IEEE arithmetic: \
            Inf - Inf is NaN. A result beyond the output's range is Inf.",
        )
        .role("target", Role::Main)
        .outputs(&["the loss"]),
        Row::new(
            "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int \
            reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
            CrossEntropy,
            "self holds logits [n, c], target class indices [n] as int64; weight is always \
            None. With logp[i, j] = x[j] - max(x) - log(sum_k exp(x[k] - max(x))) for row x = self[i] \
            and e = label_smoothing: \
            loss[i] = -(1 - e) * logp[i, target[i]] - e / c * sum_j logp[i, j]; where e is 0 the \
            second term is left out. A row whose target equals ignore_index has loss 0; targets that \
            are not ignored are in range, ignore_index may be negative or a class. reduction 0 \
            returns loss, 1 its sum divided by the number of rows that are not ignored, 2 its sum \
            (0-dim outputs: one element). Compute and accumulate in f32 and round once to the \
            output's dtype; the maximum must be subtracted: logits reach 1e4.\n\
            The mean over no rows is NaN, the sum 0. A row that holds NaN or +Inf has loss NaN. A \
            logit of -Inf counts as probability 0, wherever it stands: loss +Inf where it is the \
            target's.",
        )
        .role("target", Role::ClassIndex)
        .role("weight", Role::Gain)
        .outputs(&["the loss"]),
    ]
}
