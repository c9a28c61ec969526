//! Where the implementations under test come from.

use super::{CommandError, selection::nearest};

/// A backend of `kgen run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// The loop.
    Llm,
    /// Kernel files of a folder.
    Pregenerated,
    /// kgen's own baseline kernels.
    Builtin,
}

impl Backend {
    /// All backends.
    pub(crate) const ALL: [Self; 3] = [Self::Builtin, Self::Pregenerated, Self::Llm];

    /// Returns the name on the command line and in records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Pregenerated => "pregenerated",
            Self::Builtin => "builtin",
        }
    }

    /// Returns what it is, in a few words.
    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::Llm => "the loop: prompt, reply, evaluation, feedback, again; as `generate`",
            Self::Pregenerated => "kernel files of a folder or of an earlier run",
            Self::Builtin => "kgen's own baseline kernels",
        }
    }

    /// Finds a backend by its name.
    pub(crate) fn find(name: &str) -> Result<Self, CommandError> {
        let names = Self::ALL.map(Self::name);
        let known = Self::ALL.into_iter().find(|backend| backend.name() == name);
        known.ok_or_else(|| {
            let near = nearest(name, names).map(|near| format!("did you mean `{near}`?"));
            let message = format!("unknown backend `{name}` (known: {})", names.join(", "));
            CommandError::usage(message).maybe_hint(near)
        })
    }
}
