//! Modules in the place of PyTorch modules.

use std::sync::Arc;

use super::*;

const NET: &str = include_str!("net.toml");

const KERNEL: &str = r#"
/*@plan
    n = param("BLOCK", [128, 256])
    launch("net", cdiv(out0.numel, n), n, args=[x, mask, linear_weight, linear_bias, constant, out0, out1])
@*/
extern "C" __global__ void net(const float*, const bool*, const float*, const float*, const float*, float*, float*) {}
"#;

fn net(change: impl FnOnce(String) -> String) -> Arc<OpDef> {
    op::custom(&change(NET.to_owned())).unwrap()
}

fn exported(op: &OpDef) -> String {
    to_torch(&export(op, KERNEL, &[])).unwrap()
}

#[test]
fn the_file_is_python_and_so_is_the_text_in_it() {
    let script = "import ast, sys\n\
        tree = ast.parse(sys.stdin.read())\n\
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]\n\
        parts = [ast.parse(text) for text in texts if '\\ndef ' in text]\n\
        print(len(parts), [node.name for node in tree.body if isinstance(node, ast.ClassDef)])";
    let folder = tempfile::tempdir().unwrap();
    let text = exported(&net(|text| text)).into_bytes();
    let spec = Spec::new("python3", folder.path()).args(["-c", script]).stdin(text);
    let output = match kgen_process::run(&spec) {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // The original and the runtime.
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "2 ['ModelNew']", "{errors}");
}

#[test]
fn tensors_are_told_by_role_type_and_extents() {
    let text = exported(&net(|text| text));
    for part in [
        r#"("x", "input", None, "f32", ("batch", "width"))"#,
        r#"("mask", "input", None, "bool", ("batch", "1"))"#,
        r#"("linear_bias", "path", "linear.bias", "f32", ("hidden",))"#,
        r#"("constant", "constant", ("triangle", 1, 1.0, 0.0, False), "f32", ("hidden", "hidden"))"#,
        "_kgen.SCALARS = {}",
        "_kgen.TRAIN = True",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(text.starts_with(FIRST_LINE));
}

#[test]
fn extents_are_numbers_where_the_sizes_alone_do_not_tell_all() {
    // An extent that no other tensor has.
    let other = |text: String| text.replace("\"[hidden, hidden]\"", "\"[hidden, depth]\"");
    let other =
        |text: String| other(text).replace("hidden = 3\nclass", "hidden = 3\ndepth = 9\nclass");
    let text =
        exported(&net(|text| other(text).replace("hidden = 4\n", "hidden = 4\ndepth = 2\n")));
    assert!(text.contains(r#""input", None, "f32", ("5", "7"))"#), "{text}");
    assert!(text.contains(r#""f32", ("3", "9"))"#), "{text}");
    // A number that belongs to the sizes.
    let scalar = |text: String| {
        let text = text.replace("[outputs]", "[scalars]\nslope = 0.25\n\n[outputs]");
        text.replace("relu(linear)", "leaky_relu(linear, negative_slope=slope)")
    };
    let text = exported(&net(scalar));
    assert!(text.contains("_kgen.SCALARS = {\"slope\": 0.25}"), "{text}");
    assert!(text.contains(r#""input", None, "f32", ("5", "7"))"#), "{text}");
}

#[test]
fn values_that_a_module_draws_for_itself_are_refused() {
    let draws = |text: String| text.replace("triu(1, 1.0, 0.0)", "normal(0.0, 1.0)");
    let error = to_torch(&export(&net(draws), KERNEL, &[])).unwrap_err();
    assert!(matches!(error, ExportError::Draws { .. }), "{error}");
    let without_sizes = |text: String| text.replace("class = \"realistic\"\n", "");
    let error = to_torch(&export(&net(without_sizes), KERNEL, &[])).unwrap_err();
    assert!(matches!(error, ExportError::NoSizes { .. }), "{error}");
}

#[test]
fn they_are_drop_in_replacements_of_the_originals() {
    let Some(interpreter) = pytorch() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.py");
    fs::write(&path, exported(&net(|text| text))).unwrap();
    let lines = path.display().to_string().into_bytes();
    if let Some(said) = python(&interpreter, "compare_models.py", &[], lines) {
        assert_eq!(said.trim(), "1 of 1 modules agree");
    }
}
