//! Values of the plan language. None of them can grow: there is no arithmetic on strings or lists.

use std::sync::Arc;

use kgen_record::{BufferRef, DType, TensorSpec, tensor_map::TensorMap};

#[derive(Debug, Clone)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Arc<str>),
    /// The value of `.dtype`; compares with strings.
    DType(DType),
    /// Lists are tuples too: nothing can change them.
    Tuple(Arc<[Self]>),
    Tensor(Arc<Tensor>),
    Pointer(Pointer),
    TensorMap(Arc<Map>),
    Range {
        start: i64,
        stop: i64,
        step: i64,
    },
}

/// A tensor the plan can see: an input, an output, or a copy it asked for.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    /// Name for messages.
    pub(super) label: String,
    pub(super) buffer: BufferRef,
    pub(super) spec: TensorSpec,
}

/// A pointer into a buffer, which kernels take as any type.
#[derive(Debug, Clone)]
pub(super) struct Pointer {
    pub(super) buffer: BufferRef,
    pub(super) byte_offset: i64,
    /// Element type of the tensor that it points into; `None` in scratch.
    pub(super) dtype: Option<DType>,
}

/// A tensor map of a part of a buffer.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) buffer: BufferRef,
    pub(super) byte_offset: i64,
    /// The map; its address is 0.
    pub(super) map: TensorMap,
    /// Name for messages.
    pub(super) label: String,
    /// Where the plan makes it.
    pub(super) at: usize,
}

impl Tensor {
    /// Distance of the first element from the buffer's first byte, in bytes.
    pub(super) fn byte_offset(&self) -> i64 {
        to_i64(self.spec.offset * self.spec.dtype.size())
    }

    /// Largest power of two, at most 256, that the first element's address is a multiple of.
    fn align(&self) -> i64 {
        let offset = self.byte_offset();
        if offset == 0 { 256 } else { 1 << offset.trailing_zeros().min(8) }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<Value> {
        Some(match name {
            "shape" => ints(&self.spec.shape),
            "stride" => ints(&self.spec.stride),
            "ndim" => Value::Int(to_i64(self.spec.ndim())),
            "numel" => Value::Int(to_i64(self.spec.numel())),
            "itemsize" => Value::Int(to_i64(self.spec.dtype.size())),
            "dtype" => Value::DType(self.spec.dtype),
            "align" => Value::Int(self.align()),
            "contiguous" => Value::Bool(self.spec.is_contiguous()),
            _ => return None,
        })
    }
}

/// Attributes of tensors.
pub(super) const ATTRIBUTES: [&str; 8] =
    ["shape", "stride", "ndim", "numel", "itemsize", "dtype", "align", "contiguous"];

/// Returns a size as the plan's integer.
pub(super) fn to_i64(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn ints(values: &[usize]) -> Value {
    Value::Tuple(values.iter().map(|&value| Value::Int(to_i64(value))).collect())
}

impl Value {
    /// Names the kind of value, for messages.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "a string",
            Self::DType(_) => "a dtype",
            Self::Tuple(_) => "a tuple",
            Self::Tensor(_) => "a tensor",
            Self::Pointer(_) => "a pointer",
            Self::TensorMap(_) => "a tensor map",
            Self::Range { .. } => "a range",
        }
    }

    /// Returns an integer; a bool counts as 0 or 1, as in Python.
    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// Returns a number as f64.
    #[expect(clippy::cast_precision_loss, reason = "Python's mixed arithmetic rounds too")]
    pub(super) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            other => other.as_int().map(|value| value as f64),
        }
    }
}
