//! Undefined values: reported where they matter and nowhere else.

use ptx_emu::{Emulator, Finding, FindingKind, Launch, Module};

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

/// Findings of a kernel whose first thread exchanges a word of shared memory and goes on so.
fn exchanged(rest: &str) -> Vec<Finding> {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.shared .u32 s;\n\
         .reg .b32 %r<3>;\n.reg .pred %p<2>;\natom.shared.exch.b32 %r1, [s], 7;\n{rest}\nret;\n}}\n"
    );
    let module = Module::parse(&text).expect("it is PTX");
    let launch = Launch { kernel: "k".to_owned(), ..Launch::default() };
    Emulator::default().launch(&module, &launch, &ptx_emu::Options::default()).findings
}

#[test]
fn an_exchange_writes_what_nobody_wrote_before() {
    assert!(
        exchanged("ld.shared.u32 %r2, [s];\nsetp.eq.u32 %p1, %r2, 7;\n@%p1 bra L;\nL:").is_empty()
    );
    let findings = exchanged("setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nL:");
    assert_eq!(findings[0].kind, FindingKind::UninitialisedRead, "{findings:?}");
}
