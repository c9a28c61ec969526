//! A PyTorch module as text for the Python process.

use kgen_ops::op::{ModuleTensor, TorchModule};
use serde_json::json;

/// Rewrites the integers of a file; the importer takes it too.
const CONSTANTS: &str = include_str!("../../../python/importer/constants.py");

/// Makes the module and calls it on kgen's tensors.
const RUNNER: &str = include_str!("../../../python/module.py");

/// The function that returns the module's result.
pub const FORWARD: &str = "forward";

/// The function that does so by `torch.compile`.
pub const COMPILED: &str = "compiled";

/// The function that returns the results in f64, rounded to their own types.
pub const REFERENCE: &str = "reference";

/// The function that returns, of some elements of each result: the values in f64, and their responses to
/// roundings of f32, first of the inputs and then of all results in between, the latter over the unit
/// roundoff. All are f64. Lists follow the tensors: a number that names their values, which a second call
/// repeats, and the elements of each result.
pub const ELEMENTS: &str = "elements";

/// Outputs of [`ELEMENTS`] per result of the module.
pub const ELEMENTS_PARTS: usize = 3;

/// Returns Python text with the functions [`FORWARD`], [`COMPILED`], [`REFERENCE`] and [`ELEMENTS`].
#[must_use]
pub fn source(module: &TorchModule) -> String {
    let tensors = module.tensors.iter().map(|(name, part)| match part {
        ModuleTensor::Input => json!([name, "input", null]),
        ModuleTensor::Path(path) => json!([name, "path", path]),
        ModuleTensor::Constant => json!([name, "constant", null]),
    });
    let variants = module.variants.iter().map(|constants| {
        let constants = constants.iter().map(|(name, value)| (name.clone(), json!(value)));
        serde_json::Value::Object(constants.collect())
    });
    let function = module.inputs.as_ref().map(|inputs| json!({ "inputs": inputs }));
    let problem = json!({
        "source": module.source,
        "class": module.class,
        "function": function,
        "train": module.train,
        "tensors": tensors.collect::<Vec<_>>(),
        "variants": variants.collect::<Vec<_>>(),
    });
    // A string of JSON is one of Python.
    let text = json!(problem.to_string());
    format!("{CONSTANTS}\n\nimport json\n\nPROBLEM = json.loads({text})\n\n{RUNNER}")
}
