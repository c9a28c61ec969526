//! Overloads of PyTorch that an op computes under another signature: the op, the schema as PyTorch
//! prints it, and the rules of [`Overload`].

use crate::record::{ArgValue, DType, Gen, TensorArg, TensorSpec};

use super::super::{
    OpDef,
    overload::{Adapt, Arguments, Overload},
};

/// A row: the op, the signature, the rules, and a function where rules do not suffice.
type Row = (&'static str, &'static str, &'static str, Option<Adapt>);

/// The arguments decide which op it is: one per mode and number of dimensions.
const PAD: &str =
    "pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor";

// One row a line.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Views and copies.
    ("transpose", "t(Tensor(a) self) -> Tensor(a)", "dim0=0, dim1=-1", Some(matrix)),
    ("transpose", "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", "dim0=@axis0, dim1=@axis1", None),
    ("transpose", "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "", None),
    ("view", "view(Tensor(a) self, SymInt[] size) -> Tensor(a)", "", Some(without_a_copy)),
    ("view", "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", "size=@shape", None),
    ("view", "_unsafe_view(Tensor self, SymInt[] size) -> Tensor", "", None),
    ("expand", "broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", "", None),
    ("repeat", "tile(Tensor self, SymInt[] dims) -> Tensor", "", Some(tile)),
    ("to_copy", "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", "-copy", None),
    ("to_copy", "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", "-copy", None),
    ("to_copy", "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", "-copy", None),
    ("constant_pad_nd", PAD, "", Some(pad)),
    ("reflection_pad1d", PAD, "padding=@pad", Some(reflect::<1>)),
    ("reflection_pad2d", PAD, "padding=@pad", Some(reflect::<2>)),
    ("reflection_pad3d", PAD, "padding=@pad", Some(reflect::<3>)),
    ("replication_pad1d", PAD, "padding=@pad", Some(replicate::<1>)),
    ("replication_pad2d", PAD, "padding=@pad", Some(replicate::<2>)),
    ("replication_pad3d", PAD, "padding=@pad", Some(replicate::<3>)),
    ("pad_circular", PAD, "", Some(circular)),
    ("cat", "hstack(Tensor[] tensors) -> Tensor", "", Some(hstack)),
    ("cat", "vstack(Tensor[] tensors) -> Tensor", "dim=0", Some(vstack)),
    ("cat", "row_stack(Tensor[] tensors) -> Tensor", "dim=0", Some(vstack)),
    ("index", "index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", "", None),
    ("index_put", "index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor", "", None),
    ("index_put", "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)", "-unsafe", None),
    ("scatter_reduce", "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", "", Some(scattered)),
    ("transpose", "t_copy(Tensor self) -> Tensor", "dim0=0, dim1=-1", Some(matrix)),
    ("clone", "alias_copy(Tensor self) -> Tensor", "", None),
    ("index", "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", "", None),
    ("index_put", "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", "", None),
    ("scatter_add", "gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor", "src=@grad", Some(gathered)),
    // Numbers in the place of tensors.
    ("bitwise_and", "bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_or", "bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_xor", "bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("sub.Scalar", "subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "", None),
    ("mul.Scalar", "multiply.Scalar(Tensor self, Scalar other) -> Tensor", "", None),
    ("div.Scalar", "divide.Scalar(Tensor self, Scalar other) -> Tensor", "", None),
    ("div.Scalar", "true_divide.Scalar(Tensor self, Scalar other) -> Tensor", "", None),
    ("div.Tensor_mode", "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", "", None),
    ("bitwise_and", "bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("bitwise_or", "bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("bitwise_xor", "bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("bitwise_left_shift", "bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_left_shift", "bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("bitwise_left_shift", "__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_right_shift", "bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_right_shift", "bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("bitwise_right_shift", "__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("copysign", "copysign.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("div.Tensor_mode", "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", "", Some(number)),
    ("div.Tensor_mode", "divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", "", Some(number)),
    ("floor_divide", "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("fmod", "fmod.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("remainder", "remainder.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("remainder", "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("pow", "pow.Scalar(Scalar self, Tensor exponent) -> Tensor", "", Some(base)),
    ("xlogy", "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("xlogy", "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("xlogy", "special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("xlogy", "special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("where", "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", "", Some(number_first)),
    ("where", "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("where", "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", "", Some(numbers)),
    ("bitwise_and", "__and__.Tensor(Tensor self, Tensor other) -> Tensor", "", None),
    ("bitwise_and", "__and__.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_and", "__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "", None),
    ("bitwise_and", "__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "", Some(number)),
    ("bitwise_or", "__or__.Tensor(Tensor self, Tensor other) -> Tensor", "", None),
    ("bitwise_or", "__or__.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_or", "__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "", None),
    ("bitwise_or", "__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "", Some(number)),
    ("bitwise_xor", "__xor__.Tensor(Tensor self, Tensor other) -> Tensor", "", None),
    ("bitwise_xor", "__xor__.Scalar(Tensor self, Scalar other) -> Tensor", "", Some(number)),
    ("bitwise_xor", "__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "", None),
    ("bitwise_xor", "__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "", Some(number)),
    ("bitwise_left_shift", "__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "", None),
    ("bitwise_left_shift", "__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "", Some(number)),
    ("bitwise_right_shift", "__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "", None),
    ("bitwise_right_shift", "__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "", Some(number)),
    ("isin", "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor", "test_elements=@test_element", Some(tested)),
    ("isin", "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", "elements=@element", Some(sought)),
    // Tensors in the place of numbers.
    ("maximum", "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", "other=@min", None),
    ("minimum", "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", "other=@max", None),
    ("sub", "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "", Some(swapped)),
    ("pow.Tensor_Scalar", "pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", "", None),
    // Reductions.
    ("sum", "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", "dim=None", None),
    ("mean", "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", "dim=None", None),
    ("prod", "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", "dim=0, keepdim=false", Some(flat)),
    ("count_nonzero", "count_nonzero(Tensor self, int? dim=None) -> Tensor", "", Some(all_dims)),
    ("amax", "max(Tensor self) -> Tensor", "", None),
    ("amin", "min(Tensor self) -> Tensor", "", None),
    ("maximum", "max.other(Tensor self, Tensor other) -> Tensor", "", None),
    ("minimum", "min.other(Tensor self, Tensor other) -> Tensor", "", None),
    ("std", "std(Tensor self, bool unbiased=True) -> Tensor", "", Some(unbiased)),
    ("std", "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", "", Some(unbiased)),
    ("var", "var(Tensor self, bool unbiased=True) -> Tensor", "", Some(unbiased)),
    ("var", "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", "", Some(unbiased)),
    ("var_mean", "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", "", Some(unbiased)),
    ("var_mean", "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", "", Some(unbiased)),
    ("std_mean", "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", "", Some(unbiased)),
    ("std_mean", "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", "", Some(unbiased)),
    ("vector_norm", "norm.Scalar(Tensor self, Scalar p=2) -> Tensor", "ord=@p", None),
    ("vector_norm", "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", "ord=@p", Some(norm)),
    ("vector_norm", "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", "ord=@p", Some(norm)),
    ("vector_norm", "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", "ord=@p", Some(norm)),
    ("sort", "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", "-stable", None),
    ("_cdist_forward", "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", "", None),
    ("nll_loss", "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", "", None),
    ("nll_loss2d", "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", "", None),
    ("nll_loss", "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", "", Some(likelihood::<2>)),
    ("nll_loss2d", "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", "", Some(likelihood::<4>)),
    ("quantile", "quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", "", Some(position)),
    ("_weight_norm_interface", "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", "", None),
    ("softmax", "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", "half_to_float=false", Some(converted)),
    ("log_softmax", "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", "half_to_float=false", Some(converted)),
    ("logsumexp", "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "", None),
    // Products and convolutions.
    ("dot", "vdot(Tensor self, Tensor other) -> Tensor", "tensor=@other", None),
    ("convolution", "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor", "-benchmark, -deterministic, -cudnn_enabled, -allow_tf32", None),
    ("convolution", "_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor", "-benchmark, -deterministic, -cudnn_enabled", None),
    ("conv1d", "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", "", Some(named_padding)),
    ("conv2d", "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", "", Some(named_padding)),
    ("conv3d", "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", "", Some(named_padding)),
    ("convolution", "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor", "transposed=false, output_padding=[0]", Some(named_padding)),
    ("convolution", "_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor", "input=@self, transposed=false, output_padding=[0]", Some(depthwise)),
    ("scaled_mm", "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor", "-use_fast_accum", None),
    // Resampling.
    ("upsample_nearest2d", "upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("upsample_bilinear2d", "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("upsample_nearest1d", "upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("upsample_nearest3d", "upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("_upsample_nearest_exact1d", "_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("_upsample_nearest_exact2d", "_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("_upsample_nearest_exact3d", "_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("upsample_linear1d", "upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("upsample_trilinear3d", "upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("upsample_bicubic2d", "upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    ("_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor", "self=@input", Some(resampled)),
    // Gradients that older versions of PyTorch had as ops of their own.
    ("col2im", "im2col_backward(Tensor grad_output, SymInt[2] input_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", "self=@grad_output, output_size=@input_size", None),
    ("im2col", "col2im_backward(Tensor grad_output, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", "self=@grad_output", None),
    ("upsample_nearest2d_backward", "upsample_nearest2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? scale_factors) -> Tensor", "", Some(resampled_gradient)),
    ("upsample_bilinear2d_backward", "upsample_bilinear2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool align_corners, float[]? scale_factors) -> Tensor", "", Some(resampled_gradient)),
    // Norms and embeddings.
    ("native_batch_norm", "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor", "-cudnn_enabled", None),
    ("native_batch_norm", "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", "", None),
    ("native_batch_norm", "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)", "", None),
    ("native_batch_norm", "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", "", None),
    ("embedding_bag", "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)", "", None),
    ("embedding_bag", "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)", "padding_idx=-1", None),
    ("embedding_bag", "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)", "", Some(padding_idx)),
    ("embedding_dense_backward", "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor", "grad_output=@grad", Some(dense)),
    ("round", "special_round(Tensor self, *, int decimals=0) -> Tensor", "", None),
];

/// Returns the overloads of the catalogue's ops.
pub(super) fn all<'a>(op: impl Fn(&str) -> Option<&'a OpDef>) -> Vec<Overload> {
    let row = |&(name, signature, rules, adapt): &Row| {
        let op = op(name).unwrap_or_else(|| panic!("`{name}` is an op"));
        Overload::parse(op, signature, rules, adapt)
            .unwrap_or_else(|reason| panic!("{signature}: {reason}"))
    };
    ROWS.iter().map(row).collect()
}

/// `t`: at most two dimensions, of which one stays.
fn matrix(args: &mut Arguments) -> Result<(), String> {
    match args.tensor("self") {
        Some((_, shape)) if shape.len() > 2 => {
            Err(format!("`self` has shape {shape:?}, which must be of at most 2 dimensions"))
        }
        _ => Ok(()),
    }
}

/// `view`: dimensions that are merged lie behind each other in memory.
fn without_a_copy(args: &mut Arguments) -> Result<(), String> {
    let (Some(ArgValue::Tensor(tensor)), Some(ArgValue::Ints(size))) =
        (args.get("self"), args.get("size"))
    else {
        return Ok(());
    };
    let (numel, spec) = (tensor.spec.numel(), &tensor.spec);
    let known: usize = size.iter().filter_map(|&extent| usize::try_from(extent).ok()).product();
    let extent = |&extent: &i64| usize::try_from(extent).unwrap_or(numel / known.max(1));
    let mut wanted: Vec<usize> =
        size.iter().map(extent).filter(|&extent| extent != 1).rev().collect();
    if numel == 0 || wanted.iter().product::<usize>() != numel {
        return Ok(());
    }
    // From the back: runs of dimensions that are contiguous with each other, each of which whole
    // extents of the result have to fill.
    let dims = || spec.shape.iter().zip(&spec.stride).filter(|(extent, _)| **extent != 1).rev();
    let mut outer = dims().skip(1);
    let mut run = 1;
    for (extent, stride) in dims() {
        run *= extent;
        if outer.next().is_some_and(|(_, next)| *next == extent * stride) {
            continue;
        }
        let mut filled = 1;
        while filled < run && !wanted.is_empty() {
            filled *= wanted.remove(0);
        }
        if filled != run {
            return Err(format!(
                "`size` is {size:?}, which must not merge dimensions of shape {:?} that strides {:?} keep apart",
                spec.shape, spec.stride
            ));
        }
        run = 1;
    }
    Ok(())
}

/// `tile`: fewer repeats than dimensions repeat the last ones.
fn tile(args: &mut Arguments) -> Result<(), String> {
    let ndim = args.tensor("self").map_or(0, |(_, shape)| shape.len());
    if let ArgValue::Ints(dims) = args.take("dims") {
        let missing = ndim.saturating_sub(dims.len());
        let repeats = std::iter::repeat_n(1, missing).chain(dims).collect();
        args.set("repeats", ArgValue::Ints(repeats));
    }
    Ok(())
}

/// `pad` with a number.
fn pad(args: &mut Arguments) -> Result<(), String> {
    mode(args, "constant")?;
    if args.get("value").is_none() {
        args.take("value");
    }
    Ok(())
}

/// `pad` by the mirror image of `N` dimensions.
fn reflect<const N: usize>(args: &mut Arguments) -> Result<(), String> {
    pad_without_value(args, "reflect", N)
}

/// `pad` by the nearest element of `N` dimensions.
fn replicate<const N: usize>(args: &mut Arguments) -> Result<(), String> {
    pad_without_value(args, "replicate", N)
}

/// `pad` by the other end.
fn circular(args: &mut Arguments) -> Result<(), String> {
    let pairs = if let Some(ArgValue::Ints(pads)) = args.get("pad") { pads.len() / 2 } else { 0 };
    pad_without_value(args, "circular", pairs)
}

fn pad_without_value(args: &mut Arguments, word: &str, dims: usize) -> Result<(), String> {
    mode(args, word)?;
    match args.get("pad") {
        Some(ArgValue::Ints(pads)) if pads.len() == 2 * dims => {}
        _ => return Err(format!("`pad` must hold {} numbers for this op", 2 * dims)),
    }
    match args.take("value") {
        ArgValue::None | ArgValue::Float(0.0) => Ok(()),
        _ => Err(format!("`value` is given, which mode \"{word}\" does not take")),
    }
}

fn mode(args: &mut Arguments, word: &str) -> Result<(), String> {
    match args.take("mode") {
        ArgValue::Str(mode) if mode == word => Ok(()),
        ArgValue::Str(mode) => Err(format!(
            "`mode` is \"{mode}\", which must be constant, reflect, replicate or circular"
        )),
        _ => Err("`mode` must be a word".to_owned()),
    }
}

/// `scatter` by the names of its reductions.
fn scattered(args: &mut Arguments) -> Result<(), String> {
    let word = match args.get("reduce") {
        Some(ArgValue::Str(word)) if word == "add" => "sum",
        Some(ArgValue::Str(word)) if word == "multiply" => "prod",
        _ => return Err("`reduce` must be \"add\" or \"multiply\"".to_owned()),
    };
    args.set("reduce", ArgValue::Str(word.to_owned()));
    Ok(())
}

/// Rows side by side; tensors of one dimension one behind the other.
fn hstack(args: &mut Arguments) -> Result<(), String> {
    let first = args.at_least("tensors", 1);
    args.set("dim", ArgValue::Int(i64::from(first > 1)));
    Ok(())
}

/// Rows one above the other.
fn vstack(args: &mut Arguments) -> Result<(), String> {
    args.at_least("tensors", 2);
    Ok(())
}

/// `scale_factors` in the place of `output_size`.
fn resampled(args: &mut Arguments) -> Result<(), String> {
    let shape = args.tensor("input").map_or(Vec::new(), |(_, shape)| shape.to_vec());
    scaled(args, &shape.into_iter().map(|extent| extent as f64).collect::<Vec<_>>())
}

/// As [`resampled`], of the size of a gradient.
fn resampled_gradient(args: &mut Arguments) -> Result<(), String> {
    let shape = match args.get("input_size") {
        Some(ArgValue::Ints(shape)) => shape.iter().map(|&extent| extent as f64).collect(),
        _ => Vec::new(),
    };
    scaled(args, &shape)
}

/// Computes `output_size` of an input's extents, where `scale_factors` are given.
#[expect(clippy::cast_possible_truncation, reason = "extents are below 2^40")]
fn scaled(args: &mut Arguments, shape: &[f64]) -> Result<(), String> {
    match (args.get("output_size").is_some(), args.take("scale_factors")) {
        (true, ArgValue::None) => Ok(()),
        (false, ArgValue::Floats(factors)) if shape.len() == factors.len() + 2 => {
            let size = |(&extent, &factor): (&f64, &f64)| (extent * factor).floor() as i64;
            let sizes = shape[2..].iter().zip(&factors).map(size).collect();
            args.set("output_size", ArgValue::Ints(sizes));
            let names: &[&str] = match factors.len() {
                1 => &["scales"],
                2 => &["scales_h", "scales_w"],
                _ => &["scales_d", "scales_h", "scales_w"],
            };
            for (name, factor) in names.iter().zip(factors) {
                args.set(name, ArgValue::Float(factor));
            }
            Ok(())
        }
        _ => Err("either `output_size` or a number per dimension in `scale_factors` must be given"
            .to_owned()),
    }
}

/// `other` is a number.
fn number(args: &mut Arguments) -> Result<(), String> {
    as_operand(args, "other", "self");
    Ok(())
}

/// `self` is a number.
fn number_first(args: &mut Arguments) -> Result<(), String> {
    as_operand(args, "self", "other");
    Ok(())
}

/// `pow` of a number.
fn base(args: &mut Arguments) -> Result<(), String> {
    as_operand(args, "self", "exponent");
    Ok(())
}

/// Both are numbers.
fn numbers(args: &mut Arguments) -> Result<(), String> {
    as_operand(args, "self", "other");
    as_operand(args, "other", "other");
    Ok(())
}

/// A number takes part as a tensor without dimensions, which counts less than the tensor `beside` it:
/// it has that one's type unless its own is of a higher kind. Beside f16 and bf16 it keeps its f32 value.
fn as_operand(args: &mut Arguments, name: &str, beside: &str) {
    let tensor = args.tensor(beside).map(|(dtype, shape)| (dtype, shape.is_empty()));
    let own = match args.get(name) {
        Some(ArgValue::Int(_)) => DType::I64,
        Some(ArgValue::Bool(_)) => DType::Bool,
        _ => DType::F32,
    };
    let kind = |dtype: DType| (dtype.is_float(), dtype != DType::Bool);
    let dtype = match tensor {
        Some((DType::F16 | DType::BF16, false)) => DType::F32,
        Some((dtype, _)) if kind(dtype) >= kind(own) => dtype,
        _ => own,
    };
    args.number_as_tensor(name, dtype);
}

/// `isin` of a number among the tests.
fn tested(args: &mut Arguments) -> Result<(), String> {
    as_operand(args, "test_element", "elements");
    Ok(())
}

/// `isin` of one number.
fn sought(args: &mut Arguments) -> Result<(), String> {
    as_operand(args, "element", "test_elements");
    Ok(())
}

/// Gradients as tensors that hold every element.
fn dense(args: &mut Arguments) -> Result<(), String> {
    for name in ["sparse", "sparse_grad"] {
        if args.take(name) == ArgValue::Bool(true) {
            return Err(format!("`{name}` must be false: kgen has no sparse tensors"));
        }
    }
    Ok(())
}

/// The gradient of `gather` is added to zeros of `self`'s shape.
fn gathered(args: &mut Arguments) -> Result<(), String> {
    dense(args)?;
    if let (Some((dtype, _)), Some((_, shape))) = (args.tensor("grad"), args.tensor("self")) {
        let spec = TensorSpec::contiguous(dtype, shape);
        let zeros = TensorArg { spec, generator: Gen::Constant { value: 0.0 } };
        // Not the values of `self`, which have no part in it.
        args.take("self");
        args.set("self", ArgValue::Tensor(zeros));
    }
    Ok(())
}

/// Each channel of `self` is a group of its own.
fn depthwise(args: &mut Arguments) -> Result<(), String> {
    let channels = args.tensor("self").and_then(|(_, shape)| shape.get(1).copied()).unwrap_or(0);
    let weight: Vec<i64> = args.tensor("weight").map_or(Vec::new(), |(_, shape)| {
        shape.iter().skip(2).filter_map(|&extent| i64::try_from(extent).ok()).collect()
    });
    match args.take("kernel_size") {
        ArgValue::Ints(size) if size != weight => {
            return Err(format!(
                "`kernel_size` is {size:?}, which must be that of `weight`, {weight:?}"
            ));
        }
        _ => args.set("groups", ArgValue::Int(i64::try_from(channels).unwrap_or(0))),
    }
    Ok(())
}

/// The negative log-likelihood of rows, or of images: what else there is, PyTorch reshapes.
fn likelihood<const N: usize>(args: &mut Arguments) -> Result<(), String> {
    let (ndim, fits) = match args.tensor("self") {
        Some((_, shape)) if N == 2 => (shape.len(), shape.len() <= N),
        Some((_, shape)) => (shape.len(), shape.len() == N),
        None => (0, true),
    };
    if fits {
        return Ok(());
    }
    Err(format!("`self` has {ndim} dimensions, which must be 1, 2 or 4"))
}

/// A quantile's position is a number of the tensor's type.
fn position(args: &mut Arguments) -> Result<(), String> {
    if let Some((dtype, _)) = args.tensor("self") {
        args.number_as_tensor("q", dtype);
    }
    Ok(())
}

/// `rsub` subtracts from its second tensor.
fn swapped(args: &mut Arguments) -> Result<(), String> {
    args.rename("self", "subtracted");
    args.rename("other", "self");
    args.rename("subtracted", "other");
    Ok(())
}

/// All elements as one row.
fn flat(args: &mut Arguments) -> Result<(), String> {
    args.flatten("self");
    Ok(())
}

/// No dimension means all of them, which is an empty list.
fn all_dims(args: &mut Arguments) -> Result<(), String> {
    if args.get("dim").is_none() {
        args.set("dim", ArgValue::Ints(Vec::new()));
    }
    Ok(())
}

/// `unbiased` as the number that is subtracted from the count.
fn unbiased(args: &mut Arguments) -> Result<(), String> {
    if let ArgValue::Bool(unbiased) = args.take("unbiased") {
        args.set("correction", ArgValue::Int(i64::from(unbiased)));
    }
    Ok(())
}

/// `norm` without `p` is that of order 2.
fn norm(args: &mut Arguments) -> Result<(), String> {
    if args.get("p").is_none() {
        args.set("p", ArgValue::Int(2));
    }
    Ok(())
}

/// A `dtype` converts `self` first.
fn converted(args: &mut Arguments) -> Result<(), String> {
    if let ArgValue::DType(dtype) = args.take("dtype") {
        args.cast("self", dtype);
    }
    Ok(())
}

/// `padding` of a convolution as a word.
fn named_padding(args: &mut Arguments) -> Result<(), String> {
    let kernel: Vec<i64> = args.tensor("weight").map_or(Vec::new(), |(_, shape)| {
        shape.iter().skip(2).filter_map(|&extent| i64::try_from(extent).ok()).collect()
    });
    let numbers = |name: &str| match args.get(name) {
        Some(ArgValue::Ints(values)) => values.clone(),
        Some(ArgValue::Int(value)) => vec![*value],
        _ => vec![1],
    };
    let at = |values: &[i64], dim: usize| values.get(dim).or(values.first()).copied().unwrap_or(1);
    let (dilation, stride) = (numbers("dilation"), numbers("stride"));
    let padding = match args.take("padding") {
        ArgValue::Str(word) if word == "valid" => vec![0; kernel.len().max(1)],
        ArgValue::Str(word) if word == "same" => {
            if stride.iter().any(|&step| step != 1) {
                return Err("`padding` is \"same\", which takes a `stride` of 1 alone".to_owned());
            }
            let total: Vec<i64> = kernel
                .iter()
                .enumerate()
                .map(|(dim, extent)| at(&dilation, dim) * (extent - 1))
                .collect();
            if total.iter().any(|both| both % 2 != 0) {
                return Err("`padding` is \"same\", which pads both ends unequally here: that is a pad and a convolution".to_owned());
            }
            total.iter().map(|both| both / 2).collect()
        }
        _ => return Err("`padding` must be \"valid\" or \"same\"".to_owned()),
    };
    args.set("padding", ArgValue::Ints(padding));
    Ok(())
}

/// `padding_idx` left out is -1, by which the op means none.
fn padding_idx(args: &mut Arguments) -> Result<(), String> {
    let rows = args.tensor("weight").and_then(|(_, shape)| i64::try_from(*shape.first()?).ok());
    match args.get("padding_idx") {
        Some(&ArgValue::Int(row)) if rows.is_some_and(|rows| !(-rows..rows).contains(&row)) => {
            let rows = rows.unwrap_or(0);
            return Err(format!("`padding_idx` is {row}, which must be one of {rows} rows"));
        }
        None => args.set("padding_idx", ArgValue::Int(-1)),
        // A negative row counts from the back.
        Some(&ArgValue::Int(row)) if row < 0 => {
            args.set("padding_idx", ArgValue::Int(row + rows.unwrap_or(0)));
        }
        Some(_) => {}
    }
    Ok(())
}
