//! Every form of `mma` and `wmma` against a computation on the host, and against a GPU
//! computed where that is recorded; see `tests/ptx/mma.py`.

mod faults;
mod form;
pub(crate) mod number;
mod oracle;
mod rows;
pub(crate) mod sparse;

use self::{
    form::Form,
    number::Type,
    oracle::{Cell, agrees},
};
use ptx_emu::{Config, Emulator, Launch, Module, Options};
use std::collections::HashMap;

/// Small integers, numbers near one, and those with edge values among them.
const KINDS: [char; 3] = ['s', 'n', 'e'];

/// PTX type of the registers of an operand.
fn register_type(ty: Type) -> &'static str {
    match ty.name {
        "f32" => "f32",
        "f64" => "f64",
        _ => "b32",
    }
}

/// A kernel that computes one `mma`: each lane's registers follow each other in memory.
fn kernel(form: &Form) -> String {
    let [a, b, c] = form.sizes();
    let (mut declared, mut loaded, mut stored) = (vec![], vec![], vec![]);
    let mut operand = |x: &str, ty: Type, size: usize| {
        let bytes = if ty.bits == 64 { 8 } else { 4 };
        let (n, kind) = (size * ty.bits as usize / 8 / bytes / 32, register_type(ty));
        let names: Vec<String> = (0..n).map(|i| format!("%{x}{i}")).collect();
        declared.push(format!(".reg .{kind} {};", names.join(", ")));
        loaded.push(format!("ld.param.u64 %p{x}, [p{x}]; mul.wide.u32 %o, %t, {};", n * bytes));
        loaded.push(format!("add.s64 %p{x}, %p{x}, %o;"));
        for (i, name) in names.iter().enumerate() {
            let at = i * bytes;
            if x == "d" {
                stored.push(format!("st.global.{kind} [%pd+{at}], {name};"));
            } else {
                loaded.push(format!("ld.global.{kind} {name}, [%p{x}+{at}];"));
            }
        }
        names.join(", ")
    };
    let (a, b) = (operand("a", form.a, a), operand("b", form.b, b));
    let (d, c) = (operand("d", form.d, c), operand("c", form.c, c));
    let mut tail = String::new();
    if let Some(sparse) = &form.sparse {
        let e = operand("e", Type::named("u8").expect("8 bits"), 128);
        tail = format!(", {e}, {}", sparse.selector);
    }
    let [declared, loaded, stored] = [declared, loaded, stored].map(|lines| lines.join("\n"));
    format!(
        ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc{}, .param .u64 pd)\n{{\n\
         .reg .b32 %t; .reg .b64 %pa, %pb, %pc, %pd, %pe, %o;\n{declared}\nmov.u32 %t, %tid.x;\n{loaded}\n\
         {} {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}}{tail};\n{stored}\nret;\n}}\n",
        if form.sparse.is_some() { ", .param .u64 pe" } else { "" },
        form.opcode()
    )
}

const HEAD: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// D of a form on inputs, as the emulator computes it.
fn emulate(module: &Module, kernel: &str, inputs: &[Vec<u8>], out_bytes: usize) -> Vec<u8> {
    let mut emulator = Emulator::new(Config::default());
    let mut args = Vec::new();
    for bytes in inputs {
        let buffer = emulator.alloc("input", bytes.len(), 1);
        emulator.write(buffer, bytes);
        args.push(emulator.address(buffer).to_le_bytes().to_vec());
    }
    let out = emulator.alloc("d", out_bytes, 1);
    emulator.poison(out, &[0xa5]);
    args.push(emulator.address(out).to_le_bytes().to_vec());
    let launch = Launch {
        kernel: kernel.to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        args,
        ..Launch::default()
    };
    let report = emulator.launch(module, &launch, &Options::default());
    if let Err(error) = report.into_result() {
        panic!("{kernel}: {error}");
    }
    assert!(emulator.written(out).iter().all(|w| *w), "{kernel} leaves elements out");
    emulator.bytes(out).to_vec()
}

fn inputs(form: &Form, kind: char) -> Vec<Vec<u8>> {
    let operands = [form.a, form.b, form.c].into_iter().zip(form.sizes());
    let all = (0..).zip(operands).map(|(array, (ty, size))| ty.inputs(kind, array, size));
    all.chain(form.sparse.as_ref().map(|sparse| sparse.metadata(kind))).collect()
}

fn forms() -> Vec<Form> {
    include_str!("../../ptx/mma.txt").lines().map(Form::new).collect()
}

fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
}

/// Result of a GPU: a hash, or the bytes themselves where the last bits may differ.
fn golden() -> HashMap<(String, char), String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/mma.golden");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let case = |line: &str| {
        let mut words = line.split(' ');
        let (name, kind) = (words.next()?, words.next()?.chars().next()?);
        Some(((name.to_owned(), kind), words.next()?.to_owned()))
    };
    text.lines().filter_map(case).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let (pairs, _) = text.as_bytes().as_chunks::<2>();
    let digit = |c: u8| (c as char).to_digit(16).expect("a hexadecimal digit") as u8;
    pairs.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
}

/// Most elements off, by the error that each is allowed, relative to the sum of magnitudes.
fn differences(form: &Form, cells: &[Cell], bytes: &[u8], error: f64) -> Option<String> {
    let wrong = |i: &usize| !agrees(cells[*i], form.d, form.d.get(bytes, *i), error);
    let list: Vec<usize> = (0..cells.len()).filter(wrong).collect();
    let first = *list.first()?;
    let bits = form.d.get(bytes, first);
    let got = if form.d.is_float() { form.d.value(bits) } else { form.d.integer(bits) as f64 };
    let n = list.len();
    Some(format!("{}: {n} wrong, {first}: {got:e} ({bits:x}) for {:?}", form.name, cells[first]))
}

/// Error of a sum in f32 of exact products, each step rounded; none for a chain of f64 `fma`.
fn emulated_error(form: &Form) -> f64 {
    if form.d.name == "f64" {
        return 0.0;
    }
    (form.k + 1) as f64 * 2_f64.powi(-24)
}

/// Error of the machine, which cuts off the lower bits of aligned products.
fn machine_error(form: &Form) -> f64 {
    match (form.a.name, form.d.name) {
        ("f64", _) => (form.k + 1) as f64 * 2_f64.powi(-52),
        // Measured on an H200: f16 sums of fp8 products are cut off, not rounded.
        ("e4m3" | "e5m2", "f16") => 2_f64.powi(-11),
        ("e4m3" | "e5m2", _) => 2_f64.powi(-12),
        (_, "f16") => 2_f64.powi(-9),
        _ => (form.k + 1) as f64 * 2_f64.powi(-22),
    }
}

#[test]
fn every_product_is_right() {
    let golden = golden();
    let wmma = crate::harness::module("pass/wmma");
    let mut wrong = Vec::new();
    let forms = forms();
    assert!(forms.len() > 100);
    for form in &forms {
        let own = (!form.is_wmma).then(|| {
            let text = HEAD.to_owned() + &kernel(form);
            Module::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", form.name))
        });
        let (module, kernel) = match &own {
            Some(module) => (module, "k"),
            None => (&wmma, form.name.as_str()),
        };
        for kind in KINDS {
            let inputs = inputs(form, kind);
            let cells = oracle::product(form, &inputs);
            let n_bytes = form.sizes()[2] * form.d.bits as usize / 8;
            let got = emulate(module, kernel, &inputs, n_bytes);
            wrong.extend(differences(form, &cells, &got, emulated_error(form)));
            assert!(nans_are_canonical(form.d, &got), "{}", form.name);
            let Some(recorded) = golden.get(&(form.name.clone(), kind)) else { continue };
            if recorded.len() > 16 {
                let recorded = unhex(recorded);
                let wrongly = differences(form, &cells, &recorded, machine_error(form));
                wrong.extend(wrongly.map(|d| format!("on a GPU, {kind}: {d}")));
            } else if *recorded != format!("{:016x}", hash(&got)) {
                wrong.push(format!("{} {kind}: not what a GPU computes", form.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn nans_are_canonical(ty: Type, bytes: &[u8]) -> bool {
    let canonical = match ty.name {
        "f16" => 0x7fff,
        "f32" => 0x7fff_ffff,
        _ => return true,
    };
    let n = bytes.len() * 8 / ty.bits as usize;
    (0..n).map(|i| ty.get(bytes, i)).all(|bits| !ty.value(bits).is_nan() || bits == canonical)
}

#[test]
fn forms_that_are_missing_say_so() {
    let instructions = [
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, \
         {%r0,%r1,%r2,%r3}, {%f0,%f1,%f2,%f3}, %r0, 0x2;",
        "mma.sp.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16 {%r0,%r1}, {%r0,%r1,%r2,%r3}, \
         {%r0,%r1,%r2,%r3}, {%r0,%r1}, %r0, 0x0;",
        "mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r0}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2}, {%r0}, {%f0,%f1,%f2,%f3};",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%f0,%f1,%f2,%f3};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared::cluster.f16 {%r0,%r1,%r2,%r3,%r0,%r1,%r2,%r3}, [%r0], %r1;",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0,%r1}, [%r2];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r2];",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r0};",
        "movmatrix.sync.aligned.m8n8.b16 %r0, %r1;",
    ];
    for instruction in instructions {
        let body = ".visible .entry k()\n{\n.reg .b32 %r<4>; .reg .f32 %f<4>;\nmov.b32 %r2, 0;\n";
        let text = format!("{HEAD}{body}{instruction}\nret;\n}}\n");
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{instruction}: {e}"));
        let mut emulator = Emulator::new(Config::default());
        let launch =
            Launch { kernel: "k".to_owned(), grid: [1; 3], block: [32, 1, 1], ..Launch::default() };
        let result = emulator.launch(&module, &launch, &Options::default()).into_result();
        let message = result.err().map(|error| error.to_string()).unwrap_or_default();
        let opcode = instruction.split(' ').next().expect("an opcode");
        assert!(message.contains(&format!("unsupported: {opcode} ")), "{instruction}: {message}");
    }
}

#[test]
fn a_part_of_a_warp_cannot_multiply() {
    let form = Form::new("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
    let module = Module::parse(&(HEAD.to_owned() + &kernel(&form))).expect("the kernel is valid");
    let mut emulator = Emulator::new(Config::default());
    let buffer = emulator.alloc("x", 1024, 4);
    emulator.write(buffer, &[0; 1024]);
    let args = vec![emulator.address(buffer).to_le_bytes().to_vec(); 4];
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [1; 3],
        block: [16, 1, 1],
        args,
        ..Launch::default()
    };
    let result = emulator.launch(&module, &launch, &Options::default()).into_result();
    let message = result.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("fewer than 32 threads take part"), "{message}");
}
