//! Projects for the Hub.

use kgen_record::{AttemptId, OpKey};
use kgen_store::{AttemptRecord, Run, RunInfo};

use super::*;
use crate::export::{Evidence, Project, hub_name, to_hub};

/// Returns the records of an attempt that comes with kgen.
fn records() -> (RunInfo, AttemptRecord) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("generated_kernels/demo");
    let run = Run::open(&folder).unwrap();
    let id = AttemptId { op: OpKey::from(&**op::find("relu").unwrap()), number: 1 };
    (run.info().clone(), run.record(&id).unwrap().unwrap())
}

fn evidence<'a>(run: &'a RunInfo, record: &'a AttemptRecord) -> Evidence<'a> {
    Evidence { run, record, confirmation: None, evaluation: None, speedups: &[] }
}

fn project(op: &OpDef, kernel: &str, run: &str) -> Result<Project, ExportError> {
    let (info, record) = records();
    let cases = suite::load("smoke").unwrap().public_cases(&op.name).unwrap_or_default();
    let mut export = export(op, kernel, &cases);
    export.origin = vec![format!("From run {run}.")];
    to_hub(&export, &evidence(&info, &record), &cases)
}

fn text<'a>(project: &'a Project, file: &str) -> &'a str {
    let found = project.files.iter().find(|(name, _)| name == file);
    &found.unwrap_or_else(|| panic!("{file} is missing")).1
}

#[test]
fn names_are_those_that_the_hub_takes() {
    for op in op::all() {
        let name = hub_name(op);
        let takes = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        assert!(name.len() > 1 && name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert!(name.ends_with(takes) && name.chars().all(|c| c == '-' || takes(c)), "{name}");
    }
}

#[test]
fn a_namespace_is_of_one_kernel_and_one_run() {
    let relu = op::find("relu").unwrap();
    let id = |kernel: &str, run: &str| {
        let project = project(relu, kernel, run).unwrap();
        let facts: Value =
            serde_json::from_str(text(&project, "build/torch-cuda/metadata.json")).unwrap();
        facts["id"].as_str().unwrap().to_owned()
    };
    let kernel = kgen_baseline::builtin("relu").unwrap();
    let ids = [id(kernel, "one"), id(kernel, "two"), id(&kernel.replace("relu", "other"), "one")];
    assert_eq!(ids[0], id(kernel, "one"));
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
}

#[test]
fn kernels_that_need_more_than_pytorch_are_refused() {
    let relu = op::find("relu").unwrap();
    let kernel = kgen_baseline::builtin("relu").unwrap();
    let with = format!("#include <cute/tensor.hpp>\n{kernel}");
    let said = project(relu, &with, "one").unwrap_err().to_string();
    assert!(said.contains("headers of CUTLASS"), "{said}");
    let module = op::custom(include_str!("net.toml")).unwrap();
    let said = project(&module, kernel, "one").unwrap_err().to_string();
    assert!(said.contains("was imported from a module"), "{said}");
    let rope = op::find("rope").unwrap();
    let error = project(rope, kgen_baseline::builtin("rope").unwrap(), "one").unwrap_err();
    assert!(matches!(error, ExportError::NoEager { op } if op == "rope"));
}

#[test]
fn a_card_has_no_marks_of_templates() {
    let relu = op::find("relu").unwrap();
    let (mut info, record) = records();
    info.model = Some("{{model}} {% if %} {# x".to_owned());
    let export = export(relu, kgen_baseline::builtin("relu").unwrap(), &[]);
    let project = to_hub(&export, &evidence(&info, &record), &[]).unwrap();
    let card = text(&project, "CARD.md");
    assert!(card.contains("written by { {model}} { % if %} { # x and judged"), "{card}");
    assert!(["{{", "{%", "{#"].iter().all(|mark| !card.contains(mark)), "{card}");
}

/// Reads sources as Python 3.9, and names imports that a kernel on the Hub may not have.
const IMPORTS: &str = "\
import ast, json, sys
allowed = {*sys.stdlib_module_names, 'torch'}
for name, text in json.load(sys.stdin):
    for node in ast.walk(ast.parse(text, name, feature_version=(3, 9))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        else:
            continue
        for imported in names:
            if imported.split('.')[0] not in allowed and not name.startswith(('tests', 'benchmarks')):
                print(name, imported)
print('read')
";

#[test]
fn sources_are_python_and_import_nothing_of_others() {
    let softmax = op::find("softmax").unwrap();
    let project = project(softmax, kgen_baseline::builtin("softmax").unwrap(), "one").unwrap();
    let sources: Vec<_> = project.files.iter().filter(|(name, _)| name.ends_with(".py")).collect();
    let folder = tempfile::tempdir().unwrap();
    let stdin = serde_json::to_vec(&sources).unwrap();
    let spec = Spec::new("python3", folder.path()).args(["-c", IMPORTS]).stdin(stdin);
    let Ok(output) = kgen_process::run(&spec) else { return println!("skipped: no Python") };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "read\n", "{errors}");
}

/// Loads each project as the published loader does: a package under its own name, from its folder.
const LOAD: &str = "\
import importlib.util, json, pathlib, sys
import torch
seen = set()
for folder in sys.argv[1:]:
    build = pathlib.Path(folder, 'build/torch-cuda')
    name = json.loads((build / 'metadata.json').read_text())['id']
    spec = importlib.util.spec_from_file_location(name, build / '__init__.py')
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    op = getattr(getattr(torch.ops, name), module.__all__[0])
    assert module.kernel.NAMESPACE == name and op.overloads(), name
    seen.add(name)
print(len(seen), hasattr(torch.ops.kgen, 'relu'))
";

#[test]
fn projects_of_ops_and_runs_share_a_process() {
    let Some(interpreter) = pytorch() else { return };
    let folder = tempfile::tempdir().unwrap();
    let of = [("relu", "one"), ("relu", "two"), ("softmax", "one"), ("copy", "one")];
    let mut args = vec!["-c".to_owned(), LOAD.to_owned()];
    for (name, run) in of {
        let place = folder.path().join(format!("{name} {run}"));
        let project = project(op::find(name).unwrap(), kgen_baseline::builtin(name).unwrap(), run);
        for (file, text) in project.unwrap().files {
            fs::create_dir_all(place.join(&file).parent().unwrap()).unwrap();
            fs::write(place.join(file), text).unwrap();
        }
        args.push(place.display().to_string());
    }
    let output = kgen_process::run(&Spec::new(&interpreter, folder.path()).args(args)).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4 False\n", "{errors}");
}
