//! Blocks on several threads: the same bytes, findings and counts as on one.

use ptx_emu::{Config, Emulator, Launch, Options, Report};

use crate::harness::{Bytes, module, random};

/// Runs a kernel on `n` inputs, in place or not, with so many threads.
fn launch(file: &str, kernel: &str, n: usize, threads: usize, in_place: bool) -> (Vec<u8>, Report) {
    let mut emulator = Emulator::new(Config::default());
    let x = emulator.alloc("x", 4 * n, 4);
    emulator.write(x, &random(n).bytes());
    let y = emulator.alloc("y", 4 * n, 4);
    let mut args = vec![emulator.address(x).to_le_bytes().to_vec()];
    if in_place {
        args.push((n as i32).to_le_bytes().to_vec());
    } else {
        args.push(emulator.address(y).to_le_bytes().to_vec());
        args.push((n as i32).to_le_bytes().to_vec());
    }
    let launch = Launch {
        kernel: kernel.to_owned(),
        grid: [(n as u32).div_ceil(128), 1, 1],
        block: [128, 1, 1],
        args,
        ..Launch::default()
    };
    let options = Options { threads, ..Options::default() };
    let report = emulator.launch(&module(file), &launch, &options);
    (emulator.bytes(if in_place { x } else { y }).to_vec(), report)
}

#[test]
fn threads_change_nothing() {
    let n = 40_000;
    let run = |threads| launch("pass/parallel", "busy", n, threads, false);
    let (one, alone) = run(1);
    let (three, shared) = run(3);
    assert!(alone.is_clean(), "{:?}", alone.findings);
    assert!(alone.lane_instructions > 30_000_000, "{}", alone.lane_instructions);
    assert!(one == three, "the bytes differ");
    assert_eq!(alone.findings, shared.findings);
    assert_eq!((alone.lane_instructions, alone.blocks), (shared.lane_instructions, shared.blocks));
}

#[test]
fn blocks_that_meet_run_one_after_another() {
    let n = 40_000;
    let run = |threads| launch("pass/parallel", "meeting", n, threads, true);
    let ((one, alone), (two, shared)) = (run(1), run(2));
    assert!(alone.lane_instructions > 30_000_000, "{}", alone.lane_instructions);
    assert!(one == two, "the bytes differ");
    assert!(!alone.is_clean());
    assert_eq!(alone.findings, shared.findings);
}
