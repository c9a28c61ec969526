mod hub;
mod models;

use std::{collections::BTreeMap, fs, path::Path};

use kgen_kernel::{
    KernelFile,
    plan::{self, plan_name, type_macros},
};
use kgen_ops::{
    op::{self, OpDef},
    suite,
};
use kgen_process::Spec;
use kgen_record::{Case, Precision, ResolvedPlan, Target};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{Export, ExportError, FIRST_LINE, backward_of, module_name, to_torch};

/// Cases per op that are compared.
const CASES: usize = 10;

/// Returns every op with a kernel file that comes with kgen, and some of its cases.
fn builtins() -> Vec<(&'static OpDef, &'static str, Vec<Case>)> {
    let suite = suite::load("opinfo").unwrap();
    let ops = op::all().iter().filter(|op| suite.op(&op.name).is_ok());
    let found = ops.filter_map(|op| {
        let cases = suite.public_cases(&op.name).unwrap();
        let step = cases.len().div_ceil(CASES).max(1);
        Some((&**op, kgen_baseline::builtin(&op.name)?, cases.into_iter().step_by(step).collect()))
    });
    found.collect()
}

/// Runs a script of `python/export`; returns its output where it ended well.
fn python(python: &str, script: &str, args: &[&Path], stdin: Vec<u8>) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/export");
    let spec = Spec::new(python, &folder).args([script]).args(args).stdin(stdin);
    let output = match kgen_process::run(&spec) {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: {error}");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.is_success(), "{text}\n{errors}");
    Some(text)
}

fn resolve(op: &OpDef, kernel: &str, case: &Case, chosen: &[(&str, i64)]) -> Option<ResolvedPlan> {
    let outputs = op.infer(case).unwrap();
    let env = plan::Env::new(case, &outputs, &Target::h100_class());
    let env = env.with_libraries(Some(Precision::Strict));
    let env = if op.returns_list { env.with_output_list(&outputs) } else { env };
    let chosen: BTreeMap<_, _> = chosen.iter().map(|(name, v)| ((*name).to_owned(), *v)).collect();
    match plan::resolve(&KernelFile::parse(kernel).unwrap(), &env, &chosen) {
        Ok(plan) => Some(plan),
        Err(plan::LaunchPlanError::Declined { .. }) => None,
        Err(plan::LaunchPlanError::Error(error)) => panic!("{} {}: {error}", op.name, case.id),
    }
}

fn line(op: &OpDef, kernel: &str, case: &Case, chosen: &[(&str, i64)]) -> Value {
    let target = Target::h100_class();
    let args = case.args.iter().map(|arg| json!([plan_name(&arg.name), arg.value]));
    let args: Vec<_> = args.collect();
    json!({
        "name": format!("{} {}", op.name, case.id),
        "plan": KernelFile::parse(kernel).unwrap().plan_text(),
        "chosen": chosen.iter().copied().collect::<BTreeMap<_, _>>(),
        "facts": {
            "sm_count": target.sm_count,
            "smem_max": target.smem_max,
            "cc": target.cc_major * 10 + target.cc_minor,
            "l2_bytes": target.l2_bytes,
        },
        "args": args,
        "outputs": op.infer(case).unwrap(),
        "returns_list": op.returns_list,
        "resolved": resolve(op, kernel, case, chosen),
    })
}

/// A kernel file with features that the builtin ones do not use.
const UNUSUAL: &str = r#"
/*@plan
    x = contiguous(expand(self, (3, 4, 5)) if self.numel == 1 else self)
# stands further left
    block = param("BLOCK", [128, 256])
    T = define("ACC", self.dtype); define("HALF", 0.5); define("FLAG", self.numel > 7)
    if self.dtype in ["f16", "bf16"] and self.shape != [1]: define("NARROW", 1)
    ws = scratch(align_up(x.numel * 4, 256), zero=True)
    pad = scratch(100)
    total = 0
    for i in (1, 2): total += i
    fill(out, 255)
    launch("a<float, 4>", grid=(cdiv(x.numel, block), 2), block=(block, 2), smem=next_pow2(33),
           args=[x, ptr(ws, 64), ptr(pad), None, total, f32(0.1), i32(-2.5), True, -7 // 2, -7 % 3,
                 ilog2(1000), is_pow2(64), min(3, 2.5), max((1, 2)), abs(-3), len(self.shape),
                 x.align, self.contiguous, has(None), 1 << 40])
    launch("dropped", 0, 32)
    require(x.numel != 15, "fifteen")
@*/
"#;

/// A kernel file with steps of libraries.
const LIBRARY: &str = r#"
/*@plan
x = contiguous(self)
n = x.numel
size = x.itemsize
acc = scratch(n * max(size, 4))
if x.dtype in ("f32", "f16", "bf16"):
    matmul(x, x, acc, m=min(n, 1), n=n, k=min(n, 1))
    matmul(x, ptr(x), ptr(acc), m=n, n=1, k=min(n, 1), trans_b=True, alpha=2, accumulate=True)
    if n >= 4:
        matmul(ptr(x, n // 2 * size), x, acc, 1, 1, n // 4, 2, True, dtype=x.dtype)
    matmul(x, x, out, m=n, n=1, k=0)
    matmul(acc, acc, out, m=0, n=n, k=1, dtype=x.dtype)
    if x.ndim in (3, 4, 5) and n > 0:
        convolution(x, x, scratch(x.shape[0] * x.shape[0] * size))
        if x.ndim == 4:
            convolution(x, x, scratch(x.shape[0] * size), shape=(x.shape[1], x.shape[2], x.shape[3]))
        convolution(ptr(x), x, scratch(x.shape[0] * x.shape[0] * 8 * size), (2,), padding=1, shape=x.shape)
launch("k", 1, 32, args=[ptr(acc), out])
@*/
"#;

/// A kernel file with tensor maps and attributes of launches.
const HOPPER: &str = r#"
/*@plan
n = self.numel
rows = max(n, 8)
ws = scratch(rows * 32 * 4)
flat = tensor_map(ws, box=[2, 32], dtype="f32", shape=[rows, 32], strides=[32, 1], swizzle=128, l2=256)
half = tensor_map(ws, [8], swizzle=0, l2=0, oob="nan", dtype="f16", shape=16, strides=1)
round = tensor_map(ptr(ws, 128), box=(1, 1, 4), dtype="tf32", shape=(1, 1, 7), strides=(64, 8, 1),
                   element_strides=[1, 2, 1], oob="nan")
sliced = tensor_map(ws, box=[1, 2, 2, 16], interleave=32, swizzle=32, dtype="i16", shape=[2, 2, 2, 16],
                    strides=[64, 32, 16, 1])
window = tensor_map(ws, im2col=((-1, 0), (1, -1)), channels=8, pixels=4, dtype="bf16",
                    shape=[1, 3, 3, 8], strides=[72, 24, 8, 1])
if self.contiguous and self.ndim > 0 and self.numel > 0 and self.shape[-1] * self.itemsize % 16 == 0:
    if self.align >= 16:
        launch("row", 1, 32, args=[tensor_map(self, box=[1, 1, 8], shape=[1, 1, n])])
        own = tensor_map(self, box=[16 // self.itemsize], shape=[n])
        launch("own", 1, 32, args=[own, tensor_map(out, box=16 // out.itemsize, shape=n, dtype=out.dtype)])
launch("first", grid=(4, 2), block=32, cluster=(2, 2), pdl=True, args=[flat, half, round])
launch("second", grid=2, block=32, cluster=(2, 1, 1) if cc >= 90 else 1, pdl=True, cooperative=True,
       args=[sliced, window, n])
launch("third", grid=8, block=32, cluster=1, pdl=True)
fill(out, 0)
launch("fourth", grid=8, block=32, pdl=True)
@*/
"#;

#[test]
fn plans_mean_the_same_in_python() {
    let mut lines: Vec<Value> = builtins()
        .par_iter()
        .flat_map_iter(|(op, kernel, cases)| cases.iter().map(|case| line(op, kernel, case, &[])))
        .collect();
    let relu = op::find("relu").unwrap();
    for case in suite::load("smoke").unwrap().public_cases("relu").unwrap() {
        lines.push(line(relu, UNUSUAL, &case, &[]));
        lines.push(line(relu, UNUSUAL, &case, &[("BLOCK", 256)]));
        lines.push(line(relu, LIBRARY, &case, &[]));
        lines.push(line(relu, HOPPER, &case, &[]));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if let Some(said) = python("python3", "compare_plans.py", &[], text.into_bytes()) {
        assert_eq!(said.trim(), format!("{0} of {0} plans are equal", lines.len()));
        assert!(lines.len() > 1500, "{}", lines.len());
    }
}

fn export<'a>(op: &'a OpDef, kernel: &'a str, cases: &[Case]) -> Export<'a> {
    let origin = vec!["From a \"test\".".to_owned()];
    let tuned = cases.iter().take(1).map(|case| (case.clone(), vec![("BLOCK".to_owned(), 256)]));
    let precision = Precision::Strict;
    let (cases, tuned) = (cases.to_vec(), tuned.collect());
    Export { op, kernel, origin, precision, cases, tuned, backward: None }
}

/// Returns a Python with PyTorch, which `KGEN_TEST_PYTHON` names.
fn pytorch() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "it is about tests, not about kgen")]
    let interpreter = std::env::var("KGEN_TEST_PYTHON").ok();
    if interpreter.is_none() {
        println!("skipped: KGEN_TEST_PYTHON names no Python with PyTorch");
    }
    interpreter
}

#[test]
fn every_op_of_pytorch_registers_and_infers_its_outputs() {
    let Some(interpreter) = pytorch() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    for (op, kernel, cases) in builtins() {
        let module = match to_torch(&export(op, kernel, &cases)) {
            Ok(module) => module,
            Err(ExportError::NoEager { .. } | ExportError::OtherOutputs { .. }) => continue,
            Err(error) => panic!("{}: {error}", op.name),
        };
        let path = folder.path().join(format!("{}.py", op.folder()));
        fs::write(&path, module).unwrap();
        let cases: Vec<_> = cases
            .iter()
            .map(|case| {
                json!({
                    "id": case.id,
                    "args": case.args.iter().map(|arg| {
                        json!([arg.name, plan_name(&arg.name), arg.value])
                    }).collect::<Vec<_>>(),
                    "outputs": op.infer(case).unwrap(),
                    "types": type_macros(op, case).unwrap(),
                })
            })
            .collect();
        lines.push(json!({ "module": path, "name": op.name, "cases": cases }));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let said = python(&interpreter, "compare_ops.py", &[], text.into_bytes());
    if let Some(said) = said {
        assert!(said.trim().ends_with(&format!("{0} of {0} modules agree", lines.len())), "{said}");
        assert!(lines.len() > 150, "{}", lines.len());
    }
}

/// A pair's modules, in which eager PyTorch stands for both kernels.
#[test]
fn pairs_have_the_gradients_of_pytorch() {
    let Some(interpreter) = pytorch() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (op, kernel, cases) in builtins() {
        let Ok(backward) = backward_of(op) else { continue };
        let written = [
            (op, Export { backward: Some(backward), ..export(op, kernel, &cases) }),
            (backward, export(backward, kgen_baseline::builtin(&backward.name).unwrap(), &[])),
        ];
        for (op, export) in written {
            let path = folder.path().join(format!("{}.py", module_name(op)));
            fs::write(path, to_torch(&export).unwrap()).unwrap();
        }
        names.push(module_name(op));
    }
    let (pairs, lines) = (names.len(), names.join("\n"));
    let said = python(&interpreter, "compare_gradients.py", &[folder.path()], lines.into_bytes());
    if let Some(said) = said {
        assert!(said.trim().ends_with(&format!("{pairs} of {pairs} pairs agree")), "{said}");
        assert!(pairs > 20, "{pairs}");
    }
}

#[test]
fn a_module_holds_what_it_needs() {
    let relu = op::find("relu").unwrap();
    let cases = suite::load("smoke").unwrap().public_cases("relu").unwrap();
    let kernel = kgen_baseline::builtin("relu").unwrap();
    let module = to_torch(&export(relu, kernel, &cases)).unwrap();
    assert!(module.starts_with(FIRST_LINE));
    for part in [kernel, "NAME = \"relu\"", "ATEN = \"relu.default\"", "From a 'test'.", "BLOCK"] {
        assert!(module.contains(part), "{part}");
    }
    let rope = op::find("rope").unwrap();
    let error = to_torch(&export(rope, kgen_baseline::builtin("rope").unwrap(), &[])).unwrap_err();
    assert!(matches!(error, ExportError::NoEager { op } if op == "rope"));
    let bag = op::find("embedding_bag").unwrap();
    let error = to_torch(&export(bag, kgen_baseline::builtin("embedding_bag").unwrap(), &[]));
    let said = error.unwrap_err().to_string();
    assert!(said.contains("returns 4 tensors, `embedding_bag` returns 1 in kgen"), "{said}");
    let error = to_torch(&export(relu, "int x;", &[])).unwrap_err();
    assert!(matches!(error, ExportError::Kernel(_)));
}

#[test]
fn no_module_hides_one_of_pythons_own() {
    let name = |op: &str| module_name(kgen_ops::op::find(op).unwrap());
    assert_eq!((name("copy"), name("select")), ("kgen_copy".to_owned(), "kgen_select".to_owned()));
    assert_eq!(name("relu"), "relu");
}
