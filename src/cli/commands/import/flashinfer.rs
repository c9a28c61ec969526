//! `kgen import flashinfer-bench`: definitions and workloads as op files with a suite.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kgen_import::flashinfer;

use super::{problem_name, unwritable, write_suite};
use crate::cli::{CommandError, Context, exit_codes::Exit};

/// Imports all definitions of a folder with `definitions` and `workloads`.
pub(super) fn run(context: &Context, dir: &Path, output: &Path) -> Result<Exit, CommandError> {
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
    let (mut names, mut n_failed) = (Vec::new(), 0);
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
                names.push(op.name.clone());
            }
            Err(error) => {
                n_failed += 1;
                context.ui.warn(&format!("{}: {error}", file.display()));
            }
        }
    }
    write_suite(context, output, ("flashinfer-bench", "FlashInfer-Bench"), &names, n_failed)
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
