//! A kernel as one Python module for PyTorch: source, plan, and the small runtime that compiles and
//! launches them.
//!
//! The plan is valid Python, so it is carried over as it is; `python/export` gives its functions
//! the meaning that [`kgen_kernel::plan`] gives them, and a test compares the two on all kernel
//! files that come with kgen.

mod card;
mod cases;
mod gradient;
mod hub;
mod literal;
mod model;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use kgen_compile::{PRELUDE, bundled_headers};
use kgen_kernel::{KernelFile, KernelFileError, plan::plan_names};
use kgen_ops::op::{self, OpDef, Role, Schema};
use kgen_record::{ArgValue, Case, Precision, TensorArg};

pub use card::Evidence;
use cases::{cases, is_comparable};
pub use hub::{Project, hub_name, to_hub};
use literal::{boolean, float, numbers, string, text, tuple};

/// The first line of every module.
pub const FIRST_LINE: &str = "# Made by `kgen export`.";

/// The runtime, in the order in which it is put together: calls of the kernel; then the op, calls of the
/// gradient's kernel, and the check of both.
const CALL: [&str; 3] = [
    include_str!("../../python/export/plan.py"),
    include_str!("../../python/export/cuda.py"),
    include_str!("../../python/export/call.py"),
];
const OP: &str = include_str!("../../python/export/op.py");
const GRADIENT: &str = include_str!("../../python/export/gradient.py");
const ACCURACY: &str = include_str!("../../python/export/accuracy.py");
const CHECK: &str = include_str!("../../python/export/check.py");
/// The module as a program.
const MAIN: &str = include_str!("../../python/export/main.py");

/// Cases at most that a module is checked on.
const MAX_CASES: usize = 48;

/// The parts of a module.
#[derive(Debug, Clone)]
pub struct Export<'a> {
    pub op: &'a OpDef,
    /// The kernel file.
    pub kernel: &'a str,
    /// Where it comes from, a few lines for people.
    pub origin: Vec<String>,
    /// The precision that library steps were judged in.
    pub precision: Precision,
    /// Cases that the kernel passed.
    pub cases: Vec<Case>,
    /// Timed cases with the values of the plan's axes that were fastest.
    pub tuned: Vec<(Case, Vec<(String, i64)>)>,
    /// The op of the gradient, whose module lies beside this one.
    pub backward: Option<&'a OpDef>,
}

impl Export<'_> {
    /// Returns the cases that the module is checked on, evenly taken where there are many.
    #[must_use]
    pub fn checked(&self) -> Vec<&Case> {
        let fit: Vec<&Case> =
            self.cases.iter().filter(|case| is_comparable(self.op, case)).collect();
        let n_taken = fit.len().min(MAX_CASES);
        (0..n_taken).map(|index| fit[index * fit.len() / n_taken]).collect()
    }
}

/// Modules of Python's standard library that are named as an op.
const SHADOWED: [&str; 2] = ["copy", "select"];

/// Returns whether a module of that name would hide one of Python's own, which PyTorch imports.
#[must_use]
pub fn shadows(module: &str) -> bool {
    SHADOWED.contains(&module)
}

/// Returns the name under which an op's module is imported.
#[must_use]
pub fn module_name(op: &OpDef) -> String {
    let name = op.folder();
    if shadows(&name) { format!("kgen_{name}") } else { name }
}

/// Returns the op that the gradient of an op is computed with.
///
/// # Errors
///
/// [`ExportError::NoGradient`] where the gradient is no op of the catalogue.
pub fn backward_of(op: &OpDef) -> Result<&'static OpDef, ExportError> {
    let found = gradient::of(op).first().and_then(|first| op::find(first.backward).ok());
    found.map(|op| &**op).ok_or_else(|| ExportError::NoGradient { op: op.name.clone() })
}

/// Why there is no module.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no eager op to infer outputs from and to compare with.
    #[error(
        "`{op}` has no ATen operator, so the shapes of its outputs are not known in PyTorch and \
         there is nothing to check a kernel against"
    )]
    NoEager { op: String },
    /// PyTorch's op returns other outputs.
    #[error("torch.ops.aten.{aten} returns {theirs} tensors, `{op}` returns {ours} in kgen")]
    OtherOutputs {
        /// The op.
        op: String,
        /// Its overload in PyTorch.
        aten: String,
        /// How many outputs that has.
        theirs: usize,
        /// How many it has in kgen.
        ours: usize,
    },
    /// The op's gradient is no op that kgen knows.
    #[error("`{op}` has no gradient among kgen's ops, so there is no kernel for its backward pass")]
    NoGradient { op: String },
    /// The module draws values that it keeps, so that no other module has the same.
    #[error(
        "the module of `{op}` keeps random values that are no parameters or buffers: a kernel cannot be \
         given them"
    )]
    Draws { op: String },
    /// A module's op has no case of the sizes of its file.
    #[error("`{op}` has no realistic case, so the sizes of its module are not known")]
    NoSizes { op: String },
    /// The op is a module's, and no function of tensors.
    #[error(
        "`{op}` was imported from a module: it has a replacement of that, and no kernel of its own"
    )]
    OfModule { op: String },
    /// The kernel includes headers that do not come with `PyTorch`.
    #[error(
        "the kernel of `{op}` includes headers of CUTLASS, and kernels on the Hub have those of PyTorch alone"
    )]
    NeedsCutlass { op: String },
    /// The op file is damaged.
    #[error("the op file of `{op}` is damaged")]
    Definition {
        op: String,
        #[source]
        source: op::CustomError,
    },
    /// The file is no kernel file.
    #[error("the kernel file is damaged")]
    Kernel(#[from] KernelFileError),
}

/// Writes the Python module: of an op that was imported from a PyTorch module a drop-in replacement of that.
///
/// # Errors
///
/// [`ExportError`] where the op is neither one of PyTorch's nor imported, or the text is no kernel file.
pub fn to_torch(export: &Export<'_>) -> Result<String, ExportError> {
    let op = export.op;
    if let Some(module) = &op.module {
        return model::to_torch(export, module);
    }
    let (aten, file) = of_pytorch(export)?;
    let mut out = format!("{FIRST_LINE}\n");
    add_docstring(&mut out, export, aten);
    add_body(&mut out, export, aten, &file, &string("kgen"));
    out.push('\n');
    out.push_str(MAIN);
    Ok(out)
}

/// Returns the op's overload in `PyTorch`, and its kernel file.
fn of_pytorch<'a>(export: &Export<'a>) -> Result<(&'a str, KernelFile), ExportError> {
    let op = export.op;
    let aten = op.schema.strip_prefix("aten.").filter(|_| op.definition.is_none());
    let aten = aten.ok_or_else(|| ExportError::NoEager { op: op.name.clone() })?;
    let theirs = Schema::parse(&op.signature).map_or(0, |schema| schema.outputs.len());
    let ours = op.outputs.len();
    if theirs != ours {
        let (op, aten) = (op.name.clone(), aten.to_owned());
        return Err(ExportError::OtherOutputs { op, aten, theirs, ours });
    }
    Ok((aten, KernelFile::parse(export.kernel)?))
}

/// Writes constants and runtime; namespace: the Python expression of where the op is registered.
fn add_body(out: &mut String, export: &Export<'_>, aten: &str, file: &KernelFile, namespace: &str) {
    add_constants(out, export, aten, file);
    writeln!(out, "# Where the op is registered.\nNAMESPACE = {namespace}")
        .expect("a string takes any text");
    let gradient = export.backward.map(|_| GRADIENT);
    for part in CALL.into_iter().chain([OP]).chain(gradient).chain([ACCURACY, CHECK]) {
        out.push('\n');
        out.push_str(part);
    }
}

fn add_docstring(out: &mut String, export: &Export<'_>, aten: &str) {
    let (name, module) = (export.op.folder(), module_name(export.op));
    let check = if export.checked().is_empty() {
        String::new()
    } else {
        format!(
            "    {module}.check()              # compares it with eager PyTorch; `python {module}.py` does so too\n"
        )
    };
    let passes = export.backward.map_or_else(
        || "It has no backward pass: PyTorch raises where one is asked for.".to_owned(),
        |op| {
            format!("Its backward pass is the kernel in {}.py, beside this file.", module_name(op))
        },
    );
    let plain = |line: &String| line.replace(['\\', '"'], "'");
    let origin: Vec<String> = export.origin.iter().map(plain).collect();
    write!(
        out,
        "\"\"\"A CUDA kernel for torch.ops.aten.{aten}, compiled by NVRTC at its first use.\n\n{}\n\n    \
         import {module}\n    {module}.call(...)            # or torch.ops.kgen.{name}(...)\n{check}\n\
         It runs on CUDA tensors of one device, on the current stream, and works under torch.compile.\n\
         {passes}\n\
         Outputs are new contiguous tensors. A call that the plan declines raises Declined.\n\
         \"\"\"\n\n",
        origin.join("\n")
    )
    .expect("a string takes any text");
}

/// A constant of a module: a comment, perhaps empty, its name and its value.
type Constant = (&'static str, &'static str, String);

fn add_constants(out: &mut String, export: &Export<'_>, aten: &str, file: &KernelFile) {
    let op = export.op;
    let backward = export.backward.map(|op| string(&module_name(op)));
    let calls = export.backward.into_iter().flat_map(|backward| {
        gradient::of(op).into_iter().map(|gradient| gradient.literal(backward))
    });
    let of_op = [
        ("", "ATEN", string(aten)),
        (
            "Calls that check() tries; a tensor is dtype, shape, strides, offset, kind of values.",
            "CASES",
            cases(export),
        ),
        ("The module of the gradient.", "BACKWARD", backward.unwrap_or("None".to_owned())),
        ("Stands for the gradient of the result.", "GRAD", "object()".to_owned()),
        (
            "Calls of it: the inputs they differentiate by, and the arguments.",
            "GRADIENTS",
            format!("(\n{})", calls.collect::<String>()),
        ),
    ];
    for (comment, name, value) in kernel_constants(export, file).into_iter().chain(of_op) {
        if !comment.is_empty() {
            writeln!(out, "# {comment}").expect("a string takes any text");
        }
        writeln!(out, "{name} = {value}").expect("a string takes any text");
    }
}

/// Returns the constants that calls of the kernel need.
fn kernel_constants(export: &Export<'_>, file: &KernelFile) -> Vec<Constant> {
    let op = export.op;
    let names = op.params.iter().zip(plan_names(op));
    let params = names.map(|(param, plan)| tuple([string(&param.name), string(&plan)]));
    let tensors = op.params.iter().filter(|param| param.kind.holds_tensors());
    let main = op.params.iter().find(|param| param.role == Role::Main);
    let main = main.map_or("None".to_owned(), |param| string(&param.name));
    let headers = bundled_headers(file.text()).into_iter();
    let headers =
        headers.map(|(name, header)| format!("    {}: {},\n", string(name), text(header)));
    vec![
        ("", "NAME", string(&op.folder())),
        ("Arguments of the kernel: names in the schema and in the plan.", "PARAMS", tuple(params)),
        ("Those that hold tensors.", "TENSORS", tuple(tensors.map(|param| string(&param.name)))),
        ("The one whose element type stands in for that of tensors left out.", "MAIN", main),
        ("", "RETURNS_LIST", boolean(op.returns_list).to_owned()),
        ("Values of the plan's axes that were fastest, by call.", "TUNED", tuned(export)),
        (
            "Whether library steps may round factors of f32 matrix products to TF32.",
            "MATMUL_TF32",
            boolean(export.precision.shortens_matmul()).to_owned(),
        ),
        (
            "The same of convolutions.",
            "CONVOLUTION_TF32",
            boolean(export.precision.shortens_convolution()).to_owned(),
        ),
        ("", "SOURCE", text(file.text())),
        (
            "The plan in the source's comment: from shapes to launches.",
            "PLAN",
            text(file.plan_text()),
        ),
        ("What sources may include.", "PRELUDE", string(PRELUDE)),
        ("", "HEADERS", format!("{{\n{}}}", headers.collect::<String>())),
    ]
}

/// Writes the best values of the axes per call, as `_describe` of the runtime describes calls.
fn tuned(export: &Export<'_>) -> String {
    let entries = export.tuned.iter().filter(|(_, params)| !params.is_empty());
    let entries = entries.map(|(case, params)| {
        let params = params.iter().map(|(name, value)| format!("{}: {value}", string(name)));
        let params: Vec<String> = params.collect();
        format!("({}, {{{}}})", dictionary(export.op, case, &described), params.join(", "))
    });
    block(entries)
}

/// Writes a list, one entry per line.
fn block(entries: impl Iterator<Item = String>) -> String {
    format!("[\n{}]", entries.map(|entry| format!("    {entry},\n")).collect::<String>())
}

fn dictionary(op: &OpDef, case: &Case, value: &dyn Fn(&ArgValue) -> String) -> String {
    let entries = case.args.iter().filter_map(|arg| {
        let param = op.param(&arg.name)?;
        Some(format!("{}: {}", string(&param.name), value(&arg.value)))
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

/// Writes the facts about an argument that a call of the op has.
fn described(value: &ArgValue) -> String {
    let tensor = |tensor: &TensorArg| {
        let shape = tensor.spec.shape.iter().map(usize::to_string);
        tuple(std::iter::once(string(tensor.spec.dtype.name())).chain(shape))
    };
    match value {
        ArgValue::Tensor(one) => tensor(one),
        ArgValue::Tensors(list) => {
            tuple(list.iter().map(|one| one.as_ref().map_or("None".to_owned(), tensor)))
        }
        ArgValue::DType(dtype) => string(dtype.name()),
        other => plain(other),
    }
}

/// Writes an argument that is no tensor.
fn plain(value: &ArgValue) -> String {
    match value {
        ArgValue::Int(value) => value.to_string(),
        ArgValue::Float(value) => float(*value),
        ArgValue::Bool(value) => boolean(*value).to_owned(),
        ArgValue::Str(text) => string(text),
        ArgValue::Ints(values) => numbers(values),
        ArgValue::Floats(values) => tuple(values.iter().map(|value| float(*value))),
        ArgValue::DType(dtype) => format!("{{\"dtype\": {}}}", string(dtype.name())),
        ArgValue::Tensor(_) | ArgValue::Tensors(_) | ArgValue::None => "None".to_owned(),
    }
}
