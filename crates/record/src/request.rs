//! The request for an evaluation: everything by value, no paths.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Adapter, Case, Implementation, ProfileRequest, Target, TimingRequest};

/// A kernel file to be judged on the cases of one op.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalRequest {
    /// The op's name in kgen.
    pub op: String,
    /// The text that defines the op, where it is not of the catalogue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The implementation under evaluation.
    pub candidate: Implementation,
    /// The cases, drawn ones included.
    pub cases: Vec<Case>,
    /// Values of the plan's parameters, where others than its defaults are judged; a case whose plan
    /// does not take them has the defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, i64>,
    /// Seed of the inputs; secret until the evaluation is over.
    pub seed: u64,
    /// The device to compile for.
    pub target: Target,
    /// Whether the kernel is to run on a GPU; otherwise the emulator is the device.
    pub on_gpu: bool,
    /// Whether small cases run on the emulator before a GPU sees the kernel.
    pub screen: bool,
    pub precision: Precision,
    /// Whether the candidate's plan may call libraries.
    pub libraries: bool,
    /// Whether the candidate may include headers of CUTLASS.
    #[serde(default)]
    pub cutlass: bool,
    /// How closely the emulator looks.
    pub emulation: Emulation,
    /// Limits of the emulator and of the stages.
    pub limits: Limits,
    /// Timing, where the device can time.
    pub timing: Option<TimingRequest>,
    /// Whether it ends once the candidate is compiled for all cases.
    pub compile_only: bool,
    /// Whether machine code is counted, where nvdisasm is found: that takes it a third of a second.
    pub count_code: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRequest>,
}

impl EvalRequest {
    /// Returns whether the evaluation needs the Python process.
    #[must_use]
    pub fn needs_python(&self) -> bool {
        self.implementations().any(Implementation::needs_python)
    }

    /// Returns the adapters that the evaluation needs.
    #[must_use]
    pub fn adapters(&self) -> BTreeSet<Adapter> {
        self.implementations().filter_map(Implementation::adapter).collect()
    }

    fn implementations(&self) -> impl Iterator<Item = &Implementation> {
        let baselines = self.timing.iter().flat_map(|timing| &timing.baselines);
        baselines.map(|baseline| &baseline.implementation).chain([&self.candidate])
    }

    /// Returns the candidate's text, whose lines findings quote; empty where it has none.
    #[must_use]
    pub fn source(&self) -> &str {
        self.candidate.source().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    #[default]
    Strict,
    Eager,
    /// PyTorch's defaults: factors of f32 convolutions and recurrent layers may be rounded to TF32, those
    /// of other products may not.
    TorchDefault,
    /// Factors of f32 products may be rounded to TF32.
    Tf32,
    /// Factors of f32 products may be rounded to bf16 or f16, and their sums stay f32.
    Low,
    /// Approximate functions and flushing of subnormal values.
    FastMathOk,
}

impl Precision {
    /// Returns whether a library may round factors of f32 matrix products to TF32.
    #[must_use]
    pub const fn shortens_matmul(self) -> bool {
        matches!(self, Self::Tf32)
    }

    /// Returns whether a library may round factors of f32 convolutions to TF32.
    #[must_use]
    pub const fn shortens_convolution(self) -> bool {
        matches!(self, Self::Tf32 | Self::TorchDefault)
    }

    /// Returns the name as flags and records spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Eager => "eager",
            Self::TorchDefault => "torch_default",
            Self::Tf32 => "tf32",
            Self::Low => "low",
            Self::FastMathOk => "fast_math_ok",
        }
    }
}

/// How closely the emulator looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Emulation {
    pub sanitize: Sanitize,
    /// Whether it counts the work of every launch.
    pub counters: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sanitize {
    /// Everything: bounds, uninitialised values, races, the first NaN and infinity.
    #[default]
    Full,
    /// Bounds, and reads of memory that nobody wrote.
    Memory,
    Bounds,
}

/// Limits of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Lane instructions that the emulator may spend on one case.
    pub emu_lane_instructions: u64,
    /// Bytes of inputs that a case may have on the emulator.
    pub emu_bytes: u64,
    /// Seconds that a compile may take.
    pub compile_s: f64,
    /// Seconds that a kernel may run in one case on a GPU.
    pub case_s: f64,
    /// Seconds that one step of kgen's own work may take, for which no candidate is blamed.
    pub own_s: f64,
    /// Compile variants per dtype that correctness may need.
    pub max_variants: u32,
    /// Data sets that a full-size case is judged on.
    pub data_sets: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            emu_lane_instructions: 400_000_000,
            emu_bytes: 16 << 20,
            compile_s: 20.0,
            case_s: 10.0,
            own_s: 600.0,
            max_variants: 8,
            data_sets: 2,
        }
    }
}
