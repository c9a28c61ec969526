//! Logs of operator inputs: the calls that a model made, as text.
//!
//! One call per line, under a line that names its op:
//!
//! ```text
//! Operator: aten.addmm.default
//! cnt: 49, ((T([768], f16), T([8192, 768], f16), T([768, 768], f16, stride=(1, 768))), {})
//! ```
//!
//! or with the name on the same line:
//!
//! ```text
//! aten.addmm.default cnt: 49, ((T([768], f16), T([8192, 768], f16), T([768, 768], f16)), {})
//! ```
//!
//! The count may be a bare number or missing (1); text behind a call and a tab or a `#` is
//! ignored, as are blank lines and lines that begin with `#`. A call is `((args), {kwargs})`, the
//! latter where there are some; its values are
//!
//! - tensors `T([2, 3], f16)`, with strides in elements where they are not contiguous, as
//!   `stride=(1, 2)` (`PyTorch`) or as a second list `[1, 2]` (BackendBench), and a device, which is
//!   not used; kgen's own keys are `offset=1` and `gen=`, one of `normal`, `ones`, `perm`, `int(lo,hi)`, `index(n)`, `mask(p)`;
//! - lists and tuples of values, integers, floats (`1e-05`, `inf`, `-inf`, `nan`), `True`,
//!   `False`, `None`, strings, dtypes (`f16`, `torch.float16`), `torch.strided` and
//!   `torch.device('cpu')`.
//!
//! Nothing in a log is executed. A mistake is a [`LogError`] with line and column; the other lines
//! are read all the same.

mod dtype;
mod error;
mod parser;
mod tensor;
mod token;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod write;

pub use dtype::LogDType;
pub use error::LogError;
pub use parser::parse;

/// One line of a log: a call of an op.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The op without namespace and overload: `add`; an op that is not of ATen keeps its
    /// namespace: `torchvision.nms`.
    pub op: String,
    /// Its overload: `Tensor`; `default` where the log names none.
    pub overload: String,
    /// How often the model made the call.
    pub count: u64,
    /// The positional arguments.
    pub args: Vec<Value>,
    /// The keyword arguments.
    pub kwargs: Vec<(String, Value)>,
    /// The line of the log, from 1.
    pub line: usize,
}

impl Call {
    /// Returns op and overload as `PyTorch` spells them without namespace: `add.Tensor`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.op, self.overload)
    }

    /// Returns the name with its namespace: `aten.add.Tensor`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let namespace = if self.op.contains('.') { "" } else { "aten." };
        format!("{namespace}{}.{}", self.op, self.overload)
    }
}

/// A value of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(LogTensor),
    /// A list or tuple.
    List(Vec<Self>),
    /// An integer.
    Int(i64),
    /// A number with a fraction or an exponent, an infinity or NaN.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// No value.
    None,
    /// An element type.
    DType(LogDType),
    /// A string, or a layout, memory format or device.
    Str(String),
}

/// A tensor of a call: no values, only how it lies in memory and how values are made.
///
/// Its elements and those of its storage number less than 2^63.
#[derive(Debug, Clone, PartialEq)]
pub struct LogTensor {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// Element type.
    pub dtype: LogDType,
    /// Distance between neighbours along each dimension, in elements; `None` for contiguous.
    pub stride: Option<Vec<usize>>,
    /// Index of the first element in the storage.
    pub offset: usize,
    /// How its values are made; `None` leaves it to the op.
    pub generator: Option<LogGen>,
}

/// How the values of a tensor are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogGen {
    /// Normally distributed.
    Normal,
    /// Integers from `low` to `high`, the latter excluded.
    Int {
        /// Smallest value.
        low: i64,
        /// The value above the largest one.
        high: i64,
    },
    /// Indices from 0 to `bound`, the latter excluded.
    Index {
        /// The value above the largest one.
        bound: u64,
    },
    /// A permutation of the first integers along the last dimension.
    Perm,
    /// True with probability `p`, else false.
    Mask {
        /// The probability, from 0 to 1.
        p: f64,
    },
    /// All elements 1.
    Ones,
}

/// The calls of a log, and its mistakes.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The calls, in the order of the file.
    pub calls: Vec<Call>,
    /// The mistakes of the lines that are missing among the calls, in the order of the file.
    pub errors: Vec<LogError>,
}
