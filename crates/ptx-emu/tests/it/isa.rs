//! Instruction forms against the results of an H200; see `tests/ptx/isa.py`.

use crate::harness::{Arg, Bytes};
use ptx_emu::{Config, Emulator, Launch, Module, Options};

const N: usize = 512;

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A kernel that applies `body` to each thread's inputs.
fn kernel(number: usize, body: &str) -> String {
    let finish = if body.contains("%do") {
        "mov.b64 %res, %do;"
    } else if body.contains("%ho") {
        "cvt.u32.u16 %o, %ho; cvt.u64.u32 %res, %o;"
    } else {
        "cvt.u64.u32 %res, %o;"
    };
    let mut text = format!(".visible .entry k{number}(");
    text.push_str(".param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po)\n{\n");
    text.push_str(".reg .b16 %ha, %hb, %hc, %ho, %t16;\n");
    text.push_str(".reg .b32 %i, %a, %b, %c, %o, %t32, %t7;\n");
    text.push_str(".reg .b64 %da, %db, %dc, %do, %t64, %off, %pa, %pb, %pc, %po, %res;\n");
    text.push_str(".reg .pred %p, %q, %r;\nmov.u32 %i, %tid.x;\nmul.wide.u32 %off, %i, 8;\n");
    for p in ["pa", "pb", "pc", "po"] {
        line(&mut text, &format!("ld.param.u64 %{p}, [{p}];\nadd.s64 %{p}, %{p}, %off;"));
    }
    for x in ["a", "b", "c"] {
        line(&mut text, &format!("ld.global.u64 %d{x}, [%p{x}];"));
        line(&mut text, &format!("cvt.u32.u64 %{x}, %d{x};\ncvt.u16.u32 %h{x}, %{x};"));
    }
    line(&mut text, &format!("and.b32 %t7, %c, 7;\nsetp.eq.u32 %r, %t7, 3;\n{body}\n{finish}"));
    text.push_str("st.global.u64 [%po], %res;\nret;\n}\n");
    text
}

const F32: [u64; 28] = [
    0,
    1 << 31,
    0x3F80_0000,
    0xBF80_0000,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0xFFC1_2345,
    1,
    0x8000_0001,
    0x007F_FFFF,
    0x0080_0000,
    0x7F7F_FFFF,
    0x3F00_0000,
    0x3FC0_0000,
    0x4020_0000,
    0xC020_0000,
    0x4B00_0000,
    0x4B7F_FFFF,
    0x4F00_0000,
    0xCF00_0000,
    0x4F80_0000,
    0x5F00_0000,
    0x3380_0000,
    0x3400_0000,
    0x7E80_0000,
    0x7F00_0000,
    0x3EAA_AAAB,
];
const F64: [u64; 21] = [
    0,
    1 << 63,
    0x3FF0_0000_0000_0000,
    0xBFF0_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    0xFFF0_0000_0000_0000,
    0x7FF8_0000_0000_0000,
    0xFFF8_0000_1234_5678,
    1,
    0x000F_FFFF_FFFF_FFFF,
    0x0010_0000_0000_0000,
    0x7FEF_FFFF_FFFF_FFFF,
    0x3FE0_0000_0000_0000,
    0x3FF8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x41E0_0000_0000_0000,
    0xC1E0_0000_0020_0000,
    0x43E0_0000_0000_0000,
    0x36A0_0000_0000_0000,
    0x47EF_FFFF_F000_0000,
    0x3810_0000_0000_0000,
];
const F16: [u64; 16] = [
    0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 1, 0x8001, 0x03FF, 0x0400, 0x7BFF,
    0x3800, 0x4100, 0x0C00,
];
const BF16: [u64; 16] = [
    0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 1, 0x8001, 0x007F, 0x0080, 0x7F7F,
    0x3F00, 0x4020, 0x3380,
];
const INT: [u64; 24] = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    1 << 32,
    0x7FFF_FFFF_FFFF_FFFF,
    1 << 63,
    u64::MAX,
    0x1234_5678_9ABC_DEF0,
    0xFEDC_BA98_7654_3210,
];

/// The inputs that `isa.py` makes.
fn inputs(kind: char, array: u64) -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15 ^ (u64::from(kind) * 1_000_003 + array);
    let mut rnd = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..8 {
        rnd();
    }
    let edges: &[u64] = match kind {
        'i' => &INT,
        'f' => &F32,
        'd' => &F64,
        'h' => &F16,
        _ => &BF16,
    };
    let n = edges.len() as u64;
    let mut value = || {
        let (r, s) = (rnd(), rnd());
        let edge = edges[((r >> 8) % n) as usize];
        match (kind, r % 3) {
            ('i' | 'f' | 'd', 0) => edge,
            ('i', _) => s >> ((r >> 40) % 64),
            ('f', 1) => (s & 0x807F_FFFF) | ((110 + (r >> 20) % 40) << 23),
            ('d', 1) => (s & 0x800F_FFFF_FFFF_FFFF) | ((1000 + (r >> 20) % 50) << 52),
            ('d', _) => s,
            ('h' | 'b', 0) => edge | edges[((r >> 16) % n) as usize] << 16,
            _ => s & 0xFFFF_FFFF,
        }
    };
    (0..N).map(|_| value()).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
}

/// Results of a float instruction with every NaN as the one of all ones; see `isa.py`.
fn as_one_nan(body: &str, bytes: &[u8]) -> Vec<u8> {
    let ty = body.split(' ').next().and_then(|opcode| opcode.rsplit('.').next());
    let (lanes, width, fraction) = match ty.expect("an opcode") {
        "f64" => (1, 64, 52),
        "f32" => (1, 32, 23),
        "f16" => (1, 16, 10),
        "f16x2" => (2, 16, 10),
        "bf16" => (1, 16, 7),
        ty => panic!("{ty} has no NaN"),
    };
    let largest = u64::MAX >> (65 - width);
    let infinity = largest >> fraction << fraction;
    let one = |word: u64| {
        (0..lanes).map(|lane| 16 * lane).fold(word, |word, at| {
            let is_nan = (word >> at) & largest > infinity;
            let all = 2 * largest + 1;
            if is_nan { word & !(all << at) | largest << at } else { word }
        })
    };
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().flat_map(|word| one(u64::from_le_bytes(*word)).to_le_bytes()).collect()
}

#[test]
fn every_form_computes_what_a_gpu_computes() {
    let cases: Vec<(char, &str, &str)> = include_str!("../ptx/isa.txt")
        .lines()
        .map(|line| {
            let (kind, rest) = line.split_once(' ').unwrap();
            let (golden, body) = rest.split_once(' ').unwrap();
            (kind.chars().next().unwrap(), golden, body)
        })
        .collect();
    assert!(cases.len() > 500);
    let mut text = HEAD.to_owned();
    for (number, (_, _, body)) in cases.iter().enumerate() {
        text.push_str(&kernel(number, body));
    }
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut emulator = Emulator::new(Config::default());
    let result = emulator.alloc("result", 8 * N, 8);
    let mut wrong = Vec::new();
    for (number, (kind, golden, body)) in cases.iter().enumerate() {
        let mut args = Vec::new();
        for array in 0..3 {
            let Arg::In(bytes, size) = Arg::from(&inputs(*kind, array)) else { unreachable!() };
            let buffer = emulator.alloc("input", bytes.len(), size);
            emulator.write(buffer, &bytes);
            args.push([emulator.address(buffer)].as_slice().bytes());
        }
        args.push([emulator.address(result)].as_slice().bytes());
        let launch = Launch {
            kernel: format!("k{number}"),
            grid: [1, 1, 1],
            block: [N as u32, 1, 1],
            dynamic_smem: 0,
            cluster: None,
            args,
        };
        emulator.poison(result, &[0]);
        let ended = emulator.launch(&module, &launch, &Options::default()).into_result();
        let bytes = emulator.bytes(result);
        let got = match golden.strip_prefix('~') {
            Some(_) => format!("~{:016x}", hash(&as_one_nan(body, bytes))),
            None => format!("{:016x}", hash(bytes)),
        };
        if let Err(error) = ended {
            // Forms that the assembler refuses need not be known.
            if golden.starts_with('-') {
                continue;
            }
            wrong.push(format!("{body}: {error}"));
        } else if !golden.starts_with(['-', '?', '!']) && got != *golden {
            wrong.push(format!("case {number} ({kind}): {body}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
