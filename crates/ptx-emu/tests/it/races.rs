//! Races: unordered accesses are found with both places, ordered ones are not.

use ptx_emu::{Finding, FindingKind};

use crate::harness::{Arg, Ran, random, run};

fn launch(kernel: &str, grid: u32, threads: u32, args: Vec<Arg>) -> Ran {
    run("fail/races", kernel, [grid, 1, 1], [threads, 1, 1], args)
}

/// Input and output for two blocks of 128 threads.
fn arrays() -> Vec<Arg> {
    vec![Arg::from(&random(256)), Arg::Out(256, 4)]
}

fn first(kernel: &str, grid: u32) -> Finding {
    let ran = launch(kernel, grid, 128, arrays());
    let finding = ran.findings.first().unwrap_or_else(|| panic!("{kernel}: nothing found"));
    assert!(finding.to_string().lines().count() <= 8, "{finding}");
    finding.clone()
}

fn lines(finding: &Finding) -> (Option<u32>, Option<u32>) {
    (finding.other.as_ref().and_then(|o| o.line), finding.line)
}

#[test]
fn a_missing_barrier_is_placed() {
    let finding = first("no_barrier", 1);
    assert_eq!(finding.kind, FindingKind::SharedRace);
    assert_eq!((lines(&finding), finding.buffer.as_deref()), ((Some(5), Some(4)), Some("s")));
    assert_eq!(finding.hint.as_deref(), Some("missing __syncthreads() between line 4 and line 5"));
    let finding = first("next_iteration", 1);
    assert_eq!(lines(&finding), (Some(11), Some(13)));
    assert!(finding.hint.is_some_and(|h| h.contains("next iteration")));
}

#[test]
fn lanes_of_a_warp_race_too() {
    let finding = first("lanes", 1);
    assert_eq!(lines(&finding), (Some(19), Some(20)));
    assert!(finding.hint.is_some_and(|h| h.contains("__syncwarp")));
    let finding = first("same_element", 1);
    assert_eq!(lines(&finding), (Some(24), Some(24)));
}

#[test]
fn blocks_race_on_global_memory() {
    let finding = first("blocks", 2);
    assert_eq!(finding.kind, FindingKind::GlobalRace);
    assert_eq!((lines(&finding), finding.block), ((Some(29), Some(29)), [1, 0, 0]));
    let finding = first("neighbours", 2);
    assert_eq!(finding.kind, FindingKind::GlobalRace);
    let x = Arg::from(&random(256));
    let ran = launch("in_place", 2, 128, vec![x, 256_i32.into()]);
    assert_eq!(ran.findings[0].kind, FindingKind::GlobalRace);
}

#[test]
fn a_fence_and_an_atomic_order_blocks() {
    let args = || vec![Arg::from(&random(8)), Arg::Out(8, 4), Arg::Out(1, 4)];
    let ran = launch("no_fence", 8, 32, args());
    assert_eq!(lines(&ran.findings[0]), (Some(45), Some(53)), "{:?}", ran.findings);
    launch("with_fence", 8, 32, args()).ok();
}

#[test]
fn what_is_ordered_or_harmless_is_no_race() {
    for kernel in ["same_value", "lanes_in_order"] {
        launch(kernel, 1, 128, arrays()).ok();
    }
    let x: Vec<i16> = (0..128).collect();
    launch("halves", 1, 128, vec![Arg::from(&x), Arg::Out(128, 2)]).ok();
    launch("legacy_warp", 1, 64, vec![Arg::from(&random(64)), Arg::Out(64, 4)]).ok();
}

#[test]
fn named_barriers_order_those_who_meet() {
    let args = || vec![Arg::from(&random(64)), Arg::Out(32, 4)];
    launch("named", 1, 64, args()).ok();
}

#[test]
fn lanes_of_a_warp_must_meet_at_one_barrier() {
    let ran = launch("parted", 1, 32, vec![Arg::from(&random(32)), Arg::Out(32, 4)]);
    let finding = &ran.findings[0];
    assert_eq!(finding.kind, FindingKind::BarrierDivergence, "{finding}");
    let (a, b) = lines(finding);
    assert_ne!(a, b);
}

#[test]
fn the_advice_fits_the_race() {
    let hint = |kernel: &str, grid: u32, out: usize| {
        let out = Arg::from(&vec![0.0; out]);
        let x = Arg::from(&random(128));
        let ran = run("fail/updates", kernel, [grid, 1, 1], [128, 1, 1], vec![x, out]);
        let finding = ran.findings.first().unwrap_or_else(|| panic!("{kernel}: nothing found"));
        finding.hint.clone().unwrap_or_default()
    };
    assert!(hint("histogram", 1, 16).contains("atomicAdd"));
    assert!(hint("total", 4, 1).contains("atomicAdd"));
    // The first race is between lanes of a warp, others are between warps.
    let tree = hint("tree", 1, 1);
    assert!(tree.contains("__syncthreads()") && !tree.contains("__syncwarp()"), "{tree}");
}

#[test]
fn dynamic_shared_memory_that_no_launch_gave_is_named() {
    let y = vec![Arg::Out(128, 4)];
    let ran = run("fail/updates", "unsized", [1, 1, 1], [128, 1, 1], y);
    let hint = ran.findings[0].hint.as_deref();
    assert_eq!(hint, Some("the launch gives too little dynamic shared memory"));
}
