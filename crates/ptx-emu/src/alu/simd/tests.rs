use super::PORTABLE;
use crate::{Checks, Config, Emulator, Launch, Module, Options};

const N: usize = 512;

/// A kernel that applies `body` to each thread's inputs, in the registers `isa.txt` names.
fn kernel(number: usize, body: &str) -> String {
    let result = match body {
        _ if body.contains("%do") => "mov.b64 %res, %do;",
        _ if body.contains("%ho") => "cvt.u32.u16 %o, %ho; cvt.u64.u32 %res, %o;",
        _ => "cvt.u64.u32 %res, %o;",
    };
    let load = |x: &str, at: usize| {
        format!(
            "ld.global.u64 %d{x}, [%pa+{}]; cvt.u32.u64 %{x}, %d{x}; cvt.u16.u32 %h{x}, %{x};\n",
            at * N * 8
        )
    };
    format!(
        ".visible .entry k{number}(.param .u64 pa, .param .u64 po)\n{{\n\
         .reg .b16 %ha, %hb, %hc, %ho, %t16; .reg .b32 %i, %a, %b, %c, %o, %t32, %t7;\n\
         .reg .b64 %da, %db, %dc, %do, %t64, %off, %pa, %po, %res; .reg .pred %p, %q, %r;\n\
         mov.u32 %i, %tid.x; mul.wide.u32 %off, %i, 8;\n\
         ld.param.u64 %pa, [pa]; add.s64 %pa, %pa, %off;\n\
         ld.param.u64 %po, [po]; add.s64 %po, %po, %off;\n\
         {}{}{}and.b32 %t7, %c, 7; setp.eq.u32 %r, %t7, 3;\n{body}\n{result}\n\
         st.global.u64 [%po], %res;\nret;\n}}\n",
        load("a", 0),
        load("b", 1),
        load("c", 2)
    )
}

/// Edges of several formats in both halves, and random bits.
fn inputs() -> Vec<u8> {
    let edges: [u64; 16] = [
        0,
        1 << 63 | 1 << 31,
        0x3ff0_0000_3f80_3c00,
        0xbff0_0000_bf80_bc00,
        0x7ff0_0000_7f80_7c00,
        0xfff0_0000_ff80_fc00,
        0x7ff8_0000_7fc1_7e01,
        0x0000_0001_0000_0001,
        0x8000_0000_8000_8001,
        0x000f_ffff_007f_03ff,
        0x0010_0000_0080_0400,
        0x7fef_ffff_7f7f_7bff,
        u64::MAX,
        31,
        64,
        0x47ef_ffff_f000_0000,
    ];
    let mut state = 7_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut value = |i: usize| {
        let (random, edge) = (next(), next());
        if i.is_multiple_of(3) { edges[edge as usize % 16] } else { random >> (8 * (edge % 6)) }
    };
    (0..3 * N).flat_map(|i| value(i).to_le_bytes()).collect()
}

/// The output of the kernel for the inputs.
fn run(module: &Module, number: usize, inputs: &[u8]) -> Vec<u8> {
    let mut emulator = Emulator::new(Config::default());
    let a = emulator.alloc("a", inputs.len(), 8);
    emulator.write(a, inputs);
    let o = emulator.alloc("o", N * 8, 8);
    let args = [a, o].map(|b| emulator.address(b).to_le_bytes().to_vec()).to_vec();
    let kernel = format!("k{number}");
    let launch =
        Launch { kernel, grid: [1; 3], block: [N as u32, 1, 1], args, ..Launch::default() };
    let options = Options { checks: Checks::BOUNDS, ..Options::default() };
    let report = emulator.launch(module, &launch, &options);
    assert!(report.is_clean(), "k{number}: {report:?}");
    emulator.bytes(o).to_vec()
}

#[test]
fn portable_and_wide_loops_give_the_same_bits() {
    let bodies = include_str!("../../../tests/ptx/isa.txt").lines();
    // Dashes mark what the assembler refused.
    let bodies = bodies.filter(|line| !line.contains(" ---"));
    let bodies: Vec<&str> = bodies.filter_map(|line| line.splitn(3, ' ').nth(2)).collect();
    assert!(bodies.len() > 500);
    let mut text = ".version 8.3\n.target sm_90\n.address_size 64\n".to_owned();
    for (number, body) in bodies.iter().enumerate() {
        text.push_str(&kernel(number, body));
    }
    let parse = |portable: bool| {
        PORTABLE.set(portable);
        let module = Module::parse(&text).expect("the forms parse");
        PORTABLE.set(false);
        module
    };
    let (portable, wide) = (parse(true), parse(false));
    let inputs = inputs();
    for (number, body) in bodies.iter().enumerate() {
        let (a, b) = (run(&portable, number, &inputs), run(&wide, number, &inputs));
        let differs = a.chunks(8).zip(b.chunks(8)).position(|(a, b)| a != b);
        assert_eq!(differs, None, "thread of `{body}` whose results differ");
    }
}
