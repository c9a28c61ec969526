//! `cp.reduce.async.bulk` into global memory, of all types.

use crate::{
    harness::{Arg, run_module},
    matrix::number::Type,
};
use ptx_emu::{Launch, Limits, Module};

/// Bytes that are combined.
const BYTES: usize = 256;

fn ptx(opcode: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[{BYTES}];\n\
         .visible .entry reduce(.param .u64 from, .param .u64 to)\n{{\n\
         .reg .b32 %w<8>;\n.reg .b64 %l<8>;\n.reg .pred %p<2>;\n\
         mov.u32 %w1, %tid.x;\nmul.wide.u32 %l1, %w1, 8;\nld.param.u64 %l2, [from];\n\
         add.u64 %l2, %l2, %l1;\nld.global.b64 %l3, [%l2];\nmov.u32 %w2, tile;\n\
         shl.b32 %w3, %w1, 3;\nadd.u32 %w4, %w2, %w3;\nst.shared.b64 [%w4], %l3;\n\
         fence.proxy.async.shared::cta;\nbar.sync 0;\nsetp.ne.u32 %p1, %w1, 0;\n@%p1 ret;\n\
         ld.param.u64 %l4, [to];\n{opcode} [%l4], [%w2], {BYTES};\n\
         cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}}\n"
    )
}

fn integer(operation: &str, ty: &str, old: u64, new: u64) -> u64 {
    let signed = |bits: u64| if ty.ends_with("32") { i64::from(bits as i32) } else { bits as i64 };
    let mask = if ty.ends_with("32") { u64::from(u32::MAX) } else { u64::MAX };
    let result = match (operation, ty.starts_with('s')) {
        ("and", _) => old & new,
        ("or", _) => old | new,
        ("xor", _) => old ^ new,
        ("add", _) => old.wrapping_add(new),
        ("inc", _) => {
            if old >= new {
                0
            } else {
                old + 1
            }
        }
        ("dec", _) => {
            if old == 0 || old > new {
                new
            } else {
                old - 1
            }
        }
        ("min", true) => signed(old).min(signed(new)) as u64,
        ("max", true) => signed(old).max(signed(new)) as u64,
        ("min", false) => old.min(new),
        _ => old.max(new),
    };
    result & mask
}

fn float(operation: &str, old: f64, new: f64) -> f64 {
    match operation {
        "add" => old + new,
        "min" => old.min(new),
        _ => old.max(new),
    }
}

fn check(form: &str) -> Result<(), String> {
    let opcode = format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{form}");
    let words: Vec<&str> = form.split('.').collect();
    let (operation, ty) = (words[0], words[words.len() - 1]);
    let module = Module::parse(&ptx(&opcode)).map_err(|e| e.to_string())?;
    let float_type = Type::named(ty).filter(|t| t.is_float());
    let element = float_type.or_else(|| Type::named("f64")).ok_or("no type")?;
    let size = match ty {
        "f16" | "bf16" => 2,
        ty if ty.ends_with("32") => 4,
        _ => 8,
    };
    let inputs = |n: u64| element.inputs('n', n, BYTES * 8 / element.bits as usize);
    let (from, to) = (inputs(1), inputs(2));
    let launch = Launch {
        kernel: "reduce".to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        ..Launch::default()
    };
    let args = vec![Arg::In(from.clone(), size), Arg::In(to.clone(), size)];
    let ran = run_module(&module, launch, Limits::default(), args);
    if let Err(error) = &ran.result {
        return Err(format!("{form}: {error}"));
    }
    let got = ran.u8(1);
    let read = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b));
    for i in 0..BYTES / size {
        let part = i * size..(i + 1) * size;
        let [old, new, got] = [&to, &from, &got].map(|list| read(&list[part.clone()]));
        let fine = match float_type {
            Some(ty) => {
                let want = float(operation, ty.value(old), ty.value(new));
                let error = (ty.value(got) - want).abs();
                error <= want.abs() * if size == 2 { 4e-3 } else { 1e-7 }
            }
            None => got == integer(operation, ty, old, new),
        };
        if !fine {
            return Err(format!("{form}: {old:x} and {new:x} gave {got:x}"));
        }
    }
    Ok(())
}

/// The forms behind `cp.reduce.async.bulk.global.shared::cta.bulk_group`.
const FORMS: [&str; 24] = [
    "and.b32",
    "and.b64",
    "or.b32",
    "or.b64",
    "xor.b32",
    "xor.b64",
    "add.u32",
    "add.s32",
    "add.u64",
    "add.f32",
    "add.f64",
    "add.noftz.f16",
    "add.noftz.bf16",
    "inc.u32",
    "dec.u32",
    "min.u32",
    "min.s32",
    "min.u64",
    "min.s64",
    "max.u32",
    "max.s64",
    "min.f16",
    "max.bf16",
    "max.f16",
];

#[test]
fn all_types_are_combined_in_bulk() {
    let wrong: Vec<String> = FORMS.iter().filter_map(|form| check(form).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Their opcodes.
pub(crate) fn opcodes() -> Vec<String> {
    let whole = |form| format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{form}");
    FORMS.iter().map(whole).collect()
}
