//! The requests of kgen, as JSON has them.

use std::{cmp::Reverse, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    place::At,
    refusal::{Refusal, unsupported},
};

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
    F8E4M3,
    F8E5M2,
}

impl DType {
    /// Returns the bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool | Self::F8E4M3 | Self::F8E5M2 => 1,
        }
    }

    /// Returns whether it is f64, f32, f16 or bf16.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// The device that the program is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    Cpu,
    /// A GPU by its index among the visible ones.
    Cuda(usize),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let cuda = || text.strip_prefix("cuda:")?.parse().ok().map(Self::Cuda);
        if text == "cpu" {
            Ok(Self::Cpu)
        } else {
            cuda().ok_or_else(|| format!("there is no device {text:?}"))
        }
    }
}

/// A description of the program, as it greets and as `hello` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The library's name.
    pub library: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Name of the device.
    pub device: String,
    /// Of a GPU, `GPU-..`.
    pub uuid: Option<String>,
}

/// A request, without its `id`.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    Hello {},
    Prepare(Box<Prepare>),
    Run {
        handle: u64,
    },
    Time {
        handle: u64,
        samples: usize,
        warm_up: usize,
        flush: Flush,
    },
    Loop {
        handle: u64,
        seconds: f64,
    },
    Memory {
        handle: u64,
    },
    Offers {
        #[serde(rename = "impl")]
        library: String,
    },
    Drop {
        handle: u64,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prepare {
    #[serde(rename = "impl")]
    pub(crate) library: String,
    pub(crate) op: String,
    /// The overload in PyTorch, for example `add.Tensor`.
    pub(crate) aten: Option<String>,
    #[serde(rename = "source", default)]
    _source: Option<String>,
    #[serde(rename = "entry", default)]
    _entry: Option<String>,
    pub(crate) args: Vec<(String, Value)>,
    pub(crate) outputs: Vec<Output>,
    #[serde(rename = "precision")]
    _precision: String,
    #[serde(default)]
    pub(crate) keep: bool,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Value {
    Tensor(Tensor),
    Tensors(Vec<Option<Tensor>>),
    Int(i64),
    Float(Number),
    Bool(bool),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<Number>),
    #[serde(rename = "dtype")]
    DType(DType),
    None(()),
}

/// A number, of which some have no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub(crate) struct Number(pub(crate) f64);

impl TryFrom<serde_json::Value> for Number {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, String> {
        let named = |text: &str| match text {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        };
        let number = value.as_f64().or_else(|| named(value.as_str()?));
        number.map(Self).ok_or_else(|| format!("{value} is no number"))
    }
}

/// A tensor in its place.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// In elements.
    pub stride: Vec<usize>,
    /// In elements.
    pub offset: usize,
    pub(crate) at: At,
}

/// An output, contiguous, and its place.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub(crate) at: At,
}

/// How the L2 cache is emptied before each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Flush {
    /// By writing so many bytes.
    Memset { bytes: usize },
    /// By reading so many bytes.
    Read { bytes: usize },
    /// Not at all.
    None,
}

impl Tensor {
    /// Returns the elements of the storage up to the last one addressed; 0 of an empty tensor.
    pub(crate) fn extent(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        let last: usize =
            self.shape.iter().zip(&self.stride).map(|(n, stride)| (n - 1) * stride).sum();
        self.offset + last + 1
    }

    /// Returns the tensor as a contiguous one whose dimensions are permuted.
    ///
    /// # Errors
    ///
    /// A refusal where the elements lie with gaps or overlaps.
    pub fn dense(&self) -> Result<Dense, Refusal> {
        let mut order: Vec<usize> = (0..self.shape.len()).collect();
        order.sort_by_key(|&dim| (Reverse(self.stride[dim]), Reverse(self.shape[dim])));
        let mut expected = 1;
        for &dim in order.iter().rev() {
            if self.shape[dim] != 1 && self.stride[dim] != expected {
                return Err(unsupported("a layout with gaps or overlaps"));
            }
            expected *= self.shape[dim];
        }
        let mut permutation = vec![0; order.len()];
        for (place, &dim) in order.iter().enumerate() {
            permutation[dim] = place;
        }
        Ok(Dense { extents: order.iter().map(|&dim| self.shape[dim]).collect(), permutation })
    }
}

/// A contiguous tensor whose dimensions are permuted.
#[derive(Debug, PartialEq, Eq)]
pub struct Dense {
    /// Extents of the contiguous tensor.
    pub extents: Vec<usize>,
    /// For each dimension of the permuted tensor, that of the contiguous one: the argument of `permute`.
    pub permutation: Vec<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize], stride: &[usize]) -> Tensor {
        let at = At { file: Some("/x".into()), ipc: None, byte_offset: 0, bytes: 4096 };
        Tensor { dtype: DType::F32, shape: shape.to_vec(), stride: stride.to_vec(), offset: 0, at }
    }

    #[test]
    fn dense_layouts_are_permuted_and_others_refused() {
        let dense = |shape: &[usize], stride: &[usize]| {
            let Dense { extents, permutation } = tensor(shape, stride).dense().ok()?;
            Some((extents, permutation))
        };
        assert_eq!(dense(&[2, 3], &[3, 1]), Some((vec![2, 3], vec![0, 1])));
        assert_eq!(dense(&[2, 3], &[1, 2]), Some((vec![3, 2], vec![1, 0])));
        assert_eq!(dense(&[2, 3, 4], &[1, 8, 2]), Some((vec![3, 4, 2], vec![2, 0, 1])));
        assert_eq!(dense(&[2, 1, 3], &[3, 77, 1]), Some((vec![1, 2, 3], vec![1, 0, 2])));
        assert_eq!(dense(&[2, 3], &[4, 1]), None);
        assert_eq!(dense(&[2, 3], &[0, 1]), None);
        assert_eq!(dense(&[], &[]), Some((vec![], vec![])));
        assert_eq!(tensor(&[2, 3], &[4, 1]).extent(), 7);
        assert_eq!(tensor(&[0, 3], &[3, 1]).extent(), 0);
    }

    #[test]
    fn a_request_is_read_and_unknown_fields_are_refused() {
        let line = r#"{"do":"prepare","impl":"candle","op":"add","aten":"add.Tensor","source":null,"entry":null,
            "args":[["self",{"tensor":{"dtype":"bf16","shape":[2],"stride":[1],"offset":0,
            "at":{"shm":"/x","byte_offset":0,"bytes":4}}}],["alpha",{"float":"-inf"}],["dtype",{"dtype":"f8e4m3"}],
            ["w",{"none":null}]],"outputs":[],"precision":"strict","keep":false}"#;
        let Request::Prepare(prepare) = serde_json::from_str(line).unwrap() else { panic!() };
        assert_eq!(prepare.args[1].1, Value::Float(Number(f64::NEG_INFINITY)));
        assert_eq!(prepare.args[2].1, Value::DType(DType::F8E4M3));
        assert_eq!(prepare.args[3].1, Value::None(()));
        let error =
            serde_json::from_str::<Request>(r#"{"do":"run","handle":1,"x":2}"#).unwrap_err();
        assert!(error.to_string().contains("unknown field"), "{error}");
        assert!(serde_json::from_str::<Request>(r#"{"do":"sing"}"#).is_err());
        assert_eq!("cuda:3".parse(), Ok(Device::Cuda(3)));
        assert!("cuda".parse::<Device>().is_err());
    }
}
