//! Statements made from rows of the instruction table.

use std::fmt::Write as _;

use ptx_emu::isa::InstructionForm;

/// Head of a kernel of synthetic statements.
pub(super) const HEAD: &str = "\
.version 8.8
.target sm_90a
.address_size 64
.func (.param .b32 r0) f(.param .b32 a0)
{
.reg .b32 %r<2>;
ld.param.b32 %r1, [a0];
st.param.b32 [r0], %r1;
ret;
}
";

/// Registers of the synthetic statements.
pub(super) const REGISTERS: &str = "\
.reg .pred %p<8>;
.reg .b16 %h<64>;
.reg .b32 %w<64>;
.reg .b64 %l<64>;
.reg .b128 %q<8>;
";

/// The opcodes of a row to try: all, or a sample that has every alternative of every choice.
pub(super) fn opcodes(row: &InstructionForm, limit: u64) -> Vec<String> {
    let count = row.count();
    if count <= limit {
        return (0..count).map(|n| row.opcode(n)).collect();
    }
    // A stride without a factor in common with the choices' lengths walks through all of them.
    let stride =
        [97_u64, 101, 103, 107].into_iter().find(|s| !count.is_multiple_of(*s)).unwrap_or(1);
    let step = (count / limit).max(1) / stride * stride + stride;
    (0..limit).map(|n| row.opcode(n * step % count)).collect()
}

/// Types of an opcode in order.
pub(super) fn types(opcode: &str) -> Vec<&str> {
    opcode.split('.').skip(1).filter(|part| width(part).is_some()).collect()
}

/// Bits of a type; 1 for a predicate.
pub(super) fn width(ty: &str) -> Option<u32> {
    Some(match ty {
        "pred" => 1,
        "b8" | "u8" | "s8" => 8,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 16,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => 32,
        "b64" | "u64" | "s64" | "f64" => 64,
        "b128" => 128,
        _ => return None,
    })
}

fn register(bits: u32, n: usize) -> String {
    match bits {
        1 => format!("%p{n}"),
        8 | 16 => format!("%h{n}"),
        32 => format!("%w{n}"),
        64 => format!("%l{n}"),
        _ => format!("%q{n}"),
    }
}

fn vector(bits: u32, first: usize, n: usize) -> String {
    let list: Vec<_> = (0..n).map(|k| register(bits, first + k)).collect();
    format!("{{{}}}", list.join(", "))
}

/// Dimensions of a tensor copy.
fn dimensions(opcode: &str) -> usize {
    let rank = opcode.split('.').find_map(|part| part.strip_suffix('d')?.parse().ok());
    rank.expect("the opcode names a rank")
}

/// A product of a warpgroup, with A in registers or by descriptor.
fn product(opcode: &str, registers: bool) -> String {
    let n = opcode.split(['n', 'k']).find_map(|part| part.parse::<usize>().ok());
    let n = n.expect("the opcode names a shape");
    let halves = opcode.split('.').nth_back(2) == Some("f16");
    let sparse = if opcode.contains(".sp.") { "%w6, 0, " } else { "" };
    let list = vec!["%w5"; if halves { n / 4 } else { n / 2 }];
    let a = if registers { "{%w1, %w2, %w3, %w4}" } else { "%l1" };
    let tail = match opcode.rsplit('.').next() {
        _ if opcode.contains("s32") => "",
        Some("f16" | "bf16") if registers => ", 1, -1, 0",
        Some("f16" | "bf16") => ", 1, -1, 0, 0",
        _ => ", 1, -1",
    };
    format!("{opcode} {{{}}}, {a}, %l2, {sparse}%p1{tail};", list.join(", "))
}

/// The operand that a word of the table asks for, or statements that make it up; operands of different `n` differ.
fn operand(word: &str, opcode: &str, n: usize) -> String {
    let types = types(opcode);
    let (first, last) = (types.first().copied(), types.last().copied());
    let bits = |ty: Option<&str>| width(ty.unwrap_or("b32")).unwrap_or(32);
    match word {
        "T" => register(bits(last), n),
        "U" => register(bits(first), n),
        "D" => register(2 * bits(last), n),
        "H" => register(16, n),
        "W" => register(32, n),
        "L" | "C" => register(64, n),
        "Q" => register(128, n),
        "P" => register(1, n),
        "!P" => format!("!{}", register(1, n)),
        "P|P" => "%p1|%p2".to_owned(),
        "W|P" => "%w1|%p1".to_owned(),
        "A" => format!("[%l{n}]"),
        "I" => "3".to_owned(),
        "selector" => "0".to_owned(),
        "size" => "4".to_owned(),
        "size16" => "16".to_owned(),
        "fraction" => "0f3F000000".to_owned(),
        "label" => "$end".to_owned(),
        "tensor" => format!("[%l{n}, {}]", vector(32, 1, dimensions(opcode))),
        "offsets" => vector(16, 1, dimensions(opcode) - 2),
        "sink" => "_".to_owned(),
        "V" => match ["v2", "v4", "v8"].iter().find(|v| opcode.split('.').any(|p| p == **v)) {
            Some(v) => vector(bits(last), 4 * n, v[1..].parse().expect("a number")),
            None => register(bits(last), n),
        },
        _ => match word.split_at(word.len() - 1) {
            (k, "W") if k.parse::<usize>().is_ok() => vector(32, 8 * n, k.parse().expect("")),
            (k, "L") if k.parse::<usize>().is_ok() => vector(64, 8 * n, k.parse().expect("")),
            _ => panic!("`{word}` of `{opcode}` is no known operand"),
        },
    }
}

/// All ways to write the operands: with and without those that may be left out.
pub(super) fn statements(row: &InstructionForm, opcode: &str) -> Vec<String> {
    match row.operands() {
        "table" | "W table" => return vec![format!("{opcode} %w1, $table;")],
        "wgmma*" => return vec![product(opcode, false), product(opcode, true)],
        "call*" => return vec![format!("{opcode} (r0), f, (a0);")],
        "d a" => return moves(opcode),
        _ => {}
    }
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    for word in row.operands().split(' ').filter(|w| !w.is_empty()) {
        if word == "C" && !opcode.contains("L2::cache_hint") {
            continue;
        }
        let (full, spare) = match word.strip_suffix('?') {
            Some(full) => (full, true),
            None => (word, false),
        };
        let mut longer = Vec::new();
        for list in lists {
            let with = |text: String| list.iter().cloned().chain([text]).collect::<Vec<_>>();
            longer.push(with(operand(full, opcode, list.len() + 1)));
            if spare && full.contains('|') {
                longer.push(with(operand(&full[..1], opcode, list.len() + 1)));
            } else if spare {
                longer.push(list);
            }
        }
        lists = longer;
    }
    lists.into_iter().map(|list| format!("{opcode} {};", list.join(", "))).collect()
}

/// `mov` between registers, of a literal, and into and out of vectors.
fn moves(opcode: &str) -> Vec<String> {
    let ty = types(opcode)[0];
    let bits = width(ty).expect("a type");
    let (d, a) = (register(bits, 1), register(bits, 2));
    let mut out = vec![format!("{opcode} {d}, {a};")];
    let parts: &[(u32, usize)] = match ty {
        "b16" => &[(8, 2)],
        "b32" => &[(16, 2), (8, 4)],
        "b64" => &[(32, 2), (16, 4)],
        "b128" => &[(64, 2), (32, 4)],
        _ => &[],
    };
    for &(bits, n) in parts {
        out.push(format!("{opcode} {d}, {};", vector(bits, 4, n)));
        out.push(format!("{opcode} {}, {a};", vector(bits, 4, n)));
    }
    out
}

/// A kernel of these statements.
pub(super) fn kernel(statements: &[String]) -> String {
    let mut text = format!("{HEAD}.visible .entry k()\n{{\n{REGISTERS}");
    text.push_str(".param .b32 a0;\n.param .b32 r0;\n$table: .branchtargets $end;\n");
    for statement in statements {
        writeln!(text, "{statement}").expect("a string takes all");
    }
    text.push_str("$end:\nret;\n}\n");
    text
}
