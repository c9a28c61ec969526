//! `kgen export`: modules and projects from recorded runs.

use std::{fs, path::Path};

use assert_cmd::assert::Assert;
use serde_json::Value;

use super::cli::{fails, folder, kgen, stdout};

const GPU: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/generated_kernels/demo-gpu");
const EMULATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/generated_kernels/demo");

#[test]
fn a_kernel_of_a_run_is_exported_as_a_module() {
    let folder = folder();
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/generated_kernels/demo-gpu");
    let export = |args: &[&str]| {
        let mut command = kgen(folder.path());
        command.args(["export", demo, "--op", "relu", "--to", "torch"]).args(args);
        command.assert()
    };
    let path = folder.path().join("relu.py");
    assert_eq!(stdout(&export(&[]).code(0)), "relu.py\n");
    let module = fs::read_to_string(&path).unwrap();
    assert!(module.contains("attempt 2 at relu, passed (emu+cuda) on NVIDIA H200"), "{module}");
    assert!(module.contains(r#"({"self": ("f32", 4096, 4096)}, {"BLOCK": 128, "#), "{module}");
    assert_eq!(stdout(&export(&["-o", "-"]).code(0)).trim_end(), module.trim_end());

    export(&[]).code(0);
    fs::write(&path, "mine").unwrap();
    let args = ["export", demo, "--op", "relu", "--to", "torch"];
    fails(folder.path(), &args, 2, &["relu.py exists and is no exported module", "hint: -o"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let with = |extra: &'static [&'static str]| [&args[..], extra].concat();
    fails(folder.path(), &with(&["--attempt", "9"]), 2, &["there is no attempt 9 at relu"]);
    let args = ["export", demo, "--op", "gelu", "--to", "torch"];
    fails(folder.path(), &args, 2, &["demo-gpu has no finished attempt at gelu", "relu, softmax"]);
    let begun = folder.path().join("demo-gpu");
    fs::create_dir(&begun).unwrap();
    fs::copy(format!("{demo}/run.json"), begun.join("run.json")).unwrap();
    let args = ["export", begun.to_str().unwrap(), "--op", "relu", "--to", "torch"];
    fails(folder.path(), &args, 2, &["it has none at all: `kgen resume demo-gpu` goes on"]);
}

/// Exports a kernel of a recorded run as a project.
fn project(at: &Path, run: &str, op: &str, extra: &[&str]) -> Assert {
    let mut command = kgen(at);
    command.args(["export", run, "--op", op, "--to", "hf-kernel"]).args(extra);
    command.assert()
}

fn read(at: &Path, file: &str) -> String {
    fs::read_to_string(at.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn a_kernel_of_a_run_is_exported_as_a_project() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(stdout(&project(at, EMULATED, "layer_norm", &[]).code(0)), "layer-norm\n");
    let path = at.join("layer-norm");
    let build = read(&path, "build.toml");
    for line in ["name = \"layer-norm\"", "edition = 5", "cuda_capabilities = [\"9.0\"]"] {
        assert!(build.lines().any(|found| found == line), "{line}: {build}");
    }
    let metadata: Value =
        serde_json::from_str(&read(&path, "build/torch-cuda/metadata.json")).unwrap();
    let id = metadata["id"].as_str().unwrap();
    assert!(id.starts_with("_layer_norm_cuda_"), "{id}");
    assert!(read(&path, "build/torch-cuda/_ops.py").contains(&format!("_NAMESPACE = \"{id}\"")));
    for file in ["__init__.py", "kernel.py"] {
        let source = read(&path, &format!("torch-ext/layer_norm/{file}"));
        assert_eq!(source, read(&path, &format!("build/torch-cuda/{file}")));
    }
    assert!(read(&path, "tests/test_layer_norm.py").contains("module.layer_norm("));
    let benchmark = read(&path, "benchmarks/benchmark.py");
    assert!(benchmark.contains("class LayerNormBenchmark(") && benchmark.contains("\"00_f32_"));

    // Once more it is the same, and no other kernel takes its place.
    project(at, EMULATED, "layer_norm", &[]).code(0);
    assert_eq!(read(&path, "build.toml"), build);
    let args = ["export", EMULATED, "--op", "relu", "--to", "hf-kernel", "-o"];
    let to = |place: &'static str| [&args[..], &[place]].concat();
    let says = ["layer-norm exists and is no project of this kernel", "hint: -o"];
    fails(at, &to("layer-norm"), 2, &says);
    assert_eq!(read(&path, "build.toml"), build);
    fs::write(at.join("file"), "mine").unwrap();
    fails(at, &to("file"), 2, &["file exists and is a file"]);
    fails(at, &to("file/in"), 3, &["cannot write file/in"]);
    fails(at, &to("-"), 2, &["standard output is one file"]);
    fails(at, &[&args[..6], &["--backward"]].concat(), 2, &["--backward writes a pair"]);
}

#[test]
fn a_card_says_what_was_measured_and_what_was_not() {
    let folder = folder();
    let at = folder.path();
    project(at, GPU, "softmax", &["-o", "gpu"]).code(0);
    project(at, EMULATED, "softmax", &["-o", "emulated"]).code(0);
    let gpu = read(at, "gpu/CARD.md");
    for part in [
        "| verdict | passed (emu+cuda): small cases on a PTX emulator, all cases on a GPU |",
        "| cases that passed | 63/63 |",
        "| GPU | NVIDIA H200 |",
        "Measured on NVIDIA H200. 1.46x",
        "| f32[4096,4096],dim=-1/normal | cold | 35.84 us | builtin | 48.42 us | 1.34x [1.34, 1.35] | ambiguous |",
    ] {
        assert!(gpu.contains(part), "{part}: {gpu}");
    }
    let emulated = read(at, "emulated/CARD.md");
    for part in [
        "| verdict | passed (emu): on a PTX emulator alone |",
        "| cases that passed | 57/57, 6 ",
        "| GPU | none |",
        "Not measured on a GPU",
        "* behaviour on a GPU\n* speed\n",
    ] {
        assert!(emulated.contains(part), "{part}: {emulated}");
    }
    assert!(!emulated.contains("builtin") && !emulated.contains(" us |"), "{emulated}");
}
