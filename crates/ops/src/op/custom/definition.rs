//! A custom op as its file says.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{
    expr::{Expr, Symbols},
    op::{Kind, Param, Role},
    record::{ArgValue, DType},
};

use super::{
    CustomError, dims::Shape, evaluated::PythonReference, graph::Graph, init::Init,
    module::TorchModule,
};

/// A custom op.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) name: String,
    /// Where the name is, in bytes.
    pub(super) name_at: usize,
    pub(super) semantics: String,
    pub(super) dtypes: Vec<DType>,
    pub(super) tensors: Vec<TensorDecl>,
    pub(super) scalars: Vec<(String, ArgValue)>,
    pub(super) outputs: Vec<OutputDecl>,
    pub(super) reference: Reference,
    pub(super) cases: Vec<CaseDecl>,
    /// Where it comes from.
    pub(super) module: Option<TorchModule>,
}

/// An input.
#[derive(Debug, Clone)]
pub(super) struct TensorDecl {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) role: Role,
    /// How its values are made where the distribution is normal; where it is a parameter, in every
    /// distribution.
    pub(super) init: Option<Init>,
    /// Whether it is a parameter of a module, whose values do not follow the distribution.
    pub(super) is_parameter: bool,
    /// Its path in the module, where it has one.
    pub(super) path: Option<String>,
    /// Exclusive bound of an index tensor's values.
    pub(super) bound: Option<Expr>,
}

/// An output.
#[derive(Debug, Clone)]
pub(super) struct OutputDecl {
    pub(super) name: String,
    /// Its description, for people and models.
    pub(super) what: String,
    pub(super) shape: Option<Shape>,
}

/// The reference.
#[derive(Debug, Clone)]
pub(super) enum Reference {
    /// A composition of catalogue ops.
    Graph(Graph),
    /// A kernel file.
    Cuda {
        /// Its text.
        source: String,
        /// The number of terms that one output element is the sum of.
        accumulation: Option<Expr>,
    },
    /// Code that the Python process runs.
    Python(PythonReference),
}

/// A case: its keys with the text of their values.
#[derive(Debug, Clone)]
pub(super) struct CaseDecl {
    pub(super) at: usize,
    pub(super) keys: Vec<CaseKey>,
}

/// A key of a case.
#[derive(Debug, Clone)]
pub(super) struct CaseKey {
    pub(super) name: String,
    pub(super) at: usize,
    /// The value as it stands in the file.
    pub(super) text: String,
    /// The value, where it is a string.
    pub(super) string: Option<String>,
}

/// A case of a custom op as a suite file words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseText {
    /// The line of the definition on which it begins, from 1.
    pub line: usize,
    /// An inline table.
    pub text: String,
}

/// Keys of a case that go into the suite as they are.
const PASSED_ON: [&str; 4] = ["class", "distributions", "dtypes", "draws"];

/// Value of a symbol in a case: a number, or a range of them.
enum Axis {
    Fixed(usize),
    Range(String),
}

impl Definition {
    /// Returns the parameters: tensors, then scalars.
    pub(super) fn params(&self) -> Vec<Param> {
        let tensors = self.tensors.iter().map(|tensor| Param {
            name: tensor.name.clone(),
            kind: Kind::Tensor,
            optional: false,
            default: None,
            demanded: true,
            role: tensor.role,
            edges: None,
            choices: &[],
        });
        let scalars = self.scalars.iter().map(|(name, default)| Param {
            name: name.clone(),
            kind: kind(default),
            optional: false,
            default: Some(default.clone()),
            demanded: false,
            role: Role::None,
            edges: None,
            choices: &[],
        });
        tensors.chain(scalars).collect()
    }

    /// Spells the op as a signature.
    pub(super) fn signature(&self) -> String {
        let tensors = self.tensors.iter().map(|tensor| format!("Tensor {}", tensor.name));
        let mut params: Vec<String> = tensors.collect();
        if !self.scalars.is_empty() {
            params.push("*".to_owned());
        }
        for (name, default) in &self.scalars {
            params.push(format!("{}={}", typed(name, default), literal(default)));
        }
        let outputs = match self.outputs.as_slice() {
            [_] => "Tensor".to_owned(),
            several => {
                let named = several.iter().map(|output| format!("Tensor {}", output.name));
                format!("({})", named.collect::<Vec<_>>().join(", "))
            }
        };
        format!("{}({}) -> {outputs}", self.name, params.join(", "))
    }

    /// Returns the text of the semantics, with the graph where there is one.
    pub(super) fn described(&self) -> String {
        let mut text = self.semantics.clone();
        if self.module.is_some() {
            text.push_str("\nShapes, with a name for each extent that varies:");
            for TensorDecl { name, shape, .. } in &self.tensors {
                write!(text, "\n    {name}: {shape}").expect("a string grows");
            }
        }
        if let Reference::Graph(graph) = &self.reference {
            text.push_str("\nAs a composition of ops, nothing rounded in between:");
            for line in graph.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                text.push_str("\n    ");
                text.push_str(line);
            }
        }
        if let Reference::Python(PythonReference::Text(code)) = &self.reference {
            text.push_str("\nAs PyTorch code, which is evaluated in f64:");
            for line in code.trim_matches('\n').lines() {
                text.push_str("\n    ");
                text.push_str(line);
            }
        }
        text
    }

    /// Words the cases as those of a suite file.
    pub(super) fn case_texts(&self, text: &str) -> Result<Vec<CaseText>, CustomError> {
        self.cases.iter().map(|case| self.case_text(text, case)).collect()
    }

    fn case_text(&self, text: &str, case: &CaseDecl) -> Result<CaseText, CustomError> {
        let symbols = self.symbols();
        let mut axes: BTreeMap<&str, Axis> = BTreeMap::new();
        let mut layouts: BTreeMap<&str, &str> = BTreeMap::new();
        let mut passed_on = String::new();
        for key in &case.keys {
            let wrong = |reason: String| CustomError::at(text, key.at, reason);
            if symbols.contains(&key.name.as_str()) {
                axes.insert(&key.name, axis(key).map_err(wrong)?);
            } else if self.tensors.iter().any(|tensor| tensor.name == key.name) {
                let layout = key.string.as_deref().ok_or_else(|| {
                    wrong(format!("`{}` is a layout such as \"transposed\"", key.name))
                })?;
                layouts.insert(&key.name, layout);
            } else if PASSED_ON.contains(&key.name.as_str())
                || self.scalars.iter().any(|(name, _)| *name == key.name)
            {
                write!(passed_on, ", {} = {}", key.name, key.text).expect("a string grows");
            } else {
                return Err(wrong(format!(
                    "unknown key `{}` (extents: {}; others: tensors with a layout, scalars, {})",
                    key.name,
                    symbols.join(", "),
                    PASSED_ON.join(", ")
                )));
            }
        }
        if let Some(missing) = symbols.iter().find(|symbol| !axes.contains_key(*symbol)) {
            let reason = format!("the case misses the extent `{missing}`");
            return Err(CustomError::at(text, case.at, reason));
        }
        let known = self.known(case, &axes);
        let tensors = self.tensors.iter().map(|tensor| {
            let layout = layouts.get(tensor.name.as_str()).map_or("", |layout| layout);
            let shape = spell(&tensor.shape, &known);
            format!("{} = \"{}\"", tensor.name, format!("{shape} {layout}").trim_end())
        });
        let tensors = tensors.collect::<Vec<_>>().join(", ");
        let ranges = axes.iter().filter_map(|(name, axis)| match axis {
            Axis::Range(range) => Some(format!("{name} = \"{range}\"")),
            Axis::Fixed(_) => None,
        });
        let ranges = ranges.collect::<Vec<_>>().join(", ");
        let axes = if ranges.is_empty() { ranges } else { format!(", axes = {{ {ranges} }}") };
        let line = CustomError::at(text, case.at, "").line;
        Ok(CaseText { line, text: format!("{{ {tensors}{axes}{passed_on} }}") })
    }

    /// Returns the integers of a case that are not drawn.
    fn known(&self, case: &CaseDecl, axes: &BTreeMap<&str, Axis>) -> Symbols {
        let given = |name: &str| case.keys.iter().find(|key| key.name == name);
        let scalars = self.scalars.iter().filter_map(|(name, default)| match default {
            ArgValue::Int(default) => {
                let value = given(name).and_then(|key| key.text.replace('_', "").parse().ok());
                Some((name.clone(), value.unwrap_or(*default)))
            }
            _ => None,
        });
        let fixed = axes.iter().filter_map(|(name, axis)| match axis {
            Axis::Fixed(extent) => Some(((*name).to_owned(), i64::try_from(*extent).ok()?)),
            Axis::Range(_) => None,
        });
        scalars.chain(fixed).collect()
    }

    /// Returns the names that have a value in every case: extents and integer scalars.
    pub(super) fn integers(&self) -> Vec<&str> {
        let scalars = self.scalars.iter().filter(|(_, value)| matches!(value, ArgValue::Int(_)));
        self.symbols().into_iter().chain(scalars.map(|(name, _)| name.as_str())).collect()
    }

    /// Returns the names of the extents that cases give, each once, in the order in which they come.
    pub(super) fn symbols(&self) -> Vec<&str> {
        let mut symbols = Vec::new();
        for name in self.tensors.iter().flat_map(|tensor| tensor.shape.names()) {
            let is_scalar = self.scalars.iter().any(|(scalar, _)| scalar == name);
            if !is_scalar && !symbols.contains(&name) {
                symbols.push(name);
            }
        }
        symbols
    }
}

fn axis(key: &CaseKey) -> Result<Axis, String> {
    match &key.string {
        Some(range) if range.contains("..") => Ok(Axis::Range(range.clone())),
        Some(_) => Err(format!("`{}` is a number or a range such as \"1..64\"", key.name)),
        None => key.text.replace('_', "").parse().map(Axis::Fixed).map_err(|_| {
            format!("extent `{}` is {}, not a number of elements", key.name, key.text)
        }),
    }
}

/// Spells a shape with the numbers of a case; drawn symbols stay.
fn spell(shape: &Shape, known: &Symbols) -> String {
    let dims = shape.dims.iter().map(|dim| match dim.value(known) {
        Some(extent) => extent.to_string(),
        None => dim.with(known).to_string(),
    });
    let dtype = shape.dtype.map_or("", DType::name);
    format!("{dtype}[{}]", dims.collect::<Vec<_>>().join(", "))
}

const fn kind(default: &ArgValue) -> Kind {
    match default {
        ArgValue::Int(_) => Kind::Int,
        ArgValue::Bool(_) => Kind::Bool,
        ArgValue::Str(_) => Kind::Str,
        ArgValue::Ints(_) => Kind::Ints,
        ArgValue::Floats(_) => Kind::Floats,
        _ => Kind::Float,
    }
}

fn typed(name: &str, default: &ArgValue) -> String {
    let kind = match default {
        ArgValue::Int(_) => "int",
        ArgValue::Bool(_) => "bool",
        ArgValue::Str(_) => "str",
        ArgValue::Ints(_) => "int[]",
        ArgValue::Floats(_) => "float[]",
        _ => "float",
    };
    format!("{kind} {name}")
}

fn literal(value: &ArgValue) -> String {
    match value {
        ArgValue::Int(value) => value.to_string(),
        ArgValue::Float(value) => format!("{value:?}"),
        ArgValue::Bool(true) => "True".to_owned(),
        ArgValue::Bool(false) => "False".to_owned(),
        ArgValue::Str(text) => format!("\"{text}\""),
        ArgValue::Ints(values) => format!("{values:?}"),
        ArgValue::Floats(values) => format!("{values:?}"),
        _ => "None".to_owned(),
    }
}
