//! Installs a pinned NVRTC with its headers, and those of CUTLASS, into kgen's cache, with pip.
//!
//! The wheels come from whatever index pip is configured for; their checksums are pinned here, so
//! it does not matter which. Nothing is installed into any Python environment.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use kgen_process::{NETWORK_ENV, Spec};
use kgen_settings::NvrtcSettings;

use release::{CUTLASS, Release};

use super::{Error, Toolchain, cutlass, locate::in_folder};

mod release;

/// Time that pip may take: the wheels are 100 MB, and networks differ.
const PIP_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Time between two reports of progress.
const POLL: Duration = Duration::from_millis(200);

/// Packages to install, and whether that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProvisionOptions {
    /// kgen's cache folder.
    pub cache: Option<PathBuf>,
    /// Whether downloads are forbidden.
    pub offline: bool,
    /// CUDA version of the driver whose GPU is used, for example 12080: NVRTC must not be newer.
    pub driver_version: Option<u32>,
}

impl ProvisionOptions {
    /// Reads the settings.
    #[must_use]
    pub fn new(settings: &NvrtcSettings, driver_version: Option<u32>) -> Self {
        Self { cache: settings.cache(), offline: settings.offline, driver_version }
    }
}

/// How far the installation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Name of the step.
    pub what: String,
    /// Bytes downloaded and unpacked so far.
    pub done: u64,
    /// Bytes in all, roughly.
    pub total: u64,
}

/// Installs NVRTC and its headers into kgen's cache, unless they are there.
///
/// Two kgen at once do not clash: the second waits for the first. An installation that is broken
/// off leaves nothing.
///
/// # Errors
///
/// [`Error::Offline`] when downloads are forbidden, [`Error::NoCache`] without a cache folder,
/// [`Error::NoPip`] and [`Error::Pip`] when pip is missing or fails, [`Error::File`] when the
/// cache cannot be written.
pub fn provision(
    options: &ProvisionOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Toolchain, Error> {
    let release = Release::nvrtc_for_driver(options.driver_version);
    ensure(release, options, &nvrtc_in, progress)
}

/// Installs the headers of CUTLASS into kgen's cache, unless they are there; returns their folder.
///
/// `nvrtc`: the version of the NVRTC that is to read them.
///
/// # Errors
///
/// [`Error::CutlassVersion`] where that NVRTC cannot read them, else those of [`provision`].
pub fn provision_cutlass(
    options: &ProvisionOptions,
    nvrtc: (u32, u32),
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, Error> {
    cutlass::check_version(nvrtc)?;
    ensure(&CUTLASS, options, &cutlass_in, progress)
}

/// Returns the folder of CUTLASS's headers in a cache; `None` where they are not installed.
#[must_use]
pub fn installed_cutlass(cache: &Path) -> Option<PathBuf> {
    cutlass_in(&cache.join(CUTLASS.folder))
}

fn nvrtc_in(folder: &Path) -> Option<Toolchain> {
    in_folder(folder, "kgen's cache", &|_| true).filter(|toolchain| toolchain.complete)
}

fn cutlass_in(folder: &Path) -> Option<PathBuf> {
    folder.join("cute/tensor.hpp").is_file().then(|| folder.to_owned())
}

/// Installs a release where `find` does not find it in its folder.
fn ensure<T>(
    release: &Release,
    options: &ProvisionOptions,
    find: &dyn Fn(&Path) -> Option<T>,
    progress: &mut dyn FnMut(Progress),
) -> Result<T, Error> {
    let (package, total) = (release.name, release.bytes);
    let cache = options.cache.as_deref().ok_or(Error::NoCache { package })?;
    let folder = cache.join(release.folder);
    if let Some(found) = find(&folder) {
        return Ok(found);
    }
    if options.offline {
        return Err(Error::Offline { package });
    }
    fs::create_dir_all(cache).map_err(|source| Error::File { path: cache.to_owned(), source })?;
    let _lock = lock(&cache.join(format!("{}.lock", release.folder)), || {
        let what = format!("waiting for another kgen to install {package}");
        progress(Progress { what, done: 0, total });
    })?;
    if let Some(found) = find(&folder) {
        return Ok(found);
    }
    install(release, cache, &folder, progress)?;
    find(&folder).ok_or_else(|| Error::Pip {
        package,
        reason: format!("the packages do not hold it (looked in {})", folder.display()),
    })
}

/// Takes the lock of an installation; it is released when the file is closed.
fn lock(path: &Path, waiting: impl FnOnce()) -> Result<File, Error> {
    let fail = |source| Error::File { path: path.to_owned(), source };
    let file = OpenOptions::new().create(true).append(true).open(path).map_err(fail)?;
    let mut waiting = Some(waiting);
    let wait = || {
        waiting.take().into_iter().for_each(|waiting| waiting());
        true
    };
    kgen_process::lock(&file, kgen_process::Access::Exclusive, wait).map_err(fail)?;
    Ok(file)
}

/// Installs beside the final folder, then renames.
fn install(
    release: &Release,
    cache: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Error> {
    let fail = |source| Error::File { path: cache.to_owned(), source };
    let package = release.name;
    let scratch = tempfile::Builder::new().prefix(".kgen-pip-").tempdir_in(cache).map_err(fail)?;
    fs::create_dir(scratch.path().join("tmp")).map_err(fail)?;
    fs::write(scratch.path().join("requirements.txt"), release.requirements()).map_err(fail)?;
    let spec = pip(scratch.path());
    let total = release.bytes;
    let output = thread::scope(|scope| {
        let job = scope.spawn(|| kgen_process::run(&spec));
        while !job.is_finished() {
            let done = size_of(scratch.path()).min(total);
            progress(Progress { what: format!("installing {package} with pip"), done, total });
            thread::sleep(POLL);
        }
        job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let output = output.map_err(|error| Error::NoPip { package, reason: error.to_string() })?;
    if !output.status.is_success() {
        let text = output.stderr_text();
        if text.contains("No module named pip") {
            return Err(Error::NoPip { package, reason: text });
        }
        let reason = if output.timed_out {
            format!("it took longer than {} minutes", PIP_LIMIT.as_secs() / 60)
        } else {
            last_lines(&text, 6)
        };
        return Err(Error::Pip { package, reason });
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fail)?;
    }
    fs::rename(scratch.path().join("site").join(release.part), folder).map_err(fail)?;
    progress(Progress { what: format!("{package} is installed"), done: total, total });
    Ok(())
}

/// Returns the call of pip: hashes required, nothing compiled, no environment touched.
fn pip(scratch: &Path) -> Spec {
    let args = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement=requirements.txt",
        "--target=site",
    ];
    Spec::new("python3", scratch)
        .args(args)
        .inherit(NETWORK_ENV)
        .env("TMPDIR", scratch.join("tmp"))
        // A user's pip configuration may contradict `--target`.
        .env("PIP_USER", "0")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .deadline(PIP_LIMIT)
}

/// Adds up the sizes of all files below a folder; those that vanish meanwhile do not count.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = folder.read_dir() else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_of(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

fn last_lines(text: &str, n_lines: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(n_lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_downloaded_where_that_is_forbidden() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Some(folder.path().to_owned());
        let options = ProvisionOptions { cache, offline: true, driver_version: None };
        let error = provision(&options, &mut |_| panic!("nothing happens")).unwrap_err();
        assert!(matches!(error, Error::Offline { package: "NVRTC" }), "{error}");
        let cutlass = provision_cutlass(&options, (13, 0), &mut |_| panic!("nothing happens"));
        let error = cutlass.unwrap_err();
        assert!(matches!(error, Error::Offline { package: "CUTLASS" }), "{error}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn installed_headers_are_found_without_a_download() {
        let folder = tempfile::tempdir().unwrap();
        let headers = folder.path().join(CUTLASS.folder);
        fs::create_dir_all(headers.join("cute")).unwrap();
        assert_eq!(installed_cutlass(folder.path()), None);
        fs::write(headers.join("cute/tensor.hpp"), "").unwrap();
        let cache = Some(folder.path().to_owned());
        let options = ProvisionOptions { cache, offline: true, driver_version: None };
        let found = provision_cutlass(&options, (12, 8), &mut |_| panic!("nothing happens"));
        assert_eq!(found.unwrap(), headers);
    }

    #[test]
    fn headers_that_this_nvrtc_cannot_read_are_not_downloaded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Some(folder.path().to_owned());
        let options = ProvisionOptions { cache, offline: false, driver_version: None };
        for nvrtc in [(12, 6), (13, 2), (13, 3), (14, 0)] {
            let found = provision_cutlass(&options, nvrtc, &mut |_| panic!("nothing happens"));
            let message = found.unwrap_err().to_string();
            assert!(message.contains("4.2.0"), "{message}");
            assert!(message.contains(&format!("{}.{}", nvrtc.0, nvrtc.1)), "{message}");
        }
    }
}
