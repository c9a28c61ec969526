//! Undefined values: reported where they matter and nowhere else.

use ptx_emu::{Finding, FindingKind};

use crate::harness::{Arg, Ran, random, run};

fn launch(kernel: &str, args: Vec<Arg>) -> Ran {
    run("fail/undefined", kernel, [1, 1, 1], [64, 1, 1], args)
}

fn only(ran: Ran) -> Finding {
    let [finding] = ran.findings.as_slice() else { panic!("{:?}", ran.findings) };
    finding.clone()
}

#[test]
fn an_uninitialised_variable_is_followed_from_its_first_use() {
    let x = random(64);
    let finding = only(launch("stored", vec![Arg::from(&x), Arg::Out(64, 4), 8_i32.into()]));
    assert_eq!(finding.kind, FindingKind::UninitialisedRegister);
    assert_eq!((finding.line, finding.n_threads), (Some(5), 64));
}

#[test]
fn a_value_of_unwritten_shared_memory_is_followed_to_its_use() {
    let x = random(64);
    let ran = launch("decides", vec![Arg::from(&x), Arg::Out(64, 4)]);
    let finding = &ran.findings[0];
    assert_eq!(finding.kind, FindingKind::UninitialisedRead);
    assert_eq!((finding.line, finding.element), (Some(15), Some(32)));
    assert_eq!(finding.buffer.as_deref(), Some("s"));
    let finding = only(launch("indexes", vec![Arg::from(&x), Arg::Out(64, 4)]));
    assert_eq!((finding.line, finding.n_threads), (Some(27), 32));
    assert!(finding.message.contains("address"), "{}", finding.message);
}

#[test]
fn a_shuffle_from_an_absent_lane_is_undefined() {
    let x = random(64);
    let finding = only(launch("shuffled", vec![Arg::from(&x), Arg::Out(64, 4)]));
    assert_eq!((finding.line, finding.n_threads), (Some(32), 8));
}

#[test]
fn local_arrays_are_followed_too() {
    let x: Vec<i32> = (0..64).collect();
    let finding = only(launch("local_array", vec![Arg::from(&x), Arg::Out(64, 4)]));
    assert_eq!(finding.kind, FindingKind::UninitialisedRead);
    assert_eq!((finding.line, finding.n_threads), (Some(41), 8));
}

#[test]
fn what_is_read_but_not_used_is_no_finding() {
    let x = random(64);
    let ran = launch("masked", vec![Arg::from(&x), Arg::Out(64, 4)]).ok();
    assert!(ran.findings.is_empty());
}

#[test]
fn what_a_flag_excludes_is_not_used() {
    let x = random(64);
    let ran = launch("guarded", vec![Arg::from(&x), Arg::Out(64, 4), 0_i32.into()]).ok();
    assert!(ran.findings.is_empty(), "{:?}", ran.findings);
    let finding = only(launch("unguarded", vec![Arg::from(&x), Arg::Out(64, 4), 0_i32.into()]));
    assert_eq!((finding.line, finding.n_threads), (Some(76), 32));
}
