//! Burn passes the cases of all adapters.

use kgen_adapter::testing::Cases;

use crate::Burn;

/// Ops of the cases that Burn has no function for.
const LACKS: &[&str] = &[
    "binary_cross_entropy_with_logits.default",
    "clone.default",
    "dot.default",
    "logsumexp.default",
    "mv.default",
    "permute_copy.default",
    "stack.default",
    "transpose_copy.int",
];

fn with_cases(test: impl FnOnce(&mut Cases<Burn>)) {
    let folder = tempfile::tempdir().unwrap();
    test(&mut Cases::new(folder.path(), LACKS));
}

#[test]
fn elementwise_ops_have_atens_values() {
    with_cases(Cases::elementwise);
}

#[test]
fn pairs_are_broadcast_and_scalars_are_taken() {
    with_cases(Cases::pairs);
}

#[test]
fn reductions_run_over_their_dimensions() {
    with_cases(Cases::reductions);
}

#[test]
fn softmax_and_norms_run_over_the_last_dimension() {
    with_cases(Cases::rows);
}

#[test]
fn products_and_convolutions_are_sums_of_products() {
    with_cases(Cases::products);
}

#[test]
fn losses_are_means() {
    with_cases(|cases| cases.losses(true));
}

#[test]
fn elements_are_found_and_moved() {
    with_cases(Cases::movements);
}

#[test]
fn bad_requests_are_named() {
    with_cases(|cases| cases.refusals("candle"));
}

#[test]
fn calls_are_timed_and_repeated() {
    with_cases(Cases::times);
}
