//! Accesses of matrix operations are checked as all others.

use crate::harness::{Arg, Ran, run};
use ptx_emu::{Finding, FindingKind};

fn launch(kernel: &str, threads: u32, args: Vec<Arg>) -> Ran {
    run("fail/matrix", kernel, [1, 1, 1], [threads, 1, 1], args)
}

fn found(ran: &Ran, kind: FindingKind) -> &Finding {
    let finding = ran.findings.iter().find(|f| f.kind == kind);
    finding.unwrap_or_else(|| panic!("{kind:?} is not among {:?}", ran.findings))
}

/// A matrix of 16 columns.
fn halves(rows: usize) -> Arg {
    Arg::from(&vec![half::f16::from_f32(1.0).to_bits(); 16 * rows])
}

#[test]
fn rows_of_shared_memory() {
    let ran = launch("rows_past", 32, vec![Arg::Out(32, 4)]);
    let finding = found(&ran, FindingKind::OutOfBoundsRead);
    assert_eq!((finding.buffer.as_deref(), finding.line), (Some("s"), Some(12)));
    assert_eq!((finding.n_threads, finding.thread), (8, [24, 0, 0]));
    let ran = launch("rows_unwritten", 32, vec![Arg::Out(32, 4)]);
    let finding = found(&ran, FindingKind::UninitialisedRead);
    assert_eq!((finding.buffer.as_deref(), finding.line), (Some("s"), Some(21)));
    assert_eq!((finding.element, finding.thread), (Some(31), [31, 0, 0]));
    let ran = launch("rows_misaligned", 32, vec![Arg::Out(32, 4)]);
    let finding = found(&ran, FindingKind::Misaligned);
    assert_eq!((finding.line, finding.n_threads), (Some(30), 28));
    let ran = launch("rows_raced", 64, vec![Arg::Out(64, 4)]);
    let finding = found(&ran, FindingKind::SharedRace);
    let lines = [finding.line, finding.other.as_ref().and_then(|o| o.line)];
    assert!(lines.contains(&Some(36)) && lines.contains(&Some(38)), "{finding}");
}

#[test]
fn fragments_of_buffers() {
    let product = |a: Arg, b: Arg, n_c: usize, lda: i32, ldc: i32| {
        launch("product", 32, vec![a, b, Arg::Out(n_c, 4), lda.into(), ldc.into()])
    };
    product(halves(16), halves(16), 256, 16, 16).ok();
    let ran = product(halves(15), halves(16), 256, 16, 16);
    let finding = found(&ran, FindingKind::OutOfBoundsRead);
    assert_eq!((finding.buffer.as_deref(), finding.line), (Some("arg0"), Some(47)));
    assert_eq!(finding.elements, Some((240, 254)));
    let ran = product(halves(17), halves(16), 256, 17, 16);
    let finding = found(&ran, FindingKind::Misaligned);
    assert_eq!((finding.buffer.as_deref(), finding.line), (Some("arg0"), Some(47)));
    let ran = product(halves(16), halves(16), 256, 24, 16);
    assert_eq!(found(&ran, FindingKind::OutOfBoundsRead).line, Some(47));
    let ran = product(halves(16), halves(16), 256, 16, 20);
    let finding = found(&ran, FindingKind::OutOfBoundsWrite);
    assert_eq!((finding.buffer.as_deref(), finding.line), (Some("arg2"), Some(50)));
    assert_eq!(finding.elements, Some((260, 315)));
}

#[test]
fn an_accumulator_without_a_start_is_undefined() {
    let ran = launch("unfilled", 32, vec![halves(16), halves(16), Arg::Out(256, 4)]);
    let finding = found(&ran, FindingKind::UninitialisedRegister);
    // Eight accesses of every lane.
    assert_eq!((finding.line, finding.n_threads), (Some(57), 256));
}
