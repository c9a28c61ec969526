//! How the Python process beside a worker is started.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use kgen_baseline::python;
use kgen_process::{
    DEVICE_ENV, PYTHON_ENV, Scratch, Spec,
    sandbox::{Policy, Wall},
};

use super::side::{CPU, Failure, Starters};

/// Variables of PyTorch's compilers, and the names of their folders beside the compile cache.
const CACHES: [(&str, &str); 4] = [
    ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
    ("TRITON_CACHE_DIR", "triton"),
    ("TORCH_EXTENSIONS_DIR", "torch_extensions"),
    ("FLAGGEMS_CACHE_DIR", "flag_gems"),
];

/// Returns the process to start in a scratch folder, without the flags of its socket and its device, and the
/// interpreter.
pub(super) async fn python_spec(
    starters: &Starters,
    place: Option<&Path>,
    scratch: &Scratch,
    device: &str,
) -> Result<(Spec, PathBuf), Failure> {
    let found = starters.find_python().await;
    let python = found.as_ref().map_err(|missing| Failure::Final(missing.clone()))?;
    let folder =
        |error: io::Error| Failure::Final(format!("no folder for the Python process: {error}"));
    let script = python::install(scratch.path()).map_err(folder)?;
    let mut spec = Spec::new(&python.path, scratch.path())
        .args(["-u".as_ref(), script.as_os_str()])
        .inherit(DEVICE_ENV)
        .inherit(PYTHON_ENV)
        .env("TMPDIR", scratch.path());
    let mut write = vec![place.unwrap_or(scratch.path()).to_owned(), scratch.path().to_owned()];
    // Outlive the scratch folder: compiled kernels are found again.
    for (variable, name) in CACHES {
        if let Some(cache) = &starters.cache_dir {
            let folder = cache.with_file_name(name);
            // One that cannot be made is one that cannot be written to, which PyTorch will say.
            drop(fs::create_dir_all(&folder));
            spec = spec.env(variable, &folder);
            write.push(folder);
        }
    }
    // PyTorch finds no GPU behind it.
    let walled = starters.sandbox && device == CPU;
    spec.wall = walled.then(|| Arc::new(Wall::new(&Policy::python(write))));
    Ok((spec, python.path.clone()))
}
