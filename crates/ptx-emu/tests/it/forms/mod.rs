//! The instruction table: every form of every row.

mod approx;
mod compare;
mod convert;
mod float;
mod inputs;
mod integer;
mod lanes;
mod memory;
mod number;
mod oracle;
mod page;
mod rest;
mod run;
mod synth;
mod warp;
mod wrong;

use self::oracle::Op;
use ptx_emu::{Module, isa, isa::InstructionForm};

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
        "add.rn.f16.f16",
        "fma.f32",
        "mul.u32",
        "ld.global",
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
        "bar",
        "frobnicate",
    ] {
        assert!(isa::find(opcode).is_none(), "`{opcode}` is accepted");
    }
}

/// Rows whose instructions compute registers from registers, lane by lane.
fn computes(row: &InstructionForm) -> bool {
    use isa::InstructionGroup as F;
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

/// Rows whose instructions move or change bytes in memory.
fn in_memory(row: &&InstructionForm) -> bool {
    matches!(
        row.family(),
        isa::InstructionGroup::Load | isa::InstructionGroup::Store | isa::InstructionGroup::Atomic
    )
}

#[test]
fn loads_stores_and_atomics_move_the_right_bytes() {
    let wrong: Vec<String> = isa::rows()
        .iter()
        .filter(in_memory)
        .filter_map(|row| memory::check(row, 90).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The cases of a row that looks beyond its lane or computes nothing.
fn cases(row: &InstructionForm) -> Vec<lanes::Case> {
    let opcodes = synth::opcodes(row, 40);
    opcodes.iter().flat_map(|o| warp::cases(o).into_iter().chain(rest::cases(o))).collect()
}

#[test]
fn warps_barriers_copies_and_branches_do_what_the_manual_says() {
    let all: Vec<lanes::Case> = isa::rows().iter().flat_map(cases).collect();
    assert!(all.len() > 200);
    let wrong = lanes::run(&all);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn a_carry_goes_from_word_to_word() {
    let cases = [
        lanes::Case::new(
            "addc.u64",
            "add.cc.u64 %l3, %l1, %l2;\naddc.u64 %l60, 0, 0;",
            |a, b, t| u64::from(a[t].checked_add(b[t]).is_none()),
        ),
        lanes::Case::new(
            "addc.cc.u32",
            "add.cc.u32 %w4, %w1, %w2;\naddc.cc.u32 %w5, %w1, %w2;\naddc.u32 %w6, 0, 0;\n\
             mov.b64 %l3, {%w5, %w6};\nmov.u64 %l60, %l3;",
            |a, b, t| {
                let (a, b) = (a[t] & 0xffff_ffff, b[t] & 0xffff_ffff);
                (a + b) + ((a + b) >> 32)
            },
        ),
        lanes::Case::new(
            "subc.u64",
            "sub.cc.u64 %l3, %l1, %l2;\nsubc.u64 %l60, 0, 0;",
            |a, b, t| {
                if a[t] < b[t] { u64::MAX } else { 0 }
            },
        ),
        lanes::Case::new(
            "subc.cc.u32",
            "sub.cc.u32 %w4, %w1, %w2;\nsubc.cc.u32 %w5, %w2, %w1;\nsubc.u32 %w6, 0, 0;\nmov.b64 %l60, {%w5, %w6};",
            |a, b, t| {
                let (a, b) = ((a[t] & 0xffff_ffff) as i64, (b[t] & 0xffff_ffff) as i64);
                let second = b - a - i64::from(a < b);
                u64::from(second as u32) | if second < 0 { 0xffff_ffff_0000_0000 } else { 0 }
            },
        ),
        lanes::Case::new(
            "madc.hi.cc.u32",
            "mad.lo.cc.u32 %w4, %w1, %w2, %w1;\nmadc.hi.cc.u32 %w5, %w1, %w2, %w2;\naddc.u32 %w6, 0, 0;\n\
             mov.b64 %l60, {%w5, %w6};",
            |a, b, t| {
                let (a, b) = (a[t] & 0xffff_ffff, b[t] & 0xffff_ffff);
                let low = u128::from((a * b) & 0xffff_ffff) + u128::from(a);
                let high = (u128::from(a * b) >> 32) + u128::from(b) + (low >> 32);
                high as u64
            },
        ),
        lanes::Case::new(
            "madc.lo.u64",
            "mad.lo.cc.u64 %l3, %l1, %l2, %l1;\nmadc.lo.u64 %l60, %l1, %l2, %l2;",
            |a, b, t| {
                let product = a[t].wrapping_mul(b[t]);
                let carry = product.checked_add(a[t]).is_none();
                product.wrapping_add(b[t]).wrapping_add(u64::from(carry))
            },
        ),
    ];
    let wrong = lanes::run(&cases);
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
