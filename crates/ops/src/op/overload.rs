//! Overloads that an op computes under another signature: `softmax.int` is `_softmax`, `t` is
//! `transpose`. Each has PyTorch's own schema, and rules that make arguments of the op of its own.

use crate::record::{ArgValue, DType, Gen, TensorArg, TensorSpec};

use super::{Kind, OpDef, Param, Schema, schema};

/// An overload of PyTorch that an op of the catalogue computes.
#[derive(Debug)]
pub struct Overload {
    /// The op's name in kgen.
    pub op: String,
    /// Its signature as PyTorch prints it.
    pub signature: String,
    /// The signature taken apart.
    pub schema: Schema,
    rules: Vec<Rule>,
    adapt: Option<Adapt>,
}

/// Rewrites arguments; the error says which one the op cannot take.
pub(super) type Adapt = fn(&mut Arguments) -> Result<(), String>;

/// A rule in the text of an overload's row.
#[derive(Debug)]
enum Rule {
    /// `dim0=0`: the op's parameter has this value.
    Constant(String, ArgValue),
    /// `size=@shape`: the op's parameter is the overload's of another name.
    Renamed(String, String),
    /// `-benchmark`: the argument has no meaning for the result.
    Ignored(String),
}

/// An argument of a call on its way from the overload's signature to the op's.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Its parameter.
    pub name: String,
    /// Its value.
    pub value: ArgValue,
    /// The parameter of the call's own signature that it comes from; `None` for a default or a
    /// constant of the overload.
    pub from: Option<Source>,
    /// The type that the call converts the tensor to before the op sees it.
    pub cast: Option<DType>,
}

/// A parameter of the schema that a call is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its place in the schema.
    pub place: usize,
    /// Its name.
    pub name: String,
}

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arguments(pub Vec<Argument>);

impl Arguments {
    /// Returns the value of an argument; `None` too where it is left out.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ArgValue> {
        let found = self.0.iter().find(|arg| arg.name == name).map(|arg| &arg.value);
        found.filter(|value| **value != ArgValue::None)
    }

    /// Removes an argument and returns its value.
    pub fn take(&mut self, name: &str) -> ArgValue {
        match self.0.iter().position(|arg| arg.name == name) {
            Some(place) => self.0.remove(place).value,
            None => ArgValue::None,
        }
    }

    /// Sets the value of an argument, which is made where it is not there.
    pub fn set(&mut self, name: &str, value: ArgValue) {
        match self.0.iter_mut().find(|arg| arg.name == name) {
            Some(arg) => arg.value = value,
            None => {
                self.0.push(Argument { name: name.to_owned(), value, from: None, cast: None });
            }
        }
    }

    /// Gives an argument another name.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(arg) = self.0.iter_mut().find(|arg| arg.name == from) {
            to.clone_into(&mut arg.name);
        }
    }

    /// Converts a tensor before the op sees it.
    pub fn cast(&mut self, name: &str, dtype: DType) {
        if let Some(arg) = self.0.iter_mut().find(|arg| arg.name == name)
            && let ArgValue::Tensor(tensor) = &mut arg.value
            && tensor.spec.dtype != dtype
        {
            tensor.spec.dtype = dtype;
            arg.cast = Some(dtype);
        }
    }

    /// Takes the elements of a tensor as one row.
    pub fn flatten(&mut self, name: &str) {
        if let Some(arg) = self.0.iter_mut().find(|arg| arg.name == name)
            && let ArgValue::Tensor(tensor) = &mut arg.value
        {
            tensor.spec = TensorSpec::contiguous(tensor.spec.dtype, &[tensor.spec.numel()]);
        }
    }

    /// Gives the tensors of a list new dimensions in front where they have fewer than so many; returns
    /// how many the first one then has.
    pub fn at_least(&mut self, name: &str, ndim: usize) -> usize {
        let Some(arg) = self.0.iter_mut().find(|arg| arg.name == name) else { return 0 };
        for tensor in arg.value.tensors_mut() {
            let spec = &mut tensor.spec;
            while spec.shape.len() < ndim {
                spec.shape.insert(0, 1);
                spec.stride.insert(0, 1);
            }
        }
        arg.value.tensors().next().map_or(0, |(_, tensor)| tensor.spec.ndim())
    }

    /// Makes a tensor without dimensions of a number.
    pub fn number_as_tensor(&mut self, name: &str, dtype: DType) {
        if let Some(arg) = self.0.iter_mut().find(|arg| arg.name == name) {
            let value = match arg.value {
                ArgValue::Int(value) => value as f64,
                ArgValue::Float(value) => value,
                ArgValue::Bool(value) => f64::from(u8::from(value)),
                _ => return,
            };
            let spec = TensorSpec::contiguous(dtype, &[]);
            arg.value = ArgValue::Tensor(TensorArg { spec, generator: Gen::Constant { value } });
        }
    }

    /// Returns element type and shape of a tensor.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<(DType, &[usize])> {
        let tensor = self.get(name)?.as_tensor()?;
        Some((tensor.spec.dtype, &tensor.spec.shape))
    }
}

impl Overload {
    /// Reads a row: the rules are separated by commas outside brackets.
    pub(super) fn parse(
        op: &OpDef,
        signature: &str,
        rules: &str,
        adapt: Option<Adapt>,
    ) -> Result<Self, String> {
        let parsed = Schema::parse(signature).map_err(|error| error.to_string())?;
        let rule = |text: &&str| -> Result<Rule, String> {
            if let Some(name) = text.strip_prefix('-') {
                return Ok(Rule::Ignored(name.to_owned()));
            }
            let (name, value) = text.split_once('=').ok_or(format!("`{text}` is no rule"))?;
            if let Some(from) = value.strip_prefix('@') {
                return Ok(Rule::Renamed(name.to_owned(), from.to_owned()));
            }
            let param = op.param(name).ok_or(format!("`{}` has no `{name}`", op.name))?;
            Ok(Rule::Constant(name.to_owned(), schema::read_default(param.kind, value, None)?))
        };
        Ok(Self {
            op: op.name.clone(),
            signature: signature.to_owned(),
            rules: schema::split(rules).iter().map(rule).collect::<Result<_, _>>()?,
            schema: parsed,
            adapt,
        })
    }

    /// Returns the overload's name as PyTorch has it: `softmax.int`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.schema.base, self.schema.overload)
    }

    /// Makes the op's arguments of the overload's.
    pub(crate) fn rewrite(&self, op: &OpDef, mut args: Arguments) -> Result<Arguments, String> {
        if let Some(adapt) = self.adapt {
            adapt(&mut args)?;
        }
        for rule in &self.rules {
            match rule {
                Rule::Constant(name, value) => args.set(name, value.clone()),
                Rule::Renamed(to, from) => args.rename(from, to),
                Rule::Ignored(name) => drop(args.take(name)),
            }
        }
        let foreign = args.0.iter().filter(|arg| op.param(&arg.name).is_none());
        for arg in foreign {
            let param = self.schema.params.iter().find(|param| param.name == arg.name);
            if param.is_none_or(|param| param.default.as_ref() != Some(&arg.value)) {
                return Err(format!("kgen's `{}` does not compute `{}`", op.name, arg.name));
            }
        }
        args.0.retain(|arg| op.param(&arg.name).is_some());
        for arg in &mut args.0 {
            let kind = op.param(&arg.name).map(|param| param.kind);
            arg.value = as_kind(kind, std::mem::replace(&mut arg.value, ArgValue::None));
        }
        Ok(args)
    }
}

/// Returns a value as a parameter of a wider kind has it: one integer is a list of one.
fn as_kind(kind: Option<Kind>, value: ArgValue) -> ArgValue {
    match (kind, value) {
        (Some(Kind::Ints), ArgValue::Int(value)) => ArgValue::Ints(vec![value]),
        (Some(Kind::Int), ArgValue::Bool(value)) => ArgValue::Int(i64::from(value)),
        (_, value) => value,
    }
}

/// Returns whether two signatures take the same arguments: names, kinds and defaults.
#[must_use]
pub fn same_params(left: &[Param], right: &[Param]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| {
            (&left.name, left.kind, &left.default) == (&right.name, right.kind, &right.default)
        })
}
