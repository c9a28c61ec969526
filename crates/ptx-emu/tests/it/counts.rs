//! Counters against counts by hand, chosen blocks, and the first number that is not finite.

use ptx_emu::{
    Blocks, BufferId, Config, Counters, Emulator, FindingKind, Launch, Options, Report, Severity,
};

use crate::harness::{Bytes, module, random};

/// Runs a kernel of one block on 1024 inputs and as many outputs.
fn launch(
    kernel: &str,
    grid: u32,
    inputs: &[f32],
    options: &Options,
) -> (Emulator, BufferId, Report) {
    let module = module("pass/counted");
    let mut emulator = Emulator::new(Config::default());
    let x = emulator.alloc("x", 4 * inputs.len(), 4);
    emulator.write(x, &inputs.bytes());
    let y = emulator.alloc("y", 4096, 4);
    if kernel == "count" {
        emulator.write(y, &[0; 4096]);
    }
    let mut args: Vec<Vec<u8>> =
        [x, y].iter().map(|b| emulator.address(*b).to_le_bytes().to_vec()).collect();
    if matches!(kernel, "count" | "where") {
        args.remove(0);
    }
    let launch = Launch {
        kernel: kernel.to_owned(),
        grid: [grid, 1, 1],
        block: [32, 1, 1],
        args,
        ..Launch::default()
    };
    let report = emulator.launch(&module, &launch, options);
    (emulator, y, report)
}

fn counters(kernel: &str) -> Counters {
    let options = Options { counters: true, ..Options::default() };
    let (_, _, report) = launch(kernel, 1, &random(1024), &options);
    assert!(report.is_clean(), "{kernel}: {:?}", report.findings);
    report.counters.expect("counters were asked for")
}

#[test]
fn sectors_tell_coalesced_from_strided() {
    let wide = counters("copy4");
    assert_eq!((wide.global_loads.requests, wide.global_loads.sectors), (1, 16));
    assert_eq!((wide.global_stores.bytes, wide.global_stores.unique_bytes), (512, 512));
    let strided = counters("column");
    assert_eq!((strided.global_loads.requests, strided.global_loads.sectors), (1, 32));
    assert_eq!((strided.global_loads.bytes, strided.global_stores.sectors), (128, 4));
}

#[test]
fn wavefronts_count_bank_conflicts_and_atomics_collisions() {
    let shared = counters("conflicts").shared;
    assert_eq!((shared.requests, shared.wavefronts, shared.wide_requests), (2, 64, 0));
    let atomics = counters("count").atomics;
    assert_eq!((atomics.requests, atomics.lanes, atomics.collisions), (1, 32, 28));
}

#[test]
fn instructions_are_counted_by_line_and_kind() {
    let counters = counters("parts");
    assert_eq!((counters.barriers, counters.divergent_branches), (1, 1));
    let inside = counters.by_line[&20];
    assert_eq!(inside.lanes, 8 * inside.warps);
    assert_eq!(counters.by_kind["bar"].lanes, 32);
    let sum: u64 = counters.by_kind.values().map(|e| e.lanes).sum();
    assert_eq!(sum, counters.total.lanes);
}

#[test]
fn chosen_blocks_write_their_part_and_no_other() {
    let options = Options { blocks: Blocks::Only(vec![1, 4]), ..Options::default() };
    let (emulator, y, report) = launch("where", 8, &[], &options);
    assert!(report.is_clean());
    assert_eq!(report.blocks, 2);
    assert_eq!(emulator.unwritten(y), [0..32, 64..128, 160..1024]);
}

#[test]
fn a_sample_of_a_huge_grid_costs_what_it_runs() {
    let mut emulator = Emulator::new(Config::default());
    let blocks: u64 = 1 << 24;
    let y = emulator.try_alloc("y", (blocks * 128) as usize, 4).expect("nothing is touched yet");
    let launch = Launch {
        kernel: "where".to_owned(),
        grid: [blocks as u32, 1, 1],
        block: [32, 1, 1],
        args: vec![emulator.address(y).to_le_bytes().to_vec()],
        ..Launch::default()
    };
    let options = Options {
        blocks: Blocks::Sample { count: 10, seed: 1 },
        checks: ptx_emu::Checks::MEMORY,
        ..Options::default()
    };
    let report = emulator.launch(&module("pass/counted"), &launch, &options);
    assert!(report.is_clean(), "{:?}", report.end);
    assert_eq!(report.blocks, 10);
    assert!(emulator.bytes(y)[(blocks * 128) as usize - 4..] == 1_f32.to_le_bytes());
}

#[test]
fn the_first_numbers_that_are_not_finite_are_placed() {
    let (_, _, report) = launch("ratio", 1, &[1.5e9; 32], &Options::default());
    assert!(report.is_clean(), "it is no error");
    let kinds: Vec<_> = report.findings.iter().map(|f| (f.kind, f.severity, f.line)).collect();
    let at = |line| (FindingKind::NonFinite, Severity::Info, Some(line));
    assert_eq!(kinds.len(), 2, "{:?}", report.findings);
    assert!(kinds.contains(&at(30)) || kinds.contains(&at(31)), "{:?}", report.findings);
    assert!(report.findings.iter().any(|f| f.message.contains("NaN")));
}
