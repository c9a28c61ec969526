//! The instruction table: every form of every row.

mod synth;

use ptx_emu::{Module, isa};

#[test]
fn every_form_is_lowered() {
    let mut refused = Vec::new();
    for row in isa::rows() {
        let opcodes = synth::opcodes(row, 600);
        let statements: Vec<String> =
            opcodes.iter().flat_map(|o| synth::statements(row, o)).collect();
        let text = synth::kernel(&statements);
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", row.pattern()));
        let unknown = module.unknown_instructions();
        if let Some(first) = unknown.first() {
            let (n, of) = (unknown.len(), statements.len());
            refused.push(format!("{n} of {of} of `{}`: {first}", row.pattern()));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn what_no_row_accepts_is_refused() {
    for opcode in [
        "add.f32.rn",
        "add.rn.f16.f16",
        "fma.f32",
        "mul.u32",
        "ld.global",
        "ld.global.u32.v2",
        "st.global.acquire.gpu.u32",
        "cvt.f32.f64",
        "cvt.rn.rn.f32.f64",
        "setp.f32",
        "add",
        "shfl.up.b32",
        "vote.any.pred",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
        "",
        "multimem.ld_reduce.relaxed.gpu.global.add.f32",
        "ld.nc.global.f32",
        "bar",
        "frobnicate",
    ] {
        assert!(isa::find(opcode).is_none(), "`{opcode}` is accepted");
    }
}
