//! PTX as others write it: what the assembler takes and NVRTC does not make.

mod ahead;
mod barriers;
mod operands;
mod order;
mod parse;
mod tracking;
mod variables;

use ptx_emu::{BufferId, Emulator, Finding, Launch, Module, Options, Report};

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

/// Registers of [`kernel`], and its parameter `out` in `%out`.
const REGISTERS: &str = "\
.reg .pred %p<8>;
.reg .b16 %h<8>;
.reg .b32 %r<32>;
.reg .b32 %f<32>;
.reg .b64 %d<16>;
.reg .b64 %out, %at;
ld.param.u64 %out, [out];
mov.u32 %r0, %tid.x;
mul.wide.u32 %at, %r0, 8;
add.u64 %at, %at, %out;
";

/// A module with a kernel `k`: `%at` is the thread's place of 8 bytes in `out`, `%r0` its number.
fn kernel(body: &str) -> String {
    module("", body)
}

/// The same behind other declarations.
fn module(declarations: &str, body: &str) -> String {
    let entry = ".visible .entry k(.param .u64 out)";
    format!("{HEAD}{declarations}\n{entry}\n{{\n{REGISTERS}{body}\nret;\n}}\n")
}

/// A launch that ended, and the buffer behind `out`.
struct Ran {
    report: Report,
    emulator: Emulator,
    out: BufferId,
}

impl Ran {
    /// The places of the threads.
    fn words(&self) -> Vec<u64> {
        let (chunks, _) = self.emulator.bytes(self.out).as_chunks();
        chunks.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
    }

    fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// The place of the first thread, of a launch without findings.
    fn clean(&self) -> u64 {
        assert!(self.report.end.is_ok(), "{:?}", self.report.end);
        assert!(self.findings().is_empty(), "{:?}", self.findings());
        self.words()[0]
    }
}

fn launch_with(text: &str, threads: u32, options: &Options) -> Ran {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut emulator = Emulator::default();
    let out = emulator.alloc("out", threads as usize * 8, 8);
    emulator.write(out, &vec![0; threads as usize * 8]);
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        args: vec![emulator.address(out).to_le_bytes().to_vec()],
        ..Launch::default()
    };
    let report = emulator.launch(&module, &launch, options);
    Ran { report, emulator, out }
}

fn launch(text: &str, threads: u32) -> Ran {
    launch_with(text, threads, &Options::default())
}

/// The 64 bits that thread 0 of 32 stores at `[%at]`.
fn result(body: &str) -> u64 {
    launch(&kernel(body), 32).clean()
}
