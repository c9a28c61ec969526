//! The environment variables that kgen reads: the one place that reads them.
//!
//! Variables that people already have keep their meaning; kgen's own start with `KGEN_`. Those that
//! set a setting are listed in [`super::keys`].

use std::{ffi::OsString, path::PathBuf};

use secrecy::SecretString;

/// An environment variable with its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    pub name: &'static str,
    pub doc: &'static str,
}

impl Var {
    /// Returns the value; `None` when it is unset or empty.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads variables")]
    pub fn os(&self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }

    /// Returns the value as text; `None` when it is unset, empty or not UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.os().and_then(|value| value.into_string().ok())
    }

    /// Returns the value as a path; `None` when it is unset or empty.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.os().map(PathBuf::from)
    }

    /// Returns the paths of a list such as `PATH`.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.os().map(|value| std::env::split_paths(&value).collect()).unwrap_or_default()
    }

    /// Returns whether the variable is set to anything but nothing, `0`, `false` or `no`.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.os().is_some_and(|value| !["0", "false", "no"].iter().any(|off| value == *off))
    }
}

macro_rules! vars {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        $($(#[doc = $doc])+ pub const $name: Var =
            Var { name: stringify!($name), doc: concat!($($doc),+) };)+

        /// Every variable that kgen reads, but for those that set a setting.
        pub const ALL: &[Var] = &[$($name),+];
    };
}

vars! {
    /// Filter of kgen's diagnostics on stderr, for example `debug` or `kgen::worker=trace`.
    KGEN_LOG;
    /// The NVRTC library or its folder (setting `nvrtc.path`).
    KGEN_NVRTC;
    /// The Python that has PyTorch (setting `python.path`).
    KGEN_PYTHON;
    /// The adapter of Candle (setting `adapters.candle`).
    KGEN_CANDLE;
    /// The adapter of Burn (setting `adapters.burn`).
    KGEN_BURN;
    /// Forbids downloads (setting `nvrtc.offline`).
    KGEN_OFFLINE;
    /// Folder for downloads and compiled code (setting `nvrtc.cache_dir`).
    KGEN_CACHE_DIR;
    /// Bearer token of `kgen serve`.
    KGEN_SERVE_TOKEN;
    /// Key of the provider `anthropic`.
    ANTHROPIC_API_KEY;
    /// Base URL of the provider `anthropic`.
    ANTHROPIC_BASE_URL;
    /// Key of the provider `openai`.
    OPENAI_API_KEY;
    /// Base URL of the provider `openai`.
    OPENAI_BASE_URL;
    /// Key of the provider `openrouter`.
    OPENROUTER_API_KEY;
    /// Folder of a CUDA toolkit, searched for NVRTC and its headers.
    CUDA_HOME;
    /// As `CUDA_HOME`, the name that some installers use.
    CUDA_PATH;
    /// GPUs that the driver shows; kgen passes it on to the workers.
    CUDA_VISIBLE_DEVICES;
    /// The active Python environment, searched for NVIDIA's packages.
    VIRTUAL_ENV;
    /// The active conda environment, searched for NVIDIA's packages.
    CONDA_PREFIX;
    /// Where caches go; `~/.cache` without it.
    XDG_CACHE_HOME;
    /// Where user configuration is; `~/.config` without it.
    XDG_CONFIG_HOME;
    /// The home folder.
    HOME;
    /// Where programs such as `python3` are looked for.
    PATH;
    /// Where the loader looks for libraries; workers get a folder of their own in front of it.
    LD_LIBRARY_PATH;
    /// Folder for scratch files.
    TMPDIR;
    /// The locale, passed on to child processes.
    LANG;
    /// Turns colours off when it is set.
    NO_COLOR;
    /// Kind of terminal; `dumb` turns progress bars and colours off.
    TERM;
    /// Columns of a terminal, in place of those that it reports.
    COLUMNS;
}

/// Returns the value of the variable that a provider's `key_env` names; `None` when it is unset or
/// empty.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the place that reads variables")]
pub fn secret(name: &str) -> Option<SecretString> {
    std::env::var(name)
        .ok()
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
        .map(SecretString::from)
}

/// Returns the value of any variable as text, for the settings' own `KGEN_` variables.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the place that reads variables")]
pub(super) fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the names of all variables that start with `KGEN_`.
#[must_use]
pub(super) fn own_names() -> Vec<String> {
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("KGEN_"))
        .collect()
}

/// Returns kgen's folder for user configuration, `~/.config/kgen` by default.
#[must_use]
pub fn config_home() -> Option<PathBuf> {
    home_folder(&XDG_CONFIG_HOME, ".config")
}

/// Returns kgen's folder for caches, `~/.cache/kgen` by default; `None` without a home folder.
#[must_use]
pub fn cache_home() -> Option<PathBuf> {
    home_folder(&XDG_CACHE_HOME, ".cache")
}

fn home_folder(xdg: &Var, fallback: &str) -> Option<PathBuf> {
    // The XDG rules say that a relative path is to be ignored.
    let base = xdg.path().filter(|path| path.is_absolute());
    base.or_else(|| Some(HOME.path()?.join(fallback))).map(|base| base.join("kgen"))
}
