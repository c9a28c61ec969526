//! Kernels that include headers of CUTLASS and `CuTe`, and refusals of such includes.

use std::{fs, path::Path};

use super::flow::kgen;

/// A kernel file that includes one header.
fn including(header: &str) -> String {
    format!(
        "/*@plan\nlaunch(\"relu\", grid=1, block=1, args=[out])\n@*/\n#include <{header}>\n\
         extern \"C\" __global__ void relu(T_out* out) {{}}\n"
    )
}

/// Evaluates a kernel file with flags; returns what is said.
fn eval(folder: &Path, text: &str, flags: &[&str], code: i32) -> String {
    let path = folder.join("kernel.cu");
    fs::write(&path, text).unwrap();
    let shared = ["eval", path.to_str().unwrap(), "--seed", "1", "--op"];
    let assert = kgen(folder, &[&shared[..], flags].concat()).assert().code(code);
    let output = assert.get_output();
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

#[test]
fn kernels_in_cute_pass_on_the_emulator() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = [
        ("relu", "f32", include_str!("../../examples/cute/relu.cu")),
        ("mm", "f16", include_str!("../../examples/cute/mm.cu")),
    ];
    for (op, dtype, text) in kernels {
        let said = eval(folder.path(), text, &[op, "--dtypes", dtype, "--cutlass"], 0);
        assert!(said.contains("passed on emu (strict)"), "{said}");
    }
}

#[test]
fn headers_of_cutlass_need_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let said = eval(folder.path(), &including("cute/tensor.hpp"), &["relu"], 1);
    assert!(said.contains("rejected") && said.contains("`cute/tensor.hpp`"), "{said}");
    assert!(said.contains("`--cutlass`"), "{said}");
}

#[test]
fn headers_that_are_none_and_those_of_the_host_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (header, verdict) in
        [("cute/tensors.hpp", "compile_error"), ("cutlass/util/host_tensor.h", "rejected")]
    {
        let said = eval(folder.path(), &including(header), &["relu", "--cutlass"], 1);
        assert!(said.contains(verdict) && said.contains(header), "{said}");
        assert!(said.contains("line 4"), "{said}");
    }
}

#[test]
fn missing_headers_are_not_downloaded_where_that_is_forbidden() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.cu");
    fs::write(&path, including("cute/tensor.hpp")).unwrap();
    let setup = kgen(folder.path(), &["setup"]).assert().code(0);
    let setup = String::from_utf8_lossy(&setup.get_output().stdout).into_owned();
    let (_, nvrtc) = setup.split_once(" at ").unwrap();
    let (nvrtc, _) = nvrtc.split_once(" (found by").unwrap();
    let args = ["eval", path.to_str().unwrap(), "--op", "relu", "--cutlass"];
    let args = [&args[..], &["--offline", "--nvrtc", nvrtc]].concat();
    let mut command = kgen(folder.path(), &args);
    let assert = command.env("KGEN_CACHE_DIR", folder.path()).assert().code(5);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("CUTLASS is not installed"), "{said}");
    assert!(said.contains("`kgen setup --cutlass`"), "{said}");
}
