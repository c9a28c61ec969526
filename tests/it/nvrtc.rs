//! NVRTC for the tests of this binary, provisioned if it is missing.

use std::path::PathBuf;

use kgen_compile::{Compiler, LocateOptions, ProvisionOptions, locate, provision};
use kgen_settings::{NvrtcSettings, env};

/// Opens the compiler of this process; `cache`: where products are kept.
pub(crate) fn compiler(cache: Option<PathBuf>) -> Compiler {
    let settings = NvrtcSettings { path: env::KGEN_NVRTC.path(), offline: false, cache_dir: None };
    let toolchain = match locate(&LocateOptions::new(&settings, None)) {
        Ok(found) if found.complete => found,
        Ok(_) | Err(_) => provision(&ProvisionOptions::new(&settings, None), &mut |_| {}).unwrap(),
    };
    Compiler::open(&toolchain, cache).unwrap()
}
