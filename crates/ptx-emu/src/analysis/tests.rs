use super::*;

/// A module with two tables, a pointer to one of them, and a kernel of these instructions.
fn module(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"k.cu\"\n\
         .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
         .extern .func (.param .b64 r) malloc (.param .b64 a);\n\
         .global .align 4 .b8 tab[32] = {{1, 2}};\n.const .align 4 .b8 con[16];\n\
         .global .align 8 .u64 ptrs[2] = {{tab, generic(con)+4}};\n\
         .func (.param .b64 out) id (.param .b64 in) {{ .reg .b64 %rd<2>;\n\
         ld.param.u64 %rd1, [in]; st.param.b64 [out+0], %rd1; ret; }}\n\
         .func get (.param .b64 in, .param .b32 n) {{ .reg .b64 %rd<2>; .reg .f32 %f<2>;\n\
         ld.param.u64 %rd1, [in]; ld.f32 %f1, [%rd1+4]; ret; }}\n\
         .visible .entry k(.param .u64 x, .param .u32 n)\n{{\n.reg .b64 %rd<30>; .reg .b32 %r<30>;\n\
         .reg .f32 %f<9>; .reg .pred %p<9>; .reg .b16 %h<9>;\n.loc 1 7 0\n\
         ld.param.u64 %rd20, [x]; cvta.to.global.u64 %rd21, %rd20; ld.param.u32 %r20, [n];\n\
         mul.wide.s32 %rd22, %r20, 4;\n mov.u64 %rd1, tab; cvta.global.u64 %rd2, %rd1;\n\
         {body}\nret;\n}}\n"
    )
}

fn misuses(body: &str) -> Vec<(MisuseKind, String)> {
    let facts = analyse(&module(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
    facts.misuses.into_iter().map(|misuse| (misuse.kind, misuse.variable)).collect()
}

#[test]
fn every_way_of_writing_or_leaking_is_a_misuse() {
    use MisuseKind::{Compared, Computed, Passed, Stored, Written};
    let cases = [
        ("st.global.u32 [tab], %r20;", Written),
        ("add.s64 %rd3, %rd2, %rd22; st.u32 [%rd3], %r20;", Written),
        ("add.s64 %rd3, %rd22, %rd2; atom.add.u32 %r1, [%rd3], 1;", Written),
        ("mad.wide.s32 %rd3, %r20, 4, %rd2; red.global.add.u32 [%rd3], 1;", Written),
        ("selp.b64 %rd3, %rd2, %rd20, %p1; st.v2.u32 [%rd3], {%r1, %r2};", Written),
        ("mov.u64 %rd3, con; cvta.const.u64 %rd4, %rd3; st.u32 [%rd4], %r20;", Written),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;", Written),
        // The address goes through memory or another variable's initial value.
        ("st.global.u64 [%rd21], %rd2;", Stored),
        ("ld.global.u64 %rd3, [ptrs]; st.u32 [%rd3], %r20;", Written),
        ("ld.global.u64 %rd3, [ptrs+8]; st.u32 [%rd3], %r20;", Written),
        ("ld.global.v2.u64 {%rd3, %rd4}, [ptrs]; st.u32 [%rd4], %r20;", Written),
        ("ld.global.u32 %r1, [ptrs];", Stored),
        ("cp.async.ca.shared.global [%r1], [ptrs], 8;", Stored),
        (
            "mov.u64 %rd5, ptrs; add.s64 %rd5, %rd5, %rd22; ld.u64 %rd3, [%rd5]; st.u8 [%rd3], %h1;",
            Written,
        ),
        // Through functions.
        (
            "{ .param .b64 p; .param .b64 q; st.param.b64 [p], %rd2; call (q), id, (p);\n\
          ld.param.b64 %rd3, [q]; } st.u32 [%rd3], %r20;",
            Written,
        ),
        (
            "{ .param .b64 p; .param .b64 q; st.param.b64 [p], %rd2; call (q), malloc, (p); }",
            Passed,
        ),
        ("{ .param .b64 p; st.param.b64 [p], %rd2; call %rd20, (p), proto; }", Passed),
        ("{ .param .b64 p; st.param.b64 [p], %rd2; ld.param.u32 %r1, [p+4]; }", Computed),
        ("{ .param .b64 p; .param .b64 q; call (q), id, (%rd2); }", Passed),
        // Bits of the address decide something.
        ("setp.gt.u64 %p1, %rd2, %rd20;", Compared),
        ("setp.lt.u64 %p1, %rd2, 1099511627776;", Compared),
        ("mov.u64 %rd6, ptrs; setp.lt.u64 %p1, %rd1, %rd6;", Compared),
        ("add.s64 %rd3, %rd1, %rd20; setp.lt.u64 %p1, %rd3, %rd1;", Compared),
        ("and.b64 %rd3, %rd2, 255; add.s64 %rd4, %rd20, %rd3; ld.u8 %h1, [%rd4];", Computed),
        ("shr.u64 %rd3, %rd2, 3;", Computed),
        ("cvt.u32.u64 %r1, %rd2;", Computed),
        ("mov.b64 {%r1, %r2}, %rd2;", Computed),
        ("sub.s64 %rd3, %rd20, %rd2;", Computed),
        (
            "sub.s64 %rd3, %rd2, %rd20; sub.s64 %rd4, %rd3, %rd2; add.s64 %rd5, %rd2, %rd3;",
            Computed,
        ),
        ("mad.lo.s64 %rd3, %rd2, 4, %rd20;", Computed),
        ("selp.b32 %r1, tab, 0, %p1;", Computed),
        ("@%p1 mul.lo.s64 %rd3, %rd2, 8;", Computed),
        // Unknown instructions fail closed.
        ("frobnicate.b64 %rd3, %rd2;", Computed),
        ("prefetch.tensormap [%rd2, {%r1, %r2}];", Computed),
        ("cp.reduce.async.bulk.tensor.2d [%rd20, {%r1, tab}], [%r1];", Written),
        ("wgmma.mma_async.sync [tab], %rd20;", Computed),
        ("{ .reg .b64 t; mov.u64 t, tab; { .reg .b32 t; mov.u32 t, 1; } st.u32 [t], 1; }", Written),
        ("{ .global .b32 own; st.global.u32 [own], 1; }", Written),
    ];
    for (body, kind) in cases {
        let found = misuses(body);
        assert!(found.iter().any(|(found, _)| *found == kind), "{body}: {found:?}");
    }
}

#[test]
fn loads_from_tables_are_no_misuse() {
    let cases = [
        "ld.global.nc.f32 %f1, [%rd2+8];",
        "add.s64 %rd3, %rd2, %rd22; ld.f32 %f1, [%rd3]; st.global.f32 [%rd21], %f1;",
        "mad.wide.s32 %rd3, %r20, 4, %rd2; ld.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];",
        "mov.u64 %rd3, tab; add.s64 %rd3, %rd3, 4; ld.u8 %h1, [%rd3+-4];",
        // A loop over a table compares addresses in it.
        "add.s64 %rd3, %rd1, %rd22; setp.le.u64 %p1, %rd3, %rd1; @%p1 bra L; ld.f32 %f1, [%rd3];\nL:",
        "add.s64 %rd3, %rd1, %rd22; sub.s64 %rd4, %rd3, %rd1; st.global.u64 [%rd21], %rd4;",
        "setp.eq.s64 %p1, %rd2, 0;",
        "selp.b64 %rd3, %rd2, %rd20, %p1; ld.f32 %f1, [%rd3];",
        "cp.async.ca.shared.global [%r1], [%rd2], 16;",
        "ld.global.u64 %rd3, [ptrs+8]; ld.f32 %f1, [%rd3+4];",
        "mov.u64 %rd4, tab; isspacep.shared %p1, %rd4;",
        "{ .param .b64 p; .param .b32 n; st.param.b64 [p], %rd2; st.param.b32 [n], %r1; call get, (p, n); }",
        "{ .param .b64 p; .param .b64 a; .param .b32 q; st.param.b64 [p], %rd2; st.param.b64 [a], %rd20;\n\
         call (q), vprintf, (p, a); ld.param.b32 %r1, [q]; }",
        "{ .param .b64 p; .param .b64 q; st.param.b64 [p], %rd2; call (q), id, (p);\n\
          ld.param.b64 %rd3, [q]; } ld.u32 %r1, [%rd3];",
        // A name of an inner scope is another register, and a register may be used again.
        "{ .reg .b64 t; mov.u64 t, tab; } { .reg .b64 t; mov.u64 t, %rd20; st.u32 [t], 1; }",
        "mov.u64 %rd3, tab; ld.f32 %f1, [%rd3]; shl.b64 %rd3, %rd20, 2;",
        // An instruction that is not known may do anything with values that are no address.
        "frobnicate.b64 %rd3, %rd20; cp.reduce.async.bulk.tensor.2d [%rd20, {%r1, %r2}], [%r1];",
        "st.u32 [%rd20], 1; atom.add.u32 %r1, [%rd21], 1;",
    ];
    for body in cases {
        assert_eq!(misuses(body), [], "{body}");
    }
}

#[test]
fn comments_and_strings_hide_nothing() {
    for hidden in ["// }\n", "/* } */", "// \" \n", "/* \" */", ".pragma \"}\";", ".pragma \"//\";"]
    {
        let body = format!("{hidden} st.global.u32 [tab], 1;");
        assert_eq!(misuses(&body), [(MisuseKind::Written, "tab".to_owned())], "{hidden}");
    }
    for odd in [
        ".pragma \"\\\"; st.global.u32 [tab], 1; //\";",
        "// \r st.global.u32 [tab], 1;",
        "// \\\n",
    ] {
        assert!(analyse(&module(odd)).is_err(), "{odd}");
    }
    assert!(analyse(&module("// one\r\n")).is_ok());
}

#[test]
fn special_registers_are_named_with_their_place() {
    let body = ".reg .b32 %clock<65>; .reg .b32 %mine; mov.u32 %r1, %tid.x; mov.u32 %r2, %smid;\n\
                mov.u32 %mine, %clock64; mov.u32 %r3, %undeclared; frobnicate {%r1, %envreg3};\n\
                cp.reduce.async.bulk.tensor.1d [%rd20, {%globaltimer_lo}], [%r1]; mov.u32 %r29, 1;";
    let facts = analyse(&module(body)).unwrap();
    let names: Vec<&str> = facts.special_registers.keys().map(String::as_str).collect();
    let expected = ["%clock64", "%envreg3", "%globaltimer_lo", "%smid", "%tid", "%undeclared"];
    assert_eq!(names, expected);
    let place = DebugLocation { at: (1, 7), inlined_at: None };
    assert_eq!(facts.special_registers["%smid"], [Some(place)]);
}

#[test]
fn the_rest_of_the_facts() {
    let facts = analyse(&module("")).unwrap();
    assert_eq!(facts.externals, ["malloc", "vprintf"]);
    assert_eq!(facts.entries["k"], [8, 4]);
    assert_eq!(facts.files[&1], "k.cu");
    assert_eq!(facts.variables.iter().map(|v| v.bytes).collect::<Vec<_>>(), [32, 16, 16]);
    assert_eq!(facts.registers, 2 + 4 + 30 + 30 + 9 + 9 + 9);
    assert!(analyse(".version 9.0\n.global .texref t;").is_err());
    for (atomic, is_global) in [
        ("atom.shared.add.u32 %r1, [%r2], 1;", false),
        ("atom.global.add.u32 %r1, [%rd22], 1;", true),
        ("red.relaxed.gpu.add.u32 [%rd22], 1;", true),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd22], [%r2], 16;", true),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd22], [%r2], 16;", false),
    ] {
        assert_eq!(analyse(&module(atomic)).unwrap().global_atomics, is_global, "{atomic}");
    }
}

/// Kernels that count in a variable, or pass a string to `%s`.
const ON_PURPOSE: [&str; 4] = ["histogram.ptx", "print.ptx", "printf_assert.ptx", "reduce.ptx"];

#[test]
fn honest_kernels_misuse_nothing() {
    let mut found = Vec::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut seen = 0;
    for folder in ["emu-corpus/ptx", "emu-corpus/ptx/sm_80", "ptx-emu/tests/ptx/pass"] {
        for file in std::fs::read_dir(format!("{root}/{folder}")).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.ends_with(".ptx") {
                continue;
            }
            let facts = analyse(&std::fs::read_to_string(&path).unwrap());
            let facts = facts.unwrap_or_else(|error| panic!("{name}: {error}"));
            if !facts.misuses.is_empty() {
                found.push(name.to_owned());
            }
            seen += 1;
        }
    }
    found.sort();
    found.dedup();
    assert_eq!(found, ON_PURPOSE);
    assert!(seen > 90, "{seen}");
}
