//! The instruction table: every form of every row.

mod approx;
mod compare;
mod convert;
mod float;
mod inputs;
mod integer;
mod memory;
mod number;
mod oracle;
mod run;
mod synth;

use self::oracle::Op;
use ptx_emu::{Module, isa, isa::Row};

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

/// Rows whose instructions compute registers from registers, lane by lane.
fn computes(row: &Row) -> bool {
    use isa::Family as F;
    let by_value = matches!(
        row.family(),
        F::Integer
            | F::Logic
            | F::Single
            | F::Approximate
            | F::Double
            | F::Half
            | F::Compare
            | F::Convert
    );
    by_value && row.mnemonic() != "mov"
}

#[test]
fn every_computing_form_agrees_with_its_oracle() {
    let mut wrong = Vec::new();
    for row in isa::rows().iter().filter(|row| computes(row)) {
        for (opcode, ran) in run::run(row, &synth::opcodes(row, 60)) {
            let op = Op::new(&opcode);
            if let Some(why) = disagreement(&op, &ran) {
                wrong.push(format!("{}: {why}", ran.text));
            }
        }
    }
    let n = wrong.len();
    wrong.truncate(100);
    assert!(wrong.is_empty(), "{n} forms:\n{}", wrong.join("\n"));
}

#[test]
fn loads_stores_and_atomics_move_the_right_bytes() {
    use isa::Family as F;
    let in_memory = |row: &&Row| matches!(row.family(), F::Load | F::Store | F::Atomic);
    let wrong: Vec<String> = isa::rows()
        .iter()
        .filter(in_memory)
        .filter_map(|row| memory::check(row, 90).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first thread whose results the oracle does not allow.
fn disagreement(op: &Op<'_>, ran: &run::Ran) -> Option<String> {
    for (sources, got) in ran.sources.iter().zip(&ran.results) {
        let Some(want) = oracle::oracle(op, sources) else { return Some("no oracle".to_owned()) };
        for (got, want) in got.iter().zip(&want) {
            if !want.allows(*got) {
                return Some(format!("{sources:x?} gave {got:x}, not {want:x?}"));
            }
        }
    }
    None
}
