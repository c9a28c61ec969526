//! Finds an NVRTC and the headers that belong to it.
//!
//! Only paths are looked at: no library is loaded, no process started, no variable read.

use std::path::{Path, PathBuf};

use kgen_settings::{NvrtcSettings, env};
use serde::{Deserialize, Serialize};

use super::{Error, loader::builtins_beside};

/// An NVRTC and its headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// The library, for example `.../libnvrtc.so.13`.
    pub nvrtc: PathBuf,
    /// Folders with `cuda_fp16.h` and with `cuda/std`; empty where no headers were found.
    pub include_dirs: Vec<PathBuf>,
    /// Version by the file names; minor is 0 where they do not say it.
    pub version: (u32, u32),
    /// How it was found, for people, for example `CUDA_HOME`.
    pub found_by: String,
    /// Whether all headers that kernels may include are there.
    pub complete: bool,
    /// Folder of CUTLASS's headers, where they are asked for.
    #[serde(default)]
    pub cutlass: Option<PathBuf>,
}

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocateOptions {
    /// The setting `nvrtc.path` (`--nvrtc`, `KGEN_NVRTC`): a library or a folder.
    pub asked: Option<PathBuf>,
    /// `CUDA_HOME` and `CUDA_PATH`.
    pub cuda_homes: Vec<PathBuf>,
    /// `VIRTUAL_ENV` and `CONDA_PREFIX`: prefixes of the active Python environment.
    pub python_prefixes: Vec<PathBuf>,
    /// Folders of `LD_LIBRARY_PATH`.
    pub library_path: Vec<PathBuf>,
    /// kgen's cache folder; NVRTC is below it in `nvrtc-<version>`.
    pub cache: Option<PathBuf>,
    /// CUDA version of the driver whose GPU is used, for example 13000.
    pub driver_version: Option<u32>,
}

impl LocateOptions {
    /// Returns the places that the settings and the environment name.
    #[must_use]
    pub fn new(settings: &NvrtcSettings, driver_version: Option<u32>) -> Self {
        let paths = |vars: [env::Var; 2]| vars.iter().filter_map(env::Var::path).collect();
        Self {
            asked: settings.path.clone(),
            cuda_homes: paths([env::CUDA_HOME, env::CUDA_PATH]),
            python_prefixes: paths([env::VIRTUAL_ENV, env::CONDA_PREFIX]),
            library_path: env::LD_LIBRARY_PATH.paths(),
            cache: settings.cache(),
            driver_version,
        }
    }
}

/// Finds NVRTC: the setting, the CUDA home, the active Python environment, the
/// system's folders, kgen's cache; the first with all headers, else the first at all.
///
/// # Errors
///
/// [`Error::NotThere`] or [`Error::TooNew`] when the setting names a wrong place,
/// [`Error::NotFound`] when there is none.
pub fn locate(options: &LocateOptions) -> Result<Toolchain, Error> {
    let driver = options.driver_version.map(|version| version / 1000);
    if let Some(path) = &options.asked {
        return at_asked_place(path, driver);
    }
    let places = implicit_places(options);
    let fits = |major: u32| driver.is_none_or(|driver| major <= driver);
    let mut found = places
        .iter()
        .filter_map(|(found_by, folder)| in_folder(folder, found_by, &fits))
        .collect::<Vec<_>>();
    let best = found.iter().position(|toolchain| toolchain.complete).unwrap_or(0);
    if found.is_empty() {
        let looked: Vec<String> =
            places.iter().map(|(_, folder)| folder.display().to_string()).collect();
        return Err(Error::NotFound { looked: looked.join(", ") });
    }
    Ok(found.swap_remove(best))
}

fn at_asked_place(path: &Path, driver: Option<u32>) -> Result<Toolchain, Error> {
    const FOUND_BY: &str = "nvrtc.path";
    let found = if path.is_file() {
        of_library(path, FOUND_BY)
    } else {
        in_folder(path, FOUND_BY, &|_| true)
    };
    let toolchain = found.ok_or_else(|| Error::NotThere { path: path.to_owned() })?;
    match driver {
        Some(driver) if toolchain.version.0 > driver => {
            let major = toolchain.version.0;
            Err(Error::TooNew { path: toolchain.nvrtc, major, driver })
        }
        Some(_) | None => Ok(toolchain),
    }
}

/// Finds cuBLASLt in the places where NVRTC is looked for; `None` where there is none that the
/// driver can run.
#[must_use]
pub fn locate_cublaslt(options: &LocateOptions) -> Option<PathBuf> {
    const NAME: &str = "libcublasLt.so.";
    let driver = options.driver_version.map(|version| version / 1000);
    let fits = |library: &PathBuf| {
        let major = numbers_after(library, NAME).and_then(|numbers| numbers.first().copied());
        major.is_some_and(|major| driver.is_none_or(|driver| major <= driver))
    };
    implicit_places(options).iter().find_map(|(_, folder)| {
        let mut folders = library_folders(folder, "cublas");
        folders.find_map(|folder| numbered(&folder, NAME).into_iter().find(fits))
    })
}

/// Finds cuDNN 9 in the places where NVRTC is looked for.
#[must_use]
pub fn locate_cudnn(options: &LocateOptions) -> Option<PathBuf> {
    const NAME: &str = "libcudnn.so.";
    let is_9 =
        |library: &PathBuf| numbers_after(library, NAME).is_some_and(|n| n.first() == Some(&9));
    implicit_places(options).iter().find_map(|(_, folder)| {
        let mut folders = library_folders(folder, "cudnn");
        folders.find_map(|folder| numbered(&folder, NAME).into_iter().find(is_9))
    })
}

/// Returns the places that are looked at unasked, in order.
fn implicit_places(options: &LocateOptions) -> Vec<(&'static str, PathBuf)> {
    let mut places: Vec<(&'static str, PathBuf)> = Vec::new();
    places.extend(options.cuda_homes.iter().map(|home| ("CUDA_HOME", home.clone())));
    for prefix in &options.python_prefixes {
        for site in site_packages(prefix) {
            places.push(("the Python environment", site));
        }
    }
    let library_path = options.library_path.iter();
    places.extend(library_path.map(|folder| ("LD_LIBRARY_PATH", folder.clone())));
    places.extend(system_folders().into_iter().map(|folder| ("the system", folder)));
    if let Some(cache) = &options.cache {
        let entries = numbered(cache, "nvrtc-");
        places.extend(entries.into_iter().map(|folder| ("kgen's cache", folder)));
    }
    places
}

/// Returns `<prefix>/lib/python3.*/site-packages`.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let versions = numbered(&prefix.join("lib"), "python3.");
    versions.into_iter().map(|folder| folder.join("site-packages")).collect()
}

fn system_folders() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")];
    folders.extend(numbered(Path::new("/usr/local"), "cuda-"));
    let multiarch = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    folders.push(PathBuf::from(format!("/usr/lib/{multiarch}-linux-gnu")));
    folders.extend(["/usr/lib64", "/usr/lib"].map(PathBuf::from));
    folders
}

/// Returns the entries of a folder with a prefix, highest version first.
fn numbered(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(prefix)?;
            let numbers: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
            Some((numbers.ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// Returns the folders of a toolkit, a `site-packages` or a library's own that may hold the libraries
/// of a component.
fn library_folders(folder: &Path, component: &str) -> impl Iterator<Item = PathBuf> {
    let wheel = |path: &str| path.replace("COMPONENT", component);
    let below = [
        "",
        "lib64",
        "lib",
        "targets/x86_64-linux/lib",
        "targets/sbsa-linux/lib",
        "nvidia/cu13/lib",
        "nvidia/COMPONENT/lib",
        "cu13/lib",
        "COMPONENT/lib",
    ];
    below.map(|path| folder.join(wheel(path))).into_iter()
}

/// Looks for NVRTC in a folder: a toolkit, a `site-packages`, or the library's own.
pub(super) fn in_folder(
    folder: &Path,
    found_by: &str,
    fits: &dyn Fn(u32) -> bool,
) -> Option<Toolchain> {
    library_folders(folder, "cuda_nvrtc").find_map(|folder| {
        let libraries = numbered(&folder, "libnvrtc.so.");
        let major = |library: &PathBuf| of_library(library, found_by).map(|t| t.version.0);
        let library = libraries.into_iter().find(|library| major(library).is_some_and(fits))?;
        of_library(&library, found_by)
    })
}

/// Describes the toolchain that a library belongs to.
fn of_library(library: &Path, found_by: &str) -> Option<Toolchain> {
    let version = version_of(library)?;
    let (include_dirs, complete) = headers_of(library);
    let found_by = found_by.to_owned();
    let nvrtc = library.to_owned();
    Some(Toolchain { nvrtc, include_dirs, version, found_by, complete, cutlass: None })
}

/// Reads a version from the builtins library beside NVRTC, else from NVRTC's own name.
fn version_of(library: &Path) -> Option<(u32, u32)> {
    let real = library.canonicalize().ok()?;
    let own =
        numbers_after(&real, "libnvrtc.so.").or_else(|| numbers_after(library, "libnvrtc.so."));
    let major = own.as_ref().and_then(|numbers| numbers.first().copied());
    let builtins = builtins_beside(&real)
        .iter()
        .filter_map(|path| numbers_after(path, "libnvrtc-builtins.so."))
        .filter(|numbers| major.is_none_or(|major| numbers.first() == Some(&major)))
        .max();
    let numbers = builtins.or(own)?;
    Some((*numbers.first()?, numbers.get(1).copied().unwrap_or(0)))
}

fn numbers_after(path: &Path, prefix: &str) -> Option<Vec<u32>> {
    let version = path.file_name()?.to_str()?.strip_prefix(prefix)?;
    version.split('.').map(|number| number.parse().ok()).collect()
}

/// Finds the header folders that belong to a library, and whether they are complete.
fn headers_of(library: &Path) -> (Vec<PathBuf>, bool) {
    let real = library.canonicalize().unwrap_or_else(|_| library.to_owned());
    let mut bases: Vec<PathBuf> = Vec::new();
    for file in [library, real.as_path()] {
        let Some(folder) = file.parent() else { continue };
        let above = folder.parent().unwrap_or(folder);
        let top = above.parent().unwrap_or(above);
        bases.push(above.join("include"));
        let packages = ["cu13", "cuda_runtime", "cuda_cccl", "cuda_nvcc"];
        bases.extend(packages.map(|name| top.join(name).join("include")));
        bases.push(top.join("include"));
    }
    let headers: [(&str, &[&str]); 3] =
        [("cuda_fp16.h", &["."]), ("crt/mma.h", &["."]), ("cuda/std/type_traits", &["cccl", "."])];
    let found = headers.map(|(header, below)| {
        let folders = bases.iter().flat_map(|base| below.iter().map(|below| base.join(below)));
        let folder = folders.into_iter().find(|folder| folder.join(header).is_file())?;
        folder.canonicalize().ok()
    });
    let complete = found.iter().all(Option::is_some);
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in found.into_iter().flatten() {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    (folders, complete)
}

#[cfg(test)]
mod tests;
