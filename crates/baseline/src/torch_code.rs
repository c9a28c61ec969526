//! PyTorch code that computes an op of one's own, as text for the Python process.

use kgen_ops::{
    expr::Expr,
    op::{ModuleTensor, OpDef, PythonReference, TorchModule},
};
use serde_json::json;

/// Arithmetic in f64.
const WIDE: &str = include_str!("../../../python/wide.py");

/// Rewrites the integers of a file; the importer takes it too.
const CONSTANTS: &str = include_str!("../../../python/importer/constants.py");

/// Makes a module and calls it on kgen's tensors.
const MODULE: &str = include_str!("../../../python/module.py");

/// Calls a function on kgen's tensors.
const FUNCTION: &str = include_str!("../../../python/function.py");

/// References out of either.
const REFERENCES: &str = include_str!("../../../python/reference.py");

/// The function that returns the results.
pub const FORWARD: &str = "forward";

/// The function that does so by `torch.compile`.
pub const COMPILED: &str = "compiled";

/// The function that does so with `mode="max-autotune"`.
pub const AUTOTUNED: &str = "autotuned";

/// The function that returns the results in f64, rounded to their own types.
pub const REFERENCE: &str = "reference";

/// The function that returns, of some elements of each result: the values in f64, and their responses to
/// roundings of f32, first of the inputs and then of all results in between, the latter over the unit
/// roundoff. All are f64. Lists follow the tensors: a number that names their values, which a second call
/// repeats, and the elements of each result.
pub const ELEMENTS: &str = "elements";

/// Outputs of [`ELEMENTS`] per result.
pub const ELEMENTS_PARTS: usize = 3;

/// The function that returns every result in f64.
pub const VALUES: &str = "values";

/// The function that returns the responses to roundings of the inputs, of every result.
pub const SPREAD: &str = "spread";

/// The function that returns the responses to roundings of all results in between, of every result.
pub const MAGNITUDE: &str = "magnitude";

/// Returns whether PyTorch code is known of an op that gives the values that kernels are to give.
#[must_use]
pub fn is_known(op: &OpDef) -> bool {
    matches!(op.python_reference, Some(PythonReference::Text(_))) || module(op).is_some()
}

/// Returns the module of an op; a module that draws values of its own gives others.
fn module(op: &OpDef) -> Option<&TorchModule> {
    op.module.as_ref().filter(|module| !module.draws)
}

/// Returns Python text with these functions; `None` where no PyTorch code is known of an op, see [`is_known`].
#[must_use]
pub fn source(op: &OpDef) -> Option<String> {
    if let Some(PythonReference::Text(text)) = &op.python_reference {
        return Some(format!("{WIDE}\n\nTEXT = {}\n\n{FUNCTION}\n\n{REFERENCES}", json!(text)));
    }
    let module = module(op)?;
    // A string of JSON is one of Python.
    let problem = json!(problem(module, op.python_reference.is_some()).to_string());
    Some(format!(
        "{WIDE}\n\n{CONSTANTS}\n\nimport json\n\nPROBLEM = json.loads({problem})\n\n{MODULE}\n\n{REFERENCES}"
    ))
}

fn problem(module: &TorchModule, is_reference: bool) -> serde_json::Value {
    let tensors = module.tensors.iter().map(|(name, part)| match part {
        ModuleTensor::Input => json!([name, "input", null]),
        ModuleTensor::Path(path) => json!([name, "path", path]),
        ModuleTensor::Constant => json!([name, "constant", null]),
    });
    let variants = module.variants.iter().map(|constants| {
        let constants = constants.iter().map(|(name, value)| (name.clone(), json!(value)));
        serde_json::Value::Object(constants.collect())
    });
    let spelled = |dims: &Vec<Expr>| dims.iter().map(Expr::to_string).collect::<Vec<_>>();
    let drawn = module.drawn.iter().map(|(name, of)| (name.clone(), json!(of.to_string())));
    let function = module.inputs.as_ref().map(|inputs| json!({ "inputs": inputs }));
    json!({
        "source": module.source,
        "class": module.class,
        "function": function,
        "train": module.train,
        "tensors": tensors.collect::<Vec<_>>(),
        "variants": variants.collect::<Vec<_>>(),
        "extents": module.extents.iter().map(spelled).collect::<Vec<_>>(),
        "drawn": drawn.collect::<serde_json::Map<_, _>>(),
        "is_reference": is_reference,
    })
}
