//! Findings about a kernel, as data; `prompt` turns them into words for a model.

use kgen_measure::occupancy::{Occupancy, Waves};
use kgen_profile::sass::SassMix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number::Number;

/// A message of the compiler or of a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// Line of the kernel file, from 1; `None` where the message has none in it.
    pub line: Option<u32>,
    /// How bad it is.
    pub severity: Severity,
    /// The message without file and line.
    pub message: String,
    /// The text of that line of the kernel file.
    pub source_line: Option<String>,
}

/// Severity of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    /// Belongs to another message.
    Note,
}

/// Position in the kernel file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceSpan {
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
    /// The text of the line.
    pub text: String,
}

/// The facts of one compiled kernel without running it: the assembler's log, its launches, its
/// code.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    pub kernel: String,
    pub registers: u32,
    /// Bytes of spill stores per thread.
    pub spill_stores: u32,
    /// Bytes of spill loads per thread.
    pub spill_loads: u32,
    /// Bytes of stack per thread.
    pub stack_bytes: u32,
    /// Static shared memory per block, in bytes.
    pub smem_bytes: u32,
    /// How it is launched in cases that are no secret, the largest grid of each kind of block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<LaunchFacts>,
    /// Its machine code, counted, where a disassembler was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sass: Option<SassMix>,
}

/// How one launch fits the device, by arithmetic alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchFacts {
    pub args: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Registers per thread of the variant that the case takes.
    pub registers: u32,
    /// Shared memory per block, static and dynamic, in bytes.
    pub smem_bytes: u32,
    /// The occupancy that is possible, and its limit.
    pub occupancy: Option<Occupancy>,
    /// How often the grid fills the device.
    pub waves: Option<Waves>,
}

/// A fault of the running kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// Name of the kind, for example `out_of_bounds_read`.
    pub kind: String,
    pub kernel: String,
    /// Line of the kernel file, where known.
    pub line: Option<u32>,
    /// The instruction, where known.
    pub instruction: Option<String>,
    /// Block that faulted first.
    pub block: Option<[u32; 3]>,
    /// Thread that faulted first.
    pub thread: Option<[u32; 3]>,
    /// Buffer that the address belongs to, by the tensor's name.
    pub buffer: Option<String>,
    /// Element of that buffer, counted from the first; negative before it.
    pub element: Option<i64>,
    /// Number of elements of that buffer.
    pub buffer_elements: Option<u64>,
    /// Faulting accesses by threads in the whole launch.
    pub n_threads: u32,
    /// Least and greatest element of all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<(i64, i64)>,
    /// The other place it is about: the other access of a race, the read that brought in an
    /// undefined value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<RelatedAccess>,
    /// The whole finding in words.
    pub message: String,
}

/// A place that a [`Fault`] is about beside its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelatedAccess {
    /// The access or event, for example `write`.
    pub what: String,
    /// Line of the kernel file, where known.
    pub line: Option<u32>,
    pub instruction: String,
    /// Block and thread, if one thread did it.
    pub by: Option<([u32; 3], [u32; 3])>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    pub output: String,
    pub n_wrong: u64,
    /// Wrong elements where the expected or the computed value is NaN or infinite, or a zero has
    /// the wrong sign: the special-value class.
    pub n_special: u64,
    /// Elements still holding the poison they had before the launch.
    pub n_unwritten: u64,
    pub n_elements: u64,
    /// Largest error over its bound among wrong elements.
    pub worst_ratio: Number,
    /// The first few wrong elements.
    pub first: Vec<ElementDiff>,
    /// A pattern of the wrong elements, for example `all from index 1020 on`.
    pub pattern: Option<String>,
    /// Which rule was broken, in words.
    pub rule: String,
}

impl Mismatch {
    /// Returns how much of which output is wrong, for example `out: 3 of 1023 elements are wrong`.
    #[must_use]
    pub fn headline(&self) -> String {
        let Self { output, n_wrong, n_elements, .. } = self;
        format!("{output}: {n_wrong} of {n_elements} elements are wrong")
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ElementDiff {
    /// Index along each dimension.
    pub index: Vec<usize>,
    pub expected: Number,
    pub got: Number,
    /// The largest error that would have passed.
    pub bound: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integers: Option<[i64; 2]>,
}

/// A finding of a stage with its context.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// One sentence for people and models.
    pub message: String,
    /// Where in the kernel file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<SourceSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The fault behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Finding {
    /// Returns a finding that is only a sentence.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}
