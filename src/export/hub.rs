//! A kernel as a project for Hugging Face's `kernels` and `kernel-builder`: the module with its build,
//! tests, a benchmark and a card.
//!
//! The kernel needs no build of its own, so the variant that `kernels` loads is written, too: the package and
//! the facts that the loader asks for.

use std::fmt::Write as _;

use kgen_ops::op::OpDef;
use kgen_record::{Case, CaseClass, hex};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    Export, ExportError, FIRST_LINE, add_body,
    card::{self, Evidence},
    cases::made,
    dictionary,
    literal::string,
    module_name, of_pytorch,
};

const INIT: &str = include_str!("../../python/export/hub/init.py");
const OPS: &str = include_str!("../../python/export/hub/ops.py");
const CONFTEST: &str = include_str!("../../python/export/hub/conftest.py");
const TEST: &str = include_str!("../../python/export/hub/test_kernel.py");
const BENCHMARK: &str = include_str!("../../python/export/hub/benchmark.py");
const BUILD: &str = include_str!("../../python/export/hub/build.toml");
const FLAKE: &str = include_str!("../../python/export/hub/flake.nix");

/// Workloads at most that a benchmark has.
const MAX_WORKLOADS: usize = 12;

/// The files of a project.
#[derive(Debug, Clone)]
pub struct Project {
    /// Paths below the project's folder, and texts; the first is `build.toml`.
    pub files: Vec<(String, String)>,
    /// The path among them that has the kernel.
    pub module: String,
}

impl Project {
    /// Returns the first line of `build.toml`, by which a project of the same kernel is known.
    #[must_use]
    pub fn first_line(&self) -> &str {
        self.files.first().and_then(|(_, text)| text.lines().next()).unwrap_or_default()
    }
}

/// Returns the name of the kernel's package: that on the Hub with `_` for `-`. It begins with a letter.
fn package_name(op: &OpDef) -> String {
    module_name(op).trim_start_matches('_').to_ascii_lowercase()
}

/// Returns the kernel's name on the Hub: small letters, digits and dashes.
#[must_use]
pub fn hub_name(op: &OpDef) -> String {
    package_name(op).replace('_', "-")
}

/// Writes the project; cases: those of the suite that are timed on a GPU.
///
/// # Errors
///
/// [`ExportError`] where the op is none of PyTorch's, the kernel needs more than PyTorch, or the text is no
/// kernel file.
pub fn to_hub(
    export: &Export<'_>,
    evidence: &Evidence<'_>,
    cases: &[Case],
) -> Result<Project, ExportError> {
    let op = export.op;
    if op.module.is_some() {
        return Err(ExportError::OfModule { op: op.name.clone() });
    }
    let (aten, file) = of_pytorch(export)?;
    if kgen_compile::includes_cutlass(file.text()) {
        return Err(ExportError::NeedsCutlass { op: op.name.clone() });
    }
    let (name, package) = (hub_name(op), package_name(op));
    let mut module = format!("{FIRST_LINE}\n");
    let origin: Vec<_> = export.origin.iter().map(|line| format!("# {line}\n")).collect();
    module.push_str(&origin.concat());
    module.push_str("\nfrom ._ops import add_op_namespace_prefix\n\n");
    let namespace = "add_op_namespace_prefix(NAME).partition(\"::\")[0]";
    add_body(&mut module, export, aten, &file, namespace);

    // Whatever differs between two kernels is in the module, the run and the attempt included.
    let unique = hex(&Sha256::digest(&module)[..5]);
    let id = format!("_{package}_cuda_{unique}");
    let capability = evidence.capability();
    let fill = |template: &str| {
        let words = [
            ("KERNEL_NAME", name.as_str()),
            ("KERNEL_ID", &id),
            ("CAPABILITY", &capability),
            ("PACKAGE", &package),
            ("CLASSNAME", &camel_case(&package)),
            ("OPNAME", &op.folder()),
            ("ATEN", aten),
        ];
        words.into_iter().fold(template.to_owned(), |text, (word, value)| text.replace(word, value))
    };
    let workloads = workloads(export, cases);
    let metadata = json!({
        "name": name,
        "id": id,
        "version": 1,
        "license": "unknown",
        "python-depends": [],
        "backend": { "type": "cuda", "archs": [capability] },
    });
    let source = |file: &str| format!("torch-ext/{package}/{file}");
    let built = |file: &str| format!("build/torch-cuda/{file}");
    let init = fill(INIT);
    let card = card::text(export, evidence, &name, aten);
    let files = vec![
        ("build.toml".to_owned(), format!("{FIRST_LINE} {}\n{}", op.name, fill(BUILD))),
        ("CARD.md".to_owned(), card),
        ("flake.nix".to_owned(), FLAKE.to_owned()),
        (source("__init__.py"), init.clone()),
        (source("kernel.py"), module.clone()),
        ("tests/conftest.py".to_owned(), fill(CONFTEST)),
        (format!("tests/test_{package}.py"), fill(TEST)),
        ("benchmarks/benchmark.py".to_owned(), fill(BENCHMARK).replace("{}\n", &workloads)),
        (built("__init__.py"), init),
        (built("kernel.py"), module),
        (built("_ops.py"), fill(OPS)),
        (built("metadata.json"), format!("{metadata:#}\n")),
    ];
    Ok(Project { files, module: source("kernel.py") })
}

/// Writes the calls that the benchmark makes, as a dictionary: those that were timed, else the suite's
/// realistic ones, else those that the module is checked on.
fn workloads(export: &Export<'_>, cases: &[Case]) -> String {
    let timed = |case: &&Case| export.tuned.iter().any(|(tuned, _)| tuned.id == case.id);
    let realistic = |case: &&Case| case.class == CaseClass::Realistic;
    let choices = [
        cases.iter().filter(timed).collect::<Vec<_>>(),
        cases.iter().filter(realistic).collect(),
        export.checked(),
    ];
    let chosen = choices.into_iter().find(|some| !some.is_empty()).unwrap_or_default();
    let n_taken = chosen.len().min(MAX_WORKLOADS);
    let mut out = String::from("{\n");
    for index in 0..n_taken {
        let case = chosen[index * chosen.len() / n_taken];
        let words =
            case.id.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        // The number keeps apart what differs in a sign alone, and the order that of the card.
        let name = format!("{index:02}_{}", words.collect::<Vec<_>>().join("_"));
        let call = dictionary(export.op, case, &made);
        writeln!(out, "    {}: {call},", string(&name)).expect("a string takes any text");
    }
    out + "}\n"
}

fn camel_case(name: &str) -> String {
    let words = name.split('_').filter_map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    });
    words.collect()
}
