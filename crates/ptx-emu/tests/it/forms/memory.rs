//! Loads, stores and atomics in every state space against bytes on the host.

use std::fmt::Write as _;

use ptx_emu::{Config, Emulator, Launch, Module, Options, isa::InstructionForm};

use super::{
    float,
    inputs::{Random, values},
    integer,
    number::format,
    oracle::{Op, Want, joined, pairwise},
    synth::{HEAD, REGISTERS, opcodes, statements, width},
};
use crate::harness::Bytes as _;

/// Threads of a launch.
const N: usize = 32;

/// Bytes that belong to a thread.
const CELL: usize = 32;

/// Where a statement's address points.
fn space<'a>(op: &Op<'a>) -> &'a str {
    let spaces = ["const", "global", "local", "param", "shared"];
    let named = op.parts.iter().find(|p| spaces.contains(&p.split("::").next().unwrap_or("")));
    named.map_or("generic", |s| s.split("::").next().unwrap_or(s))
}

/// A kernel around a statement whose address is `%l1`, `%l2` or, in parameters, a name.
///
/// Each thread's cell of the space is filled from `in` before, and written to `out` after.
fn kernel(n: usize, op: &Op<'_>, statement: &str, regs: &[(String, u32)]) -> String {
    let at = if op.name == "st" || op.name == "red" { "%l1" } else { "%l2" };
    let mut text = format!(
        ".const .align 32 .b8 c{n}[{CELL}] = {{{}}};\n\
         .visible .entry k{n}(.param .u64 in, .param .u64 out, .param .u64 regs,\n\
         .param .align 32 .b8 whole[{CELL}])\n{{\n{REGISTERS}\
         .shared .align 32 .b8 s{n}[{}];\n.local .align 32 .b8 d[{CELL}];\n\
         .param .align 32 .b8 part[{CELL}];\nld.param.u64 %l60, [in];\nld.param.u64 %l61, [out];\n\
         ld.param.u64 %l58, [regs];\nmov.u32 %w60, %tid.x;\nmul.wide.u32 %l62, %w60, {CELL};\n\
         add.s64 %l60, %l60, %l62;\nadd.s64 %l61, %l61, %l62;\nmul.wide.u32 %l57, %w60, 8;\n\
         add.s64 %l58, %l58, %l57;\n",
        (0..CELL).map(|b| byte(b).to_string()).collect::<Vec<_>>().join(", "),
        N * CELL,
    );
    // The cell, and how its bytes are filled and read.
    let (address, name, fill) = match space(op) {
        "shared" => (format!("mov.u64 %l59, s{n};\nadd.s64 %l59, %l59, %l62;"), "%l59", "shared"),
        "local" => ("mov.u64 %l59, d;".to_owned(), "%l59", "local"),
        "const" => (format!("mov.u64 %l59, c{n};"), "%l59", "const"),
        "param" if op.has("param::func") || op.name == "st" => (String::new(), "part", "param"),
        "param" => (String::new(), "whole", "none"),
        _ => ("mov.u64 %l59, %l61;".to_owned(), "%l59", "global"),
    };
    writeln!(text, "{address}").expect("a string takes all");
    for k in 0..CELL / 8 {
        if !matches!(fill, "const" | "none") {
            writeln!(
                text,
                "ld.global.u64 %l63, [%l60+{}];\nst.{fill}.u64 [{name}+{}], %l63;",
                8 * k,
                8 * k
            )
            .expect("a string takes all");
        }
    }
    let sources = regs.iter().filter(|(r, _)| reads(op, r));
    for (k, (reg, bits)) in sources.enumerate() {
        let load = format!("ld.global.u64 %l63, [%l58+{}];", k * N * 8);
        writeln!(text, "{load}\n{}", into(reg, *bits)).expect("a string takes all");
    }
    let statement = statement.replace(&format!("[{at}]"), &format!("[{name}]"));
    writeln!(text, "{statement}").expect("a string takes all");
    let outputs = regs.iter().filter(|(r, _)| !reads(op, r));
    for (k, (reg, bits)) in outputs.enumerate() {
        writeln!(text, "{}\nst.global.u64 [%l58+{}], %l63;", out_of(reg, *bits), (16 + k) * N * 8)
            .expect("a string takes all");
    }
    for k in 0..CELL / 8 {
        let from = if fill == "none" { "param" } else { fill };
        writeln!(
            text,
            "ld.{from}.u64 %l63, [{name}+{}];\nst.global.u64 [%l61+{}], %l63;",
            8 * k,
            8 * k
        )
        .expect("a string takes all");
    }
    text.push_str("ret;\n}\n");
    text
}

fn byte(at: usize) -> u8 {
    (at * 37 + 129) as u8
}

fn into(reg: &str, bits: u32) -> String {
    match bits {
        16 => format!("cvt.u16.u64 {reg}, %l63;"),
        32 => format!("cvt.u32.u64 {reg}, %l63;"),
        _ => format!("mov.b64 {reg}, %l63;"),
    }
}

fn out_of(reg: &str, bits: u32) -> String {
    match bits {
        16 => format!("cvt.u64.u16 %l63, {reg};"),
        32 => format!("cvt.u64.u32 %l63, {reg};"),
        _ => format!("mov.b64 %l63, {reg};"),
    }
}

/// Whether a data register is an operand, else a result. The first operand of `ld` and `atom` is
/// the result; its registers bear the numbers 1 or 4 and up.
fn reads(op: &Op<'_>, reg: &str) -> bool {
    let number: usize = reg[2..].parse().expect("a number");
    match op.name {
        "ld" | "ldu" => false,
        "atom" if several(op) => !matches!(number, 4..12),
        "atom" => number != 1,
        _ => true,
    }
}

/// Whether a result has more than one register.
fn several(op: &Op<'_>) -> bool {
    op.ty() == "b128" || op.parts.iter().any(|p| matches!(*p, "v2" | "v4" | "v8"))
}

/// Registers named in a statement, without the address and the cache policy.
fn registers(op: &Op<'_>, statement: &str) -> Vec<(String, u32)> {
    let policy = op.has("L2::cache_hint");
    let list = statement.split_once(' ').map_or("", |(_, rest)| rest);
    let mut names: Vec<&str> =
        list.split([',', ' ', '{', '}', ';']).filter(|t| t.starts_with('%')).collect();
    if policy {
        names.pop();
    }
    let bits = |name: &str| match name.as_bytes()[1] {
        b'h' => 16,
        b'w' => 32,
        _ => 64,
    };
    names.iter().map(|name| ((*name).to_owned(), bits(name))).collect()
}

/// Runs all statements of a row; the first that does wrong is the error.
pub(super) fn check(row: &InstructionForm, limit: u64) -> Result<(), String> {
    let mut text = HEAD.to_owned();
    let mut list = Vec::new();
    for opcode in opcodes(row, limit) {
        for statement in statements(row, &opcode) {
            let op = Op::new(&opcode);
            let mut statement = statement;
            // A 128-bit register is made of, and read as, two of 64 bits.
            let wide = op.ty() == "b128";
            let regs = if wide { Vec::new() } else { registers(&op, &statement) };
            let regs = if wide { halves(&op, &mut statement) } else { regs };
            text.push_str(&kernel(list.len(), &op, &statement, &regs));
            list.push((opcode.clone(), statement, regs));
        }
    }
    let module = Module::parse(&text).map_err(|e| format!("{}: {e}", row.pattern()))?;
    for (n, (opcode, statement, regs)) in list.iter().enumerate() {
        one(&module, n, &Op::new(opcode), statement, regs)
            .map_err(|e| format!("{statement} {e}"))?;
    }
    Ok(())
}

/// Rewrites 128-bit registers as pairs; gives the registers of the pairs.
fn halves(op: &Op<'_>, statement: &mut String) -> Vec<(String, u32)> {
    let names: Vec<String> = statement
        .split([',', ' ', ';'])
        .filter(|t| t.starts_with("%q"))
        .map(str::to_owned)
        .collect();
    let mut regs = Vec::new();
    for name in &names {
        let number: usize = name[2..].parse().expect("a number");
        // Number 1 stands for results: registers 4 and 5 do as well.
        let first = if number == 1 { 4 } else { 10 + 2 * number };
        let pair = [format!("%l{first}"), format!("%l{}", first + 1)];
        let result = !reads(op, &pair[0]);
        let moves = format!("{{{}, {}}}", pair[0], pair[1]);
        *statement = if result {
            format!("{statement}\nmov.b128 {moves}, {name};")
        } else {
            format!("mov.b128 {name}, {moves};\n{statement}")
        };
        regs.extend(pair.map(|r| (r, 64)));
    }
    regs
}

fn one(
    module: &Module,
    n: usize,
    op: &Op<'_>,
    statement: &str,
    regs: &[(String, u32)],
) -> Result<(), String> {
    let mut random = Random(n as u64 + 5);
    let n_sources = regs.iter().filter(|(r, _)| reads(op, r)).count();
    let element = if op.ty() == "b128" { "b64" } else { op.ty() };
    let mut given = values(element, n, 24 * N);
    given.iter_mut().for_each(|v| *v &= u64::MAX >> (64 - width(element).expect("a type")));
    let bytes = width(element).expect("a type") as usize / 8;
    let mut cells: Vec<u8> = (0..N * CELL).map(|_| random.next() as u8).collect();
    if op.name == "atom" || op.name == "red" {
        // Cells hold values of the type, and every other compare value is equal to its cell.
        let held = values(element, n + 99, N * CELL / bytes);
        for (cell, value) in cells.chunks_mut(bytes).zip(&held) {
            cell.copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        if op.has("cas") {
            for thread in (0..N).step_by(2) {
                for k in 0..n_sources / 2 {
                    let at = thread * CELL + k * bytes;
                    given[k * N + thread] = little(&cells[at..at + bytes]);
                }
            }
        }
    }
    let mut emulator = Emulator::new(Config::default());
    let mut buffer = |bytes: &[u8]| {
        let id = emulator.alloc("cells", bytes.len(), 8);
        emulator.write(id, bytes);
        id
    };
    let input = buffer(&cells);
    let output = buffer(&vec![0; N * CELL]);
    let data = buffer(&given.bytes());
    let whole: Vec<u8> = (0..CELL).map(byte).collect();
    let mut args =
        [input, output, data].map(|b| emulator.address(b).to_le_bytes().to_vec()).to_vec();
    args.push(whole.clone());
    let launch = Launch {
        kernel: format!("k{n}"),
        grid: [1, 1, 1],
        block: [N as u32, 1, 1],
        dynamic_smem: 0,
        cluster: None,
        args,
    };
    let ended = emulator.launch(module, &launch, &Options::default()).into_result();
    ended.map_err(|error| error.to_string())?;
    let after = emulator.bytes(output).to_vec();
    let seen: Vec<u64> = emulator.bytes(data).chunks(8).map(little).collect();
    let space = space(op);
    let common =
        space == "const" || (space == "param" && !op.has("param::func") && op.name != "st");
    for thread in 0..N {
        let before = if common { &whole[..] } else { &cells[thread * CELL..][..CELL] };
        let operands: Vec<u64> = (0..n_sources).map(|k| given[k * N + thread]).collect();
        let (results, cell) = expected(op, before, &operands, regs.len() - n_sources)
            .ok_or_else(|| "has no oracle".to_owned())?;
        for (k, want) in results.iter().enumerate() {
            let got = seen[(16 + k) * N + thread];
            if !want.allows(got) {
                return Err(format!("gave {got:x} for {before:x?}, not {want:x?} ({statement})"));
            }
        }
        let got = &after[thread * CELL..][..CELL];
        for (k, (got, want)) in got.chunks(bytes).zip(&cell).enumerate() {
            if !want.allows(little(got)) {
                return Err(format!("left {got:x?} as element {k}, not {want:x?}"));
            }
        }
    }
    Ok(())
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
}

/// Results and contents of the cell, element by element, after the instruction.
fn expected(
    op: &Op<'_>,
    before: &[u8],
    operands: &[u64],
    n_results: usize,
) -> Option<(Vec<Want>, Vec<Want>)> {
    let ty = if op.ty() == "b128" { "b64" } else { op.ty() };
    let n = width(ty)?;
    let elements: Vec<u64> = before.chunks(n as usize / 8).map(little).collect();
    let mut cell: Vec<Want> = elements.iter().map(|e| Want::Bits(*e)).collect();
    let mut results = Vec::new();
    match op.name {
        "ld" | "ldu" => {
            // Eight-bit values have registers of sixteen bits here, filled by their sign.
            let loaded = |e: &u64| integer::bits(integer::value(*e, ty), n.max(16));
            results = elements.iter().take(n_results).map(|e| Want::Bits(loaded(e))).collect();
        }
        "st" => {
            for (cell, value) in cell.iter_mut().zip(operands) {
                *cell = Want::Bits(*value);
            }
        }
        _ => {
            results = cell[..n_results].to_vec();
            if op.has("cas") {
                let half = operands.len() / 2;
                if elements[..half] == operands[..half] {
                    for (cell, value) in cell.iter_mut().zip(&operands[half..]) {
                        *cell = Want::Bits(*value);
                    }
                }
            } else {
                for (k, operand) in operands.iter().enumerate() {
                    cell[k] = combined(op, elements[k], *operand)?;
                }
            }
        }
    }
    Some((results, cell))
}

/// The new value that an atomic makes of the old one.
fn combined(op: &Op<'_>, old: u64, operand: u64) -> Option<Want> {
    let ty = op.ty();
    let element = ty.trim_end_matches("x2");
    if op.has("exch") {
        return Some(Want::Bits(operand));
    }
    if format(element).is_some() {
        // Sums in memory of the device flush subnormal singles; those in shared memory do not.
        let ftz = ty == "f32" && space(op) != "shared";
        let text = match (op.parts.iter().find(|p| matches!(**p, "add" | "min" | "max"))?, ftz) {
            (name, true) => format!("{name}.ftz.{element}"),
            (name, false) => format!("{name}.{element}"),
        };
        let inner = Op::new(&text);
        let one = |s: &[u64]| float::oracle(&inner, s).map(|mut w| w.remove(0));
        return if ty == element {
            one(&[old, operand])
        } else {
            Some(joined(pairwise(&[old, operand], one)?))
        };
    }
    let (a, b) = (integer::value(old, ty), integer::value(operand, ty));
    let new = match *op.parts.iter().find(|p| OPERATIONS.contains(p))? {
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "add" => a + b,
        "inc" => {
            if a >= b {
                0
            } else {
                a + 1
            }
        }
        "dec" => {
            if a == 0 || a > b {
                b
            } else {
                a - 1
            }
        }
        "min" => a.min(b),
        _ => a.max(b),
    };
    Some(Want::Bits(integer::bits(new, width(ty)?)))
}

const OPERATIONS: [&str; 8] = ["and", "or", "xor", "add", "inc", "dec", "min", "max"];
