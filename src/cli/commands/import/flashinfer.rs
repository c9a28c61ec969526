//! `kgen import flashinfer-bench`: definitions and workloads as op files with a suite.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kgen_import::flashinfer;

use super::{Imported, Problem, problem_name, unwritable, write_suite};
use crate::cli::{CommandError, Context};

/// Imports all definitions of a folder with `definitions` and `workloads`.
pub(super) fn run(context: &Context, dir: &Path, output: &Path) -> Result<Imported, CommandError> {
    let unreadable = |path: &Path, error: &io::Error| {
        CommandError::config(format!("cannot read {}: {error}", path.display()))
            .hint("DIR has a folder `definitions` with JSON files, and one `workloads`")
    };
    let folder = dir.join("definitions");
    let mut files = Vec::new();
    collect(&folder, &mut files).map_err(|error| unreadable(&folder, &error))?;
    files.sort();
    if files.is_empty() {
        let message = format!("{} has no definition such as NAME.json", folder.display());
        return Err(CommandError::config(message));
    }
    fs::create_dir_all(output).map_err(|error| unwritable(output, &error))?;
    let (mut problems, mut failed) = (Vec::new(), Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
        let workloads = file.strip_prefix(&folder).map(|place| dir.join("workloads").join(place));
        let workloads = workloads.unwrap_or_default().with_extension("jsonl");
        let lines = match fs::read_to_string(&workloads) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| unreadable(&workloads, &error))?,
        };
        match flashinfer::import(&text, &lines, problem_name) {
            Ok((text, op)) => {
                let path = output.join(format!("{}.toml", op.name));
                fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
                context.ui.note(&format!("{}", path.display()));
                let (op, file) = (op.name.clone(), path.display().to_string());
                problems.push(Problem { op, file, notes: String::new() });
            }
            Err(error) => {
                let message = format!("{}: {error}", file.display());
                context.ui.warn(&message);
                failed.push(message);
            }
        }
    }
    write_suite(output, ("flashinfer-bench", "FlashInfer-Bench"), problems, failed)
}

/// Finds all JSON files in and below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}
