//! A launch plan after its evaluation for one case: numbers only.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Convolution, DType, Gemm, TensorSpec, number, tensor_map::TensorMap};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResolvedPlan {
    /// Macros for the compiler (`define` and the chosen `param` values), sorted by name.
    pub defines: Vec<(String, String)>,
    pub params: Vec<ParamAxis>,
    /// Buffers that kgen allocates for the candidate.
    pub scratch: Vec<Scratch>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The conditions that were evaluated, by line, and whether they held.
    pub conditions: BTreeSet<(u32, bool)>,
}

impl ResolvedPlan {
    /// Returns whether any step names a buffer, to read or to write it.
    #[must_use]
    pub fn names(&self, buffer: BufferRef) -> bool {
        let in_args = |args: &[PlanArg]| args.iter().any(|arg| arg.buffer() == Some(buffer));
        self.steps.iter().any(|step| match step {
            Step::Launch { args, .. } => in_args(args),
            Step::Copy { target, .. } | Step::Fill { target, .. } => *target == buffer,
            Step::Gemm { call } => call.out.at.buffer == buffer,
            Step::Convolution { call } => call.out.buffer == buffer,
        })
    }
}

/// One `param` of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParamAxis {
    /// Its name, also the macro's.
    pub name: String,
    /// The values to choose from; the first is the default.
    pub values: Vec<i64>,
    /// The value this plan was resolved with.
    pub chosen: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    /// Name for findings: the plan's variable or the copied tensor's name.
    pub label: String,
    pub bytes: u64,
    /// Unit in which findings count: the element of a copied tensor, else a byte.
    pub element_bytes: usize,
    /// Cleared before the first step, inside the timed region.
    pub zero: bool,
}

/// One step of a resolved plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    /// Launches a kernel of the candidate.
    Launch {
        kernel: String,
        /// Blocks along x, y, z.
        grid: [u32; 3],
        /// Threads of a block along x, y, z.
        block: [u32; 3],
        /// Dynamic shared memory, in bytes.
        smem: u32,
        args: Vec<PlanArg>,
        /// Line of the `launch` call in the kernel file.
        line: u32,
        #[serde(default, skip_serializing_if = "LaunchAttributes::is_plain")]
        attributes: LaunchAttributes,
    },
    /// Copies a view into a contiguous buffer with kgen's own kernel.
    Copy {
        /// The source: any strides, stride 0 included.
        source: View,
        /// The contiguous destination, which begins at its buffer's first byte.
        target: BufferRef,
    },
    /// Calls a library for a matrix product.
    Gemm { call: Box<Gemm<BufferRef>> },
    /// Calls a library for a convolution.
    Convolution { call: Box<Convolution<BufferRef>> },
    /// Sets every byte of a buffer.
    Fill {
        /// The buffer: an output or a scratch buffer.
        target: BufferRef,
        byte: u8,
    },
}

/// How a launch differs from a plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LaunchAttributes {
    /// Blocks of a cluster along x, y, z; `None` leaves it to the kernel.
    pub cluster: Option<[u32; 3]>,
    /// Whether it may begin before the launch before it has ended (programmatic dependent launch).
    pub pdl: bool,
    /// Whether all blocks run at once, so that barriers of the whole grid open.
    pub cooperative: bool,
}

impl LaunchAttributes {
    /// Returns whether there is nothing special about a launch.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A strided view of a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub buffer: BufferRef,
    /// Layout; its offset counts elements from the buffer's first byte.
    pub spec: TensorSpec,
}

/// A buffer of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", content = "index", rename_all = "snake_case")]
pub enum BufferRef {
    /// The storage of the n-th tensor argument ([`super::Case::tensors`]).
    Input(usize),
    Output(usize),
    /// The n-th scratch buffer.
    Scratch(usize),
}

/// An argument as the plan gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlanArg {
    /// A pointer into a buffer.
    Pointer {
        buffer: BufferRef,
        /// Distance from the buffer's first byte (a view's storage offset, `ptr`'s offset), in bytes.
        byte_offset: i64,
        /// Element type, where the plan passed a tensor.
        dtype: Option<DType>,
        /// Name for messages: the plan's expression.
        label: String,
    },
    /// A tensor map of a part of a buffer, passed by value.
    TensorMap {
        buffer: BufferRef,
        /// Distance of the map's address from the buffer's first byte.
        byte_offset: i64,
        /// The map; its address is 0.
        map: Box<TensorMap>,
        /// Name for messages: the tensor's.
        label: String,
    },
    /// A null pointer: an optional input left out.
    Null,
    Int {
        value: i64,
    },
    Float {
        #[serde(with = "number::plain")]
        value: f64,
    },
    Bool {
        value: bool,
    },
}

impl PlanArg {
    /// Returns the buffer that the kernel is let into.
    #[must_use]
    pub fn buffer(&self) -> Option<BufferRef> {
        match self {
            Self::Pointer { buffer, .. } | Self::TensorMap { buffer, .. } => Some(*buffer),
            Self::Null | Self::Int { .. } | Self::Float { .. } | Self::Bool { .. } => None,
        }
    }
}

/// Parameter types of a compiled kernel, spelled by the lowered name of a template over its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    pub kernel: String,
    /// Its parameters in order.
    pub params: Vec<ParamType>,
}

/// Type of one kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ParamType {
    /// A pointer; `pointee` is the C++ type without qualifiers, `void` for an untyped one.
    Pointer {
        /// The pointee's C++ name, for example `float`, `__half`, `long long`.
        pointee: String,
        /// Whether the pointee is const.
        is_const: bool,
    },
    /// An integer (an enum or char too).
    Int {
        /// Width: 8, 16, 32 or 64.
        bits: u32,
        signed: bool,
    },
    Bool,
    Float {
        dtype: DType,
    },
    /// A tensor map by value, `CUtensorMap`.
    TensorMap,
    /// Anything else, which a plan cannot pass.
    Other {
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use super::{BufferRef, PlanArg, Step};
    use crate::{BufferOffset, Convolution, DType, Gemm, Matrix};

    #[test]
    fn library_steps_survive_json() {
        let at = |buffer, byte_offset| BufferOffset { buffer, byte_offset };
        let matrix =
            |buffer| Matrix { at: at(buffer, 8), row_major: false, ld: 3, batch_stride: 6 };
        let product = Gemm {
            dtype: DType::BF16,
            out_dtype: DType::F32,
            m: 2,
            n: 3,
            k: 4,
            batch: 5,
            left: matrix(BufferRef::Input(1)),
            right: matrix(BufferRef::Scratch(0)),
            out: matrix(BufferRef::Output(0)),
            addend: Some(matrix(BufferRef::Output(0))),
            bias: None,
            alpha: 0.1,
            beta: 1.0,
            tf32: true,
            line: Some(7),
        };
        let convolution = Convolution {
            dtype: DType::F16,
            input: at(BufferRef::Input(0), 0),
            input_shape: vec![2, 4, 9],
            weight: at(BufferRef::Input(1), 2),
            weight_shape: vec![6, 2, 3],
            out: at(BufferRef::Scratch(3), 4),
            out_shape: vec![2, 6, 7],
            stride: vec![1],
            padding: vec![0],
            dilation: vec![1],
            groups: 2,
            tf32: false,
            line: 3,
        };
        for step in [
            Step::Gemm { call: Box::new(product) },
            Step::Convolution { call: Box::new(convolution) },
        ] {
            let json = serde_json::to_string(&step).unwrap();
            assert_eq!(serde_json::from_str::<Step>(&json).unwrap(), step, "{json}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_survive_json() {
        for value in [0.5, f64::INFINITY, f64::NEG_INFINITY] {
            let arg = PlanArg::Float { value };
            let json = serde_json::to_string(&arg).unwrap();
            assert_eq!(serde_json::from_str::<PlanArg>(&json).unwrap(), arg, "{json}");
        }
        let json = serde_json::to_string(&PlanArg::Float { value: f64::NAN }).unwrap();
        let back = serde_json::from_str(&json).unwrap();
        assert!(matches!(back, PlanArg::Float { value } if value.is_nan()), "{json}");
    }
}
