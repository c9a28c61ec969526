//! How near is near enough.

use kgen_ops::record::DType;

/// Ops whose zeros may have either sign although they are exact, and why.
pub(crate) const EITHER_ZERO: &[(&str, &str)] = &[
    ("relu", "the maximum of 0 and -0 is -0 on PyTorch's CPU and 0 on its GPU"),
    ("maximum", "whichever of 0 and -0 the CPU's vector instruction takes"),
    ("minimum", "whichever of 0 and -0 the CPU's vector instruction takes"),
    ("median", "0 and -0 are equal, and either may be in the middle"),
    ("median.dim", "0 and -0 are equal, and either may be in the middle"),
    ("sort", "0 and -0 are equal, and the order of equal elements is open"),
];

/// Largest difference between the reference and PyTorch's f64 result, relative to the element's
/// scale.
const F64_TOLERANCE: f64 = 1e-12;

/// Roundings in the storage dtype that PyTorch's own arithmetic may be off by.
const ROUNDINGS: f64 = 4.0;

const BESSEL: &str = "PyTorch adds a Chebyshev series in the type: off by up to 17 roundings";

/// Ops whose results of PyTorch's CPU are right beside a number, not beside themselves, and why.
const BESIDE: &[(&str, f64, &str)] =
    &[("special_ndtr", 1.0, "PyTorch's CPU computes (1 + erf(x / sqrt(2))) / 2")];

/// Returns the least scale that errors of PyTorch's CPU are relative to.
pub(crate) fn least_scale(op: &str) -> f64 {
    BESIDE.iter().find(|(of, ..)| *of == op).map_or(0.0, |(_, scale, _)| *scale)
}

/// Complaints of the CPU's kernels that CUDA's do not have.
const COMPLAINTS: [&str; 5] = [
    "not implemented for",
    "not supported on CPU",
    "mixed dtype (CPU)",
    "primitive descriptor",
    "itensor_view_from_dense",
];

/// Returns whether a refusal of PyTorch is for what its CPU kernels alone lack.
pub(crate) fn is_of_the_cpu(op: &str, message: &str) -> bool {
    // CUDA keeps these limits in f32.
    let limits = op.starts_with("aten.clamp") || op.starts_with("aten.hardtanh");
    COMPLAINTS.iter().any(|complaint| message.contains(complaint))
        || (limits && message.contains("to type c10::Half without overflow"))
        // CUDA has f32 gradients of f16 inputs.
        || (op.contains("softmax_backward_data") && message.ends_with("Float but found Half"))
}

const STATES: &str = "PyTorch rounds gates and states to f32 at each step: off by 4 roundings";

/// Wider tolerances: op, factor on the f64 tolerance, factor on the roundings, and why.
const WIDER: &[(&str, f64, f64, &str)] = &[
    ("conv2d", 1.0, 4.0, "PyTorch's f32 sum of 24 products that cancel is off by 8 roundings"),
    (
        "scaled_dot_product_attention",
        1.0,
        4.0,
        "PyTorch rounds scores, probabilities and their sums to f32: off by 6 roundings",
    ),
    (
        "paged_attention_v1",
        1.0,
        2.0,
        "PyTorch rounds scores, probabilities and their sums to f32: off by 5 roundings",
    ),
    ("merge_attn_states", 1.0, 4.0, "a logarithm and the larger lse, each rounded to f32, cancel"),
    ("lstm", 1.0, 2.0, STATES),
    ("gru", 1.0, 2.0, STATES),
    ("i0", 1.0, 4.0, BESSEL),
    ("special_i0e", 1.0, 4.0, BESSEL),
    ("special_i1", 1.0, 6.0, BESSEL),
    ("special_i1e", 1.0, 6.0, BESSEL),
    ("digamma", 1.0, 2.0, "PyTorch's series in f32 is off by 5 roundings"),
    ("dynamic_quantize_fp8", 1e6, 1.0, "the scale that is divided by is f32 by definition"),
];

/// Returns the tolerance of f64 results, relative to the element's scale.
pub(crate) fn f64_tolerance(op: &str) -> f64 {
    F64_TOLERANCE * wider(op).map_or(1.0, |(_, factor, ..)| *factor)
}

/// Returns how many roundings in the storage dtype an output may be off by.
pub(crate) fn roundings(op: &str) -> f64 {
    ROUNDINGS * wider(op).map_or(1.0, |(_, _, factor, _)| *factor)
}

fn wider(op: &str) -> Option<&'static (&'static str, f64, f64, &'static str)> {
    WIDER.iter().find(|(of, ..)| *of == op)
}

/// Returns the unit roundoff of a floating-point type.
pub(crate) fn unit(dtype: DType) -> f64 {
    let (digits, _) = dtype.format().expect("a floating-point type");
    2f64.powi(-digits - 1)
}

/// Returns whether a floating-point type has fewer digits than another.
pub(crate) fn is_coarser(left: DType, right: DType) -> bool {
    left.is_float() && right.is_float() && unit(left) > unit(right)
}

/// Returns the distance of the smallest numbers of a floating-point type.
pub(crate) fn smallest(dtype: DType) -> f64 {
    let (digits, min_exponent) = dtype.format().expect("a floating-point type");
    2f64.powi(min_exponent) * 2f64.powi(-digits)
}

/// Returns whether only the first outputs are compared: the others are PyTorch's bookkeeping, or
/// running statistics that it writes in place.
pub(crate) fn leads(op: &str) -> bool {
    matches!(op, "embedding_bag" | "native_batch_norm")
}

/// Returns whether CUDA keeps statistics of 16-bit tensors in f32 and the CPU does not.
pub(crate) fn statistics_in_f32(op: &str) -> bool {
    matches!(op, "native_layer_norm" | "native_batch_norm" | "batch_norm_inference")
}

/// Returns whether the CPU leaves statistics empty that CUDA fills: those of a batch norm with given
/// ones, as measured with PyTorch 2.11 on an H100.
pub(crate) fn empty_on_the_cpu(op: &str) -> bool {
    matches!(op, "native_batch_norm" | "batch_norm_inference")
}

/// Returns whether the op cuts quotients, which PyTorch rounds to 16-bit types first.
pub(crate) fn cuts_quotients(op: &str) -> bool {
    matches!(op, "floor_divide" | "div.Tensor_mode")
}

/// Returns whether the op's result depends on the width of its type, so that f64 says nothing of
/// the others: the largest number of a type, its epsilon.
pub(crate) fn widens_otherwise(op: &str) -> bool {
    matches!(op, "nan_to_num" | "rms_norm" | "nextafter")
}
