//! Gradients of softmax, norms, losses, views, embeddings and convolutions.

use super::super::super::{
    Role,
    def::{self, OpBuilder},
    families::{
        backward::{
            bag::BagWeights, conv::ConvBackward, embedding::EmbeddingBackward, nll::NllBackward,
            norm::NormBackward, place, softmax::SoftmaxBackward,
        },
        movement::Movement,
        pool::backward::{AverageBackward, MaximumBackward},
    },
};

/// Outputs that may be left out.
const MASK: &str = "output_mask says which of the three gradients are asked for (1 or 0 each); one that \
    is not has shape [0] and is not written.";

/// The gradients of a module with parameters.
const GRADIENTS: [&str; 3] =
    ["the gradient of input", "the gradient of weight", "the gradient of bias"];

pub(super) fn softmax() -> Vec<OpBuilder> {
    let row = |name: &str, engine, formula: &str, role| {
        let text = format!(
            "grad_output and output, the forward op's result, have one shape and dtype. Along dimension dim \
            (negative ones count from the back), for each slice g of grad_output and y of output: {formula}. \
            Compute in f32 and round once to the output's dtype, which is input_dtype: that of both tensors, or \
            f16 where they are f32.\nA slice that holds NaN gives NaN everywhere; infinities follow IEEE arithmetic."
        );
        let signature = format!(
            "{name}(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"
        );
        OpBuilder::new(&signature, engine, &text)
            .role("output", role)
            .outputs(&["the gradient of the forward op's input"])
    };
    vec![
        row(
            "_softmax_backward_data",
            SoftmaxBackward::Plain,
            "out[j] = (g[j] - sum_k g[k] * y[k]) * y[j]",
            Role::Simplex,
        )
        .name("softmax_backward_data"),
        row(
            "_log_softmax_backward_data",
            SoftmaxBackward::Log,
            "out[j] = g[j] - exp(y[j]) * sum_k g[k]",
            Role::Between(-8.0, 0.0),
        )
        .name("log_softmax_backward_data"),
    ]
}

pub(super) fn norms() -> Vec<OpBuilder> {
    let formula = "With h = (x - mean) * rstd for each element x of input, g its element of grad_out and w \
        its weight (1 where weight is None): the gradient of input is rstd * (g * w - a - h * b), a the mean \
        of g * w over the set and b that of g * w * h; that of weight is the sum of g * h over all elements \
        that the weight belongs to, that of bias the sum of g. The statistics are taken as given, whether \
        they are those of input or not.";
    let types = "grad_out and input have one shape and dtype. Statistics are f32 or have the dtype of \
        input; weight has the dtype of input, or f32 beside f16 and bf16. Compute in f32 and round once: \
        the first output has the dtype of input, the others that of weight.";
    let layer = format!(
        "The last len(normalized_shape) dimensions of input form the sets. {formula} mean and rstd have one \
        element per set. A weight belongs to each place of a set: weight and bias have shape \
        normalized_shape. A gradient of weight or bias is asked for only where that is given. {types} {MASK}"
    );
    let group = format!(
        "input is [N, C, ..] with HxW elements behind these; the C / group channels of a group of a batch \
        form a set. {formula} mean and rstd are [N, group]. A weight belongs to each of the C channels. \
        {types} {MASK}"
    );
    let batch = format!(
        "input is [n, c, ..]; the elements of a channel form a set, and a weight belongs to each channel. \
        With train, mean is save_mean and rstd save_invstd: {formula} Without train, mean is \
        running_mean, rstd = 1 / sqrt(running_var + eps), and the gradient of input is rstd * g * w. \
        Statistics that are not used may be None. {types} {MASK}"
    );
    let statistics = |row: OpBuilder, (role, names): (Role, &[&str])| {
        names.iter().fold(row, |row, name| row.role(name, role)).role("input", Role::Main)
    };
    let rows = [
        OpBuilder::new(
            "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor \
            mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
            NormBackward::Layer,
            &layer,
        )
        .role("bias", Role::Bias),
        OpBuilder::new(
            "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? \
            weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
            NormBackward::Group,
            &group,
        ),
        OpBuilder::new(
            "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? \
            running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float \
            eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
            NormBackward::Batch,
            &batch,
        ),
    ];
    // As CUDA's forward ops save them: in f32, but for group norm.
    let saved: [(Role, &[&str]); 3] = [
        (Role::ScaleF32, &["mean", "rstd"]),
        (Role::Positive, &["mean", "rstd"]),
        (Role::ScaleF32, &["running_mean", "running_var", "save_mean", "save_invstd"]),
    ];
    let rows = rows.into_iter().zip(saved);
    rows.map(|(row, saved)| statistics(row, saved).role("weight", Role::Gain).outputs(&GRADIENTS))
        .collect()
}

pub(super) fn views() -> Vec<OpBuilder> {
    let row = |signature: &str, pieces, text: &str| {
        let text = format!("{text} The result is exact; dtypes of every kind are taken.");
        OpBuilder::new(signature, Movement { pieces }, &text)
            .dtypes(def::ALL)
            .exact()
            .signed_zero()
            .outputs(&["the gradient of the forward op's input"])
    };
    vec![
        row(
            "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
            place::select,
            "out has shape input_sizes and holds grad_output at place index along dimension dim, zeros \
            elsewhere. Negative dim and index count from the back. grad_output has the shape input_sizes \
            without dimension dim.",
        ),
        row(
            "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, \
            SymInt step) -> Tensor",
            place::slice,
            "out has shape input_sizes and holds grad_output at the places start, start + step, .. below \
            end along dimension dim, zeros elsewhere. Negative dim, start and end count from the back; start \
            and end are then limited to 0 and the extent, and an end below start counts as start. step is \
            positive. grad_output has as many places along dim as the range, else the extents of input_sizes.",
        ),
    ]
}

pub(super) fn embedding() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt \
            padding_idx, bool scale_grad_by_freq) -> Tensor",
            EmbeddingBackward,
            "out is [num_weights, d], grad_output has the shape of indices and then d. Row r of out is the sum \
            of the rows of grad_output whose index is r; row padding_idx and rows that no index names are 0 (a \
            negative padding_idx is none). With scale_grad_by_freq, a sum is divided by the number of its \
            rows. Indices (i64 or i32) are valid and not negative. Sums are f32, in any order, and rounded \
            once to the output's dtype, which is that of grad_output.",
        )
        .role("indices", Role::Index)
        .outputs(&["the gradient of the table"]),
        OpBuilder::new(
            "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor \
            offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
            BagWeights,
            "grad is [bags, d], weight [rows, d]. out has one element per index: out[i] = sum over j of \
            grad[offset2bag[i], j] * weight[indices[i], j], or 0 where indices[i] is padding_idx (a negative \
            one is none). offset2bag says the bag of each index, of whose numbers none is below the one \
            before; of offsets nothing is read. mode is 0 (sum). Indices (i64 or i32, all of one type) are \
            valid and not negative. Sums are f32, in any order, and rounded once to the output's dtype, \
            which is that of grad and weight.\n\
            NaN and infinities follow IEEE arithmetic.",
        )
        .role("weight", Role::Second)
        .role("indices", Role::Index)
        .role("offsets", Role::Index)
        .role("offset2bag", Role::Index)
        .outputs(&["the gradient of per_sample_weights"]),
    ]
}

pub(super) fn losses() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int \
            reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
            NllBackward,
            "self is [n, c], or [c], which counts as n = 1; of its elements nothing is read. For each row i \
            with class t = target[i]: out[i, t] = -w[t] * g, every other element is 0; all of a row whose t is \
            ignore_index. w is weight, or 1 where that is None. g is grad_output[i] for reduction 0 and two \
            dimensions, else the only element of grad_output, divided by total_weight (one element) for \
            reduction 1 (mean). The floating-point tensors have one dtype, which is the output's. Compute in \
            f32 and round once. Classes are in 0..c or ignore_index.",
        )
        .role("target", Role::ClassIndex)
        .role("weight", Role::Positive)
        .role("total_weight", Role::Positive)
        .outputs(&["the gradient of self"]),
    ]
}

pub(super) fn convolution() -> Vec<OpBuilder> {
    let text = format!(
        "The gradients of convolution(input, weight, bias, stride, padding, dilation, transposed, \
        output_padding, groups) of 1 to 3 spatial dimensions, where the forward op is (plain) \
        out[n, o, p] = bias[o] + sum over i, k of weight[o, i, k] * input[n, i, p * stride + k * dilation - \
        padding], what lies outside of input being 0, or (transposed) out[n, o, p * stride + k * dilation - \
        padding] sums input[n, i, p] * weight[i, o, k]; channels are split into groups. grad_output has the \
        shape of its result. The gradient of input sums grad_output * weight, that of weight sums \
        grad_output * input, over all pairs that an element meets in; that of bias, of shape [out channels], \
        sums grad_output over batch and places. All tensors have one floating-point dtype. Sums are f32, in \
        any order, and rounded once. bias_sizes is [out channels] or None. {MASK}"
    );
    vec![
        OpBuilder::new(
            "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, \
            SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, \
            SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
            ConvBackward,
            &text,
        )
        .outputs(&GRADIENTS),
    ]
}

pub(super) fn pools() -> Vec<OpBuilder> {
    vec![
        OpBuilder::new(
            "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] \
            padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
            AverageBackward,
            "self is [c, h, w] or [n, c, h, w]; of its elements nothing is read. grad_output has the shape of \
            avg_pool2d's result: window (p, q) begins at p * stride - padding along each dimension, has \
            kernel_size places and is cut at the padding's end; with ceil_mode a last one is added that begins \
            inside self or the padding before it. stride [] means kernel_size. out has the shape of self: each \
            element is the sum, over the windows that hold it, of the window's gradient divided by \
            divisor_override or, where that is None, by the window's places, with count_include_pad those in \
            the padding included. Sums are f32, in any order, and rounded once to the dtype of both tensors.",
        )
        .outputs(&["the gradient of self"]),
        OpBuilder::new(
            "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] \
            stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
            MaximumBackward,
            "self is [c, h, w] or [n, c, h, w]; of its elements nothing is read. grad_output and indices \
            (i64) have the shape of max_pool2d_with_indices's results: window (p, q) begins at p * stride - \
            padding along each dimension and has kernel_size places at distances of dilation; with ceil_mode \
            a last one is added that begins inside self or the padding before it. stride [] means \
            kernel_size. indices says where in its plane, as a flat position y * w + x inside the window, the \
            maximum of each window was. out has the shape of self: each element is the sum, over the windows \
            of its plane whose index is its position, of grad_output; 0 where there are none. Sums are f32, in \
            any order, and rounded once to the dtype of both tensors.\n\
            NaN and infinities follow IEEE arithmetic.",
        )
        .role("self", Role::Main)
        .role("indices", Role::Index)
        .outputs(&["the gradient of self"]),
    ]
}
