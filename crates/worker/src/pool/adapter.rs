//! How an adapter beside a worker is started.

use std::path::PathBuf;

use kgen_baseline::adapter;
use kgen_process::{DEVICE_ENV, Scratch, Spec};
use kgen_record::Adapter;

use super::side::{Failure, Starters};

/// Returns the process to start in a scratch folder, without the flags of its socket and its device, and the
/// program.
pub(super) fn spec(
    starters: &Starters,
    adapter: Adapter,
    scratch: &Scratch,
) -> Result<(Spec, PathBuf), Failure> {
    let kgen = std::env::current_exe().ok();
    let sidecars = kgen.as_deref().and_then(|path| path.parent());
    let named = starters.config.adapters.get(&adapter);
    let path = adapter::find(adapter, named.map(PathBuf::as_path), sidecars)
        .map_err(|missing| Failure::Final(missing.to_string()))?;
    let spec = Spec::new(&path, scratch.path()).inherit(DEVICE_ENV).env("TMPDIR", scratch.path());
    Ok((spec, path))
}
