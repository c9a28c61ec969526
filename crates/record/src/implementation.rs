//! Implementations that are evaluated, or timed against: a kernel file, a call of a library, a call in Python.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Adapter;

/// How an op's outputs come about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Implementation {
    /// A kernel file: CUDA source with its plan.
    Kernel { source: String },
    /// A library of NVIDIA's that kgen calls itself.
    Library {
        /// Its name, for example `cublas`.
        name: String,
    },
    /// A call in the Python process beside the workers.
    Python {
        kind: PythonKind,
        /// The module that holds it, for [`PythonKind::Triton`].
        source: Option<String>,
        /// The function in that module, for example `add__Tensor_kernel_impl`.
        entry: Option<String>,
    },
    /// A call of a library that an adapter brings, in a process beside the workers.
    Adapter { library: Adapter },
}

impl Implementation {
    /// Returns a kernel file.
    #[must_use]
    pub fn kernel(source: impl Into<String>) -> Self {
        Self::Kernel { source: source.into() }
    }

    /// Returns an implementation that PyTorch or another library in Python already has.
    #[must_use]
    pub const fn python(kind: PythonKind) -> Self {
        Self::Python { kind, source: None, entry: None }
    }

    /// Returns whether it runs in the Python process.
    #[must_use]
    pub const fn needs_python(&self) -> bool {
        matches!(self, Self::Python { .. })
    }

    /// Returns the adapter that it runs in.
    #[must_use]
    pub const fn adapter(&self) -> Option<Adapter> {
        match self {
            Self::Adapter { library } => Some(*library),
            Self::Kernel { .. } | Self::Library { .. } | Self::Python { .. } => None,
        }
    }

    /// Returns whether it runs in a process beside the workers, which only a GPU has.
    #[must_use]
    pub const fn runs_beside(&self) -> bool {
        matches!(self, Self::Python { .. } | Self::Adapter { .. })
    }

    /// Returns its text, where it has one that was written for the op.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Kernel { source } => Some(source),
            Self::Python { source, .. } => source.as_deref(),
            Self::Library { .. } | Self::Adapter { .. } => None,
        }
    }
}

/// Whether a plan calls libraries: results of both kinds are never averaged together.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum LibraryUse {
    /// Code of the kernel file and kgen's copies do all the work.
    DeviceOnly,
    /// A library of NVIDIA's does a part of it.
    WithLibrary,
}

impl LibraryUse {
    /// Returns the name as records and tables spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeviceOnly => "device-only",
            Self::WithLibrary => "with-library",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PythonKind {
    /// The op's own overload in PyTorch, eagerly.
    Aten,
    /// The same through `torch.compile`.
    TorchCompile,
    /// The same with `mode="max-autotune"`.
    #[serde(rename = "torch_compile_max_autotune")]
    TorchMaxAutotune,
    /// The kernel of `FlagGems` for it.
    FlagGems,
    /// The op in JAX, compiled for the case.
    Jax,
    /// The op in `CuPy`.
    #[serde(rename = "cupy")]
    CuPy,
    /// The op as a node of ONNX, in ONNX Runtime.
    #[serde(rename = "onnxruntime")]
    OnnxRuntime,
    /// A Python module with a function for it, as `BackendBench` lays them out.
    Triton,
}

impl PythonKind {
    pub const ALL: [Self; 8] = [
        Self::Aten,
        Self::TorchCompile,
        Self::TorchMaxAutotune,
        Self::FlagGems,
        Self::Jax,
        Self::CuPy,
        Self::OnnxRuntime,
        Self::Triton,
    ];

    /// Returns the name on the command line, in records and tables, and in the process' protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aten => "aten",
            Self::TorchCompile => "torch_compile",
            Self::TorchMaxAutotune => "torch_compile_max_autotune",
            Self::FlagGems => "flag_gems",
            Self::Jax => "jax",
            Self::CuPy => "cupy",
            Self::OnnxRuntime => "onnxruntime",
            Self::Triton => "triton",
        }
    }
}

impl fmt::Display for PythonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`PythonKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown Python implementation `{0}` (known: aten, torch_compile, torch_compile_max_autotune, \
     flag_gems, jax, cupy, onnxruntime, triton)"
)]
pub struct UnknownPythonKindError(String);

impl FromStr for PythonKind {
    type Err = UnknownPythonKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == text);
        known.ok_or_else(|| UnknownPythonKindError(text.to_owned()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PythonFacts {
    pub python: String,
    /// Version of PyTorch, for example `2.11.0+cu130`.
    pub torch: String,
    /// Version of CUDA that PyTorch was built with.
    pub cuda: Option<String>,
    /// Version of Triton, where it is installed.
    pub triton: Option<String>,
    /// Version of `FlagGems`, where it is installed.
    pub flag_gems: Option<String>,
    /// Name of the device it computes on.
    pub device: String,
    /// UUID of that GPU, as the driver spells it.
    pub uuid: Option<String>,
    pub settings: PythonSettings,
}

impl fmt::Display for PythonFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "torch {}", self.torch)?;
        for (name, version) in [("triton", &self.triton), ("flag_gems", &self.flag_gems)] {
            if let Some(version) = version {
                write!(f, ", {name} {version}")?;
            }
        }
        write!(f, ", Python {}; {}", self.python, self.settings)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PythonSettings {
    /// Whether factors of f32 matrix products may be rounded to TF32.
    pub matmul_tf32: bool,
    /// The same for convolutions.
    pub cudnn_tf32: bool,
    /// Whether f16 products may be summed in f16.
    pub f16_reduced_reduction: bool,
    /// Whether bf16 products may be summed in bf16.
    pub bf16_reduced_reduction: bool,
    /// `torch.get_float32_matmul_precision()`.
    pub matmul_precision: String,
    /// Whether only deterministic algorithms are allowed.
    pub deterministic: bool,
}

impl fmt::Display for PythonSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |value: bool| if value { "on" } else { "off" };
        write!(
            f,
            "TF32 {} (matrix products), {} (cuDNN); sums in reduced precision {} (f16), {} (bf16)",
            on(self.matmul_tf32),
            on(self.cudnn_tf32),
            on(self.f16_reduced_reduction),
            on(self.bf16_reduced_reduction)
        )?;
        if self.deterministic { f.write_str("; deterministic algorithms") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_implementation_in_python_survives_json_and_is_known_as_one() {
        let triton = Implementation::Python {
            kind: PythonKind::Triton,
            source: Some("def f(): ...".to_owned()),
            entry: Some("f".to_owned()),
        };
        let text = serde_json::to_string(&triton).unwrap();
        assert_eq!(serde_json::from_str::<Implementation>(&text).unwrap(), triton);
        assert!(triton.needs_python());
        assert!(!Implementation::Library { name: "cublas".to_owned() }.needs_python());
        for kind in PythonKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert!("torch".parse::<PythonKind>().is_err());
    }

    #[test]
    fn the_use_of_libraries_is_stored_by_name() {
        for kind in [LibraryUse::DeviceOnly, LibraryUse::WithLibrary] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn facts_without_a_gpu_are_read_and_settings_are_told() {
        let facts: PythonFacts = serde_json::from_str(
            r#"{"python":"3.12.3","torch":"2.11.0+cpu","device":"cpu","settings":{
                "matmul_tf32":false,"cudnn_tf32":true,"f16_reduced_reduction":true,
                "bf16_reduced_reduction":false,"matmul_precision":"highest","deterministic":true}}"#,
        )
        .unwrap();
        assert_eq!((&facts.uuid, &facts.triton), (&None, &None));
        let text = facts.to_string();
        assert!(text.starts_with("torch 2.11.0+cpu, Python 3.12.3; TF32 off"), "{text}");
        assert_eq!(
            facts.settings.to_string(),
            "TF32 off (matrix products), on (cuDNN); sums in reduced precision on (f16), off (bf16); \
             deterministic algorithms"
        );
    }
}
