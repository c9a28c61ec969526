//! Loading of NVIDIA's libraries, and how their refusals are worded.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use cudarc::driver::sys::CUdeviceptr;
use kgen_compile::{LocateOptions, load_library};
use kgen_record::{BufferOffset, Finding, Verdict};
use kgen_settings::NvrtcSettings;

use crate::LaunchError;

/// A library.
pub(super) struct Library {
    pub(super) name: &'static str,
    /// The bare name that its bindings look for.
    pub(super) file: &'static str,
    /// The message where it is missing.
    pub(super) missing: &'static str,
}

impl Library {
    /// Loads the library where it was found; `is_present` asks the bindings whether they have it then.
    pub(super) fn load(
        &self,
        located: Option<&Path>,
        is_present: impl FnOnce() -> bool,
    ) -> Result<(), LaunchError> {
        if let Some(path) = located {
            load_library(path, self.file).map_err(|error| unsupported(error.to_string()))?;
        }
        if is_present() { Ok(()) } else { Err(unsupported(self.missing)) }
    }

    /// Returns the path, or `None` where only the system's loader knows it, which has loaded the library
    /// then; the error says in one line how to get it.
    pub(super) fn find(
        &self,
        located: Option<PathBuf>,
        is_present: impl FnOnce() -> bool,
    ) -> Result<Option<PathBuf>, String> {
        if located.is_some() || is_present() { Ok(located) } else { Err(self.missing.to_owned()) }
    }

    pub(super) fn refused(&self, what: &str, error: impl Display) -> LaunchError {
        unsupported(format!("{} cannot {what}: {error}", self.name))
    }
}

/// Returns where libraries are looked for.
pub(super) fn options(driver_version: Option<u32>) -> LocateOptions {
    let settings = NvrtcSettings { path: None, offline: true, cache_dir: None };
    LocateOptions::new(&settings, driver_version)
}

pub(super) fn unsupported(reason: impl Into<String>) -> LaunchError {
    LaunchError::verdict(Verdict::Unsupported, Finding::new(reason))
}

pub(super) const fn address(at: BufferOffset<CUdeviceptr>) -> CUdeviceptr {
    at.buffer + at.byte_offset as u64
}
