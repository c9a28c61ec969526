//! The definition of an op.

use std::sync::Arc;

use crate::record::{ArgValue, Case, DType, Gen, TensorSpec};

use super::{
    Array, Call, Engine, InferError, Inputs, Kind, Layout, Named, OpFamily, Param, Role, Shaped,
    Work, catalogue,
    custom::{PythonReference, ReferenceKernel, TorchModule},
    schema::{Schema, SchemaError},
    shape::kind,
};

/// An operator: a name, an `ATen` schema and everything that is needed to judge a kernel for it.
#[derive(Debug)]
pub struct OpDef {
    /// The name in kgen, for example `relu`.
    pub name: String,
    /// The overload it is bound to, for example `aten.relu.default`.
    pub schema: String,
    /// Other names that mean the same in functional form, for example `swish` for `silu`.
    pub aliases: Vec<String>,
    /// The overload's signature, for example `relu(Tensor self) -> Tensor`.
    pub signature: String,
    /// The op's meaning, for people and models: formula, dtypes, NaN, infinities, -0, ties,
    /// empty inputs.
    pub semantics: String,
    /// A description of each output.
    pub outputs: Vec<String>,
    /// Whether the output is a list of tensors, whose number depends on the call.
    pub returns_list: bool,
    /// The parameters in the order of the schema.
    pub params: Vec<Param>,
    /// Element types that suites try it with: those of its main input.
    pub dtypes: Vec<DType>,
    /// The op family.
    pub family: OpFamily,
    /// Families of the nodes of an op that is a graph, the costliest first; empty for all others.
    pub node_families: Vec<OpFamily>,
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Whether every output must equal the correctly rounded reference bit for bit, whatever the
    /// inputs.
    pub exact: bool,
    /// The PyTorch module that the op was imported from, where it was.
    pub module: Option<TorchModule>,
    /// The text that defines the op, where it is not of the catalogue.
    pub definition: Option<String>,
    /// The kernel that is its reference, where it has one.
    pub reference_kernel: Option<ReferenceKernel>,
    /// The Python code that is its reference, where it has one.
    pub python_reference: Option<PythonReference>,
    /// Whether the sign of a zero result counts: copies, and ops whose purpose is the sign.
    pub signed_zero: bool,
    /// Largest error in ulps of the type that is computed in, where the op is one function of exact
    /// operands: its bound is no larger, however sensitive to its inputs the result is.
    pub ulps: Option<f64>,
    /// Factors on the tolerance per dtype, each with the measurement that set it; 1 where absent.
    pub slack: Vec<(DType, f64)>,
}

impl PartialEq for OpDef {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.signature == other.signature
            && self.definition == other.definition
    }
}

/// Floating-point types with a kernel-sized audience: which most ops are tried with.
pub(crate) const FLOATS: &[DType] = &[DType::F32, DType::F16, DType::BF16];
/// [`FLOATS`] and the two common integer types.
pub(crate) const NUMBERS: &[DType] = &[DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32];
/// [`NUMBERS`] and bool.
pub(crate) const ALL: &[DType] =
    &[DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::Bool];
/// Integers and bool.
pub(crate) const INTEGRAL: &[DType] = &[DType::I64, DType::I32, DType::Bool];

/// A row of the catalogue on its way to an [`OpDef`].
///
/// The first tensor is [`Role::Main`], further ones are [`Role::Second`], unless the row sets another.
#[derive(Debug)]
pub struct OpBuilder {
    op: Result<OpDef, SchemaError>,
}

impl OpBuilder {
    /// Starts a row from a signature in `ATen`'s syntax; the op is called by its base name.
    #[must_use]
    pub fn new(signature: &str, engine: impl Engine + 'static, semantics: &str) -> Self {
        Self::boxed(signature, Box::new(engine), semantics)
    }

    fn boxed(signature: &str, engine: Box<dyn Engine>, semantics: &str) -> Self {
        let op = Schema::parse(signature).map(|schema| {
            let mut params = schema.params;
            if let Some(first) = params.iter_mut().find(|param| param.kind.holds_tensors()) {
                first.role = Role::Main;
            }
            OpDef {
                schema: format!("aten.{}.{}", schema.base, schema.overload),
                name: schema.base,
                aliases: Vec::new(),
                signature: signature.trim().trim_start_matches("aten::").to_owned(),
                semantics: semantics.to_owned(),
                outputs: schema.outputs,
                returns_list: schema.returns_list,
                params,
                dtypes: FLOATS.to_vec(),
                family: OpFamily::General,
                node_families: Vec::new(),
                engine,
                exact: false,
                signed_zero: false,
                ulps: None,
                slack: Vec::new(),
                module: None,
                definition: None,
                reference_kernel: None,
                python_reference: None,
            }
        });
        Self { op }
    }

    fn with(mut self, change: impl FnOnce(&mut OpDef)) -> Self {
        if let Ok(op) = &mut self.op {
            change(op);
        }
        self
    }

    /// Sets the op family, where it is not yet set.
    #[must_use]
    pub fn family(self, family: OpFamily) -> Self {
        self.with(|op| {
            if op.family == OpFamily::General {
                op.family = family;
            }
        })
    }

    /// Changes a parameter; its lack is a mistake in the catalogue.
    fn with_param(self, name: &str, change: impl FnOnce(&mut Param)) -> Self {
        self.with(|op| {
            let param = op.params.iter_mut().find(|param| param.name == name);
            change(param.expect("the signature has the parameter"));
        })
    }

    /// Gives the op another name than its base name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.with(|op| op.name = name.to_owned())
    }

    /// Marks a signature that is kgen's own: there is no such `ATen` op.
    #[must_use]
    pub fn own(self) -> Self {
        self.with(|op| op.schema = format!("kgen.{}", op.name))
    }

    /// Adds names that mean the same: in-place variants, overloads, names of other libraries.
    #[must_use]
    pub fn alias(self, names: &[&str]) -> Self {
        self.with(|op| op.aliases.extend(names.iter().map(|&name| name.to_owned())))
    }

    /// Sets the role of a tensor parameter's values.
    #[must_use]
    pub fn role(self, name: &str, role: Role) -> Self {
        self.with_param(name, |param| param.role = role)
    }

    /// Says how floating-point values of a tensor parameter are made in the distribution of edges.
    #[must_use]
    pub fn edges(self, name: &str, generator: Gen) -> Self {
        self.with_param(name, |param| param.edges = Some(generator))
    }

    /// Sets the choices of a string parameter.
    #[must_use]
    pub fn choices(self, name: &str, choices: &'static [&'static str]) -> Self {
        self.with_param(name, |param| param.choices = choices)
    }

    /// Gives a parameter a default that the signature does not have.
    #[must_use]
    pub fn default(self, name: &str, value: ArgValue) -> Self {
        self.with_param(name, |param| param.default = Some(value))
    }

    /// Says which element types the main input is tried with.
    #[must_use]
    pub fn dtypes(self, dtypes: &[DType]) -> Self {
        self.with(|op| op.dtypes = dtypes.to_vec())
    }

    /// Asks for the correctly rounded result bit for bit.
    #[must_use]
    pub fn exact(self) -> Self {
        self.with(|op| op.exact = true)
    }

    /// Asks for the sign of zeros too.
    #[must_use]
    pub fn signed_zero(self) -> Self {
        self.with(|op| op.signed_zero = true)
    }

    /// Describes each output.
    #[must_use]
    pub fn outputs(self, texts: &[&str]) -> Self {
        self.with(|op| op.outputs = texts.iter().map(|&text| text.to_owned()).collect())
    }

    /// Limits the error to that of one function of exact operands, in ulps of the type that is
    /// computed in.
    #[must_use]
    pub fn ulps(self, ulps: f64) -> Self {
        self.with(|op| op.ulps = Some(ulps))
    }

    /// Widens the tolerance for outputs of a dtype; the call site names the measurement.
    #[must_use]
    pub fn slack(self, dtype: DType, factor: f64) -> Self {
        self.with(|op| op.slack.push((dtype, factor)))
    }

    /// Returns the finished op.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] where the signature cannot be read.
    pub fn build(self) -> Result<OpDef, SchemaError> {
        self.op
    }
}

/// A name that is no op; its message has up to three known names that are near.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown op `{name}`{}", did_you_mean(.name))]
pub struct UnknownOpError {
    /// The name that was asked for.
    pub name: String,
}

fn did_you_mean(name: &str) -> String {
    let names = catalogue::all().iter().flat_map(|op| op.aliases.iter().chain([&op.name]));
    let near = crate::near(name, names.map(String::as_str), 3);
    if near.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    format!(" (did you mean {}?)", quoted.join(", "))
}

/// Finds an op of the catalogue as people type it: `relu`, `relu_`, `relu.default`, `relu.out`,
/// `aten.relu.default`, `aten::relu_`, `torch.ops.aten.relu`, `swish`.
///
/// # Errors
///
/// [`UnknownOpError`].
pub fn find(name: &str) -> Result<&'static Arc<OpDef>, UnknownOpError> {
    Ok(resolve(name)?[0].op)
}

/// Finds the op of a name, and the overload whose arguments a call by that name has: several where
/// the arguments decide, at least one.
///
/// # Errors
///
/// [`UnknownOpError`].
pub fn resolve(name: &str) -> Result<Vec<Named>, UnknownOpError> {
    let found = catalogue::lookup(name);
    if found.is_empty() { Err(UnknownOpError { name: name.to_owned() }) } else { Ok(found) }
}

impl OpDef {
    /// Returns the name of the op's folder in a run: a dot in the name becomes `__`.
    #[must_use]
    pub fn folder(&self) -> String {
        self.name.replace('.', "__")
    }

    /// Returns the call that a case is.
    #[must_use]
    pub fn call<'a>(&'a self, case: &'a Case) -> Call<'a> {
        Call { op: self, case, evaluator: None }
    }

    /// Returns layout and dtype of each output: contiguous, in the order of the schema.
    ///
    /// # Errors
    ///
    /// [`InferError`] when the op is not defined for these arguments.
    pub fn infer(&self, case: &Case) -> Result<Vec<TensorSpec>, InferError> {
        if let Some(arg) = case.args.iter().find(|arg| self.param(&arg.name).is_none()) {
            let name = arg.name.clone();
            return Err(InferError::NoSuchArg { op: self.name.clone(), name });
        }
        let mut outputs = self.engine.infer(&self.call(case))?;
        if case.in_place {
            in_place(case, &mut outputs)?;
        }
        let contiguous = |(dtype, shape): &(DType, Vec<usize>)| {
            let spec = Layout::Contiguous.spec(*dtype, shape);
            spec.map_err(|_| InferError::shape("out", shape, "of at most 2^40 elements"))
        };
        outputs.iter().map(contiguous).collect()
    }

    /// Returns the names that a plan knows the outputs by: `out`, or `out0`, `out1`, ..., as those
    /// of a list are called even where there is only one.
    #[must_use]
    pub fn output_names(&self, n_outputs: usize) -> Vec<String> {
        if n_outputs == 1 && !self.returns_list {
            return vec!["out".to_owned()];
        }
        (0..n_outputs).map(|index| format!("out{index}")).collect()
    }

    /// Returns the parameter with this name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// Returns the arithmetic and the memory traffic that the case needs at least.
    #[must_use]
    pub fn work(&self, case: &Case) -> Work {
        Work::of(self, case)
    }

    /// Returns the longest chain of additions of products behind one output element; 0 where none are added.
    #[must_use]
    pub fn products_len(&self, case: &Case) -> usize {
        self.engine.products_len(&self.call(case))
    }

    /// Returns the longest chain of additions behind one output element, at least 1.
    #[must_use]
    pub fn accumulation_len(&self, case: &Case) -> usize {
        self.engine.accumulation_len(&self.call(case)).max(1)
    }

    /// Returns whether suites may try the op with a type.
    #[must_use]
    pub fn takes(&self, dtype: DType) -> bool {
        // f64 is never a default, but ops that take f32 take it.
        self.dtypes.contains(&dtype) || (dtype == DType::F64 && self.dtypes.contains(&DType::F32))
    }

    /// Returns whether outputs of a dtype must equal the correctly rounded reference bit for bit.
    #[must_use]
    pub fn is_exact(&self, dtype: DType) -> bool {
        self.exact || !dtype.is_float()
    }

    /// Returns the factor on the tolerance for outputs of a dtype.
    #[must_use]
    pub fn slack(&self, dtype: DType) -> f64 {
        self.slack.iter().find(|(of, _)| *of == dtype).map_or(1.0, |(_, factor)| *factor)
    }

    /// Rewrites choices that the op leaves open in computed outputs to the reference's choice.
    pub fn canonicalise(
        &self,
        case: &Case,
        inputs: &Inputs<'_>,
        got: &mut [Array],
        expected: &[Array],
    ) {
        self.engine.canonicalise(&self.call(case), inputs, got, expected);
    }

    /// Returns the tensor parameters.
    pub fn tensor_params(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| matches!(param.kind, Kind::Tensor | Kind::Tensors))
    }
}

/// Gives the result of an in-place call the type of the tensor that it is written to.
fn in_place(case: &Case, outputs: &mut [Shaped]) -> Result<(), InferError> {
    let (Some((name, target)), Some((dtype, shape))) = (case.tensors().next(), outputs.first_mut())
    else {
        return Ok(());
    };
    let target = &target.spec;
    if *shape != target.shape {
        return Err(InferError::shape(
            &name,
            &target.shape,
            format!("{shape:?}, that of the result"),
        ));
    }
    if kind(*dtype) > kind(target.dtype) {
        return Err(InferError::dtype(&name, target.dtype, format!("able to hold {dtype}")));
    }
    if let Some(&ArgValue::DType(wanted)) = case.arg("dtype")
        && wanted != target.dtype
    {
        let own = format!("{}, that of the tensor it is written to", target.dtype);
        return Err(InferError::value("dtype", wanted, own));
    }
    *dtype = target.dtype;
    Ok(())
}
