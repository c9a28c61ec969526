//! Small kernels around instructions that look beyond their own lane: warp operations, barriers,
//! control flow, copies, moves and instructions without effect.

use ptx_emu::{Config, Emulator, Launch, Module, Options};

use super::{
    inputs::values,
    synth::{HEAD, REGISTERS},
};
use crate::harness::Bytes as _;

/// Threads of a launch: two warps.
pub(super) const N: usize = 64;

/// The result of thread `t` for the inputs `a` and `b` of all threads.
pub(super) type Expect = Box<dyn Fn(&[u64], &[u64], usize) -> u64>;

/// A kernel's body, which computes `%l60` from `%l1`, `%w1` (inputs `a`), `%l2`, `%w2` (inputs
/// `b`), `%p1` (lowest bit of `b`), `%w60` (thread) and `%w59` (lane).
pub(super) struct Case {
    pub(super) opcode: String,
    body: String,
    expect: Expect,
}

impl Case {
    pub(super) fn new(
        opcode: &str,
        body: impl Into<String>,
        expect: impl Fn(&[u64], &[u64], usize) -> u64 + 'static,
    ) -> Self {
        Self { opcode: opcode.to_owned(), body: body.into(), expect: Box::new(expect) }
    }

    fn kernel(&self, n: usize) -> String {
        format!(
            ".const .align 4 .u32 c{n} = 7;\n.visible .entry k{n}(.param .u64 in, .param .u64 out)\n{{\n\
             {REGISTERS}.shared .align 16 .b8 s{n}[{}];\n.local .align 16 .b8 d{n}[16];\n\
             .reg .b8 %b<8>;\n\
             ld.param.u64 %l58, [in];\nld.param.u64 %l59, [out];\nmov.u32 %w60, %tid.x;\n\
             mov.u32 %w59, %laneid;\nmul.wide.u32 %l57, %w60, 8;\nadd.s64 %l58, %l58, %l57;\n\
             add.s64 %l59, %l59, %l57;\nld.global.u64 %l1, [%l58];\nld.global.u64 %l2, [%l58+{}];\n\
             cvt.u32.u64 %w1, %l1;\ncvt.u32.u64 %w2, %l2;\nand.b32 %w3, %w2, 1;\n\
             setp.ne.u32 %p1, %w3, 0;\nmov.b64 %l60, 0;\n{}\nst.global.u64 [%l59], %l60;\nret;\n}}\n",
            16 * N,
            8 * N,
            // The shared and local arrays, the constant and the labels are the kernel's own.
            self.body.replace('#', &n.to_string()),
        )
    }
}

/// Runs all cases; returns the failures.
pub(super) fn run(cases: &[Case]) -> Vec<String> {
    let mut text = HEAD.to_owned();
    for (n, case) in cases.iter().enumerate() {
        text.push_str(&case.kernel(n));
    }
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut wrong = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let (a, b) = (values("u64", n, N), values("u64", n + 500, N));
        let mut emulator = Emulator::new(Config::default());
        let input = emulator.alloc("in", 16 * N, 8);
        emulator.write(input, &[a.clone(), b.clone()].concat().bytes());
        let output = emulator.alloc("out", 8 * N, 8);
        emulator.poison(output, &[0xee]);
        let launch = Launch {
            kernel: format!("k{n}"),
            grid: [1, 1, 1],
            block: [N as u32, 1, 1],
            dynamic_smem: 0,
            cluster: None,
            args: [input, output].map(|b| emulator.address(b).to_le_bytes().to_vec()).to_vec(),
        };
        if let Err(error) = emulator.launch(&module, &launch, &Options::default()).into_result() {
            wrong.push(format!("{}: {error}", case.opcode));
            continue;
        }
        let (got, _) = emulator.bytes(output).as_chunks::<8>();
        for (t, got) in got.iter().enumerate() {
            let (got, want) = (u64::from_le_bytes(*got), (case.expect)(&a, &b, t));
            if got != want {
                wrong.push(format!("{}: thread {t} gave {got:x}, not {want:x}", case.opcode));
                break;
            }
        }
    }
    wrong
}
