//! Where the implementations under test come from.

use kgen_baseline::CUBLAS;
use kgen_record::PythonKind;

use super::CommandError;

/// A backend of `kgen run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Llm,
    /// Kernel files of a folder.
    Pregenerated,
    /// kgen's own baseline kernels.
    Builtin,
    /// NVIDIA's library of matrix products.
    Cublas,
    Python(PythonKind),
}

impl Backend {
    pub(crate) const ALL: [Self; 12] = [
        Self::Builtin,
        Self::Cublas,
        Self::Pregenerated,
        Self::Llm,
        Self::Python(PythonKind::Aten),
        Self::Python(PythonKind::TorchCompile),
        Self::Python(PythonKind::TorchMaxAutotune),
        Self::Python(PythonKind::FlagGems),
        Self::Python(PythonKind::Jax),
        Self::Python(PythonKind::CuPy),
        Self::Python(PythonKind::OnnxRuntime),
        Self::Python(PythonKind::Triton),
    ];

    /// Returns the name on the command line and in records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Pregenerated => "pregenerated",
            Self::Builtin => "builtin",
            Self::Cublas => CUBLAS,
            Self::Python(kind) => kind.name(),
        }
    }

    /// Returns a description in a few words.
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Llm => "the loop: prompt, reply, evaluation, feedback, again; as `generate`",
            Self::Pregenerated => {
                "kernel files of a folder, or of an earlier run, or BackendBench's"
            }
            Self::Builtin => "kgen's own baseline kernels",
            Self::Cublas => "matrix products by cuBLASLt, on a GPU",
            Self::Python(PythonKind::Aten) => "PyTorch's own operators, on a GPU",
            Self::Python(PythonKind::TorchCompile) => "what torch.compile makes of them",
            Self::Python(PythonKind::TorchMaxAutotune) => "the same with mode=\"max-autotune\"",
            Self::Python(PythonKind::FlagGems) => "the kernels of FlagGems",
            Self::Python(PythonKind::Jax) => "the ops in JAX",
            Self::Python(PythonKind::CuPy) => "the ops in CuPy",
            Self::Python(PythonKind::OnnxRuntime) => "the ops in ONNX Runtime",
            Self::Python(PythonKind::Triton) => "kernels in Python of a BackendBench folder",
        }
    }

    /// Finds a backend by its name.
    pub(crate) fn find(name: &str) -> Result<Self, CommandError> {
        let names = Self::ALL.map(Self::name);
        let known = Self::ALL.into_iter().find(|backend| backend.name() == name);
        known.ok_or_else(|| {
            let near = kgen_ops::nearest(name, names).map(|near| format!("did you mean `{near}`?"));
            let message = format!("unknown backend `{name}` (known: {})", names.join(", "));
            CommandError::usage(message).maybe_hint(near)
        })
    }
}
