//! The Python that has PyTorch: where it is, or how to get the missing parts.
//!
//! Importing PyTorch takes seconds, so an interpreter is only asked which packages it would find.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use include_dir::{Dir, include_dir};
use kgen_process::{PYTHON_ENV, Spec};
use kgen_record::PythonKind;
use kgen_settings::env;
use serde::Deserialize;

/// The program of the Python process.
const SCRIPT: &str = include_str!("../../../python/side.py");

/// The modules that it imports.
static MODULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../python/kgen_side");

/// Writes the program of the Python process into a folder; returns the script to run.
///
/// # Errors
///
/// Where a file cannot be written.
pub fn install(folder: &Path) -> io::Result<PathBuf> {
    let script = folder.join("side.py");
    fs::write(&script, SCRIPT)?;
    let modules = folder.join("kgen_side");
    fs::create_dir(&modules)?;
    MODULES.extract(modules)?;
    Ok(script)
}

/// Prints the versions of installed packages as one line of JSON, and imports none of it.
const PROBE: &str = "\
import importlib.metadata, importlib.util, json, os, platform, runpy
def version(name):
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    try:
        # PyTorch's own file says which build it is, its metadata may not.
        return runpy.run_path(os.path.join(os.path.dirname(spec.origin), 'version.py'))['__version__']
    except Exception:
        pass
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return 'of unknown version'
names = ('torch', 'triton', 'flag_gems', 'jax', 'cupy', 'onnxruntime', 'onnx')
print(json.dumps({'python': platform.python_version(), **{name: version(name) for name in names}}))
";

/// Time that an interpreter has to answer; on a cold network disk it needs some.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// An interpreter that has PyTorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// The interpreter.
    pub path: PathBuf,
    /// Its packages.
    pub packages: Packages,
}

/// The packages of an interpreter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Packages {
    /// Its version, for example `3.12.3`.
    pub python: String,
    /// Version of PyTorch, where installed.
    pub torch: Option<String>,
    /// Version of Triton, where installed.
    pub triton: Option<String>,
    /// Version of FlagGems, where installed.
    pub flag_gems: Option<String>,
    /// Version of JAX, where installed.
    pub jax: Option<String>,
    /// Version of `CuPy`, where installed.
    pub cupy: Option<String>,
    /// Version of ONNX Runtime, where installed.
    pub onnxruntime: Option<String>,
    /// Version of the package that makes models for it, where installed.
    pub onnx: Option<String>,
}

impl Python {
    /// Returns the package that an implementation needs beside PyTorch and that is not there.
    #[must_use]
    pub const fn lacks(&self, kind: PythonKind) -> Option<&'static str> {
        let Packages { triton, flag_gems, jax, cupy, onnxruntime, onnx, .. } = &self.packages;
        match kind {
            PythonKind::FlagGems if flag_gems.is_none() => Some("flag_gems"),
            PythonKind::Jax if jax.is_none() => Some("jax"),
            PythonKind::CuPy if cupy.is_none() => Some("cupy"),
            PythonKind::OnnxRuntime if onnxruntime.is_none() => Some("onnxruntime"),
            PythonKind::OnnxRuntime if onnx.is_none() => Some("onnx"),
            PythonKind::TorchCompile | PythonKind::TorchMaxAutotune | PythonKind::Triton
                if triton.is_none() =>
            {
                Some("triton")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Python {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packages { python, torch, triton, flag_gems, jax, cupy, onnxruntime, onnx: _ } =
            &self.packages;
        write!(f, "torch {}", torch.as_deref().unwrap_or("of unknown version"))?;
        let others = [
            ("triton", triton),
            ("flag_gems", flag_gems),
            ("jax", jax),
            ("cupy", cupy),
            ("onnxruntime", onnxruntime),
        ];
        for (name, version) in others {
            if let Some(version) = version {
                write!(f, ", {name} {version}")?;
            }
        }
        write!(f, ", Python {python} at {}", self.path.display())
    }
}

/// No interpreter has PyTorch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("PyTorch was not found: {}; {HOW_TO}", self.looked_at())]
pub struct PythonNotFoundError {
    /// The interpreters, each with the packages it lacks.
    looked_at: Vec<String>,
}

impl PythonNotFoundError {
    /// Returns the interpreters, each with the packages it lacks.
    #[must_use]
    pub fn looked_at(&self) -> String {
        self.looked_at.join(", ")
    }
}

/// How PyTorch is made known to kgen.
pub const HOW_TO: &str = "install the package torch with pip, or name a Python that has it with \
                          --python or KGEN_PYTHON";

/// Finds an interpreter that has PyTorch: the one at `path`, else that of the active environment,
/// else the first `python3` in `PATH`.
///
/// # Errors
///
/// [`PythonNotFoundError`] with the packages that each of them lacks.
pub fn find(path: Option<&Path>) -> Result<Python, PythonNotFoundError> {
    let mut looked_at = Vec::new();
    for path in candidates(path) {
        match probe(&path) {
            Ok(packages) if packages.torch.is_some() => return Ok(Python { path, packages }),
            Ok(packages) => {
                let python = packages.python;
                looked_at.push(format!("{} (Python {python}) has no torch", path.display()));
            }
            Err(why) => looked_at.push(format!("{} {why}", path.display())),
        }
    }
    if looked_at.is_empty() {
        looked_at.push("there is no python3".to_owned());
    }
    Err(PythonNotFoundError { looked_at })
}

fn candidates(path: Option<&Path>) -> Vec<PathBuf> {
    if let Some(path) = path {
        // It is run in other folders. A bare name is one of `PATH`.
        let is_bare = path.components().count() == 1;
        let whole = if is_bare { None } else { std::path::absolute(path).ok() };
        return vec![whole.unwrap_or_else(|| path.to_owned())];
    }
    let environments = [env::VIRTUAL_ENV.path(), env::CONDA_PREFIX.path()];
    let environments = environments.into_iter().flatten().map(|prefix| prefix.join("bin/python"));
    let in_path = env::PATH.paths().into_iter().map(|folder| folder.join("python3"));
    let mut found: Vec<PathBuf> = environments.filter(|path| path.is_file()).collect();
    found.extend(in_path.into_iter().find(|path| path.is_file()));
    found.dedup();
    found
}

/// Asks an interpreter for its packages; the error is the end of a sentence about it.
fn probe(path: &Path) -> Result<Packages, String> {
    // A folder that holds nothing: whatever lies in kgen's own is no package.
    let dir = kgen_process::Scratch::new("python", None)
        .map_err(|error| format!("could not be asked: {error}"))?;
    let spec = Spec::new(path, dir.path()).args(["-c", PROBE]).inherit(PYTHON_ENV);
    let output = kgen_process::run(&spec.deadline(PROBE_LIMIT));
    let output = output.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("does not start: {cause}"),
        None => format!("does not start: {error}"),
    })?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = output.stderr_text();
        let last = said.lines().next_back().map_or(String::new(), |line| format!(": {line}"));
        format!("{} when asked for its packages{last}", output.status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpreter(dir: &Path, script: &str) -> PathBuf {
        kgen_process::testing::program(dir, "python", &format!("#!/bin/sh\n{script}\n"))
    }

    #[test]
    fn what_is_missing_is_said_in_one_line_with_how_to_get_it() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none");
        let answer = r#"{"python":"3.12.3","torch":null,"triton":null,"flag_gems":null}"#;
        for (path, expected) in [
            (missing, "does not start: No such file or directory"),
            (interpreter(dir.path(), &format!("echo '{answer}'")), "(Python 3.12.3) has no torch"),
        ] {
            let text = find(Some(&path)).unwrap_err().to_string();
            assert!(text.contains(expected) && text.contains("--python"), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
        let broken = interpreter(dir.path(), "echo first >&2; echo no module >&2; exit 1");
        let text = find(Some(&broken)).unwrap_err().to_string();
        assert!(
            text.contains("exited with code 1 when asked for its packages: no module"),
            "{text}"
        );
    }

    #[test]
    fn an_interpreter_with_torch_is_described_by_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let answer =
            r#"{"python":"3.12.3","torch":"2.11.0+cu130","triton":"3.6.0","onnxruntime":"1.30.0"}"#;
        let path = interpreter(dir.path(), &format!("echo '{answer}'"));
        let found = find(Some(&path)).unwrap();
        let lacks = PythonKind::ALL.map(|kind| found.lacks(kind));
        let [jax, cupy, onnx] = [Some("jax"), Some("cupy"), Some("onnx")];
        assert_eq!(lacks, [None, None, None, Some("flag_gems"), jax, cupy, onnx, None]);
        let text = found.to_string();
        let at = path.display();
        let wanted = "torch 2.11.0+cu130, triton 3.6.0, onnxruntime 1.30.0, Python 3.12.3";
        assert_eq!(text, format!("{wanted} at {at}"));
    }
}
