//! Variances, norms of vectors, logarithms of sums of exponentials.

use super::super::super::{
    OpFamily,
    def::OpBuilder,
    families::{
        moments::Moments,
        softmax::LogSumExp,
        vector_norm::{Normalize, VectorNorm},
    },
};

fn moments(name: &str, returns: &str, of: Moments, outputs: &[&str]) -> OpBuilder {
    let (what, formula) = match of {
        Moments::Var => ("The variance", "var = sum((x - mean)^2) / max(N - correction, 0)"),
        Moments::Std => {
            ("The standard deviation", "std = sqrt(sum((x - mean)^2) / max(N - correction, 0))")
        }
        Moments::VarMean => (
            "Variance (first output) and mean (second)",
            "var = sum((x - mean)^2) / max(N - correction, 0)",
        ),
        Moments::StdMean => (
            "Standard deviation (first output) and mean (second)",
            "std = sqrt(sum((x - mean)^2) / max(N - correction, 0))",
        ),
    };
    let semantics = format!(
        "{what} of self over the dimensions in dim (negative ones count from the back; None or an \
        empty list means all): for the N elements x of a slice, mean = sum(x) / N and {formula}. \
        correction is a number, not always an integer; None means 1. With keepdim the folded \
        dimensions stay with extent 1. Compute in f32 and round once to the output's dtype, which is \
        that of self (a floating-point type). The variance must come from centred values (two passes \
        or Welford): E[x^2] - E[x]^2 loses too much on slices far from 0.\n\
        NaN or an infinity in a slice gives NaN. Where N <= correction the result is Inf, or NaN if \
        the sum of squares is 0; of no elements everything is NaN. A constant slice gives 0."
    );
    let signature = format!(
        "{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool \
        keepdim=False) -> {returns}"
    );
    OpBuilder::new(&signature, of, &semantics).outputs(outputs)
}

pub(super) fn rows() -> Vec<OpBuilder> {
    vec![
        moments("var", "Tensor", Moments::Var, &["the variances"]),
        moments("var_mean", "(Tensor, Tensor)", Moments::VarMean, &["the variances", "the means"]),
        moments(
            "std_mean",
            "(Tensor, Tensor)",
            Moments::StdMean,
            &["the standard deviations", "the means"],
        ),
        moments("std", "Tensor", Moments::Std, &["the standard deviations"]),
        OpBuilder::new(
            "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, \
            ScalarType? dtype=None) -> Tensor",
            VectorNorm,
            "The norm of order p = ord of the slices of self over the dimensions in dim (negative \
            ones count from the back; None or an empty list means all): (sum |x|^p)^(1/p); ord = 0 \
            counts the elements that are not 0, ord = Inf is the largest |x|, ord = -Inf the smallest; \
            negative orders follow the formula. With keepdim the folded dimensions stay with extent \
            1. The output has dtype where that is given (a floating-point type that holds self's), \
            else the dtype of self, a floating-point type. Compute in f32 and round once to it.\n\
            NaN gives NaN, but for ord = 0, which counts it. Of no elements the norm is 0; orders \
            below 0 and Inf take no empty slices. An element of 0 makes a norm of negative order 0.",
        )
        .name("vector_norm")
        .alias(&["linalg.vector_norm", "linalg.norm"])
        .outputs(&["the norms"]),
        OpBuilder::new(
            "normalize(Tensor self, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
            Normalize,
            "Each slice x of self along dimension dim (negative ones count from the back) divided by \
            its norm: out = x / max(n, eps) with n = (sum |x|^p)^(1/p); p = 0 counts the elements \
            that are not 0, p = Inf is the largest |x|, p = -Inf the smallest. Compute in f32, the \
            norm too, and round once to the output's dtype, which is that of self, a floating-point \
            type.\n\
            A slice that holds NaN gives NaN everywhere. In a slice that holds an infinity (and no \
            NaN) the infinite elements give NaN and the finite ones 0. A slice of zeros gives zeros.",
        )
        .family(OpFamily::Norm)
        .own()
        .alias(&["nn.functional.normalize"])
        .outputs(&["the normalised tensor"]),
        OpBuilder::new(
            "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
            LogSumExp,
            "log(sum(exp(x))) of the slices x of self over the dimensions in dim (negative ones count \
            from the back; at least one), computed as m + log(sum(exp(x - m))) with m the largest \
            element: inputs reach 1e4 and more. With keepdim the folded dimensions stay with extent \
            1. Compute in f32 and round once to the output's dtype, which is that of self, or f32 \
            where self is of integers or bool.\n\
            NaN gives NaN. A slice with Inf (and no NaN) gives Inf, a slice of nothing but -Inf, or \
            of no elements, gives -Inf: x - m must not be computed with an infinite m.",
        )
        .outputs(&["the logarithms"]),
    ]
}
