//! `wgmma` of all types, layouts and many widths against sums in f64. A generated kernel copies an
//! image into shared memory, multiplies once or twice, and stores its accumulators.

use std::fmt::Write as _;

use crate::{
    harness::{Arg, Ran, run_module},
    matrix::{number::Type, sparse::Sparse},
};
use ptx_emu::{Launch, Limits, Module};

/// Bytes of shared memory in front of B.
const B_AT: usize = 32 << 10;

const M: usize = 64;

/// A form, and the layouts of its factors.
#[derive(Debug, Clone, Copy)]
struct Case {
    d: &'static str,
    a: &'static str,
    b: &'static str,
    n: usize,
    /// Bytes of the swizzle: 0, 32, 64 or 128.
    span: usize,
    /// A and B have their rows (columns) innermost.
    transposed: [bool; 2],
    registers: bool,
    /// Signs of A and B.
    signs: [i32; 2],
    /// The accumulators are added.
    scale: bool,
    /// Products, the second one on top of the first.
    times: usize,
    satfinite: bool,
    /// A is sparse, with this selector.
    selector: Option<usize>,
}

const PLAIN: Case = Case {
    d: "f32",
    a: "f16",
    b: "f16",
    n: 8,
    span: 128,
    transposed: [false; 2],
    registers: false,
    signs: [1, 1],
    scale: true,
    times: 1,
    satfinite: false,
    selector: None,
};

/// Rows (columns) of a factor and the bytes of each along k.
type Extent = (usize, usize);

/// Offsets of leading and stride dimension, in bytes.
fn steps(span: usize, transposed: bool, (rows, bytes): Extent) -> (usize, usize) {
    match (span, transposed) {
        // Core matrices of 128 bytes: along k first.
        (0, false) => (128, 8 * bytes),
        (0, true) => (16 * rows, 128),
        (span, false) => (16, 8 * span),
        // Blocks of eight k by `span` bytes: along k first.
        (span, true) => (bytes / 2 * span, 8 * span),
    }
}

fn descriptor(at: usize, span: usize, transposed: bool, extent: Extent) -> u64 {
    let (lead, stride) = steps(span, transposed, extent);
    let mode = match span {
        0 => 0,
        128 => 1,
        64 => 2,
        _ => 3_u64,
    };
    (at >> 4) as u64 | ((lead >> 4) as u64) << 16 | ((stride >> 4) as u64) << 32 | mode << 62
}

/// Place of a byte of a factor: row, and byte along k (an even one if `transposed`).
fn place(span: usize, transposed: bool, extent: Extent, row: usize, byte: usize) -> usize {
    let (lead, stride) = steps(span, transposed, extent);
    let linear = match (span, transposed) {
        (0, false) => row / 8 * stride + byte / 16 * lead + row % 8 * 16 + byte % 16,
        (span, false) => row / 8 * stride + row % 8 * span + byte,
        (0, true) => {
            let (k, half) = (byte / 2, byte % 2);
            row / 8 * stride + k / 8 * lead + k % 8 * 16 + row % 8 * 2 + half
        }
        (span, true) => {
            let (k, half) = (byte / 2, byte % 2);
            let wide = span / 2;
            row / wide * lead + k / 8 * stride + k % 8 * span + row % wide * 2 + half
        }
    };
    let (line, chunk) = (linear / 128, linear / 16 % 8);
    let mixed = match span {
        0 => chunk,
        32 => chunk ^ (line % 2),
        64 => chunk ^ (line % 4),
        _ => chunk ^ (line % 8),
    };
    line * 128 + mixed * 16 + linear % 16
}

impl Case {
    fn types(&self) -> [Type; 3] {
        [self.d, self.a, self.b].map(|name| Type::named(name).expect("a type"))
    }

    /// Bytes of B along k.
    fn row_bytes(&self) -> usize {
        if self.selector.is_some() { 64 } else { 32 }
    }

    /// Elements along k.
    fn k(&self) -> usize {
        8 * self.row_bytes() / self.types()[2].bits as usize
    }

    fn accumulators(&self) -> usize {
        if self.d == "f16" { self.n / 4 } else { self.n / 2 }
    }

    fn opcode(&self) -> String {
        let (n, k) = (self.n, self.k());
        let sat = if self.satfinite { ".satfinite" } else { "" };
        let sp = if self.selector.is_some() { ".sp" } else { "" };
        let and = if self.a == "b1" { ".and.popc" } else { "" };
        let types = format!("{}.{}.{}", self.d, self.a, self.b);
        format!("wgmma.mma_async{sp}.sync.aligned.m64n{n}k{k}{sat}.{types}{and}")
    }

    fn sparse(&self) -> Option<Sparse> {
        let selector = self.selector?;
        // The metadata of a warp are those of `mma.sp` of the same type and k.
        Some(Sparse::new(&format!("mma.sp/{selector}"), self.k(), self.types()[1]))
    }

    fn ptx(&self) -> String {
        let count = self.accumulators();
        let list = |prefix: &str, n: usize| {
            let all: Vec<String> = (0..n).map(|i| format!("%{prefix}{i}")).collect();
            format!("{{{}}}", all.join(", "))
        };
        let mut loads = String::new();
        let mut stores = String::new();
        for i in 0..count {
            writeln!(loads, "ld.global.b32 %d{i}, [%l4+{}];", 512 * i).expect("a string");
            writeln!(stores, "st.global.b32 [%l5+{}], %d{i};", 512 * i).expect("a string");
        }
        if self.registers {
            for i in 0..4 {
                writeln!(loads, "ld.global.b32 %a{i}, [%l6+{}];", 512 * i).expect("a string");
            }
        }
        let a = if self.registers { list("a", 4) } else { "%l7".to_owned() };
        let mut tail = String::new();
        if self.d != "s32" {
            write!(tail, ", {}, {}", self.signs[0], self.signs[1]).expect("a string");
            if matches!(self.b, "f16" | "bf16") {
                let [ta, tb] = self.transposed.map(u8::from);
                let rest = if self.registers { format!(", {tb}") } else { format!(", {ta}, {tb}") };
                tail.push_str(&rest);
            }
        }
        let d = list("d", count);
        let sparse = self.selector.map(|selector| format!("%e, {selector}, ")).unwrap_or_default();
        let product = format!("{} {d}, {a}, %l8, {sparse}%p1{tail};\n", self.opcode());
        let products = product.repeat(self.times);
        format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n\
             .extern .shared .align 1024 .b8 tile[];\n\
             .visible .entry product(.param .u64 image, .param .u32 bytes, .param .u64 c,\n\
             .param .u64 out, .param .u64 left, .param .u64 da, .param .u64 db, .param .u32 scale,\n\
             .param .u64 meta)\n\
             {{\n.reg .b32 %e;\n.reg .b32 %w<16>;\n.reg .b32 %d<{count}>;\n.reg .b32 %a<4>;\n.reg .b64 %l<16>;\n\
             .reg .pred %p<3>;\n\
             mov.u32 %w1, %tid.x;\nld.param.u64 %l1, [image];\nld.param.u32 %w2, [bytes];\n\
             mov.u32 %w3, tile;\nshl.b32 %w4, %w1, 2;\n\
             copy:\nsetp.ge.u32 %p2, %w4, %w2;\n@%p2 bra copied;\ncvt.u64.u32 %l2, %w4;\n\
             add.u64 %l2, %l1, %l2;\nld.global.b32 %w5, [%l2];\nadd.u32 %w6, %w3, %w4;\n\
             st.shared.b32 [%w6], %w5;\nadd.u32 %w4, %w4, 512;\nbra copy;\n\
             copied:\nfence.proxy.async.shared::cta;\nbar.sync 0;\n\
             mul.wide.u32 %l3, %w1, 4;\n\
             ld.param.u64 %l4, [c];\nadd.u64 %l4, %l4, %l3;\n\
             ld.param.u64 %l5, [out];\nadd.u64 %l5, %l5, %l3;\n\
             ld.param.u64 %l10, [meta];\nadd.u64 %l10, %l10, %l3;\nld.global.b32 %e, [%l10];\n\
             ld.param.u64 %l6, [left];\nadd.u64 %l6, %l6, %l3;\n\
             and.b32 %w7, %w3, 0x3ffff;\nshr.u32 %w7, %w7, 4;\ncvt.u64.u32 %l9, %w7;\n\
             ld.param.u64 %l7, [da];\nadd.u64 %l7, %l7, %l9;\n\
             ld.param.u64 %l8, [db];\nadd.u64 %l8, %l8, %l9;\n\
             ld.param.u32 %w8, [scale];\nsetp.ne.b32 %p1, %w8, 0;\n\
             {loads}wgmma.fence.sync.aligned;\n{products}\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n{stores}ret;\n}}\n"
        )
    }

    /// Row and column of each element of an accumulator's register of a thread.
    fn held(&self, thread: usize, register: usize) -> Vec<(usize, usize)> {
        let (warp, lane) = (thread / 32, thread % 32);
        let (row, column) = (16 * warp + lane / 4, lane % 4 * 2);
        match self.d {
            "f16" => {
                let (row, column) = (row + 8 * (register % 2), column + 8 * (register / 2));
                vec![(row, column), (row, column + 1)]
            }
            _ => {
                let row = row + 8 * (register / 2 % 2);
                vec![(row, column + 8 * (register / 4) + register % 2)]
            }
        }
    }

    /// The words that the threads hold of A.
    fn left(&self, a: &[u8]) -> Vec<u8> {
        let mut words = vec![0; 4 * 128 * 4];
        for (register, thread) in (0..4).flat_map(|r| (0..128).map(move |t| (r, t))) {
            let (warp, lane) = (thread / 32, thread % 32);
            let row = 16 * warp + lane / 4 + 8 * (register % 2);
            let from = row * 32 + (lane % 4 + 4 * (register / 2)) * 4;
            words[(register * 128 + thread) * 4..][..4].copy_from_slice(&a[from..from + 4]);
        }
        words
    }

    fn run(&self, kind: char) -> Result<(), String> {
        let [d, ta, tb] = self.types();
        let (n, k) = (self.n, self.k());
        let stored = 256 / ta.bits as usize;
        let a = ta.inputs(kind, 1, M * stored);
        let b = tb.inputs(kind, 2, n * k);
        let c = d.inputs(kind, 3, M * n);
        let mut image = vec![0; B_AT + (128 * n).max(16 << 10)];
        for (byte, value) in a.iter().enumerate() {
            let (row, byte) = (byte / 32, byte % 32);
            image[place(self.span, self.transposed[0], (M, 32), row, byte)] = *value;
        }
        for (byte, value) in b.iter().enumerate() {
            let (column, byte) = (byte / self.row_bytes(), byte % self.row_bytes());
            let at = place(self.span, self.transposed[1], (n, self.row_bytes()), column, byte);
            image[B_AT + at] = *value;
        }
        let size = d.bits as usize / 8;
        let mut start = vec![0; self.accumulators() * 512];
        for (register, thread) in
            (0..self.accumulators()).flat_map(|r| (0..128).map(move |t| (r, t)))
        {
            for (i, (row, column)) in self.held(thread, register).into_iter().enumerate() {
                let to = (register * 128 + thread) * 4 + i * size;
                let from = (row * n + column) * size;
                start[to..to + size].copy_from_slice(&c[from..from + size]);
            }
        }
        // Other metadata for each warp.
        let sparse = self.sparse();
        let metadata: Vec<Vec<u8>> =
            sparse.iter().flat_map(|s| ['n', 's', 'e', 'x'].map(|warp| s.metadata(warp))).collect();
        let ran = self.launch(image, start, &a, metadata.concat());
        if let Err(error) = &ran.result {
            return Err(error.to_string());
        }
        if let Some(finding) = ran.findings.first() {
            return Err(finding.message.clone());
        }
        let out = ran.u8(3);
        for (register, thread) in
            (0..self.accumulators()).flat_map(|r| (0..128).map(move |t| (r, t)))
        {
            for (i, (row, column)) in self.held(thread, register).into_iter().enumerate() {
                let at = (register * 128 + thread) * 4 + i * size;
                let bits = d.get(&out[at..at + size], 0);
                let pairs: Vec<(u64, u64)> = (0..stored)
                    .map(|i| {
                        let k = sparse
                            .as_ref()
                            .map_or(i, |sparse| sparse.position(&metadata[row / 16], row % 16, i));
                        (ta.get(&a, row * stored + i), tb.get(&b, column * self.k() + k))
                    })
                    .collect();
                self.compare(bits, d.get(&c, row * n + column), &pairs)
                    .map_err(|why| format!("{self:?} [{row}, {column}]: {why}"))?;
            }
        }
        Ok(())
    }

    fn launch(&self, image: Vec<u8>, start: Vec<u8>, a: &[u8], metadata: Vec<u8>) -> Ran {
        let module = Module::parse(&self.ptx()).unwrap_or_else(|e| panic!("{self:?}: {e}"));
        let bytes = image.len() as u32;
        let outputs = start.len();
        let args = vec![
            Arg::In(image, 4),
            Arg::from(bytes),
            Arg::In(start, 4),
            Arg::Out(outputs, 1),
            Arg::In(self.left(a), 4),
            Arg::from(descriptor(0, self.span, self.transposed[0], (M, 32))),
            Arg::from(descriptor(B_AT, self.span, self.transposed[1], (self.n, self.row_bytes()))),
            Arg::from(u32::from(self.scale)),
            Arg::In(if metadata.is_empty() { vec![0; 512] } else { metadata }, 4),
        ];
        let launch = Launch {
            kernel: "product".to_owned(),
            grid: [1; 3],
            block: [128, 1, 1],
            dynamic_smem: bytes,
            ..Launch::default()
        };
        run_module(&module, launch, Limits::default(), args)
    }

    /// Holds an element of the result against its start and the elements that are multiplied.
    fn compare(&self, bits: u64, start: u64, pairs: &[(u64, u64)]) -> Result<(), String> {
        let [d, ta, tb] = self.types();
        if self.d == "s32" {
            let start = if self.scale { d.integer(start) } else { 0 };
            let sum: i64 = pairs.iter().map(|(a, b)| ta.integer(*a) * tb.integer(*b)).sum();
            let total = start + sum;
            let want = if self.satfinite {
                total.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
            } else {
                total as i32
            };
            let got = bits as u32 as i32;
            return if got == want { Ok(()) } else { Err(format!("{got}, not {want}")) };
        }
        let sign = f64::from(self.signs[0] * self.signs[1]);
        let start = if self.scale { d.value(start) } else { 0.0 };
        let products = pairs.iter().map(|(a, b)| sign * ta.value(*a) * tb.value(*b));
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for product in products {
            sum += product;
            magnitude += product.abs();
        }
        let want = start + sum * self.times as f64;
        let magnitude = magnitude * self.times as f64 + start.abs();
        let tolerance = magnitude * if self.d == "f16" { 2e-3 } else { 1e-5 };
        let got = d.value(bits);
        if (got - want).abs() <= tolerance {
            return Ok(());
        }
        Err(format!("{got}, not {want}"))
    }
}

fn check(cases: &[Case], kind: char) {
    let wrong: Vec<String> = cases.iter().filter_map(|case| case.run(kind).err()).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Opcodes of the products of all types.
pub(crate) fn opcodes() -> Vec<String> {
    [floats(), integers(), bits(), sparse()].concat().iter().map(Case::opcode).collect()
}

fn floats() -> Vec<Case> {
    let floats = [
        ("f32", "f16", "f16"),
        ("f16", "f16", "f16"),
        ("f32", "bf16", "bf16"),
        ("f32", "tf32", "tf32"),
        ("f32", "e4m3", "e5m2"),
        ("f32", "e5m2", "e4m3"),
        ("f16", "e4m3", "e4m3"),
        ("f16", "e5m2", "e5m2"),
    ];
    let mut cases = Vec::new();
    for (d, a, b) in floats {
        for registers in [false, true] {
            let case = Case { d, a, b, registers, n: 24, ..PLAIN };
            cases.push(case);
            cases.push(Case { scale: false, n: 64, ..case });
            cases.push(Case { signs: [-1, 1], n: 16, ..case });
            cases.push(Case { signs: [-1, -1], n: 8, ..case });
        }
    }
    cases
}

#[test]
fn products_of_all_types() {
    check(&floats(), 'n');
    check(&floats(), 's');
}

fn integers() -> Vec<Case> {
    let mut cases = Vec::new();
    for (a, b) in [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")] {
        for registers in [false, true] {
            let case = Case { d: "s32", a, b, registers, n: 32, ..PLAIN };
            cases.push(case);
            cases.push(Case { satfinite: true, n: 24, ..case });
            cases.push(Case { scale: false, n: 96, ..case });
        }
    }
    cases
}

#[test]
fn products_of_integers() {
    check(&integers(), 'n');
    check(&integers(), 'e');
}

fn bits() -> Vec<Case> {
    let case = Case { d: "s32", a: "b1", b: "b1", n: 24, ..PLAIN };
    vec![case, Case { registers: true, n: 64, scale: false, ..case }]
}

#[test]
fn products_of_bits() {
    check(&bits(), 'n');
}

fn sparse() -> Vec<Case> {
    let mut cases = Vec::new();
    for (d, a, b) in [
        ("f32", "f16", "f16"),
        ("f16", "f16", "f16"),
        ("f32", "bf16", "bf16"),
        ("f32", "tf32", "tf32"),
        ("f32", "e4m3", "e5m2"),
        ("f16", "e5m2", "e4m3"),
        ("s32", "s8", "u8"),
        ("s32", "u8", "s8"),
    ] {
        let both = if matches!(b, "f16" | "bf16" | "tf32") { 2 } else { 1 };
        for selector in 0..both {
            let case = Case { d, a, b, n: 24, selector: Some(selector), ..PLAIN };
            cases.push(case);
            cases.push(Case { registers: true, n: 64, span: 64, ..case });
            cases.push(Case { scale: false, n: 16, span: 0, satfinite: d == "s32", ..case });
            if matches!(b, "f16" | "bf16") {
                cases.push(Case { transposed: [true, true], n: 128, signs: [-1, 1], ..case });
                cases.push(Case {
                    transposed: [false, true],
                    n: 64,
                    span: 32,
                    registers: true,
                    ..case
                });
                cases.push(Case { transposed: [true, true], n: 8, span: 0, ..case });
            }
        }
    }
    cases
}

#[test]
fn products_with_a_sparse_factor() {
    check(&sparse(), 'n');
    check(&sparse(), 's');
}

#[test]
fn rows_longer_than_their_swizzle_are_refused() {
    let case = Case { selector: Some(0), span: 32, ..PLAIN };
    let error = case.run('n').expect_err("no descriptor says where the second half is");
    assert!(error.contains("B's rows of 64 bytes under a swizzle of 32 bytes"), "{error}");
}

#[test]
fn products_of_all_widths() {
    let widths: Vec<Case> = (8..=256).step_by(8).map(|n| Case { n, ..PLAIN }).collect();
    check(&widths, 'n');
}

#[test]
fn factors_lie_in_all_layouts() {
    let mut cases = Vec::new();
    for span in [0, 32, 64, 128] {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            for b in ["f16", "bf16"] {
                let case = Case { a: b, b, span, transposed: [ta, tb], n: 64, ..PLAIN };
                cases.push(case);
                cases.push(Case { n: 128, registers: !ta, ..case });
            }
        }
        for b in ["tf32", "e4m3"] {
            cases.push(Case { a: b, b, span, n: 40, ..PLAIN });
        }
    }
    check(&cases, 'n');
}

#[test]
fn products_follow_each_other() {
    let twice = Case { times: 2, n: 32, ..PLAIN };
    check(&[twice, Case { d: "f16", ..twice }, Case { a: "bf16", b: "bf16", ..twice }], 'n');
}
