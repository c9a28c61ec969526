//! Ops of one's own: every command takes them, a run remembers them, mistakes have a place.

use std::{fs, path::Path};

use assert_cmd::assert::Assert;
use tempfile::TempDir;

use super::{documents, flow::kgen};

const OP: &str = include_str!("../../examples/fused_bias_gelu_residual.toml");
const KERNEL: &str = include_str!("../../examples/fused_bias_gelu_residual.cu");

/// An op whose reference is a kernel, with an index and a range.
const GATHERED: &str = r#"
format = 1
name = "gathered_square"
semantics = "out[i] = x[at[i]]^2"
dtypes = ["f32", "bf16"]
[tensors]
x = "[n]"
at = { shape = "[m]", role = "index", bound = "n" }
[scalars]
scale = 1.0
[outputs]
out = "[m]"
[reference]
cuda = '''
/*@plan
launch("gathered", grid=cdiv(out.numel, 64), block=64, args=[x, at, out, out.numel, scale])
@*/
extern "C" __global__ void gathered(const T_x* x, const T_at* at, T_out* out, long long m, T_out scale) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i < m) out[i] = scale * x[at[i]] * x[at[i]];
}
'''
[[cases]]
n = 5
m = 0
[[cases]]
n = "1..50"
m = 200
draws = 2
[[cases]]
n = 33
m = 65
x = "gap"
scale = 0.5
"#;

const GATHER: &str = r#"/*@plan
v = contiguous(x)
launch("g", grid=cdiv(out.numel, 128), block=128, args=[v, contiguous(at), out, out.numel, scale])
@*/
extern "C" __global__ void g(const T_x* x, const T_at* at, T_out* out, long long m, float scale) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < m) {
    const float v = kg::to_float(x[at[i]]);
    out[i] = kg::from_float<T_out>(scale * v * v);
  }
}
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("op.toml", OP), ("op.cu", KERNEL), ("gathered.toml", GATHERED), ("gathered.cu", GATHER)]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn text(assert: &Assert) -> (String, String) {
    let output = assert.get_output();
    let utf8 = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    (utf8(&output.stdout), utf8(&output.stderr))
}

fn succeeds(folder: &Path, args: &[&str]) -> String {
    text(&kgen(folder, args).assert().code(0)).0
}

#[test]
fn an_op_file_is_shown_listed_and_judged() {
    let folder = folder();
    let path = folder.path();
    let shown = succeeds(path, &["show", "--op-file", "op.toml"]);
    for part in [
        "# fused_bias_gelu_residual (custom.fused_bias_gelu_residual)",
        "g = gelu(h, approximate=approximate)",
        "`bias` (`T_bias`): tensor",
        "f32[2,7,33]:transposed,[33],[2,7,33]:gap/normal",
    ] {
        assert!(shown.contains(part), "`{part}` is not in\n{shown}");
    }
    let listed = succeeds(path, &["list", "--op-file", "op.toml"]);
    assert!(listed.contains("fused_bias_gelu_residual") && !listed.contains("aten."), "{listed}");
    let judged = succeeds(path, &["eval", "op.cu", "--op-file", "op.toml", "--seed", "1"]);
    assert!(judged.contains("fused_bias_gelu_residual: passed on emu"), "{judged}");
    fs::write(path.join("wrong.cu"), KERNEL.replace("+ kg::to_float(residual[i])", "")).unwrap();
    let assert = kgen(path, &["eval", "wrong.cu", "--op-file", "op.toml"]).assert().code(1);
    assert!(text(&assert).0.contains("wrong_output"), "{}", text(&assert).0);
}

#[test]
fn a_kernel_can_be_the_reference() {
    let folder = folder();
    let path = folder.path();
    let judged = succeeds(path, &["eval", "gathered.cu", "--op-file", "gathered.toml"]);
    assert!(judged.contains("passed on emu"), "{judged}");
    let half = GATHER.replace("scale * v * v", "scale * __half2float(__float2half(v)) * v");
    fs::write(path.join("half.cu"), format!("#include <cuda_fp16.h>\n{half}")).unwrap();
    let args = ["eval", "half.cu", "--op-file", "gathered.toml", "--dtypes", "f32"];
    assert!(text(&kgen(path, &args).assert().code(1)).0.contains("wrong_output"));
    // The reference's own mistakes are not the candidate's.
    for (from, to, says) in [
        ("out[i] = scale", "out[i] = skale", "\"skale\" is undefined"),
        ("x[at[i]] * x[at[i]]", "x[at[i] + n] * x[at[i]]", "reference kernel"),
        ("i < m", "i <= m", "own reference failed: fault: out-of-bounds read"),
    ] {
        fs::write(path.join("bad.toml"), GATHERED.replace(from, to)).unwrap();
        let args = ["eval", "gathered.cu", "--op-file", "bad.toml"];
        let (out, says_now) = text(&kgen(path, &args).assert().failure());
        assert!(out.is_empty() && says_now.contains(says), "{to}: {out} {says_now}");
    }
}

/// A product of rows whose reference says how many terms it adds.
const DOTS: &str = r#"
format = 1
name = "dots"
semantics = "out[i] = the sum over k of x[i, k] * w[i, k]"
dtypes = ["f32"]
[tensors]
x = "[m, k]"
w = "[m, k]"
[outputs]
out = "[m]"
[reference]
cuda = '''
/*@plan
launch("dots", grid=cdiv(out.numel, 64), block=64, args=[x, w, out, x.shape[0], x.shape[1]])
@*/
extern "C" __global__ void dots(const T_x* x, const T_w* w, T_out* out, int m, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= m) return;
  T_out sum = 0;
  for (int k = 0; k < n; ++k) sum += x[i * n + k] * w[i * n + k];
  out[i] = sum;
}
'''
accumulation = "k"
[[cases]]
m = 96
k = 160
[[cases]]
m = 3
k = 4096
"#;

const DOT: &str = r#"/*@plan
launch("f", grid=cdiv(out.numel, 64), block=64, args=[contiguous(x), contiguous(w), out, x.shape[0], x.shape[1]])
@*/
#include <cuda_bf16.h>
extern "C" __global__ void f(const float* x, const float* w, float* out, int m, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= m) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[i * n + k] * w[i * n + k];
  out[i] = sum;
}
"#;

#[test]
fn sums_of_a_kernel_reference_may_be_added_in_order_and_not_coarsely() {
    let folder = folder();
    let path = folder.path();
    let verdict = |op: &str, from: &str, to: &str| {
        let kernel = DOT.replace(from, to);
        assert!(from == to || kernel != DOT, "{from}");
        fs::write(path.join("dots.toml"), op).unwrap();
        fs::write(path.join("dots.cu"), kernel).unwrap();
        let output = kgen(path, &["eval", "dots.cu", "--op-file", "dots.toml"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (sum, product) = ("sum += x[i * n + k] * w[i * n + k]", "x[i * n + k] * w[i * n + k]");
    let honest = verdict(DOTS, "", "");
    assert!(honest.contains("dots: passed on emu"), "{honest}");
    let four = "sum += k % 4 == 0 ? (x[i * n + k] * w[i * n + k] + x[i * n + k + 1] * w[i * n + k + 1]) + \
                (x[i * n + k + 2] * w[i * n + k + 2] + x[i * n + k + 3] * w[i * n + k + 3]) : 0.0f";
    assert!(verdict(DOTS, sum, four).contains("dots: passed on emu"));
    let silent = DOTS.replace("accumulation = \"k\"\n", "");
    assert!(verdict(&silent, "", "").contains("wrong_output"));
    for (from, to) in [
        (sum, "sum = __bfloat162float(__float2bfloat16(sum + x[i * n + k] * w[i * n + k]))"),
        (product, "__bfloat162float(__float2bfloat16(x[i * n + k])) * w[i * n + k]"),
        (product, "__int_as_float(__float_as_int(x[i * n + k]) & ~0x1fff) * w[i * n + k]"),
        ("k < n", "k < n - 1"),
    ] {
        let judged = verdict(DOTS, from, to);
        assert!(judged.contains("wrong_output"), "{to}: {judged}");
    }
}

#[test]
fn a_run_remembers_its_op() {
    let folder = folder();
    let path = folder.path();
    let kernels = path.join("kernels/fused_bias_gelu_residual");
    fs::create_dir_all(&kernels).unwrap();
    fs::write(kernels.join("fused_bias_gelu_residual.cu"), KERNEL).unwrap();
    let args = ["run", "--backend", "pregenerated", "--kernels-dir", "kernels", "--op-file"];
    let assert =
        kgen(path, &args).args(["op.toml", "--run-id", "r", "--seed", "1", "-v"]).assert().code(0);
    let (out, said) = text(&assert);
    assert!(out.contains("passed on emu"), "{out}");
    assert!(said.contains("1 evaluation in") && said.contains("emulate"), "{said}");
    fs::remove_file(path.join("op.toml")).unwrap();
    fs::remove_file(path.join("generated_kernels/r/fused_bias_gelu_residual/metadata.json"))
        .unwrap();
    let out = succeeds(path, &["resume", "r"]);
    assert!(out.contains("fused_bias_gelu_residual"), "{out}");
    let json = succeeds(path, &["resume", "r", "--format", "json"]);
    assert_eq!(documents::data(json.as_bytes())["n_passed"], 1);
}

#[test]
fn mistakes_name_the_file_the_place_and_the_reason() {
    let folder = folder();
    let path = folder.path();
    for (from, to, says) in [
        ("gelu(h,", "geluu(h,", "line 62, column 5: unknown op `geluu` (did you mean `gelu`"),
        ("\"[b, s, d]\"\nbias", "\"[b, s d]\"\nbias", "is no shape"),
        ("add(g, residual)", "add(g, residuals)", "unknown name `residuals`"),
        ("[reference]\ngraph", "[reference]\npython", "defines no `reference`"),
        ("d = 129", "d = 1e3", "not a number of elements"),
        (
            "distributions = [\"normal\", \"specials\", \"large\"]",
            "distributions = [\"odd\"]",
            "distributions",
        ),
    ] {
        let bad = OP.replacen(from, to, 1);
        assert_ne!(bad, OP, "{from}");
        fs::write(path.join("bad.toml"), bad).unwrap();
        let (out, said) = text(&kgen(path, &["show", "--op-file", "bad.toml"]).assert().code(3));
        assert!(out.is_empty() && said.contains("bad.toml") && said.contains(says), "{to}: {said}");
    }
    kgen(path, &["show", "--op-file", "none.toml"]).assert().code(3);
    kgen(path, &["show"]).assert().code(2);
}

#[test]
fn what_is_right_in_a_suite_is_worked_on_when_asked_for() {
    let folder = folder();
    let path = folder.path();
    let suite = "format = 1\nname = \"mine\"\n[[ops]]\nop_file = \"gathered.toml\"\n\
        [[ops]]\nname = \"relu\"\ncases = [{ self = \"[3]\" }, { self = \"[-3]\" }]\n\
        [[ops]]\nname = \"mm\"\ncases = [{ self = \"[3, 4]\", mat2 = \"[5, 6]\" }]\n\
        [[ops]]\nname = \"reluu\"\ncases = [{ self = \"[3]\" }]\n";
    fs::write(path.join("mine.toml"), suite).unwrap();
    let args = ["list", "ops", "--suite", "mine.toml"];
    let (_, said) = text(&kgen(path, &args).assert().code(3));
    assert!(said.contains("mine.toml") && said.contains("--keep-going"), "{said}");
    let (out, said) = text(&kgen(path, &args).arg("--keep-going").assert().code(0));
    assert!(out.contains("gathered_square") && out.contains("relu"), "{out}");
    assert!(!out.lines().any(|line| line.starts_with("mm ")), "{out}");
    for part in ["line 7: op `relu`, case 2", "op `mm`", "unknown op `reluu`"] {
        assert!(said.contains(part), "`{part}` is not in\n{said}");
    }
}

/// An op that `kgen import kernelbench` could have made.
const PROBLEM: &str = r#"
format = 1
name = "l1_19_double"
semantics = "The result of `forward` of the PyTorch module `Model` in training mode."
dtypes = ["f32"]
[tensors]
x = { shape = "[batch, width]", init = "uniform(0.0, 1.0)" }
[outputs]
out = "the result"
[reference]
graph = "out = add(x, x)"
[module]
file = "19_Double.py"
class = "Model"
torch = "2.11.0"
source = '''
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + x

def get_inputs():
    return [torch.rand(4, 33)]

def get_init_inputs():
    return []
'''
[[cases]]
batch = 4
width = 33
class = "realistic"
"#;

const DOUBLE: &str = r#"/*@plan
launch("twice", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel])
@*/
extern "C" __global__ void twice(const float* x, float* out, long long n) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i < n) out[i] = x[i] + x[i];
}
"#;

#[test]
fn a_kernel_of_an_imported_problem_is_reported_and_exported_in_kernelbenchs_terms() {
    let folder = folder();
    let path = folder.path();
    let kernels = path.join("kernels/l1_19_double");
    fs::create_dir_all(&kernels).unwrap();
    fs::write(kernels.join("l1_19_double.cu"), DOUBLE).unwrap();
    fs::write(path.join("problem.toml"), PROBLEM).unwrap();
    let suite = "format = 1\nname = \"level1\"\n[[ops]]\nop_file = \"problem.toml\"\n";
    fs::write(path.join("level1.suite.toml"), suite).unwrap();
    let args = ["run", "--backend", "pregenerated", "--kernels-dir", "kernels"];
    let args = [&args[..], &["--suite", "level1.suite.toml", "--run-id", "mine"]].concat();
    succeeds(path, &args);
    let json = succeeds(path, &["report", "mine", "--format", "kernelbench"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sample = &json["19"][0];
    assert_eq!((&sample["compiled"], &sample["correctness"]), (&true.into(), &true.into()));
    assert_eq!(sample["runtime"], -1.0, "the emulator does not time");
    // The op is neither of the catalogue nor the run's only one: the suite's file has it.
    let export = ["export", "mine", "--op", "l1_19_double", "--to", "torch"];
    assert_eq!(succeeds(path, &export), "l1_19_double.py\n");
    let module = fs::read_to_string(path.join("l1_19_double.py")).unwrap();
    for part in ["class ModelNew(", "return x + x", "twice", r#"("x", "input", None, "f32", ("#] {
        assert!(module.contains(part), "{part} is missing in {module}");
    }
}

#[test]
fn the_examples_with_library_steps_pass() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, suffix: &str| {
        format!("{}/examples/libraries/{name}.{suffix}", env!("CARGO_MANIFEST_DIR"))
    };
    for name in ["linear", "linear_gelu", "conv2d_relu"] {
        let (kernel, definition) = (file(name, "cu"), file(name, "toml"));
        // `smoke` lacks it.
        let of_catalogue = ["--op", name, "--suite", "opinfo"];
        let op = if name == "linear" { &of_catalogue[..] } else { &["--op-file", &definition] };
        let args = [&["eval", &kernel, "--libraries"], op].concat();
        let assert = kgen(folder.path(), &args).assert().code(0);
        let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
        assert!(said.contains("passed on emu (strict, with-library)"), "{said}");
    }
}

#[test]
fn the_examples_for_hopper_pass() {
    let folder = tempfile::tempdir().unwrap();
    for (name, op) in [("relu", "relu"), ("mm", "mm"), ("mm_cluster", "mm")] {
        let kernel = format!("{}/examples/hopper/{name}.cu", env!("CARGO_MANIFEST_DIR"));
        let dtypes = ["--dtypes", "bf16", "--seed", "1"];
        let args = [&["eval", &kernel, "--op", op], &dtypes[..]].concat();
        let assert = kgen(folder.path(), &args).assert().code(0);
        let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
        assert!(said.contains("passed on emu (strict)"), "{said}");
    }
}
