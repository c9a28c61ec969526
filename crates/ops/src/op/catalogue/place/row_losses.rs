//! Losses of rows: of classes, of angles, of distances.

use crate::record::{ArgValue, Gen, List};

use super::super::super::{
    Role,
    def::OpBuilder,
    families::loss::{
        classes::{CrossEntropy, Nll},
        distance::Distance,
    },
};

/// Weights of classes of which every second one is 0, a factor of infinities.
const ZERO_WEIGHTS: Gen = Gen::Listed { list: List::Alternating };

/// Returns the rows of this table.
pub(super) fn rows() -> Vec<OpBuilder> {
    classes().into_iter().chain(distances()).collect()
}

/// Adds the arguments and results of a negative log-likelihood, of rows or of images.
fn likelihood(row: OpBuilder) -> OpBuilder {
    row.default("reduction", ArgValue::Int(1))
        .default("ignore_index", ArgValue::Int(-100))
        .role("target", Role::ClassIndex)
        .role("weight", Role::Gain)
        .edges("self", Gen::Listed { list: List::Extremes })
        .edges("weight", ZERO_WEIGHTS)
        .outputs(&["the loss", "the sum of the weights that count"])
}

fn classes() -> Vec<OpBuilder> {
    vec![
        likelihood(OpBuilder::new(
            "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, \
            SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
            Nll { images: false },
            "self holds log-probabilities [n, c] (or [c], one row), target class indices [n] (or []) \
            as int64, weight one factor per class [c] (None counts as 1 and arrives as a null pointer). \
            loss[i] = -weight[t] * self[i, t] with t = target[i]; 0 where t equals ignore_index, which \
            may be negative or a class; other targets are in 0..c. total is the sum of weight[t] over \
            the rows that are not ignored. reduction 0 returns loss and 0 (and total for a \
            single row [c]), 1 sum(loss) / total and total, 2 sum(loss) and total. Compute and accumulate in f32 and round once to the output's \
            dtype.\n\
            The mean over no rows, or over rows of total weight 0, is NaN (0 / 0), the sum 0. Only the \
            element at the target counts: NaN elsewhere changes nothing.",
        ))
        .name("nll_loss"),
        likelihood(OpBuilder::new(
            "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, \
            SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
            Nll { images: true },
            "self holds log-probabilities [n, c, h, w], target the class index of each place \
            [n, h, w] as int64, weight one factor per class [c] (None counts as 1 and arrives as a null \
            pointer). loss[i, y, x] = -weight[t] * self[i, t, y, x] with t = target[i, y, x]; 0 where t \
            equals ignore_index, which may be negative or a class; other targets are in 0..c. total is the \
            sum of weight[t] over the places that are not ignored. reduction 0 returns loss and 0, \
            1 sum(loss) / total and total, 2 sum(loss) and total. Compute and accumulate in f32 and round \
            once to the output's dtype.\n\
            The mean over no places, or over places of total weight 0, is NaN (0 / 0), the sum 0. Only \
            the element at the target counts: NaN elsewhere changes nothing.",
        ))
        .name("nll_loss2d"),
        OpBuilder::new(
            "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int \
            reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
            CrossEntropy,
            "self holds logits [n, c], [n, c, d1, ..] or [c], target class indices as int64 in the \
            same shape without c; a row x is what lies along c, i its place. weight is one factor w \
            per class [c]; None counts as ones and arrives as a null pointer. With \
            logp[i, j] = x[j] - max(x) - log(sum_k exp(x[k] - max(x))), t = target[i] and \
            e = label_smoothing: \
            loss[i] = -(1 - e) * w[t] * logp[i, t] - e / c * sum_j w[j] * logp[i, j]; where e is 0 the \
            second term is left out. A row whose target equals ignore_index has loss 0; targets that \
            are not ignored are in range, ignore_index may be negative or a class. reduction 0 \
            returns loss, 1 its sum divided by the sum of w[t] over the rows that are not ignored, 2 \
            its sum (0-dim outputs: one element). target may instead hold probabilities q in self's \
            shape and dtype: loss[i] = -sum_j w[j] * ((1 - e) * q[i, j] + e / c) * logp[i, j], and the \
            mean divides by the number of rows. Compute and accumulate in f32 and round once to the \
            output's dtype; the maximum must be subtracted: logits reach 1e4.\n\
            The mean over no rows is NaN, the sum 0. A row that holds NaN or +Inf has loss NaN. A \
            logit of -Inf counts as probability 0, wherever it stands: loss +Inf where it is the \
            target's.",
        )
        .alias(&["cross_entropy"])
        .role("target", Role::ClassIndex)
        .role("weight", Role::Gain)
        .edges("self", Gen::Listed { list: List::Infinities })
        .edges("weight", ZERO_WEIGHTS)
        .outputs(&["the loss"]),
    ]
}

fn distances() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
            Distance::CosineSimilarity,
            "x1 and x2 broadcast; along dim (negative ones count from the back), which goes away, \
            sum((x1 / max(|x1|, eps)) * (x2 / max(|x2|, eps))) with |x| = sqrt(sum(x^2)). Compute and \
            accumulate in f32 and round once to the output's dtype: squares of f16 inputs may exceed \
            65504.\n\
            A row of zeros gives 0; NaN or an infinity in a row gives NaN.",
        )
        .role("x2", Role::Main)
        .outputs(&["the cosines"]),
        OpBuilder::new(
            "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., \
            int reduction=1) -> Tensor",
            Distance::CosineEmbedding,
            "For rows a of input1 and b of input2 ([n, d], or [d] for one row), with \
            cos = sum(a * b) / sqrt((sum(a^2) + 1e-12) * (sum(b^2) + 1e-12)): 1 - cos where target \
            ([n] or []) is 1, max(0, cos - margin) where it is -1, 0 elsewhere. reduction 0 returns \
            the values, 1 their mean, 2 their sum. Compute and accumulate in f32 and round once to the \
            output's dtype.\n\
            The mean of no rows is NaN, the sum 0. NaN gives NaN (not 0).",
        )
        .role("input2", Role::Main)
        .role("target", Role::Sign)
        .outputs(&["the loss"]),
        OpBuilder::new(
            "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., \
            float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
            Distance::Triplet,
            "With dist(a, b) = (sum(|a - b + eps|^p))^(1/p) along the last dimension (p Inf: the \
            maximum): max(0, margin + dist(anchor, positive) - far), where far is \
            dist(anchor, negative), or with swap the smaller of that and dist(positive, negative). The \
            three have as many dimensions and broadcast. reduction 0 returns the values, 1 their mean, \
            2 their sum. Compute and accumulate in f32 and round once to the output's dtype.\n\
            The mean of no rows is NaN, the sum 0. NaN gives NaN (not 0).",
        )
        .role("positive", Role::Main)
        .role("negative", Role::Main)
        .outputs(&["the loss"]),
    ]
}
