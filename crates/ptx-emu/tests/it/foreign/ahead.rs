//! Reads of shared memory that nothing orders, and whose values may not matter.

use ptx_emu::{FindingKind, Severity};

use super::{kernel, launch};

/// Threads `t` and `t + 32` share the cell at `%r2`; `%p1` holds in the first warp.
const CELLS: &str = "\
.shared .align 16 .b8 s[1024];
and.b32 %r1, %r0, 31;
shl.b32 %r1, %r1, 4;
mov.u32 %r2, s;
add.u32 %r2, %r2, %r1;
setp.lt.u32 %p1, %r0, 32;
@%p1 st.shared.v4.u32 [%r2], {%r0, %r0, %r0, %r0};
mov.u32 %r5, 0;
bar.sync 0;
";

const RACE: FindingKind = FindingKind::SharedRace;

/// Findings where the first warp reads and the second writes, and the other way round.
fn both(body: &str) -> Vec<Vec<(FindingKind, Severity)>> {
    let found = |read: &str, write: &str| {
        let body = body.replace("@READ", read).replace("@WRITE", write);
        let ran = launch(&kernel(&format!("{CELLS}{body}")), 64);
        assert!(ran.report.end.is_ok(), "{:?}", ran.report.end);
        ran.findings().iter().map(|f| (f.kind, f.severity)).collect()
    };
    vec![found("@%p1", "@!%p1"), found("@!%p1", "@%p1")]
}

#[test]
fn a_race_with_a_read_that_nobody_uses_is_information() {
    let race = "@READ ld.shared.u32 %r5, [%r2];\n@WRITE st.shared.u32 [%r2], 7;\n";
    let twice = |severity| vec![vec![(RACE, severity)]; 2];
    assert_eq!(both(race), twice(Severity::Info));
    assert_eq!(
        both(&format!("{race}mov.u32 %r5, 1;\nst.global.u32 [%at], %r5;")),
        twice(Severity::Info)
    );
    assert_eq!(both(&format!("{race}@READ st.global.u32 [%at], %r5;")), twice(Severity::Error));
    let computed = "add.u32 %r6, %r5, 1;\nsetp.eq.u32 %p2, %r6, 3;\n@%p2 bra on;\non:";
    assert_eq!(both(&format!("{race}{computed}")), twice(Severity::Error));
}

#[test]
fn a_pipeline_may_read_ahead_of_its_end() {
    let pipeline = "\
mov.u32 %r6, 0;
mov.u32 %r7, 0;
again:
add.u32 %r6, %r6, %r5;
bar.sync 0;
@READ ld.shared.u32 %r5, [%r2];
add.u32 %r7, %r7, 1;
setp.lt.u32 %p2, %r7, 4;
@%p2 bra again;
@WRITE st.shared.u32 [%r2], 7;
st.global.u32 [%at], %r6;
";
    assert_eq!(both(pipeline), vec![vec![(RACE, Severity::Info)]; 2]);
    let drained = format!("{pipeline}add.u32 %r6, %r6, %r5;\nst.global.u32 [%at], %r6;");
    assert_eq!(both(&drained), vec![vec![(RACE, Severity::Error)]; 2]);
}

#[test]
fn a_matrix_read_before_its_copy_has_landed_may_be_thrown_away() {
    let copy = "\
@%p1 cp.async.ca.shared.global [%r2], [%at], 8;
cp.async.commit_group;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r2];
cp.async.wait_all;
";
    let found = |body: &str| {
        let ran = launch(&kernel(&format!("{CELLS}{body}")), 32);
        ran.findings().iter().map(|f| (f.kind, f.severity)).collect::<Vec<_>>()
    };
    assert_eq!(found(copy), [(FindingKind::AsyncRead, Severity::Info)]);
    let used = format!("{copy}st.global.u32 [%at], %r5;");
    assert!(found(&used).contains(&(FindingKind::AsyncRead, Severity::Error)));
}
