//! References in Python, with a Python that plays kgen's PyTorch process: what it computes is twice the input.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use tempfile::TempDir;

use super::flow::kgen;

/// Answers when it is asked for its packages, else serves a socket. The code of the op says how it fails.
const PYTHON: &str = r#"#!/usr/bin/env python3
import array, json, os, socket, sys

FACTS = {"python": "3.12.3", "torch": "2.11.0", "cuda": None, "triton": None, "flag_gems": None, "device": "cpu",
         "uuid": None, "settings": {"matmul_tf32": False, "cudnn_tf32": False, "f16_reduced_reduction": True,
         "bf16_reduced_reduction": True, "matmul_precision": "highest", "deterministic": False}}

def prepare(request):
    # The code itself, as kgen puts it into the text for the process.
    source = json.loads(next(l for l in request["source"].splitlines() if l.startswith("TEXT = "))[7:])
    if "exit" in source:
        os._exit(3)
    if "raise" in source:
        detail = 'File "<reference>", line 3, in reference\n'
        return {"error": {"kind": "raised", "message": "ValueError: odd", "detail": detail}}
    [(_, x)], [out] = request["args"], request["outputs"]
    assert x["tensor"]["dtype"] == out["dtype"] == "f64", request
    values = array.array("d", open(x["tensor"]["at"]["shm"], "rb").read())
    by = {"values": lambda v: 2 * v, "spread": lambda v: abs(v) * 2**-23, "magnitude": lambda v: abs(2 * v)}
    with open(out["at"]["shm"], "r+b") as file:
        file.write(array.array("d", map(by[request["entry"]], values)).tobytes())
    return {"ok": {"handle": 1, "first_s": 0.0, "settings": FACTS["settings"]}}

if sys.argv[1] == "-c":
    print(json.dumps({name: FACTS[name] for name in ("python", "torch", "triton", "flag_gems")}))
    sys.exit()
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[sys.argv.index("--socket") + 1])
server.listen(4)
print(json.dumps({"protocol": 1, "ready": FACTS}), flush=True)
while True:
    connection, _ = server.accept()
    for line in connection.makefile("rb"):
        request = json.loads(line)
        answers = {"hello": lambda _: {"ok": FACTS}, "prepare": prepare, "drop": lambda _: {"ok": {}}}
        reply = {"id": request["id"], **answers[request["do"]](request)}
        connection.sendall(json.dumps(reply).encode() + b"\n")
"#;

const TWICE: &str = r#"
format = 1
name = "twice"
semantics = "out = 2 x"
[tensors]
x = "[n]"
[outputs]
out = "[n]"
[reference]
python = """
def reference(x):
    return 2 * x
"""
[[cases]]
n = "1..100"
[[cases]]
n = 33
"#;

const KERNEL: &str = r#"/*@plan
x = contiguous(x)
launch("twice", grid=cdiv(x.numel, 128), block=128, args=[x, out, x.numel])
@*/
extern "C" __global__ void twice(const T_x* x, T_out* out, long long n) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) out[i] = kg::from_float<T_out>(2.0f * kg::to_float(x[i]));
}
"#;

fn folder(op: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("twice.toml", op);
    write("right.cu", KERNEL);
    write("wrong.cu", &KERNEL.replace("2.0f", "2.001f"));
    write("python", PYTHON);
    fs::set_permissions(folder.path().join("python"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn eval(path: &Path, kernel: &str) -> (Option<i32>, String, String) {
    let args =
        ["eval", kernel, "--op-file", "twice.toml", "--device", "emu", "--python", "./python"];
    let output = kgen(path, &args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn python_code_decides_and_the_output_says_so() {
    let folder = folder(TWICE);
    let (code, out, said) = eval(folder.path(), "right.cu");
    assert!(code == Some(0) && out.contains("passed on emu"), "{out} {said}");
    assert!(said.contains("twice: its reference is the Python code of its file"), "{said}");
    assert!(said.contains("Python process of cpu"), "{said}");
    let (code, out, said) = eval(folder.path(), "wrong.cu");
    assert!(code == Some(1) && out.contains("wrong_output"), "{out} {said}");
}

#[test]
fn its_errors_are_never_the_kernels() {
    for (code, says) in [
        ("raise ValueError", "the op's own reference failed: ValueError: odd (line 3)"),
        ("exit()", "the Python process ended when it was asked to prepare"),
    ] {
        let folder = folder(&TWICE.replace("return 2 * x", code));
        let (code, out, said) = eval(folder.path(), "right.cu");
        assert!(code == Some(3) && out.is_empty() && said.contains(says), "{out} {said}");
    }
}
