//! Messages to a process beside the workers and its answers, as JSON.

use std::{fmt, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kgen_record::{
    DType, Precision, PythonSettings, TensorSpec, hex,
    number::{self, Number},
};
use serde::{Deserialize, Serialize};

use super::call::Kind;

/// One line from the process.
#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) id: Option<u64>,
    pub(super) ok: Option<serde_json::Value>,
    pub(super) error: Option<Refusal>,
}

/// A call that is bound to its tensors, as `prepare` sends it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prepare {
    /// The implementation.
    #[serde(rename = "impl")]
    pub kind: Kind,
    /// The op's name in kgen.
    pub op: String,
    /// Its overload in PyTorch, for example `add.Tensor`.
    pub aten: Option<String>,
    /// The Python module that holds the implementation.
    pub source: Option<String>,
    /// Its function.
    pub entry: Option<String>,
    /// The arguments by the schema's names, in the schema's order.
    pub args: Vec<(String, Value)>,
    /// The outputs, each contiguous, and where they go.
    pub outputs: Vec<Output>,
    /// The precision that PyTorch may trade for speed.
    pub precision: Precision,
    /// Whether the outputs of the first call are wanted.
    pub keep: bool,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    Tensor(Tensor),
    /// A list of tensors, of which some may be left out.
    Tensors(Vec<Option<Tensor>>),
    /// An integer.
    Int(i64),
    Float(#[serde(with = "number::plain")] f64),
    /// A truth value.
    Bool(bool),
    Str(String),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of numbers.
    Floats(Vec<Number>),
    /// An element type.
    #[serde(rename = "dtype")]
    DType(DType),
    /// An optional argument that is left out.
    None(()),
}

/// A tensor and where its storage lies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// Strides, in elements.
    pub stride: Vec<usize>,
    /// Distance of the first element from the begin of the storage, in elements.
    pub offset: usize,
    /// The storage.
    pub at: Location,
}

/// An output and where it goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Output {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// Where its elements go, in row-major order.
    pub at: Location,
}

/// Bytes that both processes see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The handle of an allocation on the GPU, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipc: Option<String>,
    /// A file that both map.
    #[serde(rename = "shm", skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Where in it the bytes begin.
    byte_offset: u64,
    /// Their number.
    bytes: u64,
}

impl Location {
    /// Returns bytes of an allocation on the GPU by its CUDA IPC handle.
    #[must_use]
    pub fn on_gpu(handle: &[u8], byte_offset: u64, bytes: u64) -> Self {
        Self { ipc: Some(hex(handle)), file: None, byte_offset, bytes }
    }

    /// Returns the first bytes of a file.
    #[must_use]
    pub fn in_file(path: &Path, bytes: u64) -> Self {
        Self { ipc: None, file: Some(path.display().to_string()), byte_offset: 0, bytes }
    }
}

impl Tensor {
    /// Returns the tensor of a layout in a storage.
    #[must_use]
    pub fn new(spec: &TensorSpec, at: Location) -> Self {
        Self {
            dtype: spec.dtype,
            shape: spec.shape.clone(),
            stride: spec.stride.clone(),
            offset: spec.offset,
            at,
        }
    }
}

/// How the L2 cache is emptied before each sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Flush {
    /// By writing so many bytes.
    Memset { bytes: u64 },
    /// By reading so many bytes.
    Read { bytes: u64 },
    /// Not at all.
    None,
}

/// A compiled kernel with its launches, to be timed by the process's clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cubin {
    /// The machine code in base64.
    cubin: String,
    /// The launches, in order.
    launches: Vec<CubinLaunch>,
}

impl Cubin {
    /// Returns machine code with its launches.
    #[must_use]
    pub fn new(code: &[u8], launches: Vec<CubinLaunch>) -> Self {
        Self { cubin: BASE64_STANDARD.encode(code), launches }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CubinLaunch {
    /// The kernel's name in the code.
    pub kernel: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub smem: u32,
    /// The arguments.
    pub args: Vec<CubinArg>,
}

/// An argument of a launch: an address in shared memory, or a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CubinArg {
    #[serde(skip_serializing_if = "Option::is_none")]
    ipc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

impl CubinArg {
    /// Returns the address of a byte of an allocation on the GPU, by its CUDA IPC handle.
    #[must_use]
    pub fn pointer(handle: &[u8], byte_offset: u64) -> Self {
        Self { ipc: Some(hex(handle)), byte_offset: Some(byte_offset), bytes: None }
    }

    /// Returns a value, as wide as the parameter.
    #[must_use]
    pub fn value(bytes: &[u8]) -> Self {
        Self { ipc: None, byte_offset: None, bytes: Some(BASE64_STANDARD.encode(bytes)) }
    }
}

/// The answer to `prepare`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Prepared {
    /// The name of the bound call.
    pub handle: u64,
    /// Seconds of the first call, compilation included.
    pub first_s: f64,
    /// The settings of PyTorch for this call.
    #[serde(default)]
    pub settings: Option<PythonSettings>,
}

/// The time by Triton's own harness.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct DoBenchTimes {
    /// Median, in microseconds.
    pub median_us: f64,
    /// Mean, in microseconds.
    pub mean_us: f64,
}

/// Why the process refused a request; it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refusal {
    /// The kind of reason.
    pub kind: RefusalKind,
    /// The reason in one line.
    pub message: String,
    /// The last lines of a traceback.
    #[serde(default)]
    pub detail: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// There is no such operator, or not for this device.
    Unsupported,
    /// The implementation raised an exception.
    Raised,
    /// Number, element type or shape of the outputs differs from the announced one.
    WrongOutputs,
    /// The GPU has no memory left.
    OutOfMemory,
    /// The request itself is wrong: a mistake of kgen.
    BadRequest,
    /// The GPU is lost to the process, which ends.
    GpuLost,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_record::PythonKind;

    #[test]
    fn a_prepared_call_is_worded_as_the_process_reads_it() {
        let spec = TensorSpec::contiguous(DType::F8E4M3, &[2, 3]);
        let at = Location::on_gpu(&[0x0a; 64], 16_384, 6);
        let prepare = Prepare {
            kind: PythonKind::TorchCompile.into(),
            op: "add".to_owned(),
            aten: Some("add.Tensor".to_owned()),
            source: None,
            entry: None,
            args: vec![
                ("self".to_owned(), Value::Tensor(Tensor::new(&spec, at))),
                ("alpha".to_owned(), Value::Float(f64::NEG_INFINITY)),
                ("dtype".to_owned(), Value::DType(DType::BF16)),
                ("scales".to_owned(), Value::Floats(vec![Number(2.0), Number(f64::NAN)])),
                ("weight".to_owned(), Value::None(())),
            ],
            outputs: vec![Output {
                dtype: DType::F32,
                shape: vec![2],
                at: Location::in_file(Path::new("/x/out"), 8),
            }],
            precision: Precision::Tf32,
            keep: false,
        };
        let json = serde_json::to_value(&prepare).unwrap();
        assert_eq!(json["impl"], "torch_compile");
        assert_eq!(json["precision"], "tf32");
        let tensor = &json["args"][0][1]["tensor"];
        assert_eq!(tensor["dtype"], "f8e4m3");
        assert_eq!(tensor["stride"], serde_json::json!([3, 1]));
        assert_eq!(tensor["at"]["ipc"], "0a".repeat(64));
        assert_eq!(tensor["at"]["byte_offset"], 16_384);
        assert_eq!(json["args"][1], serde_json::json!(["alpha", { "float": "-inf" }]));
        assert_eq!(json["args"][2][1], serde_json::json!({ "dtype": "bf16" }));
        assert_eq!(json["args"][3][1], serde_json::json!({ "floats": [2.0, "nan"] }));
        assert_eq!(json["args"][4][1], serde_json::json!({ "none": null }));
        let place = serde_json::json!({ "shm": "/x/out", "byte_offset": 0, "bytes": 8 });
        assert_eq!(json["outputs"][0]["at"], place);
    }

    #[test]
    fn launches_of_machine_code_name_addresses_and_values() {
        let args = vec![CubinArg::pointer(&[0xff; 64], 5), CubinArg::value(&[1, 0, 0, 0])];
        let (kernel, grid) = ("k".to_owned(), [2, 1, 1]);
        let launch = CubinLaunch { kernel, grid, block: [32, 1, 1], smem: 0, args };
        let json = serde_json::to_value(Cubin::new(b"ELF", vec![launch])).unwrap();
        assert_eq!(json["cubin"], "RUxG");
        let args = &json["launches"][0]["args"];
        assert_eq!(args[0], serde_json::json!({ "ipc": "ff".repeat(64), "byte_offset": 5 }));
        assert_eq!(args[1], serde_json::json!({ "bytes": "AQAAAA==" }));
        let flush = serde_json::to_value(Flush::Memset { bytes: 7 }).unwrap();
        assert_eq!(flush, serde_json::json!({ "kind": "memset", "bytes": 7 }));
    }
}
