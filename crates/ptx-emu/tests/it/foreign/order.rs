//! Modifiers in any order.

use ptx_emu::Module;

use super::{kernel, launch, result};

#[test]
fn an_instruction_means_the_same_whatever_the_order() {
    let halves = |opcode: &str| {
        result(&format!(
            "mov.b32 %r1, 0xbc003c00;\nmov.b32 %r2, 0x40004000;\nmov.b32 %r3, 0;\n\
             {opcode} %r4, %r1, %r2, %r3;\ncvt.u64.u32 %d1, %r4;\nst.global.u64 [%at], %d1;"
        ))
    };
    assert_eq!(halves("fma.rn.f16x2.relu"), 0x4000);
    assert_eq!(halves("fma.relu.f16x2.rn"), halves("fma.rn.relu.f16x2"));
    let single = |opcode: &str| {
        result(&format!(
            "mov.f32 %f1, 0f00000001;\nmov.f32 %f2, 0f3F800000;\n{opcode} %f3, %f1, %f2;\n\
             cvt.u64.u32 %d1, %f3;\nst.global.u64 [%at], %d1;"
        ))
    };
    assert_eq!(single("div.ftz.rn.f32"), 0);
    assert_eq!(single("div.rn.f32"), 1);
}

#[test]
fn matrices_in_the_order_of_published_kernels() {
    let body = "\
.shared .align 128 .b8 tile[512];
mul.lo.u32 %r1, %r0, 16;
mov.u32 %r2, tile;
add.u32 %r2, %r2, %r1;
st.shared.v4.u32 [%r2], {%r0, %r0, %r0, %r0};
bar.sync 0;
ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];
mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0;
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32.satfinite
    {%f0, %f1, %f2, %f3}, {%r4, %r5, %r6, %r7}, {%r4, %r5}, {%f0, %f1, %f2, %f3};
cvt.u64.u32 %d1, %f0;
st.global.relaxed.gpu.u64 [%at], %d1;
ld.global.acquire.gpu.u64 %d2, [%at];";
    let other = body
        .replace("x4.m8n8.shared", "m8n8.x4.shared")
        .replace("row.col.s32.s8.s8.s32.satfinite", "row.col.satfinite.s32.s8.s8.s32");
    let want = launch(&kernel(&other), 32);
    want.clean();
    assert_eq!(launch(&kernel(body), 32).words(), want.words());
}

#[test]
fn messages_keep_the_order_as_written() {
    let text = kernel("st.u64.global [0], %d1;\nfrobnicate.b.a %r1;");
    let module = Module::parse(&text).expect("it is PTX");
    assert!(module.unknown_instructions()[0].contains("frobnicate.b.a"));
    let finding = launch(&text, 1).findings()[0].to_string();
    assert!(finding.contains("st.u64.global"), "{finding}");
}

#[test]
fn a_conversion_that_cannot_saturate_is_refused() {
    for refused in ["cvt.sat.s16.s16 %h1, %h2;", "cvt.sat.s64.u32 %d1, %r1;"] {
        let module = Module::parse(&kernel(refused)).expect("it is PTX");
        assert_eq!(module.unknown_instructions().len(), 1, "{refused}");
    }
    let module = Module::parse(&kernel("cvt.sat.s16.u16 %h1, %h2;")).expect("it is PTX");
    assert!(module.unknown_instructions().is_empty());
}
