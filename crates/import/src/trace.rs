//! The trace that `python/importer` writes of a module: one graph per variant.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kgen_ops::log::{LogDType, LogTensor, Value};
use kgen_ops::op::Array;
use serde::{Deserialize, Deserializer, de::Error as _};

/// A traced module.
#[derive(Debug, Clone, Deserialize)]
pub struct Trace {
    /// The version of PyTorch.
    pub torch: String,
    /// The name of the file.
    pub file: String,
    /// The SHA-256 of the file.
    pub sha256: String,
    /// The class, or the function.
    pub class: String,
    /// The text of the file.
    pub source: String,
    /// Whether it is in training mode.
    pub train: bool,
    /// Remarks of the tracer for the user.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The Python expression of the arguments of a function.
    #[serde(skip)]
    pub inputs: Option<String>,
    /// The variants, the original first.
    pub variants: Vec<Variant>,
}

impl Trace {
    /// Returns whether the module has no graph: it is its own reference then.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        self.variants.first().is_some_and(|variant| !variant.results.is_empty())
    }
}

/// A module with a set of constants.
#[derive(Debug, Clone, Deserialize)]
pub struct Variant {
    /// Why it is there.
    pub role: Role,
    /// Its module-level integers.
    pub constants: serde_json::Map<String, serde_json::Value>,
    /// Arguments of `forward`, parameters, buffers and constants that the graph uses.
    pub tensors: Vec<Tensor>,
    /// The calls, each after those whose results it takes.
    pub nodes: Vec<Node>,
    /// The results.
    pub outputs: Vec<Place>,
    /// The results of a module that has no graph.
    #[serde(default)]
    pub results: Vec<Output>,
    /// The module's results in f64, where they were computed.
    pub check: Option<Check>,
}

/// Tensors of a variant and the module's results for them.
#[derive(Debug, Clone, Deserialize)]
pub struct Check {
    /// The tensors.
    pub tensors: BTreeMap<String, Values>,
    /// The results.
    pub outputs: Vec<Values>,
}

/// Values of a tensor.
#[derive(Debug, Clone, Deserialize)]
pub struct Values {
    /// The extents.
    pub shape: Vec<usize>,
    /// The elements: f64, little endian, in base 64.
    pub data: String,
}

impl Values {
    pub(crate) fn array(&self) -> Option<Array> {
        let bytes = BASE64_STANDARD.decode(&self.data).ok()?;
        let (values, rest) = bytes.as_chunks::<8>();
        let values = values.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        rest.is_empty().then_some(())?;
        Array::from_shape_vec(self.shape.clone(), values).ok()
    }
}

/// Why a variant is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The file as it is.
    Original,
    /// Extents that the emulator takes in no time.
    Small,
    /// Extents that cross a tile.
    Middle,
    /// Random small extents, for the proof of those that an op file draws; no case of its own.
    Drawn,
}

/// A tensor that is no result.
#[derive(Debug, Clone, Deserialize)]
pub struct Tensor {
    /// Its name in the graph.
    pub name: String,
    /// Its path in the module, where it is a parameter or a buffer.
    pub path: Option<String>,
    /// Whether it is an argument, or belongs to the module.
    pub kind: TensorKind,
    /// The element type.
    #[serde(deserialize_with = "dtype")]
    pub dtype: LogDType,
    /// The extents.
    pub shape: Vec<usize>,
    /// How its values are made.
    pub init: Init,
}

/// Where a tensor comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorKind {
    /// An argument of `forward`.
    Input,
    /// A parameter.
    Parameter,
    /// A buffer.
    Buffer,
    /// A value that the code makes.
    Constant,
}

/// How the values of a tensor are made.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Init {
    /// Uniform in `[low, high)`.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Which elements of the matrices are 0, or equal: `upper`, `lower` or `symmetric`.
        structure: Option<String>,
    },
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
        /// As that of uniform values.
        structure: Option<String>,
    },
    /// Equal values; the text spells infinities too.
    Fill {
        /// The value.
        #[serde(deserialize_with = "number")]
        value: f64,
    },
    /// Integers from `low` to below `high`.
    Integers {
        /// The smallest.
        low: i64,
        /// Above the largest.
        high: i64,
        /// Factor on the integers.
        scale: Option<f64>,
        /// Added to them.
        offset: Option<f64>,
    },
    /// 0 or 1.
    Bernoulli {
        /// The probability of 1.
        p: f64,
        /// Factor on the values.
        scale: Option<f64>,
        /// Added to them.
        offset: Option<f64>,
    },
    /// Rising by a step.
    Arange {
        /// The first.
        start: f64,
        /// The step.
        step: f64,
    },
    /// One value on and below a diagonal of the last two dimensions, another above it.
    Tril(Triangle),
    /// One value on and above a diagonal of the last two dimensions, another below it.
    Triu(Triangle),
    /// Each value.
    Values {
        /// In row-major order.
        #[serde(deserialize_with = "numbers")]
        values: Vec<f64>,
    },
}

/// Values of a triangular matrix.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Triangle {
    /// Which diagonal; 0 is the main one.
    pub diagonal: i64,
    /// The value of the triangle.
    #[serde(deserialize_with = "number")]
    pub inside: f64,
    /// The value of the rest.
    #[serde(deserialize_with = "number")]
    pub outside: f64,
}

/// A call.
#[derive(Debug, Clone, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The overload: `aten.add.Tensor`.
    pub target: String,
    /// The positional arguments.
    pub args: Vec<Arg>,
    /// The keyword arguments.
    #[serde(default)]
    pub kwargs: serde_json::Map<String, serde_json::Value>,
    /// Element types and extents of its results.
    pub outputs: Vec<Output>,
    /// The line of the file.
    pub line: Option<u32>,
}

/// Element type and extents of a result.
#[derive(Debug, Clone, Deserialize)]
pub struct Output {
    /// The element type.
    #[serde(deserialize_with = "dtype")]
    pub dtype: LogDType,
    /// The extents.
    pub shape: Vec<usize>,
}

/// A tensor in a graph: an output of a node, or a tensor that is no result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Place {
    /// The name of the node or tensor.
    pub tensor: String,
    /// Which output of the node.
    #[serde(default)]
    pub index: usize,
}

/// An argument of a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Arg {
    /// A tensor.
    Tensor(Place),
    /// A list.
    List {
        /// Its elements.
        list: Vec<Self>,
    },
    /// An integer.
    Int {
        /// The value.
        int: i64,
    },
    /// A number; the text spells infinities too.
    Float {
        /// The value.
        #[serde(deserialize_with = "number")]
        float: f64,
    },
    /// A truth value.
    Bool {
        /// The value.
        bool: bool,
    },
    /// No value.
    None {
        /// Always true.
        none: bool,
    },
    /// A string.
    Str {
        /// The value.
        str: String,
    },
    /// An element type.
    DType {
        /// The value.
        #[serde(deserialize_with = "dtype")]
        dtype: LogDType,
    },
}

impl Arg {
    /// Returns the value of a call of a log, whose tensors have the types and extents that `shaped` says.
    pub(crate) fn value(&self, shaped: &impl Fn(&Place) -> Option<Output>) -> Option<Value> {
        Some(match self {
            Self::Tensor(place) => {
                let Output { dtype, shape } = shaped(place)?;
                Value::Tensor(LogTensor { shape, dtype, stride: None, offset: 0, generator: None })
            }
            Self::List { list } => {
                Value::List(list.iter().map(|arg| arg.value(shaped)).collect::<Option<_>>()?)
            }
            Self::Int { int } => Value::Int(*int),
            Self::Float { float } => Value::Float(*float),
            Self::Bool { bool } => Value::Bool(*bool),
            Self::None { .. } => Value::None,
            Self::Str { str } => Value::Str(str.clone()),
            Self::DType { dtype } => Value::DType(*dtype),
        })
    }
}

impl Node {
    /// Returns the keyword arguments.
    pub(crate) fn keywords(&self) -> Option<Vec<(String, Arg)>> {
        let one = |(name, value): (&String, &serde_json::Value)| {
            Some((name.clone(), serde_json::from_value(value.clone()).ok()?))
        };
        self.kwargs.iter().map(one).collect()
    }

    /// Returns the argument at a place of the schema, or of that name.
    pub(crate) fn arg(&self, place: usize, name: &str) -> Option<Arg> {
        if let Some(arg) = self.args.get(place) {
            return Some(arg.clone());
        }
        serde_json::from_value(self.kwargs.get(name)?.clone()).ok()
    }
}

fn dtype<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LogDType, D::Error> {
    let name = String::deserialize(deserializer)?;
    LogDType::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown dtype `{name}`")))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(f64),
    Text(String),
}

impl Number {
    fn value<E: serde::de::Error>(self) -> Result<f64, E> {
        match self {
            Self::Number(value) => Ok(value),
            Self::Text(text) => text.parse().map_err(E::custom),
        }
    }
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Number::deserialize(deserializer)?.value()
}

fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    Vec::<Number>::deserialize(deserializer)?.into_iter().map(Number::value).collect()
}
