//! Random valid programs: any string of bytes is one, with the invariants of all of them.

use std::fmt::Write as _;

use ptx_emu::{BufferId, Checks, Emulator, Launch, LaunchError, Limits, Module, Options, Report};

/// A kernel and how it is launched.
#[derive(Debug)]
pub(crate) struct Program {
    /// The PTX.
    pub(crate) text: String,
    /// Threads of a block.
    pub(crate) block: u32,
    /// Blocks.
    pub(crate) grid: u32,
}

/// Bytes of each buffer of the kernel: sixteen for each of 512 threads, and some to spare.
const BYTES: usize = 8192 + 64;

/// Lane instructions a program may run.
const BUDGET: u64 = 60_000;

/// Instructions with operands drawn from registers that always hold something: `r` and `i` are 32
/// bits (`i` may be a number), `d` 64, `f` float, `g` double, `h` 16, `p` a predicate; `R`, `D`, `F`,
/// `G`, `H` and `P` are written.
const PLAIN: &[&str] = &[
    "add.s32 R, r, i",
    "sub.s32 R, r, i",
    "mul.lo.s32 R, r, i",
    "mul.hi.u32 R, r, i",
    "mad.lo.s32 R, r, i, r",
    "div.s32 R, r, i",
    "rem.u32 R, r, i",
    "min.s32 R, r, i",
    "max.u32 R, r, i",
    "and.b32 R, r, i",
    "or.b32 R, r, i",
    "xor.b32 R, r, i",
    "not.b32 R, r",
    "shl.b32 R, r, i",
    "shr.s32 R, r, i",
    "shr.u32 R, r, i",
    "popc.b32 R, r",
    "clz.b32 R, r",
    "brev.b32 R, r",
    "bfe.u32 R, r, i, i",
    "bfe.s32 R, r, i, i",
    "bfi.b32 R, r, r, i, i",
    "prmt.b32 R, r, r, i",
    "shf.l.wrap.b32 R, r, r, i",
    "dp4a.s32.s32 R, r, r, r",
    "sad.s32 R, r, r, r",
    "mul24.lo.s32 R, r, r",
    "abs.s32 R, r",
    "neg.s32 R, r",
    "mov.u32 R, %laneid",
    "mov.u32 R, %ctaid.x",
    "selp.b32 R, r, i, p",
    "add.cc.s32 R, r, r",
    "addc.s32 R, r, r",
    "add.s64 D, d, d",
    "sub.s64 D, d, d",
    "mul.lo.s64 D, d, d",
    "mul.wide.s32 D, r, i",
    "mul.wide.u32 D, r, r",
    "mad.wide.u32 D, r, r, d",
    "div.u64 D, d, d",
    "rem.s64 D, d, d",
    "shl.b64 D, d, i",
    "shr.u64 D, d, r",
    "cvt.u64.u32 D, r",
    "cvt.s64.s32 D, r",
    "cvt.u32.u64 R, d",
    "cvt.s8.s32 R, r",
    "mov.b64 D, {r, r}",
    "mov.b64 {R, R}, d",
    "add.f32 F, f, f",
    "sub.rz.f32 F, f, f",
    "mul.ftz.f32 F, f, f",
    "fma.rn.f32 F, f, f, f",
    "div.rn.f32 F, f, f",
    "sqrt.rn.f32 F, f",
    "rcp.approx.f32 F, f",
    "ex2.approx.f32 F, f",
    "sin.approx.f32 F, f",
    "min.f32 F, f, f",
    "max.NaN.f32 F, f, f",
    "abs.f32 F, f",
    "neg.f32 F, f",
    "cvt.rzi.s32.f32 R, f",
    "cvt.rn.f32.s32 F, r",
    "cvt.rn.f16.f32 H, f",
    "cvt.f32.f16 F, h",
    "mov.b32 R, f",
    "mov.b32 F, r",
    "add.f64 G, g, g",
    "fma.rn.f64 G, g, g, g",
    "div.rn.f64 G, g, g",
    "cvt.f64.f32 G, f",
    "cvt.rn.f32.f64 F, g",
    "add.f16 H, h, h",
    "fma.rn.f16 H, h, h, h",
    "add.s16 H, h, h",
    "cvt.u16.u32 H, r",
    "cvt.u32.u16 R, h",
    "setp.lt.s32 P, r, i",
    "setp.ge.u32 P, r, r",
    "setp.eq.s64 P, d, d",
    "setp.ltu.f32 P, f, f",
    "setp.gt.f64 P, g, g",
    "and.pred P, p, p",
    "not.pred P, p",
    "xor.pred P, p, p",
    "activemask.b32 R",
];

/// Operations of a warp or a block, right only where threads come together.
const SYNC: &[&str] = &[
    "bar.sync 0",
    "barrier.sync 1, 64",
    "bar.arrive 2, 64",
    "bar.red.popc.u32 R, 0, p",
    "bar.warp.sync 0xffffffff",
    "bar.warp.sync r",
    "shfl.sync.idx.b32 R, r, i, 31, 0xffffffff",
    "shfl.sync.down.b32 R|P, r, 1, 31, -1",
    "vote.sync.ballot.b32 R, p, 0xffffffff",
    "vote.sync.all.pred P, p, r",
    "match.any.sync.b32 R, r, 0xffffffff",
    "redux.sync.add.s32 R, r, 0xffffffff",
    "membar.gl",
    "fence.acq_rel.gpu",
];

/// Accesses to memory; the address stands for `A`.
const ACCESS: &[&str] = &[
    "ld.S.b32 R, A",
    "st.S.b32 A, r",
    "ld.S.v2.b32 {R, R}, A",
    "st.S.v4.b32 A, {r, r, r, r}",
    "ld.S.u8 R, A",
    "st.S.b16 A, h",
    "ld.S.b64 D, A",
    "st.S.b64 A, d",
    "ld.S.f32 F, A",
    "st.S.f64 A, g",
    "ld.volatile.S.b32 R, A",
];

/// Atomics.
const ATOMIC: &[&str] = &[
    "atom.S.add.u32 R, A, r",
    "atom.S.cas.b32 R, A, r, r",
    "atom.S.exch.b64 D, A, d",
    "red.S.max.s32 A, r",
    "atom.S.add.f32 F, A, f",
    "red.S.or.b32 A, i",
];

/// Draws choices from bytes; zeros follow the last one.
struct Draw<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl Draw<'_> {
    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    fn below(&mut self, n: usize) -> usize {
        self.byte() as usize % n
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }

    fn ended(&self) -> bool {
        self.bytes.len() == 0
    }
}

struct Writer<'b> {
    draw: Draw<'b>,
    text: String,
    labels: u32,
    /// Whether addresses may be anything.
    wild: bool,
}

impl Program {
    /// The program that `bytes` stand for.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut draw = Draw { bytes: bytes.iter() };
        let block = [32, 64, 1, 40, 96][draw.below(5)];
        let grid = 1 + draw.below(3) as u32;
        let wild = draw.below(4) == 0;
        let mut writer = Writer { draw, text: HEAD.to_owned(), labels: 0, wild };
        let mut length = 0;
        while !writer.draw.ended() && length < 40 {
            writer.statement(0);
            length += 1;
        }
        writer.text.push_str(TAIL);
        Self { text: writer.text, block, grid }
    }
}

/// Fills every register with something that differs between threads.
const HEAD: &str = "\
.version 9.0
.target sm_90
.address_size 64
.const .align 8 .b8 table[64] = {1, 2, 3};
.func (.param .b32 result) twice(.param .b32 x)
{
.reg .b32 %q<3>;
ld.param.b32 %q1, [x];
add.s32 %q2, %q1, %q1;
st.param.b32 [result], %q2;
ret;
}
.visible .entry k(.param .u64 a, .param .u64 b)
{
.reg .b32 %r<9>; .reg .b64 %d<5>; .reg .f32 %f<5>; .reg .f64 %g<3>; .reg .b16 %h<3>;
.reg .pred %p<4>; .reg .b32 %t<4>; .reg .b64 %u<8>; .reg .b32 %c<8>;
.shared .align 16 .b8 s[2112];
.local .align 16 .b8 l[80];
ld.param.u64 %u1, [a]; ld.param.u64 %u2, [b];
cvta.to.global.u64 %u1, %u1; cvta.to.global.u64 %u2, %u2;
mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mov.u32 %t3, %tid.x;
mad.lo.s32 %t1, %t1, %t2, %t3;
mov.u64 %u5, s; mov.u64 %u6, l;
mov.u32 %r0, %t1; mov.u32 %r1, %t3; mov.u32 %r2, 7; mov.u32 %r3, -1; mov.u32 %r4, %t2;
mov.u32 %r5, 0x80000000; mov.u32 %r6, 3; mov.u32 %r7, 0; mov.u32 %r8, 100;
cvt.u64.u32 %d0, %t1; mov.u64 %d1, 1; mov.u64 %d2, -5; mov.u64 %d3, %u1; mov.u64 %d4, 0;
mov.f32 %f0, 0f3F800000; cvt.rn.f32.u32 %f1, %t1; mov.f32 %f2, 0fC0490FDB;
mov.f32 %f3, 0f00000001; mov.f32 %f4, 0f7F7FFFFF;
mov.f64 %g0, 0d3FF0000000000000; mov.f64 %g1, 0dC00921FB54442D18; mov.f64 %g2, 0d0000000000000001;
mov.u16 %h0, 15360; mov.u16 %h1, 1; mov.u16 %h2, 64512;
setp.lt.u32 %p0, %t3, 16; setp.eq.u32 %p1, %t1, 0; setp.ne.u32 %p2, 0, 0; not.pred %p3, %p2;
shl.b32 %t0, %t3, 4; and.b32 %t0, %t0, 2032; cvt.u64.u32 %u3, %t0; add.s64 %u3, %u3, %u5;
st.shared.v4.b32 [%u3], {%r0, %r1, %r2, %r3};
st.local.v4.b32 [%u6], {%r0, %r1, %r2, %r3}; st.local.v4.b32 [%u6+16], {%r4, %r5, %r6, %r7};
st.local.v4.b32 [%u6+32], {%r0, %r1, %r2, %r3}; st.local.v4.b32 [%u6+48], {%r4, %r5, %r6, %r7};
";

/// Each thread stores its registers.
const TAIL: &str = "\
mul.wide.u32 %u3, %t1, 16; add.s64 %u3, %u3, %u2;
xor.b32 %r0, %r0, %r1; xor.b32 %r2, %r2, %r3; xor.b32 %r4, %r4, %r5; xor.b32 %r6, %r6, %r7;
xor.b32 %r0, %r0, %r2; xor.b32 %r4, %r4, %r6; xor.b32 %r0, %r0, %r4;
cvt.u32.u64 %r1, %d0; xor.b32 %r0, %r0, %r1; mov.b32 %r1, %f0; xor.b32 %r0, %r0, %r1;
st.global.b32 [%u3], %r0;
ret;
}
";

impl Writer<'_> {
    fn statement(&mut self, depth: u32) {
        match self.draw.below(16) {
            0..=6 => {
                let form = self.draw.of(PLAIN);
                self.instruction(form, "");
            }
            7..=9 => self.access(ACCESS),
            10 => self.access(ATOMIC),
            11 => {
                let form = self.draw.of(SYNC);
                self.instruction(form, "");
            }
            12 if depth < 3 => self.branch(depth),
            13 if depth < 3 => self.repeat(depth),
            14 => self.call(),
            _ => {
                let form = self.draw.of(PLAIN);
                let (p, bang) = (self.draw.below(4), self.draw.of(&["", "!"]));
                write!(self.text, "@{bang}%p{p} ").expect("writing to memory");
                self.instruction(form, "");
            }
        }
    }

    /// Writes `form` with registers for its letters.
    fn instruction(&mut self, form: &str, address: &str) {
        let (opcode, operands) = form.split_once(' ').unwrap_or((form, ""));
        self.text.push_str(opcode);
        self.text.push(' ');
        for (at, c) in operands.char_indices() {
            let single = |i: usize| {
                operands.as_bytes().get(i).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'%')
            };
            let alone = single(at + 1) && (at == 0 || single(at - 1));
            let class = if alone { c } else { ' ' };
            let (prefix, n) = match class {
                'r' | 'R' => ("%r", 9),
                'd' | 'D' => ("%d", 5),
                'f' | 'F' => ("%f", 5),
                'g' | 'G' => ("%g", 3),
                'h' | 'H' => ("%h", 3),
                'p' | 'P' => ("%p", 4),
                'i' => {
                    let number = self.immediate();
                    self.text.push_str(&number);
                    continue;
                }
                'A' => {
                    self.text.push_str(address);
                    continue;
                }
                _ => {
                    self.text.push(c);
                    continue;
                }
            };
            let index = self.draw.below(n);
            write!(self.text, "{prefix}{index}").expect("writing to memory");
        }
        self.text.push_str(";\n");
    }

    fn immediate(&mut self) -> String {
        match self.draw.below(4) {
            0 => format!("%r{}", self.draw.below(9)),
            1 => self.draw.byte().to_string(),
            2 => format!("-{}", self.draw.byte()),
            _ => format!("{}", self.draw.word() as u32),
        }
    }

    fn access(&mut self, forms: &[&str]) {
        let space = self.draw.of(&["global", "shared", "local"]);
        let atomic = forms.as_ptr() == ATOMIC.as_ptr();
        let space = if atomic && space == "local" { "global" } else { space };
        let form = self.draw.of(forms).replace(".S.", &format!(".{space}."));
        // Mostly aligned for all.
        let offset =
            self.draw.of(&["0", "0", "0", "16", "16", "32", if self.wild { "-4" } else { "0" }]);
        if self.wild && self.draw.below(3) == 0 {
            let address = match self.draw.below(3) {
                0 => format!("[%d{}+{offset}]", self.draw.below(5)),
                1 => format!("[{}]", self.draw.word() as i64),
                _ => format!("[%u{}+{}]", 1 + self.draw.below(6), self.draw.word() as i32),
            };
            return self.instruction(&form, &address);
        }
        let (base, mask) = match space {
            "global" => (self.draw.of(&["%u1", "%u2"]), 8176),
            "shared" => ("%u5", 2032),
            _ => ("%u6", 48),
        };
        // A multiple of 16 in bounds, the thread's own place more often than not.
        let index = self.draw.of(&["%t1", "%t3", "%t1", "%r0", "%r4", "%r7"]);
        writeln!(
            self.text,
            "shl.b32 %t0, {index}, 4; and.b32 %t0, %t0, {mask}; cvt.u64.u32 %u4, %t0; \
             add.s64 %u4, %u4, {base};"
        )
        .expect("writing to memory");
        let address = format!("[%u4+{}]", if space == "local" { "0" } else { offset });
        self.instruction(&form, &address);
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn body(&mut self, depth: u32) {
        for _ in 0..=self.draw.below(4) {
            self.statement(depth + 1);
        }
    }

    fn branch(&mut self, depth: u32) {
        let (other, end, p) = (self.label(), self.label(), self.draw.below(4));
        writeln!(self.text, "@%p{p} bra $L{other};").expect("writing to memory");
        self.body(depth);
        if self.draw.below(8) == 0 {
            self.text.push_str("exit;\n");
        }
        writeln!(self.text, "bra $L{end};\n$L{other}:").expect("writing to memory");
        self.body(depth);
        writeln!(self.text, "$L{end}:").expect("writing to memory");
    }

    fn repeat(&mut self, depth: u32) {
        let (top, times) = (self.label(), self.draw.below(6));
        // One loop in many has no end.
        let bound = if self.draw.below(12) == 0 { "%r7" } else { "0" };
        writeln!(self.text, "mov.u32 %c{depth}, {times};\n$L{top}:").expect("writing to memory");
        self.body(depth);
        writeln!(
            self.text,
            "sub.s32 %c{depth}, %c{depth}, 1; setp.gt.s32 %p2, %c{depth}, {bound};\n@%p2 bra $L{top};"
        )
        .expect("writing to memory");
    }

    fn call(&mut self) {
        let (from, to) = (self.draw.below(9), self.draw.below(9));
        writeln!(
            self.text,
            "{{ .param .b32 x0; .param .b32 y0; st.param.b32 [x0], %r{from}; \
             call.uni (y0), twice, (x0); ld.param.b32 %r{to}, [y0]; }}"
        )
        .expect("writing to memory");
    }
}

fn launch(module: &Module, program: &Program, checks: Checks) -> (Report, Vec<Vec<u8>>) {
    let mut emulator = Emulator::default();
    let buffers: Vec<BufferId> = ["a", "b"].iter().map(|n| emulator.alloc(n, BYTES, 4)).collect();
    for (i, buffer) in buffers.iter().enumerate() {
        let data: Vec<u8> = (0..BYTES).map(|n| (n * 7 + i) as u8).collect();
        emulator.write(*buffer, &data);
    }
    let args = buffers.iter().map(|b| emulator.address(*b).to_le_bytes().to_vec()).collect();
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [program.grid, 1, 1],
        block: [program.block, 1, 1],
        args,
        ..Launch::default()
    };
    let limits = Limits { lane_instructions: BUDGET, ..Limits::default() };
    let options = Options { checks, limits, ..Options::default() };
    let report = emulator.launch(module, &launch, &options);
    (report, buffers.iter().map(|b| emulator.bytes(*b).to_vec()).collect())
}

/// Runs the program with few checks and with all; whether it ended without a finding.
///
/// # Panics
/// If it is not known, does not end, or the checks change the results of a clean program.
pub(crate) fn check(program: &Program) -> bool {
    let text = &program.text;
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let unknown = module.unknown_instructions();
    assert!(unknown.is_empty(), "{unknown:?}\n{text}");
    let (full, with_all) = launch(&module, program, Checks::FULL);
    let (bounds, with_few) = launch(&module, program, Checks::BOUNDS);
    for report in [&full, &bounds] {
        // A turn of all warps may run over.
        assert!(
            report.lane_instructions < BUDGET + 300_000,
            "{}\n{text}",
            report.lane_instructions
        );
        assert!(!matches!(report.end, Err(LaunchError::Launch { .. })), "{:?}\n{text}", report.end);
        for finding in &report.findings {
            assert!(finding.to_string().lines().count() <= 8, "{finding}");
        }
    }
    let clean = full.end.is_ok() && full.findings.is_empty();
    if clean {
        assert!(bounds.is_clean(), "{:?} {:?}\n{text}", bounds.end, bounds.findings);
        assert_eq!(full.lane_instructions, bounds.lane_instructions, "{text}");
        assert!(with_all == with_few, "the checks change the result\n{text}");
    }
    clean
}

/// Runs the program if it is one.
#[expect(clippy::allow_attributes, reason = "only some users of this file need it")]
#[allow(dead_code, reason = "only some users of this file need it")]
pub(crate) fn survive(program: &Program) {
    let Ok(module) = Module::parse(&program.text) else { return };
    let (report, _) = launch(&module, program, Checks::FULL);
    assert!(report.lane_instructions < BUDGET + 300_000, "{}", program.text);
}
