//! Normalisation of channels.

use super::super::super::{Role, def::OpBuilder, families::channel_norm::ChannelNorm};

/// How every one of them computes.
const COMPUTE: &str = "weight and bias have shape [C] and the dtype of input, or f32 beside f16 and \
    bf16; one that is None counts as 1 or 0 and arrives as a null pointer. Compute in f32 and round \
    once to the output's dtype, which is that of input.";

/// Advice on computed variances.
const CENTRED: &str = "The variance must come from centred values (two passes or Welford): E[x^2] - \
    E[x]^2 loses too much on values far from 0.";

/// Results for special values.
const SPECIAL: &str = "A set that holds NaN or an infinity gives NaN everywhere. A set of equal \
    elements gives bias.";

fn affine(row: OpBuilder) -> OpBuilder {
    row.role("weight", Role::Gain).role("bias", Role::Bias)
}

fn running(row: OpBuilder) -> OpBuilder {
    affine(row).role("running_mean", Role::Bias).role("running_var", Role::Positive)
}

fn groups() -> Vec<OpBuilder> {
    let sets = "The channels of each sample of input [N, C, ..] form groups of C / groups neighbouring \
        channels; groups must divide C. For the n elements x of a group: mean = sum(x) / n, \
        var = sum((x - mean)^2) / n, out = (x - mean) / sqrt(var + eps) * weight[c] + bias[c], c the \
        channel.";
    vec![
        affine(
            OpBuilder::new(
                "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, \
                float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
                ChannelNorm::Group,
                &format!(
                    "{sets} groups is num_groups. {COMPUTE} {CENTRED} cudnn_enabled has no \
                    meaning.\n{SPECIAL}"
                ),
            )
            .alias(&["nn.functional.group_norm"])
            .outputs(&["the normalised tensor"]),
        ),
        affine(
            OpBuilder::new(
                "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, \
                SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
                ChannelNorm::GroupStats,
                &format!(
                    "{sets} groups is group. input is taken as [N, C, HxW] with the extents given as \
                    arguments, its elements in row-major order. {COMPUTE} {CENTRED} The second output \
                    is the mean of each group, the third 1 / sqrt(var + eps): [N, group], in the dtype \
                    of input, or f32 where weight or bias is f32 beside a 16-bit input. Groups have \
                    at least one element.\n{SPECIAL}"
                ),
            )
            .outputs(&["the normalised tensor", "the means", "the factors 1 / sqrt(var + eps)"]),
        ),
        running(
            OpBuilder::new(
                "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, \
                Tensor? running_var, bool use_input_stats, float momentum, float eps, bool \
                cudnn_enabled) -> Tensor",
                ChannelNorm::Instance,
                &format!(
                    "Each channel of each sample of input [N, C, ..] is normalised on its own: for its \
                    n elements x, mean = sum(x) / n, var = sum((x - mean)^2) / n, \
                    out = (x - mean) / sqrt(var + eps) * weight[c] + bias[c]. Where use_input_stats \
                    is false, mean and var are running_mean[c] and running_var[c] instead, which must \
                    be given then; they are not updated. {COMPUTE} {CENTRED} momentum and \
                    cudnn_enabled have no meaning.\n{SPECIAL}"
                ),
            )
            .alias(&["nn.functional.instance_norm"])
            .outputs(&["the normalised tensor"]),
        ),
    ]
}

fn batch() -> Vec<OpBuilder> {
    vec![
        running(
            OpBuilder::new(
                "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, \
                Tensor? running_var, bool training, float momentum, float eps) \
                -> (Tensor, Tensor, Tensor)",
                ChannelNorm::Batch,
                &format!(
                    "Each channel of input [N, C, ..] is normalised over the whole batch. In training, \
                    for the n elements x of channel c: mean = sum(x) / n, var = sum((x - mean)^2) / n, \
                    out = (x - mean) / sqrt(var + eps) * weight[c] + bias[c]. Otherwise mean and var \
                    are running_mean[c] and running_var[c], which must be given then. {COMPUTE} \
                    {CENTRED} The second output is the mean of each channel that was subtracted, the \
                    third its 1 / sqrt(var + eps): [C], f32 (f64 for f64 inputs). Where \
                    running statistics are given, two further outputs follow in their dtypes: in \
                    training (1 - momentum) * running_mean + momentum * mean and \
                    (1 - momentum) * running_var + momentum * var * n / (n - 1), otherwise the two as \
                    they were. running_mean and running_var themselves stay as they are.\n{SPECIAL}"
                ),
            )
            .outputs(&[
                "the normalised tensor",
                "the means",
                "the factors 1 / sqrt(var + eps)",
                "the updated running means",
                "the updated running variances",
            ]),
        ),
        running(
            OpBuilder::new(
                "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, \
                Tensor running_mean, Tensor running_var, float momentum, float eps) \
                -> (Tensor, Tensor, Tensor)",
                ChannelNorm::BatchInference,
                &format!(
                    "out = (x - running_mean[c]) / sqrt(running_var[c] + eps) * weight[c] + bias[c] \
                    for every element x of channel c of input [N, C, ..]. {COMPUTE} The second output \
                    is running_mean, the third 1 / sqrt(running_var + eps): [C], f32 (f64 for f64 \
                    inputs). momentum has no meaning.\nNaN and infinities stay where they are: a NaN gives NaN, an infinity an \
                    infinity (NaN where weight is 0)."
                ),
            )
            .name("batch_norm_inference")
            .outputs(&[
                "the normalised tensor",
                "running_mean",
                "the factors 1 / sqrt(running_var + eps)",
            ]),
        ),
    ]
}

pub(super) fn rows() -> Vec<OpBuilder> {
    let mut rows = groups();
    rows.extend(batch());
    rows
}
