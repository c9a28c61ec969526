//! Kernels in Python as BackendBench lays them out: a folder per overload, a file per attempt.
//!
//! `relu__default/relu__default_implementation_v2.py` holds a function
//! `relu__default_kernel_impl` that is called with the arguments of the op's ATen schema. Folders
//! with a bare name (`relu/relu_implementation_v1.py`) are older and mean the same.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kgen_ops::op::OpDef;
use kgen_record::{Implementation, PythonKind};
use serde::Deserialize;

use super::side::aten;

/// A kernel in Python that was found for an op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// The kernel.
    pub implementation: Implementation,
    /// Why this file and no other of its folder.
    pub why: Why,
}

/// Why a file was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The folder's summary names it as the fastest right one.
    Summary,
    /// Its version is the highest.
    Version,
}

impl Why {
    /// Returns the reason in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Summary => "the fastest right one by its summary",
            Self::Version => "the highest version",
        }
    }
}

/// A file or folder that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read {}", .path.display())]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Finds the best kernel for an op in a folder; `None` where there is none.
///
/// # Errors
///
/// [`Error`].
pub fn find(folder: &Path, op: &OpDef) -> Result<Option<Found>, Error> {
    for name in names(op) {
        let inside = folder.join(&name);
        let Some((path, why)) = choose(&inside, &name)? else { continue };
        let source = read(&path)?;
        let implementation = Implementation::Python {
            kind: PythonKind::Triton,
            source: Some(source),
            entry: Some(format!("{name}_kernel_impl")),
        };
        return Ok(Some(Found { path, implementation, why }));
    }
    Ok(None)
}

/// Returns the names that an op's folder may have, the most telling first.
fn names(op: &OpDef) -> Vec<String> {
    let overload = aten(op).map(|name| name.replace('.', "__"));
    let base = aten(op).and_then(|name| name.split('.').next()).map(str::to_owned);
    let mut names: Vec<String> = overload.into_iter().chain([op.folder()]).chain(base).collect();
    names.dedup();
    names
}

fn choose(folder: &Path, name: &str) -> Result<Option<(PathBuf, Why)>, Error> {
    let mut versions = versions(folder, name)?;
    versions.sort();
    let Some((_, newest)) = versions.last() else { return Ok(None) };
    let best = best_of_summary(folder, name, &versions);
    Ok(Some(best.map_or((newest.clone(), Why::Version), |path| (path, Why::Summary))))
}

/// Lists the files of a folder that are versions of the kernel.
fn versions(folder: &Path, name: &str) -> Result<Vec<(u32, PathBuf)>, Error> {
    let failed = |source| Error { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut versions = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let file = entry.file_name();
        let version = file.to_str().and_then(|file| {
            let version = file.strip_prefix(name)?.strip_prefix("_implementation_v")?;
            version.strip_suffix(".py")?.parse().ok()
        });
        versions.extend(version.map(|version| (version, entry.path())));
    }
    Ok(versions)
}

/// One attempt in a folder's summary.
#[derive(Deserialize)]
struct Attempt {
    kernel_file: Option<String>,
    #[serde(default)]
    is_correct: bool,
    overall_speedup: Option<f64>,
}

/// Returns the fastest right version by the folder's summary; a summary that is missing or cannot
/// be read has no say.
fn best_of_summary(folder: &Path, name: &str, versions: &[(u32, PathBuf)]) -> Option<PathBuf> {
    let text = fs::read_to_string(folder.join(format!("{name}_kernel_gen_summary.json"))).ok()?;
    let attempts: Vec<Attempt> = serde_json::from_str(&text).ok()?;
    let right = attempts.into_iter().filter(|attempt| attempt.is_correct).filter_map(|attempt| {
        let file = PathBuf::from(attempt.kernel_file?);
        let known = versions.iter().find(|(_, path)| path.file_name() == file.file_name())?;
        Some((attempt.overall_speedup.unwrap_or(0.0), &known.1))
    });
    // The last of several that are equally fast.
    right.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, path)| path.clone())
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_ops::op;

    fn put(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(folder: &Path, op: &str) -> Option<(String, Why, String)> {
        let found = find(folder, op::find(op).unwrap()).unwrap()?;
        let Implementation::Python { source, entry, .. } = found.implementation else { panic!() };
        Some((source.unwrap(), found.why, entry.unwrap()))
    }

    #[test]
    fn the_highest_version_is_a_number_and_a_summary_outranks_it() {
        let root = tempfile::tempdir().unwrap();
        for version in [1, 2, 10] {
            let file = format!("add__Tensor/add__Tensor_implementation_v{version}.py");
            put(root.path(), &file, &version.to_string());
        }
        put(root.path(), "add__Tensor/add__Tensor_implementation_v11.py.orig", "no");
        let entry = "add__Tensor_kernel_impl".to_owned();
        let expected = ("10".to_owned(), Why::Version, entry.clone());
        assert_eq!(found(root.path(), "add"), Some(expected));
        let summary = r#"[
            {"attempt": 1, "kernel_file": "x/add__Tensor_implementation_v1.py", "is_correct": true,
             "overall_speedup": 1.1},
            {"attempt": 2, "kernel_file": "add__Tensor_implementation_v2.py", "is_correct": true,
             "overall_speedup": 1.5, "compilation_error": null},
            {"attempt": 10, "kernel_file": "add__Tensor_implementation_v10.py",
             "is_correct": false, "overall_speedup": 9.0}]"#;
        put(root.path(), "add__Tensor/add__Tensor_kernel_gen_summary.json", summary);
        assert_eq!(found(root.path(), "add"), Some(("2".to_owned(), Why::Summary, entry)));
        put(root.path(), "add__Tensor/add__Tensor_kernel_gen_summary.json", "{}");
        assert_eq!(found(root.path(), "add").unwrap().1, Why::Version);
    }

    #[test]
    fn bare_names_are_found_and_other_overloads_are_not() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "relu/relu_implementation_v1.py", "bare");
        let expected = ("bare".to_owned(), Why::Version, "relu_kernel_impl".to_owned());
        assert_eq!(found(root.path(), "relu"), Some(expected));
        put(root.path(), "relu__default/relu__default_implementation_v1.py", "full");
        assert_eq!(found(root.path(), "relu").unwrap().0, "full");
        put(root.path(), "add__Scalar/add__Scalar_implementation_v1.py", "other");
        assert_eq!(found(root.path(), "add"), None);
        assert_eq!(found(&root.path().join("none"), "relu"), None);
    }
}
