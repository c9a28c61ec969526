//! Modules that were traced once. `mixer.json`: convolution, batch norm in training mode, views, an
//! operation in place, a buffer that is a mask, two results. `halved.json`, with versions of random sizes: a layer of
//! half its width, and a factor that follows from another size.

use kgen_import::{CheckError, Trace, check, import, responds, suite};
use kgen_ops::{
    op::{ModuleTensor, PythonReference, custom_cases},
    record::{Case, CaseClass},
    suite::of_op,
};

const HALVED: &str = include_str!("halved.json");
const TRACE: &str = include_str!("mixer.json");

fn trace() -> Trace {
    serde_json::from_str(TRACE).expect("a trace")
}

#[test]
fn a_module_becomes_a_graph_with_extents_that_its_variants_share() {
    let imported = import(&trace(), "mixer").unwrap();
    for line in [
        "x = { shape = \"[batch_size, channels, height, 1]\", init = \"uniform(0.0, 1.0)\" }",
        "gate = { shape = \"[batch_size, 1]\", init = \"normal(0.0, 1.0)\" }",
        "mask = { shape = \"[channels, channels]\", init = \"tril(0, 1.0, 0.0)\", path = \"mask\" }",
        "chunk_1 = slice(batch_norm_0, dim=1, start=channels, end=hidden)",
    ] {
        assert!(imported.text.contains(line), "{line}\n{}", imported.text);
    }
    let module = imported.op.module.as_ref().unwrap();
    assert!(module.train && !module.draws && module.source.contains("class Model"));
    assert!(module.tensors.contains(&("conv_bias".into(), ModuleTensor::Path("conv.bias".into()))));
    assert_eq!(module.variants[0][0], ("batch_size".to_owned(), 16));
    assert_eq!(custom_cases(&imported.op).unwrap().len(), trace().variants.len());
    let shapes = imported.op.infer(&imported.cases[0]).unwrap();
    assert_eq!(shapes[0].shape, [16, 64]);
    assert_eq!(shapes[1].shape, [16, 64, 2048]);
}

#[test]
fn a_graph_gives_the_values_of_its_module_and_another_does_not() {
    let trace = trace();
    let of_module = trace.variants[1].check.as_ref().unwrap();
    let imported = import(&trace, "mixer").unwrap();
    assert!(check(&imported, 1, of_module).unwrap() < 1e-12);
    assert!(responds(&imported, 1, of_module).unwrap());

    let text = TRACE.replace("{\"float\":\"1.5\"}", "{\"float\":\"1.25\"}");
    assert_ne!(text, TRACE);
    let other = import(&serde_json::from_str(&text).unwrap(), "mixer").unwrap();
    let error = check(&other, 1, of_module).unwrap_err();
    assert!(matches!(error, CheckError::Value { output: 1, .. }), "{error}");
}

/// The trace of a module without a graph, whose result has these extents per variant.
fn opaque(extents: impl Fn(&Trace, usize) -> Vec<usize>) -> Trace {
    let of_graph = trace();
    let mut text: serde_json::Value = serde_json::from_str(TRACE).expect("a trace");
    for (place, variant) in text["variants"].as_array_mut().into_iter().flatten().enumerate() {
        variant["nodes"] = serde_json::json!([]);
        variant["outputs"] = serde_json::json!([]);
        let shape = extents(&of_graph, place);
        variant["results"] = serde_json::json!([{ "dtype": "i64", "shape": shape }]);
    }
    serde_json::from_value(text).expect("a trace")
}

#[test]
fn a_module_without_a_graph_is_its_own_reference() {
    let extents = |trace: &Trace, place: usize| {
        let x = &trace.variants[place].tensors[0].shape;
        vec![x[0], x[1] + 1, 3]
    };
    let trace = opaque(extents);
    assert!(trace.is_opaque());
    let imported = import(&trace, "mixer").unwrap();
    for line in ["[reference]\nmodule = true", "shape = \"i64[batch_size, channels + 1, 3]\""] {
        assert!(imported.text.contains(line), "{line}\n{}", imported.text);
    }
    assert_eq!(imported.op.python_reference, Some(PythonReference::Module));
    let shapes = imported.op.infer(&imported.cases[1]).unwrap();
    assert_eq!(shapes[0].shape, extents(&trace, 1));

    let error =
        import(&opaque(|_, place| vec![[5, 90, 11, 70, 3][place % 5]]), "mixer").unwrap_err();
    assert!(error.to_string().contains("dimension 0 does not follow"), "{error}");
}

#[test]
fn a_call_that_the_catalogue_lacks_names_its_line() {
    let text = TRACE.replace("aten.mean.dim", "aten.nonsense.dim");
    let error = import(&serde_json::from_str(&text).unwrap(), "mixer").unwrap_err();
    let kgen_import::ImportError::Call { target, line, .. } = error else { panic!("{error}") };
    assert_eq!((target.as_str(), line), ("aten.nonsense.dim", Some(18)));
}

#[test]
fn variants_with_other_calls_are_refused() {
    let mut trace = trace();
    trace.variants[2].nodes.pop();
    trace.variants[2].outputs.pop();
    let error = import(&trace, "mixer").unwrap_err().to_string();
    assert!(error.contains("the graphs of two variants differ"), "{error}");
}

#[test]
fn a_suite_names_its_files() {
    let text = suite("mine", "my \"model\"", &["a".to_owned(), "b".to_owned()]);
    assert!(text.contains("op_file = \"b.toml\"") && text.contains("my \"model\""), "{text}");
}

#[test]
fn sizes_that_may_change_alone_are_drawn() {
    let trace: Trace = serde_json::from_str(HALVED).unwrap();
    let imported = import(&trace, "halved").unwrap();
    // The factor of `y` is 1 / sqrt(features).
    assert_eq!(imported.drawn, ["batch", "width"]);
    for line in [
        "batch = \"1..7\"",
        "width = \"2..199\"",
        "features = 13",
        "drawn = { \"batch\" = \"batch\", \"width\" = \"width\", \"features\" = \"features\" }",
    ] {
        assert!(imported.text.contains(&format!("\n{line}\n")), "{line}\n{}", imported.text);
    }
    for (place, variant) in trace.variants.iter().enumerate() {
        if let Some(of_module) = &variant.check {
            assert!(check(&imported, place, of_module).unwrap() < 1e-12);
        }
    }
    let suite = of_op(imported.op.clone(), "halved.toml").unwrap().strict().unwrap();
    let public = suite.public_cases("halved").unwrap();
    assert!(public.iter().all(|case| case.class != CaseClass::Drawn));
    let drawn = |seed| -> Vec<Case> {
        let cases = suite.cases("halved", None, seed).unwrap();
        cases.into_iter().filter(|case| case.class == CaseClass::Drawn).collect()
    };
    for seed in 0..50 {
        let [case] = &drawn(seed)[..] else { panic!("seed {seed}") };
        let shape = |name| case.tensor(name).unwrap().spec.shape.clone();
        let width = shape("x")[1];
        assert_eq!((shape("fc_weight"), shape("y")[1]), (vec![width / 2, width], 13));
    }
    assert_ne!(drawn(0)[0].args, drawn(1)[0].args);
}

#[test]
fn without_versions_of_random_sizes_none_is_drawn() {
    let imported = import(&trace(), "mixer").unwrap();
    assert!(imported.drawn.is_empty() && !imported.text.contains("\ndrawn = "));
}

#[test]
fn an_expression_that_fits_the_fixed_versions_alone_is_found_out() {
    let mut trace: Trace = serde_json::from_str(HALVED).unwrap();
    // A module whose layer is larger for one random width.
    let drawn = trace.variants.iter_mut().find(|of| of.constants["width"] == 122).unwrap();
    for tensor in drawn.tensors.iter_mut().filter(|tensor| tensor.name.starts_with("fc")) {
        tensor.shape[0] += 1;
    }
    for node in &mut drawn.nodes {
        for output in node.outputs.iter_mut().filter(|output| output.shape == [5, 61]) {
            output.shape[1] += 1;
        }
    }
    let imported = import(&trace, "halved").unwrap();
    assert_eq!(imported.drawn, ["batch"], "{}", imported.text);
    assert!(imported.text.contains("[fc_weight_0, width]"), "{}", imported.text);
}

#[test]
fn a_version_with_another_graph_is_left_out() {
    let mut trace: Trace = serde_json::from_str(HALVED).unwrap();
    let n_variants = trace.variants.len();
    let drawn = trace.variants.iter_mut().find(|of| of.constants["batch"] == 1).unwrap();
    drawn.nodes.pop();
    trace.leave_out_others();
    assert_eq!(trace.variants.len(), n_variants - 1);
    assert_eq!(import(&trace, "halved").unwrap().drawn, ["batch", "width"]);
}
