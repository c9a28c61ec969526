//! The device heap.

use crate::harness::{Arg, run};
use ptx_emu::FindingKind;

#[test]
fn a_list_on_the_heap() {
    let args = vec![Arg::Out(64, 4), Arg::from(5_i32)];
    let got = run("pass/heap", "lists", [1, 1, 1], [64, 1, 1], args).ok().i32(0);
    let want: Vec<i32> = (0..64).map(|i| 500 * i + 10).collect();
    assert_eq!(got, want);
}

#[test]
fn freed_memory_is_no_memory() {
    let one = |kernel| run("pass/heap", kernel, [1, 1, 1], [1, 1, 1], vec![Arg::Out(1, 4)]);
    assert_eq!(one("twice").fault().kind, FindingKind::InvalidFree);
    assert_eq!(one("stale").fault().kind, FindingKind::OutOfBoundsRead);
}

#[test]
fn the_heap_has_an_end() {
    let args = vec![Arg::Out(1, 4)];
    let got = run("pass/heap", "hungry", [1, 1, 1], [1, 1, 1], args).ok().i32(0);
    assert_eq!(got, [7]);
}
