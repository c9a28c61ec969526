//! Records of the golden files, and the cases that they are.

use base64::Engine as _;
use serde::{Deserialize, de};
use serde_json::{Map, Value};

use kgen_ops::{
    op::{Kind, OpDef, Param},
    record::{
        Arg, ArgValue, Case, CaseClass, DType, Gen, HostTensor, InputDistribution, TensorArg,
        TensorSpec,
    },
};

/// One call with PyTorch's results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// Values of the arguments that are not left out.
    pub args: Map<String, Value>,
    /// The results in their storage dtypes; absent where the call is refused.
    #[serde(default)]
    pub outputs: Vec<Tensor>,
    /// The row-major f64 results of floating-point outputs.
    #[serde(default)]
    pub f64: Vec<Option<Bytes>>,
    /// Why PyTorch refuses the call.
    pub raises: Option<String>,
    /// Words about the record, separated by commas.
    #[serde(default)]
    pub note: String,
}

impl Record {
    /// Returns whether the note has a word.
    pub(super) fn notes(&self, word: &str) -> bool {
        self.note.split(',').any(|of| of == word)
    }
}

/// A tensor with its storage.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    stride: Option<Vec<usize>>,
    #[serde(default)]
    offset: usize,
    data: Bytes,
}

impl Tensor {
    /// Returns the tensor as references take it.
    pub(super) fn host(&self) -> HostTensor {
        let mut spec = TensorSpec::contiguous(self.dtype, &self.shape);
        spec.stride = self.stride.clone().unwrap_or(spec.stride);
        spec.offset = self.offset;
        assert_eq!(self.data.0.len(), spec.storage_bytes(), "a record holds its whole storage");
        HostTensor { spec, storage: self.data.0.clone() }
    }
}

/// Bytes written in base64.
#[derive(Debug)]
pub(super) struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        bytes.map(Self).map_err(de::Error::custom)
    }
}

impl Bytes {
    /// Reads little-endian f64.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let chunks = self.0.chunks_exact(8);
        chunks.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect()
    }
}

/// Why a record makes no case.
#[derive(Debug)]
pub(super) enum NoCase {
    /// The op refuses an argument for its kind, which inference never sees.
    Refused(String),
    /// The record names an argument that the op does not have.
    Mismatch(String),
}

/// Arguments of PyTorch's calls that are not for a kernel.
const IGNORED: [&str; 1] = ["non_blocking"];

/// Builds the case of a record and its inputs.
pub(super) fn case(op: &OpDef, record: &Record) -> Result<(Case, Vec<HostTensor>), NoCase> {
    let known =
        |name: &str| op.params.iter().any(|param| param.name == name) || IGNORED.contains(&name);
    if let Some(name) = record.args.keys().find(|name| !known(name)) {
        return Err(NoCase::Mismatch(format!("the op has no argument `{name}`")));
    }
    let mut args = Vec::new();
    let mut hosts = Vec::new();
    for param in &op.params {
        let value = match (record.args.get(&param.name), &param.default) {
            (Some(value), _) => arg(param, value, &mut hosts)?,
            (None, Some(default)) => default.clone(),
            (None, None) => {
                let name = &param.name;
                return Err(NoCase::Mismatch(format!("argument `{name}` has no default")));
            }
        };
        args.push(Arg { name: param.name.clone(), value });
    }
    let dtypes = || hosts.iter().map(|host| host.spec.dtype);
    let dtype = dtypes().find(|dtype| dtype.is_float()).or(dtypes().next());
    let case = Case {
        id: "golden".to_owned(),
        op: op.name.clone(),
        count: None,
        dtype: dtype.unwrap_or(DType::F32),
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: false,
        in_place: false,
        args,
    };
    Ok((case, hosts))
}

fn tensor(value: &Value, hosts: &mut Vec<HostTensor>) -> TensorArg {
    let host = Tensor::deserialize(value).unwrap().host();
    let spec = host.spec.clone();
    hosts.push(host);
    TensorArg { spec, generator: Gen::Constant { value: 0.0 } }
}

fn arg(param: &Param, value: &Value, hosts: &mut Vec<HostTensor>) -> Result<ArgValue, NoCase> {
    let refused = || NoCase::Refused(format!("`{}` must be {}", param.name, param.kind.wanted()));
    Ok(match (param.kind, value) {
        (_, Value::Null) if param.optional => ArgValue::None,
        (Kind::Tensor, Value::Object(map)) if map.contains_key("data") => {
            ArgValue::Tensor(tensor(value, hosts))
        }
        (Kind::Tensors, Value::Object(map)) => {
            let list = map.get("list").and_then(Value::as_array).ok_or_else(refused)?;
            let one = |value: &Value| (!value.is_null()).then(|| tensor(value, hosts));
            ArgValue::Tensors(list.iter().map(one).collect())
        }
        (Kind::Tensors, Value::Array(list)) if list.is_empty() => ArgValue::Tensors(Vec::new()),
        (Kind::Str, Value::String(text)) => {
            let allowed = param.choices.is_empty() || param.choices.contains(&text.as_str());
            ArgValue::Str(allowed.then(|| text.clone()).ok_or_else(refused)?)
        }
        (Kind::Bool | Kind::Scalar, Value::Bool(value)) => ArgValue::Bool(*value),
        (Kind::DType, Value::Object(map)) => {
            let name = map.get("dtype").and_then(Value::as_str).ok_or_else(refused)?;
            ArgValue::DType(name.parse().map_err(|_| refused())?)
        }
        (Kind::Ints, Value::Array(list)) => {
            let int = |value: &Value| value.as_i64().or(value.as_bool().map(i64::from));
            ArgValue::Ints(list.iter().map(int).collect::<Option<_>>().ok_or_else(refused)?)
        }
        (Kind::Floats, Value::Array(list)) => {
            ArgValue::Floats(list.iter().map(number).collect::<Option<_>>().ok_or_else(refused)?)
        }
        (Kind::Int | Kind::Scalar | Kind::Ints, Value::Number(number)) if number.is_i64() => {
            ArgValue::Int(number.as_i64().ok_or_else(refused)?)
        }
        (Kind::Float | Kind::Scalar, value) => ArgValue::Float(number(value).ok_or_else(refused)?),
        _ => return Err(refused()),
    })
}

/// Reads a number, also one that JSON lacks: `{"float": "nan"}`.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Object(map) => map.get("float")?.as_str()?.parse().ok(),
        value => value.as_f64(),
    }
}
