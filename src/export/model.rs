//! A kernel of an imported module as a drop-in replacement of that module: `ModelNew`.
//!
//! The original is in the file, for its constructor and for the shapes of its results; the results are the
//! kernel's. All but the class lives in a namespace of its own: evaluators run such a file in the namespace
//! of the original, whose names it must not touch.

use std::{collections::BTreeSet, fmt::Write as _};

use kgen_kernel::KernelFile;
use kgen_ops::{
    op::{self, ModuleTensor, OpDef, TorchModule},
    suite,
};
use kgen_record::{ArgValue, Case, CaseClass};

use super::{
    ACCURACY, CALL, Constant, Export, ExportError, FIRST_LINE,
    cases::kind,
    kernel_constants,
    literal::{boolean, string, text, tuple},
    plain,
};

const MODEL: &str = include_str!("../../python/export/model.py");
const CHECK: &str = include_str!("../../python/export/check_model.py");

/// The class, which is all that a user sees.
const CLASS: &str = r#"
class ModelNew(_kgen.Original):
    """The original with another `forward`: constructor, parameters and buffers are those of the original."""

    def __init__(self, *args, **kwargs):
        _kgen.check_arguments(args, kwargs)
        super().__init__(*args, **kwargs)

    def forward(self, *args, **kwargs):
        return _kgen.forward(self, args, kwargs)


if __name__ == "__main__":
    _kgen.main(ModelNew)
"#;

/// Writes the Python file.
pub(super) fn to_torch(export: &Export<'_>, module: &TorchModule) -> Result<String, ExportError> {
    let op = export.op;
    if module.draws {
        return Err(ExportError::Draws { op: op.name.clone() });
    }
    let file = KernelFile::parse(export.kernel)?;
    let original = original_case(op)?;
    let mut out = format!("{FIRST_LINE}\n");
    add_docstring(&mut out, export, module);
    out.push_str("import types\n\n");
    out.push_str("# A namespace of its own: this file may be run in that of the original.\n");
    writeln!(out, "_kgen = types.ModuleType({})", string(&format!("kgen_{}", op.folder())))
        .expect("a string takes any text");
    let of_module = module_constants(export, module, &original)?;
    for (comment, name, value) in kernel_constants(export, &file).into_iter().chain(of_module) {
        if !comment.is_empty() {
            writeln!(out, "# {comment}").expect("a string takes any text");
        }
        writeln!(out, "_kgen.{name} = {value}").expect("a string takes any text");
    }
    let runtime = CALL.into_iter().chain([MODEL, ACCURACY, CHECK]).collect::<Vec<_>>().join("\n\n");
    writeln!(
        out,
        "# Launch plan, NVRTC, launches, and the module.\n\
         exec(compile({}, \"<runtime of an exported module>\", \"exec\"), vars(_kgen))\n",
        text(&runtime)
    )
    .expect("a string takes any text");
    out.push_str(CLASS);
    Ok(out)
}

fn add_docstring(out: &mut String, export: &Export<'_>, module: &TorchModule) {
    let plain = |line: &String| line.replace(['\\', '"'], "'");
    let origin: Vec<String> = export.origin.iter().map(plain).collect();
    let (file, class) = (plain(&module.file), &module.class);
    let mode = if module.train {
        "It computes what the original does in training mode, and leaves running statistics of batch norms as they are."
    } else {
        "It computes what the original does in evaluation mode."
    };
    write!(
        out,
        "\"\"\"`ModelNew`: `{class}` of {file} by a CUDA kernel, which NVRTC compiles at its first use.\n\n{}\n\n\
         Parameters and buffers have the original's names and initial values. {mode}\n\
         It takes CUDA tensors of one device and launches on the current stream.\n\n\
         The kernel is for the arguments of `get_init_inputs()`; a call of other types, numbers or extents than it was\n\
         proven for raises. It has no backward pass: PyTorch raises where one is asked for. Run as a program, this file\n\
         compares it with the original.\n\"\"\"\n\n",
        origin.join("\n")
    )
    .expect("a string takes any text");
}

fn module_constants(
    export: &Export<'_>,
    module: &TorchModule,
    original: &Case,
) -> Result<Vec<Constant>, ExportError> {
    let scalars = original.args.iter().filter(|arg| {
        !matches!(arg.value, ArgValue::Tensor(_)) && export.op.param(&arg.name).is_some()
    });
    let scalars = scalars.map(|arg| format!("{}: {}", string(&arg.name), plain(&arg.value)));
    let scalars: Vec<String> = scalars.collect();
    let extents = extents(export.op, module, original, !scalars.is_empty())?;
    let tensors = module.tensors.iter().zip(&extents).map(|((name, part), dims)| {
        let Some(ArgValue::Tensor(arg)) = original.arg(name) else { return "None".to_owned() };
        let (role, detail) = match part {
            ModuleTensor::Input => ("input", "None".to_owned()),
            ModuleTensor::Path(path) => ("path", string(path)),
            ModuleTensor::Constant => ("constant", kind(arg.generator)),
        };
        let dims = tuple(dims.iter().map(|dim| string(dim)));
        tuple([string(name), string(role), detail, string(arg.spec.dtype.name()), dims])
    });
    let inputs = module.inputs.as_ref().map_or("None".to_owned(), |inputs| string(inputs));
    Ok(vec![
        (
            "The kernel's tensors: an argument of forward, a parameter or buffer, or a constant; type and extents.",
            "MODULE",
            tuple(tensors),
        ),
        ("Further arguments of the kernel.", "SCALARS", format!("{{{}}}", scalars.join(", "))),
        ("", "FILE", string(&module.file)),
        ("", "CLASS", string(&module.class)),
        ("Arguments, where it is a function and no class.", "INPUTS", inputs),
        ("", "TRAIN", boolean(module.train).to_owned()),
        ("", "ORIGINAL", text(&module.source)),
    ])
}

/// Returns the extents of the op's tensors. Those of the original are numbers where a scalar stands for a
/// part of them, or a constant has one that no other tensor shows: these have other values for other extents.
fn extents(
    op: &OpDef,
    module: &TorchModule,
    original: &Case,
    has_scalars: bool,
) -> Result<Vec<Vec<String>>, ExportError> {
    let named = op::custom_extents(op)
        .map_err(|source| ExportError::Definition { op: op.name.clone(), source })?;
    let symbols = |of_constants: bool| -> BTreeSet<&str> {
        let parts = module.tensors.iter().zip(&named);
        let parts =
            parts.filter(|((_, part), _)| (*part == ModuleTensor::Constant) == of_constants);
        parts.flat_map(|(_, dims)| dims).flat_map(|dim| names(dim)).collect()
    };
    if !has_scalars && symbols(true).is_subset(&symbols(false)) {
        return Ok(named);
    }
    let fixed = module.tensors.iter().map(|(name, _)| match original.arg(name) {
        Some(ArgValue::Tensor(arg)) => arg.spec.shape.iter().map(usize::to_string).collect(),
        _ => Vec::new(),
    });
    Ok(fixed.collect())
}

/// Returns the names in an expression.
fn names(dim: &str) -> impl Iterator<Item = &str> {
    let words = dim.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Returns the case with the sizes of the module's own file.
fn original_case(op: &OpDef) -> Result<Case, ExportError> {
    let missing = || ExportError::NoSizes { op: op.name.clone() };
    let definition = op.definition.as_deref().ok_or_else(missing)?;
    let own = op::custom(definition)
        .map_err(|source| ExportError::Definition { op: op.name.clone(), source })?;
    let suite = suite::of_op(own, &op.name).map_err(|_| missing())?.suite;
    let cases = suite.public_cases(&op.name).map_err(|_| missing())?;
    cases.into_iter().find(|case| case.class == CaseClass::Realistic).ok_or_else(missing)
}
