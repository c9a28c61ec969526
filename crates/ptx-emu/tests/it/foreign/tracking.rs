//! Undefined values, NaN and counters of guarded instructions.

use ptx_emu::{FindingKind, Options};

use super::{kernel, launch, launch_with};

#[test]
fn complementary_guards_define_a_register() {
    let text = kernel(
        "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 mov.u64 %d1, 5;\n\
         @!%p1 add.u64 %d1, %at, 0;\nst.global.u64 [%at], %d1;",
    );
    assert_eq!(launch(&text, 32).clean(), 5);
}

#[test]
fn lanes_that_a_guard_leaves_out_stay_undefined() {
    let text = kernel("setp.lt.u32 %p1, %r0, 9;\n@%p1 mov.u32 %r3, 77;\nst.global.u32 [%at], %r3;");
    let ran = launch(&text, 32);
    let [finding] = ran.findings() else { panic!("{:?}", ran.findings()) };
    assert_eq!((finding.kind, finding.n_threads), (FindingKind::UninitialisedRegister, 23));
}

#[test]
fn a_guarded_copy_of_an_undefined_value_is_followed() {
    let text = kernel(
        "setp.lt.u32 %p1, %r0, 4;\nmov.u64 %d2, 0;\n@%p1 add.u64 %d2, %d1, 1;\n\
         st.global.u64 [%at], %d2;",
    );
    let ran = launch(&text, 32);
    let [finding] = ran.findings() else { panic!("{:?}", ran.findings()) };
    assert_eq!((finding.kind, finding.n_threads), (FindingKind::UninitialisedRegister, 4));
}

#[test]
fn a_guarded_load_of_uninitialised_bytes_is_followed() {
    let text = kernel(
        ".shared .align 8 .b8 s[256];\nmov.u32 %r1, s;\nsetp.lt.u32 %p1, %r0, 4;\n\
         mov.u64 %d2, 0;\n@%p1 ld.shared.u64 %d2, [%r1];\nadd.u64 %d2, %d2, 1;\n\
         @%p1 st.global.u64 [%at], %d2;",
    );
    let ran = launch(&text, 32);
    let [finding] = ran.findings() else { panic!("{:?}", ran.findings()) };
    assert_eq!((finding.kind, finding.n_threads), (FindingKind::UninitialisedRead, 4));
}

#[test]
fn a_guarded_nan_is_seen() {
    let text = kernel(
        "mov.f32 %f1, 0f7F000000;\nmov.f32 %f2, 0f00000000;\nsetp.eq.u32 %p1, %r0, 3;\n\
         @%p1 div.rn.f32 %f2, %f2, %f2;\ncvt.u64.u32 %d1, %f2;\nst.global.u64 [%at], %d1;",
    );
    let ran = launch(&text, 32);
    let [finding] = ran.findings() else { panic!("{:?}", ran.findings()) };
    assert_eq!((finding.kind, finding.thread), (FindingKind::NonFinite, [3, 0, 0]));
}

#[test]
fn counters_have_the_active_lanes_of_guarded_instructions() {
    let text = kernel(
        "setp.lt.u32 %p1, %r0, 5;\n@%p1 xor.b32 %r1, %r0, 1;\n@!%p1 st.global.u32 [%at], %r0;\n\
         setp.gt.u32 %p2, %r0, 99;\n@%p2 not.b32 %r1, %r0;",
    );
    let options = Options { counters: true, ..Options::default() };
    let ran = launch_with(&text, 32, &options);
    let counters = ran.report.counters.expect("they were asked for");
    let of = |kind: &str| (counters.by_kind[kind].lanes, counters.by_kind[kind].warps);
    assert_eq!([of("xor"), of("st"), of("not")], [(5, 1), (27, 1), (0, 1)]);
}
