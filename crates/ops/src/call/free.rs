//! `ATen` ops of which there is nothing to judge: views, new tensors whose values the call says or draws,
//! and questions about a tensor. Traces are full of them.

/// Names without overloads.
const FREE: &[&str] = &[
    // Views.
    "_conj",
    "_neg_view",
    "_reshape_alias",
    "alias",
    "as_strided",
    "chunk",
    "contiguous",
    "detach",
    "diagonal",
    "expand_as",
    "flatten",
    "hsplit",
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
    "moveaxis",
    "movedim",
    "narrow",
    "positive",
    "ravel",
    "real",
    "resolve_conj",
    "resolve_neg",
    "split_with_sizes",
    "squeeze",
    "tensor_split",
    "unflatten",
    "unfold",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "view_as",
    "vsplit",
    // New tensors.
    "_sparse_coo_tensor_with_dims_and_tensors",
    "arange",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "fill",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "new_empty",
    "new_empty_strided",
    "new_full",
    "ones",
    "ones_like",
    "resize",
    "scalar_tensor",
    "set",
    "tril_indices",
    "triu_indices",
    "zero",
    "zeros",
    "zeros_like",
    // Random values: none is right or wrong.
    "bernoulli",
    "cauchy",
    "exponential",
    "geometric",
    "log_normal",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "uniform",
    // Questions.
    "_local_scalar_dense",
    "is_same_size",
    "item",
    "sym_is_contiguous",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
];

/// Returns whether there is nothing to judge about an op, given without its overload.
pub(super) fn is_free(op: &str) -> bool {
    let op = op.strip_prefix("aten.").unwrap_or(op);
    FREE.contains(&op) || op.strip_suffix('_').is_some_and(|op| FREE.contains(&op))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::find;

    #[test]
    fn a_free_op_is_none_of_the_catalogue() {
        let known: Vec<&&str> = FREE.iter().filter(|name| find(name).is_ok()).collect();
        assert!(known.is_empty(), "{known:?}");
        assert!(is_free("aten.detach_") && is_free("_local_scalar_dense") && !is_free("relu"));
    }
}
