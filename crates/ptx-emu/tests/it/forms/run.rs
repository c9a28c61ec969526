//! Runs single instructions on chosen inputs.

use std::fmt::Write as _;

use ptx_emu::{Config, Emulator, Launch, Module, Options, isa::InstructionForm};

use super::{
    inputs::values,
    synth::{HEAD, REGISTERS, statements, types, width},
};
use crate::harness::Bytes as _;

/// Threads of a launch, each with inputs of its own.
pub(super) const N: usize = 512;

/// Results of a statement.
pub(super) struct Ran {
    /// The statement.
    pub(super) text: String,
    /// Inputs of each thread, in the order of the operands.
    pub(super) sources: Vec<Vec<u64>>,
    /// Results of each thread.
    pub(super) results: Vec<Vec<u64>>,
}

/// An operand of a statement that is a register.
struct Operand {
    /// Register with its `!`.
    name: String,
    /// Bits; 1 for a predicate.
    bits: u32,
    /// Type its values are drawn from.
    ty: String,
}

/// The registers of a statement: destinations and sources. `words` are those of the table.
fn operands(opcode: &str, words: &[&str], statement: &str) -> (Vec<Operand>, Vec<Operand>) {
    let list = statement[opcode.len()..].trim_end_matches(';');
    let texts: Vec<&str> = list.split([',', '|']).map(str::trim).collect();
    let types = types(opcode);
    let (first, last) = (types.first().copied(), types.last().copied());
    let words: Vec<&str> = words.iter().flat_map(|w| w.trim_end_matches('?').split('|')).collect();
    // A pair that may be left out leaves one word too many.
    let words = if words.len() > texts.len() { [&words[..1], &words[2..]].concat() } else { words };
    let n_results = if list.contains('|') { 2 } else { 1 };
    let mut all = texts.iter().zip(words).filter_map(|(name, word)| {
        let ty = match word {
            "T" | "D" => last.unwrap_or("b32"),
            "U" => first.unwrap_or("b32"),
            "P" | "!P" => "pred",
            "W" => "amount",
            "L" => "b64",
            _ => return None,
        };
        let bits = if ty == "amount" { 32 } else { width(ty).expect("a type") };
        let bits = if word == "D" { 2 * bits } else { bits };
        let ty = if word == "D" { format!("{}{bits}", &ty[..1]) } else { ty.to_owned() };
        Some(Operand { name: (*name).to_owned(), bits, ty })
    });
    let results = all.by_ref().take(n_results).collect();
    (results, all.collect())
}

/// A kernel that applies the statement to each thread's inputs.
fn kernel(n: usize, statement: &str, results: &[Operand], sources: &[Operand]) -> String {
    let mut text =
        format!(".visible .entry k{n}(.param .u64 in, .param .u64 out)\n{{\n{REGISTERS}");
    text.push_str(
        "ld.param.u64 %l60, [in];\nld.param.u64 %l61, [out];\nmov.u32 %w60, %tid.x;\n\
         mul.wide.u32 %l62, %w60, 8;\nadd.s64 %l60, %l60, %l62;\nadd.s64 %l61, %l61, %l62;\n",
    );
    for (k, Operand { name, bits, .. }) in sources.iter().enumerate() {
        writeln!(text, "ld.global.u64 %l63, [%l60+{}];", k * N * 8).expect("a string takes all");
        let line = match bits {
            1 => format!("setp.ne.u64 {}, %l63, 0;", name.trim_start_matches('!')),
            8 | 16 => format!("cvt.u16.u64 {name}, %l63;"),
            32 => format!("cvt.u32.u64 {name}, %l63;"),
            _ => format!("mov.b64 {name}, %l63;"),
        };
        writeln!(text, "{line}").expect("a string takes all");
    }
    writeln!(text, "{statement}").expect("a string takes all");
    for (k, Operand { name, bits, .. }) in results.iter().enumerate() {
        let line = match bits {
            1 => format!("selp.u64 %l63, 1, 0, {name};"),
            8 | 16 => format!("cvt.u64.u16 %l63, {name};"),
            32 => format!("cvt.u64.u32 %l63, {name};"),
            _ => format!("mov.b64 %l63, {name};"),
        };
        writeln!(text, "{line}\nst.global.u64 [%l61+{}], %l63;", k * N * 8)
            .expect("a string takes all");
    }
    text.push_str("ret;\n}\n");
    text
}

/// Runs all statements of these opcodes of a row.
pub(super) fn run(row: &InstructionForm, opcodes: &[String]) -> Vec<(String, Ran)> {
    let words: Vec<&str> = row.operands().split(' ').filter(|w| *w != "I").collect();
    let mut text = HEAD.to_owned();
    let mut list = Vec::new();
    for opcode in opcodes {
        for statement in statements(row, opcode) {
            // The table of `lop3` is no register.
            let plain = statement.replace(", 3", "");
            let (results, sources) = operands(opcode, &words, &plain);
            text.push_str(&kernel(list.len(), &statement, &results, &sources));
            list.push((opcode, statement, results, sources));
        }
    }
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", row.pattern()));
    let mut emulator = Emulator::new(Config::default());
    let mut out = Vec::new();
    for (n, (opcode, text, results, sources)) in list.into_iter().enumerate() {
        let arrays: Vec<Vec<u64>> =
            sources.iter().enumerate().map(|(k, o)| values(&o.ty, n * 8 + k, N)).collect();
        let input = emulator.alloc("in", (arrays.len() * N * 8).max(8), 8);
        emulator.write(input, &arrays.concat().bytes());
        let output = emulator.alloc("out", results.len() * N * 8, 8);
        let args = [input, output].map(|b| emulator.address(b).to_le_bytes().to_vec()).to_vec();
        let launch = Launch {
            kernel: format!("k{n}"),
            grid: [1, 1, 1],
            block: [N as u32, 1, 1],
            dynamic_smem: 0,
            cluster: None,
            args,
        };
        let ended = emulator.launch(&module, &launch, &Options::default()).into_result();
        if let Err(error) = ended {
            panic!("{text}: {error}");
        }
        let got: Vec<u64> = emulator
            .bytes(output)
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| u64::from_le_bytes(*b))
            .collect();
        let negated: Vec<bool> = sources.iter().map(|o| o.name.starts_with('!')).collect();
        let masks: Vec<u64> = sources.iter().map(|o| u64::MAX >> (64 - o.bits)).collect();
        let source = |i: usize, k: usize| {
            let value = arrays[k][i];
            match sources[k].bits {
                1 => u64::from((value != 0) != negated[k]),
                _ => value & masks[k],
            }
        };
        let ran = Ran {
            text,
            sources: (0..N).map(|i| (0..arrays.len()).map(|k| source(i, k)).collect()).collect(),
            results: (0..N).map(|i| (0..results.len()).map(|k| got[k * N + i]).collect()).collect(),
        };
        emulator.free(input);
        emulator.free(output);
        out.push((opcode.clone(), ran));
    }
    out
}
