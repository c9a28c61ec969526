use kgen_ops::suite;
use serde_json::json;

use super::*;

/// A definition of `y = scale (x + bias)` with changes.
fn definition(change: impl FnOnce(&mut Value)) -> String {
    let mut definition = json!({
        "name": "Scaled_h6144", "op_type": "x", "description": "scaled sums",
        "axes": {
            "M": { "type": "var" }, "M1": { "type": "var" },
            "H": { "type": "const", "value": 6144 }, "D": { "type": "const", "value": 128 },
        },
        "constraints": ["M1 == M * 2 + 1"],
        "inputs": {
            "x": { "shape": ["M", "H"], "dtype": "bfloat16" },
            "scale": { "shape": null, "dtype": "float32" },
            "bias": { "shape": ["H"], "dtype": "float32" },
            "ptr": { "shape": ["M1"], "dtype": "int32" },
            "d": { "shape": ["D"], "dtype": "bfloat16" },
        },
        "outputs": {
            "y": { "shape": ["M", "H"], "dtype": "bfloat16" },
            "n": { "shape": ["M"], "dtype": "int64" },
        },
        "reference": "def run(x, scale, bias, ptr, d):\n    assert d.shape[0] == 128\n    return {'n': 1, 'y': 2}",
    });
    change(&mut definition);
    definition.to_string()
}

fn workload(m: u64, ptr: &str) -> String {
    let drawn = json!({ "type": "random" });
    let inputs = json!({
        "x": drawn, "bias": drawn, "d": drawn, "scale": { "type": "scalar", "value": 0.5 },
        "ptr": { "type": ptr, "path": "p", "tensor_key": "k" },
    });
    let workload = json!({ "uuid": "u", "axes": { "M": m, "M1": 2 * m + 1 }, "inputs": inputs });
    json!({ "definition": "d", "workload": workload, "solution": null }).to_string()
}

#[test]
fn a_definition_is_an_op_whose_reference_takes_tensors_and_scalars_apart() {
    let lines: Vec<String> = (1..=20).rev().map(|m| workload(m * 8, "random")).collect();
    let (text, op) = import(&definition(|_| {}), &lines.join("\n\n"), name).unwrap();
    assert_eq!(op.name, "scaled_h6144");
    assert_eq!(op.dtypes, [DType::BF16]);
    for part in [
        "x = { shape = \"[m, h]\" }",
        "bias = { shape = \"f32[h]\" }",
        "ptr = { shape = \"i32[m * 2 + 1]\", init = \"integers(-1024, 1024)\" }",
        // The code names the number.
        "d = { shape = \"[128]\" }",
        "scale = 0.5",
        "out1 = { shape = \"i64[m]\", text = \"n\" }",
        "def reference(x, bias, ptr, d, *, scale):\n    returned = run(x, scale, bias, ptr, d)",
        "return [returned[name] for name in [\"y\", \"n\"]]",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let suite = suite::of_op(op, "scaled.toml").unwrap().strict().unwrap();
    let cases = suite.cases("scaled_h6144", None, 3).unwrap();
    let rows = |case: &kgen_ops::record::Case| case.tensor("x").unwrap().spec.shape.clone();
    let shapes: Vec<Vec<usize>> = cases.iter().map(rows).collect();
    let large: Vec<&Vec<usize>> = shapes.iter().filter(|shape| shape[1] == 6144).collect();
    let large: Vec<usize> = large.into_iter().map(|shape| shape[0]).collect();
    assert_eq!(large, [8, 40, 80, 120, 160]);
    let mut small: Vec<usize> =
        shapes.iter().map(|shape| shape[1]).filter(|columns| *columns < 6144).collect();
    small.sort_unstable();
    small.dedup();
    assert_eq!(small, [36, 48]);
}

#[test]
fn what_does_not_fit_has_a_reason() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str, &str); 5] = [
        (|_| {}, "safetensors", "the values of `ptr` are data of a file"),
        (|of| of["inputs"]["x"]["dtype"] = json!("float4_e2m1"), "random", "no type `float4_e2m1`"),
        (|of| of["inputs"]["x"]["shape"] = json!(["M", "Q"]), "random", "the axis `Q`"),
        (|of| of["inputs"]["x"]["shape"] = json!(3), "random", "`x`: "),
        (|of| of["reference"] = json!(null), "random", "expected a string"),
    ];
    for (change, kind, reason) in changes {
        let error = import(&definition(change), &workload(8, kind), name).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}, not {reason}");
    }
    // A constraint on values leaves the workloads alone.
    let values: Change = |of| of["constraints"] = json!(["M1 == ptr[-1]"]);
    let (text, _) = import(&definition(values), &workload(8, "random"), name).unwrap();
    assert!(!text.contains(".."), "{text}");
    let error = import(&definition(values), "", name).unwrap_err();
    assert!(error.to_string().contains("no workload"), "{error}");
}
