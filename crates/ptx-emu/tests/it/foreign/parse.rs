//! Text that NVRTC does not write.

use ptx_emu::{FindingKind, LaunchError, Module, analysis};

use super::{HEAD, kernel, launch, module, result};

#[test]
fn float_literals() {
    for (text, value) in [
        ("0.", 0.0),
        ("1.", 1.0),
        ("1e3", 1e3),
        ("-0.5", -0.5),
        (".5", 0.5),
        ("2.5E-3", 2.5e-3),
        ("-0d3FF0000000000000", -1.0),
        ("0.25", 0.25),
    ] {
        let bits = result(&format!("mov.f64 %d1, {text};\nst.global.f64 [%at], %d1;"));
        assert_eq!(bits, f64::to_bits(value), "{text}");
        let body = format!("mov.f32 %f1, {text};\nst.global.f32 [%at], %f1;");
        assert_eq!(result(&body) as u32, (value as f32).to_bits(), "{text}");
    }
    let text = module(
        ".global .f32 init[3] = {1., -.5, 1e1};",
        "ld.global.f32 %f1, [init+4];\nst.global.f32 [%at], %f1;",
    );
    assert_eq!(launch(&text, 1).clean() as u32, (-0.5_f32).to_bits());
    let pairs = ".global .v2 .u32 pairs[] = {{1, 2}, {3, 4}};";
    let text = module(pairs, "ld.global.u64 %d1, [pairs+8];\nst.global.u64 [%at], %d1;");
    assert_eq!(launch(&text, 1).clean(), 4 << 32 | 3);
}

#[test]
fn constant_expressions() {
    for (text, value) in [("1<<5", 32), ("(4+4)*2-1", 15), ("-(3)", u64::MAX - 2), ("~0&0xff", 255)]
    {
        let body = format!("mov.u64 %d1, {text};\nst.global.u64 [%at+2*4-8], %d1;");
        let body = if text.starts_with('(') { body.replace("(4+4)*2", "2*(4+4)") } else { body };
        assert_eq!(result(&body), value, "{text}");
    }
}

#[test]
fn directives_without_spaces() {
    let declarations = "\
.func (.param.b32 r) twice(.param.b32 x)
{
.reg.b32 %a;
ld.param.b32 %a, [x];
add.s32 %a, %a, %a;
st.param.b32 [r], %a;
ret;
}
.global.u64 cell = 7;";
    let body = "\
.param.b32 x;
.param.b32 y;
mov.b32 %r1, 21;
st.param.b32 [x], %r1;
call (y), twice, (x);
ld.param.b32 %r2, [y];
ld.global.u64 %d1, [cell];
cvt.u64.u32 %d2, %r2;
add.u64 %d1, %d1, %d2;
st.global.u64 [%at], %d1;";
    assert_eq!(launch(&module(declarations, body), 32).clean(), 49);
    let text = format!("{HEAD}.entry k(.param.u64 out)\n{{\nret;\n}}\n");
    assert_eq!(Module::parse(&text).expect("it is PTX").param_sizes("k"), Some(vec![8]));
}

#[test]
fn parameters_and_results_in_registers() {
    let declarations = "\
.func (.reg .b32 r, .reg .pred q) pick(.reg .pred p, .reg .b32 a, .reg .u64 b)
{
.reg .b32 t;
cvt.u32.u64 t, b;
selp.b32 r, a, t, p;
setp.gt.u32 q, r, 5;
@!p ret;
add.u32 r, r, 100;
}
.func (.param .v2 .b32 r) swapped(.param .v2 .b32 v)
{
.reg .b32 x, y;
ld.param.v2.b32 {x, y}, [v];
st.param.v2.b32 [r], {y, x};
ret;
}";
    let body = "\
.param .v2 .b32 v; .param .v2 .b32 w;
setp.lt.u32 %p1, %r0, 1;
mov.u64 %d1, 9;
call (%r1, %p2), pick, (%p1, 3, %d1);
selp.u32 %r2, 1000, 0, %p2;
add.u32 %r1, %r1, %r2;
st.param.v2.b32 [v], {%r1, %r2};
call (w), swapped, (v);
ld.param.v2.b32 {%r3, %r4}, [w];
cvt.u64.u32 %d2, %r4;
st.global.u64 [%at], %d2;";
    let ran = launch(&module(declarations, body), 32);
    assert_eq!((ran.clean(), ran.words()[1]), (103, 1009));
}

#[test]
fn vectors_are_parameters_and_are_moved() {
    let declarations = "\
.func (.reg .v4 .b32 r) twice(.reg .v4 .b32 a, .reg .v2 .b64 b)
{
add.u32 r.x, a.x, a.x;
add.u32 r.y, a.y, a.y;
cvt.u32.u64 r.z, b.x;
cvt.u32.u64 r.w, b.y;
ret;
}";
    let body = "\
.reg .v4 .b32 v, w;
.reg .v2 .b64 d;
mov.b32 v.x, 1; mov.b32 v.y, 2; mov.b32 v.z, 3; mov.b32 v.w, 4;
mov.b64 d.x, 300; mov.b64 d.y, 5000;
mov.v4.b32 w, v;
mov.v4.b32 {v.x, v.y, v.z, v.w}, {w.y, w.x, w.w, w.z};
call (w), twice, (v, d);
add.u32 w.x, w.x, w.y; add.u32 w.x, w.x, w.z; add.u32 w.x, w.x, w.w;
mad.lo.u32 w.x, v.x, 10000, w.x;
cvt.u64.u32 %d1, w.x;
st.global.u64 [%at], %d1;";
    assert_eq!(launch(&module(declarations, body), 32).clean(), 25306);
}

#[test]
fn vector_registers() {
    let body = "\
.reg .v4 .b32 v;
.reg .v2 .f32 w<2>;
.reg .b32 sum;
mov.b32 v.x, 1; mov.b32 v.y, 2; mov.b32 v.b, 3; mov.b32 v.w, 4;
.shared .align 16 .b8 s[512];
mul.lo.u32 %r1, %r0, 16;
mov.u32 %r2, s;
add.u32 %r2, %r2, %r1;
st.shared.v4.b32 [%r2], v;
ld.shared.v2.f32 w1, [%r2+8];
add.u32 sum, w1.x, w1.y;
add.u32 sum, sum, v.y;
cvt.u64.u32 %d1, sum;
st.global.u64 [%at], %d1;";
    assert_eq!(result(body), 9);
}

#[test]
fn what_cannot_be_read_is_unsupported_where_it_stands() {
    for wrong in
        ["add.s32 %r1, %r2, #3;", "mov.b32 %r1, 0f12;", "mad.lo %r1, {%r2, %r3", "x.y [%r1;"]
    {
        let wrong = if wrong.ends_with(';') { wrong.to_owned() } else { format!("{wrong};") };
        let text = kernel(&format!("setp.eq.u32 %p1, %r0, 99;\n@!%p1 bra on;\n{wrong}\non:"));
        launch(&text, 32).clean();
        let text = kernel(&format!("mov.u32 %r1, 1;\n{wrong}"));
        let opcode = wrong.split(' ').next().expect("it has an opcode");
        match launch(&text, 32).report.end {
            Err(LaunchError::Unsupported { instruction, .. }) => assert_eq!(instruction, opcode),
            other => panic!("{wrong}: {other:?}"),
        }
        // The address of a variable may hide there.
        assert!(analysis::analyse(&text).is_err(), "{wrong}");
    }
    // The end of the function is no part of an instruction.
    assert!(Module::parse(&kernel("add.s32 %r1, }")).is_err());
}

#[test]
fn addresses_of_32_bits_are_named() {
    let text = kernel("mov.u32 %r1, 1;").replace(".address_size 64", ".address_size 32");
    let message = Module::parse(&text).expect_err("it has 32 bits").to_string();
    assert!(message.contains(".address_size 32") && message.contains("64-bit"), "{message}");
}

#[test]
fn only_addresses_near_zero_are_null() {
    for (address, kind) in [
        ("0", FindingKind::NullPointer),
        ("0xffff", FindingKind::NullPointer),
        ("0x87654320", FindingKind::OutOfBoundsRead),
    ] {
        let text = kernel(&format!("mov.u64 %d1, {address};\nld.global.u8 %r1, [%d1];"));
        let ran = launch(&text, 1);
        assert_eq!(ran.findings()[0].kind, kind, "{address}: {:?}", ran.findings());
    }
}
