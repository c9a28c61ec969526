//! Kernels that try to get a verdict or a speed that they did not earn are refused, and honest ones
//! that are close to them pass.
//!
//! `tests/attacks` holds them; those that only a GPU can show are named as such there, and
//! `scripts/judge_gpu.sh` judges them on one.

use std::path::Path;

use kgen_selftest::judge::{End, Item, Kind, items_in};

use super::judge::judge_items;

/// Attacks on the process that compiles, which a worker survives and a test does not, and one whose
/// budget takes long to spend.
const FOR_WORKERS: [&str; 4] =
    ["registers_by_the_billion", "registers_by_names", "table_of_gigabytes", "flood_of_lines"];

fn attacks() -> Vec<Item> {
    items_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks")).unwrap()
}

#[test]
fn attacks_fail_and_honest_kernels_close_to_them_pass() {
    let mut items = attacks();
    items.retain(|item| !FOR_WORKERS.contains(&item.mechanism.as_str()));
    let report = judge_items(&items);
    let surprises: Vec<_> = report
        .surprises()
        .map(|row| format!("{:?}: {}: {} {}", row.end, row.item.id, row.verdict, row.reason))
        .collect();
    assert!(surprises.is_empty(), "{surprises:#?}");
    // The emulator shows most of them.
    let n_unseen = report.rows.iter().filter(|row| row.end == End::Unseen).count();
    assert!(n_unseen <= 24, "{n_unseen}");
}

#[test]
fn there_are_enough_attacks() {
    let items = attacks();
    let count = |kind| items.iter().filter(|item| item.kind == kind).count();
    assert!(count(Kind::Control) >= 90 && count(Kind::Variant) >= 12);
    let says_why = |item: &&Item| {
        item.gpu_only && !["emulator", "large"].iter().any(|word| item.why.contains(word))
    };
    let silent: Vec<_> = items.iter().filter(says_why).map(|item| &item.id).collect();
    assert!(silent.is_empty(), "say why the emulator cannot show {silent:?}");
}
