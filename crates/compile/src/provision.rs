//! Installs a pinned NVRTC and its headers into kgen's cache, with pip.
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

use super::{Error, Toolchain, locate::in_folder};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Name of the step.
    pub what: &'static str,
    /// Bytes downloaded and unpacked so far.
    pub done: u64,
    /// Bytes in all, roughly.
    pub total: u64,
}

/// A wheel with its checksums.
struct Wheel {
    /// Package and version.
    requirement: &'static str,
    /// SHA-256 of the wheels for `x86_64` and aarch64.
    sha256: [&'static str; 2],
}

/// The wheels of one NVRTC version.
struct Release {
    /// Name of the folder below `nvrtc-`.
    version: &'static str,
    wheels: &'static [Wheel],
    /// Bytes of the wheels and of their content, roughly.
    bytes: u64,
}

/// For drivers from 580 on, and where there is no GPU.
const CUDA_13: Release = Release {
    version: "13.0",
    wheels: &[
        Wheel {
            requirement: "nvidia-cuda-nvrtc==13.0.88",
            sha256: [
                "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
                "d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-runtime==13.0.96",
            sha256: [
                "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
                "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-crt==13.0.88",
            sha256: [
                "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
                "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-cccl==13.0.85",
            sha256: [
                "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
                "6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c",
            ],
        },
    ],
    bytes: 350 << 20,
};

/// For drivers older than 580.
const CUDA_12: Release = Release {
    version: "12.8",
    wheels: &[
        Wheel {
            requirement: "nvidia-cuda-nvrtc-cu12==12.8.93",
            sha256: [
                "a7756528852ef889772a84c6cd89d41dfa74667e24cca16bb31f8f061e3e9994",
                "fc1fec1e1637854b4c0a65fb9a8346b51dd9ee69e61ebaccc82058441f15bce8",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-runtime-cu12==12.8.90",
            sha256: [
                "adade8dcbd0edf427b7204d480d6066d33902cab2a4707dcfc48a2d0fd44ab90",
                "52bf7bbee900262ffefe5e9d5a2a69a30d97e2bc5bb6cc866688caa976966e3d",
            ],
        },
        Wheel {
            requirement: "nvidia-cuda-cccl-cu12==12.8.90",
            sha256: [
                "575bc5cfb0fe4a1956c539215c0f1e6718821b95a68ef6b7abf226aa87e3a5ad",
                "1e4b0d0ea7577cc0ccef6ebf9639380d3d30869f0f774b020380d288a49273c2",
            ],
        },
        // Before CUDA 13 the headers below `crt/` come with the compiler.
        Wheel {
            requirement: "nvidia-cuda-nvcc-cu12==12.8.93",
            sha256: [
                "2d6dc36fb7cb5ac9c0b8825bc13d193c35487a315664007287d0126531238011",
                "2b35ada240938d19398119ca596faaf626ba5e729511be9715842a29d112926d",
            ],
        },
    ],
    bytes: 470 << 20,
};

impl Release {
    /// Chooses the release that a driver can run.
    fn for_driver(version: Option<u32>) -> &'static Self {
        if version.is_some_and(|version| version < 13_000) { &CUDA_12 } else { &CUDA_13 }
    }

    /// Returns a requirements file that accepts only the pinned wheels.
    fn requirements(&self) -> String {
        let line = |wheel: &Wheel| {
            let [x86_64, aarch64] = wheel.sha256;
            format!("{} --hash=sha256:{x86_64} --hash=sha256:{aarch64}\n", wheel.requirement)
        };
        self.wheels.iter().map(line).collect()
    }
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
    let release = Release::for_driver(options.driver_version);
    let cache = options.cache.as_deref().ok_or(Error::NoCache)?;
    let folder = cache.join(format!("nvrtc-{}", release.version));
    if let Some(found) = installed(&folder) {
        return Ok(found);
    }
    if options.offline {
        return Err(Error::Offline);
    }
    fs::create_dir_all(cache).map_err(|source| Error::File { path: cache.to_owned(), source })?;
    let total = release.bytes;
    let _lock = lock(&cache.join(format!("nvrtc-{}.lock", release.version)), || {
        progress(Progress { what: "waiting for another kgen to install NVRTC", done: 0, total });
    })?;
    if let Some(found) = installed(&folder) {
        return Ok(found);
    }
    install(release, cache, &folder, progress)?;
    installed(&folder).ok_or_else(|| Error::Pip {
        reason: format!("the packages hold no NVRTC (looked in {})", folder.display()),
    })
}

fn installed(folder: &Path) -> Option<Toolchain> {
    in_folder(folder, "kgen's cache", &|_| true).filter(|toolchain| toolchain.complete)
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
    let scratch = tempfile::Builder::new().prefix(".nvrtc-").tempdir_in(cache).map_err(fail)?;
    let site = scratch.path().join("site");
    fs::create_dir(scratch.path().join("tmp")).map_err(fail)?;
    fs::write(scratch.path().join("requirements.txt"), release.requirements()).map_err(fail)?;
    let spec = pip(scratch.path());
    let total = release.bytes;
    let output = thread::scope(|scope| {
        let job = scope.spawn(|| kgen_process::run(&spec));
        while !job.is_finished() {
            let done = size_of(scratch.path()).min(total);
            progress(Progress { what: "installing NVRTC and its headers", done, total });
            thread::sleep(POLL);
        }
        job.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let output = output.map_err(|error| Error::NoPip { reason: error.to_string() })?;
    if !output.status.is_success() {
        let text = output.stderr_text();
        if text.contains("No module named pip") {
            return Err(Error::NoPip { reason: text });
        }
        let reason = if output.timed_out {
            format!("it took longer than {} minutes", PIP_LIMIT.as_secs() / 60)
        } else {
            last_lines(&text, 6)
        };
        return Err(Error::Pip { reason });
    }
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fail)?;
    }
    fs::rename(&site, folder).map_err(fail)?;
    progress(Progress { what: "NVRTC is installed", done: total, total });
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
    fn every_wheel_is_pinned_by_version_and_checksum() {
        for release in [&CUDA_12, &CUDA_13] {
            for line in release.requirements().lines() {
                let hashes: Vec<&str> =
                    line.split("--hash=sha256:").skip(1).map(str::trim).collect();
                assert!(line.contains("=="), "{line}");
                assert_eq!(hashes.len(), 2, "{line}");
                for hash in hashes {
                    assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
                }
            }
        }
    }

    #[test]
    fn old_drivers_get_the_old_release() {
        assert_eq!(Release::for_driver(Some(12_080)).version, "12.8");
        assert_eq!(Release::for_driver(Some(13_000)).version, "13.0");
        assert_eq!(Release::for_driver(None).version, "13.0");
    }

    #[test]
    fn nothing_is_downloaded_where_that_is_forbidden() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Some(folder.path().to_owned());
        let options = ProvisionOptions { cache, offline: true, driver_version: None };
        let error = provision(&options, &mut |_| panic!("nothing happens")).unwrap_err();
        assert!(matches!(error, Error::Offline), "{error}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
