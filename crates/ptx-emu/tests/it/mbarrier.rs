//! mbarriers, named barriers and their misuse.

use crate::harness::{Arg, close, random, random_bits, run};
use ptx_emu::{Finding, FindingKind, LaunchError};

#[test]
fn a_ring_of_stages_is_filled_and_emptied() {
    for n in [1_usize, 3, 4, 11, 40] {
        let x = random(n * 96);
        let args = vec![Arg::from(&x), Arg::Out(96, 4), Arg::from(n as i32)];
        let ran = run("pass/mbarrier", "pipeline", [1, 1, 1], [128, 1, 1], args).ok();
        let product =
            |t: usize, k: usize| f64::from(x[k * 96 + t]) * f64::from(x[k * 96 + (t + 33) % 96]);
        let want: Vec<f64> = (0..96).map(|t| (0..n).map(|k| product(t, k)).sum()).collect();
        close(&ran.f32(1), &want, 1e-5);
    }
}

#[test]
fn arrivals_are_counted_and_dropped() {
    let ran = run("pass/mbarrier", "counts", [2, 1, 1], [32, 1, 1], vec![Arg::Out(33, 4)]).ok();
    let got = ran.u32(0);
    assert_eq!(got[..32], [1; 32]);
    // The thread with five arrivals comes before or after the 31 others.
    assert!([40, 9].contains(&got[32]), "{}", got[32]);
}

#[test]
fn bytes_hold_a_phase_open() {
    let x: Vec<i32> = (0..64).collect();
    let args = vec![Arg::from(&x), Arg::Out(64, 4)];
    let ran = run("pass/mbarrier", "bytes", [1, 1, 1], [64, 1, 1], args).ok();
    assert_eq!(ran.i32(1), (0..64).rev().collect::<Vec<_>>());
}

#[test]
fn asynchronous_copies_arrive() {
    for counted in [0, 1] {
        let x = random(256);
        let args = vec![Arg::from(&x), Arg::Out(256, 4), Arg::from(counted)];
        let ran = run("pass/mbarrier", "copies", [1, 1, 1], [64, 1, 1], args).ok();
        let want: Vec<f32> = x.chunks(4).rev().flatten().copied().collect();
        assert_eq!(ran.f32(1), want);
    }
}

#[test]
fn producers_and_consumers_meet_at_named_barriers() {
    let n = 9;
    let x: Vec<i32> = random_bits(64 * n).iter().map(|b| *b as i32).collect();
    let args = vec![Arg::from(&x), Arg::Out(64 * n, 4), Arg::from(n as i32)];
    let ran = run("pass/mbarrier", "named", [1, 1, 1], [128, 1, 1], args).ok();
    let want = |i: usize| x[i / 64 * 64 + (i + 1) % 64];
    assert_eq!(ran.i32(1), (0..64 * n).map(want).collect::<Vec<_>>());
}

fn misuse(kernel: &str, args: Vec<Arg>) -> Finding {
    run("fail/mbarrier", kernel, [1, 1, 1], [64, 1, 1], args).fault()
}

#[test]
fn misuse_names_the_mbarrier() {
    for (kernel, text) in [
        ("uninitialised", "not an initialised mbarrier: `bar`[1], line"),
        ("overwritten", "an mbarrier whose bytes were overwritten: `bar`[0], line"),
        ("too_many", "3 arrivals where the phase waits for 2: `bar`[0] (phase parity 0, 2 of 20"),
        ("twice", "a second `mbarrier.init` without `mbarrier.inval`: `bar`[0]"),
    ] {
        let finding = misuse(kernel, vec![Arg::Out(64, 4)]);
        assert_eq!(finding.kind, FindingKind::Mbarrier, "{kernel}: {}", finding.message);
        assert!(finding.message.starts_with(text), "{kernel}: {}", finding.message);
        assert!(finding.line.is_some(), "{kernel}");
    }
    let x: Vec<i32> = (0..64).collect();
    let finding = misuse("unawaited", vec![Arg::from(&x), Arg::Out(64, 4)]);
    assert_eq!(finding.buffer.as_deref(), Some("box"), "{}", finding.message);
}

#[test]
fn races_around_mbarriers_are_found() {
    let finding = misuse("too_early", vec![Arg::Out(64, 4)]);
    assert_eq!(finding.kind, FindingKind::SharedRace, "{}", finding.message);
    assert_eq!((finding.buffer.as_deref(), finding.element), (Some("bar"), Some(0)));
    let x: Vec<i32> = (0..32).collect();
    let finding = misuse("too_eager", vec![Arg::from(&x), Arg::Out(32, 4)]);
    assert_eq!(finding.kind, FindingKind::SharedRace, "{}", finding.message);
    assert_eq!(finding.buffer.as_deref(), Some("box"));
}

fn deadlock(kernel: &str) -> String {
    let ran = run("fail/mbarrier", kernel, [1, 1, 1], [128, 1, 1], vec![Arg::Out(128, 4)]);
    match ran.result {
        Err(LaunchError::Deadlock { message, line: Some(_), .. }) => message,
        Err(LaunchError::Fault(finding)) if finding.line.is_some() => finding.message,
        other => panic!("{kernel}: {other:?}"),
    }
}

#[test]
fn waits_that_never_end_are_deadlocks() {
    let args = vec![Arg::Out(64, 4)];
    let ran = run("fail/mbarrier", "never", [1, 1, 1], [64, 1, 1], args);
    let Err(LaunchError::Deadlock { message, line, .. }) = ran.result else {
        panic!("{:?}", ran.result);
    };
    assert_eq!(
        message,
        "deadlock: block (0,0,0): warps 0-1 (64 threads) waiting for mbarrier `bar`[2] (phase \
         parity 0, 2 of 64 arrivals and 0 bytes pending) at line 13, \
         mbarrier.try_wait.parity.shared::cta.b64"
    );
    assert_eq!(line, Some(13));
    let message = deadlock("no_bytes");
    assert!(message.contains("0 of 1 arrivals and 128 bytes pending"), "{message}");
    let message = deadlock("named");
    assert!(
        message.contains("warps 0-1 (64 threads) waiting at barrier 1 (96 of 128 threads)"),
        "{message}"
    );
    assert!(
        message.contains("warp 3 (32 threads) waiting at barrier 2 (32 of 64 threads)"),
        "{message}"
    );
}

#[test]
fn a_kernel_may_give_up_waiting() {
    let args = vec![Arg::Out(32, 4)];
    let ran = run("fail/mbarrier", "gives_up", [1, 1, 1], [32, 1, 1], args).ok();
    assert_eq!(ran.i32(0), [0; 32]);
}
