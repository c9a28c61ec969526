//! Errors around asynchronous operations, each beside the same kernel without it.

use super::tma::{contents, tensor};
use crate::harness::{Arg, Ran, random, random_bits, run};
use ptx_emu::{FindingKind, LaunchError, TensorMapType};

fn launch(kernel: &str, threads: u32, args: Vec<Arg>) -> Ran {
    run("fail/hopper", kernel, [1, 1, 1], [threads, 1, 1], args)
}

/// Kind and beginning of the message of the first finding.
fn first(ran: &Ran) -> Option<(FindingKind, &str)> {
    ran.findings.first().map(|finding| (finding.kind, finding.message.as_str()))
}

#[test]
fn copies_are_waited_for_and_ordered() {
    let x = random(512);
    for (kernel, kind, text) in [
        ("unawaited", FindingKind::AsyncRead, "read of 4 shared bytes before the asynchronous"),
        ("unordered", FindingKind::SharedRace, "race on shared `box`"),
        ("refilled", FindingKind::SharedRace, "race on shared `box`"),
        ("reused", FindingKind::SharedRace, "shared memory is overwritten while"),
        ("unfenced", FindingKind::AsyncProxy, "an asynchronous operation reads shared memory"),
    ] {
        let args = |right: i32| vec![Arg::from(&x), Arg::Out(128, 4), Arg::from(right)];
        let ran = launch(kernel, 64, args(0));
        let found = first(&ran);
        let hit = found.is_some_and(|(k, message)| k == kind && message.starts_with(text));
        assert!(hit, "{kernel}: {found:?}");
        assert!(ran.findings[0].line.is_some() && ran.findings[0].other.is_some(), "{kernel}");
        let ran = launch(kernel, 64, args(1)).ok();
        assert_eq!(ran.findings, [], "{kernel}");
    }
    // The fence of the thread that issues the copy does as well.
    let args = vec![Arg::from(&x), Arg::Out(128, 4), Arg::from(2)];
    assert_eq!(launch("unfenced", 64, args).ok().findings, []);
}

#[test]
fn a_block_ends_after_its_copies_have_read() {
    let x = random(64);
    let run = |how: i32| launch("exits", 64, vec![Arg::from(&x), Arg::Out(64, 4), Arg::from(how)]);
    assert_eq!(run(0).ok().findings, []);
    for how in [1, 2] {
        let ran = run(how);
        let found = first(&ran);
        let text = "the block ends while an asynchronous copy may still read its shared memory";
        assert!(found.is_some_and(|(_, message)| message.starts_with(text)), "{how}: {found:?}");
    }
}

#[test]
fn bytes_that_nobody_announced_are_an_error_and_missing_ones_a_deadlock() {
    let x = random(256);
    let args = |n: i32| vec![Arg::from(&x), Arg::Out(128, 4), Arg::from(n)];
    assert_eq!(launch("bytes", 64, args(1024)).ok().findings, []);
    let fault = launch("bytes", 64, args(512)).fault();
    assert_eq!(fault.kind, FindingKind::Mbarrier);
    let text = "512 bytes more have come than the phase expects: `full`[0]";
    assert!(fault.message.starts_with(text), "{}", fault.message);
    match launch("bytes", 64, args(2048)).result {
        Err(LaunchError::Deadlock { message, .. }) => {
            let text =
                "mbarrier `full`[0] (phase parity 0, 0 of 1 arrivals and 1024 bytes pending)";
            assert!(message.contains(text), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn tensor_maps_are_looked_at() {
    let map = tensor(TensorMapType::F32, &[8, 16], &[8, 16]);
    let run = |how: i32, rows: usize| {
        let data = contents(&map)[..rows * 32].to_vec();
        let copy = Arg::Value(vec![0; 128]);
        let args = vec![Arg::Map(map.clone(), data), copy, Arg::Out(64, 4), Arg::from(how)];
        launch("tiles", 64, args)
    };
    assert_eq!(run(0, 16).ok().findings, []);
    for (how, kind, text) in [
        (1, FindingKind::TensorMap, "1 coordinates for a tensor map of 2 dimensions"),
        (2, FindingKind::TensorMap, "an address at which no tensor map lies"),
    ] {
        let fault = run(how, 16).fault();
        assert_eq!(fault.kind, kind);
        assert!(fault.message.starts_with(text), "{}", fault.message);
    }
    for (how, rows, kind) in [
        (3, 16, FindingKind::Misaligned),
        (4, 16, FindingKind::OutOfBoundsWrite),
        (0, 15, FindingKind::OutOfBoundsRead),
    ] {
        let ran = run(how, rows);
        let found = first(&ran);
        assert!(found.is_some_and(|(k, _)| k == kind), "{how}: {found:?}");
    }
    // Rows past the end of the tensor are zeros, whatever lies behind it.
    assert_eq!(run(5, 16).ok().findings, []);
}

#[test]
fn products_are_fenced_and_waited_for() {
    let x: Vec<u16> = random_bits(4096).iter().map(|b| 0x3c00 | (*b as u16 & 0x3ff)).collect();
    let run = |wrong: i32| {
        launch("products", 128, vec![Arg::from(&x), Arg::Out(512, 4), Arg::from(wrong)])
    };
    assert_eq!(run(0).ok().findings, []);
    for (wrong, kind, text) in [
        (1, FindingKind::AsyncProxy, "an asynchronous operation reads shared memory"),
        (2, FindingKind::Wgmma, "the first `wgmma.mma_async` of a warp without `wgmma.fence`"),
        (3, FindingKind::Wgmma, "an accumulator of `wgmma.mma_async` is read before"),
        (4, FindingKind::SharedRace, "shared memory is overwritten while"),
        (5, FindingKind::Wgmma, "accumulators were changed and no `wgmma.fence` orders that"),
        (6, FindingKind::OutOfBoundsRead, "the descriptor of A reaches byte"),
    ] {
        let ran = run(wrong);
        let found = first(&ran);
        let hit = found.is_some_and(|(k, message)| k == kind && message.starts_with(text));
        assert!(hit, "{wrong}: {found:?}");
    }
}

#[test]
fn stages_are_given_back_after_the_products_that_read_them() {
    let x: Vec<u16> = random_bits(8192).iter().map(|b| 0x3c00 | (*b as u16 & 0x3ff)).collect();
    let run = |right: i32| {
        launch("released", 160, vec![Arg::from(&x), Arg::Out(512, 4), Arg::from(right)])
    };
    assert_eq!(run(1).ok().findings, []);
    let ran = run(0);
    assert_eq!(
        first(&ran).map(|(kind, _)| kind),
        Some(FindingKind::SharedRace),
        "{:?}",
        first(&ran)
    );
}
