//! Operands of the wrong number or kind: refused or run, but never a panic.

use std::fmt::Write as _;

use ptx_emu::{Config, Emulator, Launch, Limits, Module, Options, isa};

use super::{
    inputs::Random,
    synth::{HEAD, REGISTERS, opcodes, statements},
};

const OPERANDS: [&str; 40] = [
    "%p1",
    "!%p1",
    "%h1",
    "%w1",
    "%l1",
    "%q1",
    "_",
    "0",
    "1",
    "-1",
    "99999999999",
    "0f3F800000",
    "0d3FF0000000000000",
    "[%l1]",
    "[%w1]",
    "[%l1+4]",
    "[whole]",
    "[whole-9]",
    "[part]",
    "[nowhere]",
    "[8]",
    "[%p1]",
    "[%q1]",
    "{%w1, %w2}",
    "{%l1, %l2}",
    "{%h1, %h2, %h3, %h4}",
    "{%w1, %w2, %w3, %w4}",
    "{%w1, %w2, %w3, %w4, %w5, %w6, %w7, %w8}",
    "{_, %l2}",
    "{}",
    "{%q1}",
    "(%w1)",
    "(part)",
    "%p1|%p2",
    "%w1|%p1",
    "_|%p1",
    "$end",
    "f",
    "%tid.x",
    "whole",
];

fn pick(random: &mut Random) -> &'static str {
    OPERANDS[random.next() as usize % OPERANDS.len()]
}

/// A statement with operands drawn at random, or with one of the right ones replaced.
fn statement(row: &isa::InstructionForm, opcode: &str, random: &mut Random) -> String {
    let right = statements(row, opcode);
    let right = &right[random.next() as usize % right.len()];
    // Vectors have commas of their own.
    if right.contains('{') || random.next().is_multiple_of(3) {
        let list: Vec<_> = (0..random.next() % 7).map(|_| pick(random)).collect();
        return format!("{opcode} {};", list.join(", "));
    }
    let list = right[opcode.len()..].trim_end_matches(';');
    let mut words: Vec<&str> = list.split(',').map(str::trim).collect();
    let at = random.next() as usize % words.len();
    words[at] = pick(random);
    if random.next().is_multiple_of(4) {
        words.push(pick(random));
    }
    format!("{opcode} {};", words.join(", "))
}

#[test]
fn wrong_operands_never_panic() {
    let mut random = Random(4);
    let mut n = 0;
    for row in isa::rows() {
        let mut text = HEAD.to_owned();
        let first = n;
        for opcode in opcodes(row, 8).iter().flat_map(|o| [o; 8]) {
            let statement = statement(row, opcode, &mut random);
            write!(
                text,
                ".visible .entry k{n}(.param .align 16 .b8 whole[16])\n{{\n{REGISTERS}\
                 .param .align 16 .b8 part[16];\nld.param.u64 %l1, [whole];\nmov.u32 %w1, %tid.x;\n\
                 {statement}\n$end:\nret;\n}}\n"
            )
            .expect("a string takes all");
            n += 1;
        }
        let module = match Module::parse(&text) {
            Ok(module) => module,
            Err(error) => panic!("{}: {error}", row.pattern()),
        };
        let mut emulator = Emulator::new(Config::default());
        let buffer = emulator.alloc("cells", 256, 4);
        emulator.write(buffer, &[7; 256]);
        let mut whole = emulator.address(buffer).to_le_bytes().to_vec();
        whole.resize(16, 0);
        for k in first..n {
            let launch = Launch {
                kernel: format!("k{k}"),
                grid: [1, 1, 1],
                block: [40, 1, 1],
                args: vec![whole.clone()],
                ..Launch::default()
            };
            let limits = Limits { lane_instructions: 10_000, ..Limits::default() };
            let options = Options { limits, ..Options::default() };
            // Whatever comes of it, it comes as a value.
            drop(emulator.launch(&module, &launch, &options));
        }
    }
    assert!(n > 5000);
}
