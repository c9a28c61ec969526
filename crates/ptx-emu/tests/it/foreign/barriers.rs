//! Barriers that some threads go past.

use ptx_emu::{FindingKind, Severity};

use super::{kernel, launch};

/// Findings of a kernel whose threads below 16 (or of warp 0) take the branch.
fn findings(body: &str, threads: u32) -> Vec<(FindingKind, Severity, String)> {
    let ran = launch(&kernel(body), threads);
    assert!(ran.report.end.is_ok(), "{:?}", ran.report.end);
    let all = ran.findings().iter();
    all.map(|f| (f.kind, f.severity, f.to_string())).collect()
}

#[test]
fn a_barrier_that_opens_because_others_exit_is_a_warning() {
    for (limit, threads, gone) in
        [(16, 32, "16 threads"), (32, 64, "32 threads"), (31, 32, "1 thread ")]
    {
        let body = format!(
            "setp.ge.u32 %p1, %r0, {limit};\n@%p1 bra past;\nbar.sync 0;\npast:\n\
             st.global.u32 [%at], %r0;"
        );
        let found = findings(&body, threads);
        let [(FindingKind::BarrierDivergence, Severity::Warning, text)] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(text.contains(gone) && text.contains("exited"), "{text}");
        let guarded =
            format!("setp.ge.u32 %p1, %r0, {limit};\n@!%p1 bar.sync 0;\nst.global.u32 [%at], %r0;");
        assert_eq!(findings(&guarded, threads).len(), 1, "{guarded}");
    }
}

#[test]
fn threads_that_leave_a_loop_early_go_past_its_barrier() {
    let body = "\
setp.ge.u32 %p1, %r0, 16;
selp.u32 %r1, 2, 4, %p1;
again:
bar.sync 0;
sub.u32 %r1, %r1, 1;
setp.ne.u32 %p2, %r1, 0;
@%p2 bra again;
st.global.u32 [%at], %r0;";
    let found = findings(body, 32);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn threads_that_exit_before_a_barrier_are_none_of_its_business() {
    for body in [
        "setp.ge.u32 %p1, %r0, 16;\n@%p1 bra end;\nbar.sync 0;\nst.global.u32 [%at], %r0;\nend:",
        "setp.ge.u32 %p1, %r0, 16;\n@%p1 ret;\nbar.sync 0;\nst.global.u32 [%at], %r0;",
        "setp.ge.u32 %p1, %r0, 16;\n@%p1 bra other;\nbar.sync 0;\nst.global.u32 [%at], %r0;\n\
         ret;\nother:\nst.global.u32 [%at], 7;",
        // A branch that all threads take alike.
        "setp.ge.u32 %p1, %r0, 99;\n@%p1 bra past;\nbar.sync 0;\npast:\nst.global.u32 [%at], %r0;",
        // Iterations until one leaves the kernel.
        "mov.u32 %r1, 0;\nagain:\nsetp.eq.u32 %p1, %r0, %r1;\n@%p1 ret;\nbar.sync 0;\n\
         st.global.u32 [%at], %r1;\nadd.u32 %r1, %r1, 1;\nbra again;",
    ] {
        assert_eq!(findings(body, 32), [], "{body}");
    }
}
