//! A module that was traced once (`mixer.json`): convolution, batch norm in training mode, views, an
//! operation in place, a buffer that is a mask, two results.

use kgen_import::{CheckError, Trace, check, import, responds, suite};
use kgen_ops::op::{ModuleTensor, custom_cases};

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
