//! The program that a command line names, looked up before any tool starts.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use kgen_compile::is_program;
use kgen_settings::env;

use crate::cli::CommandError;

/// Checks that the command can be started.
///
/// # Errors
///
/// A usage error with the way out where it cannot: profilers would record the shell's complaint.
pub(super) fn check(command: &[OsString]) -> Result<(), CommandError> {
    let Some(name) = command.first() else { return Ok(()) };
    let shown = name.to_string_lossy();
    if name.as_bytes().contains(&b'/') {
        return path(Path::new(name));
    }
    let folders = env::PATH.paths();
    // Without folders the shell has its own.
    if folders.is_empty() || folders.iter().any(|folder| is_program(&folder.join(name))) {
        return Ok(());
    }
    let message = format!("there is no program `{shown}` on the PATH");
    Err(CommandError::usage(message).maybe_hint(way_out(name, &folders)))
}

/// Checks a program that is named by its path.
fn path(path: &Path) -> Result<(), CommandError> {
    let shown = path.display();
    let error = match path.metadata() {
        Ok(_) if is_program(path) => return Ok(()),
        Ok(file) if file.is_dir() => CommandError::usage(format!("{shown} is a folder")),
        Ok(file) => {
            let permit = || file.is_file().then(|| format!("`chmod +x {shown}`"));
            CommandError::usage(format!("{shown} is not executable"))
                .maybe_hint(interpreter(path).or_else(permit))
        }
        Err(error) => CommandError::usage(format!("{shown} cannot be started: {error}"))
            .maybe_hint(near(path)),
    };
    Err(error)
}

/// Returns the command of a script without the right to be executed.
fn interpreter(path: &Path) -> Option<String> {
    let program = match path.extension()?.to_str()? {
        "py" => "python3",
        "sh" => "sh",
        _ => return None,
    };
    Some(format!("`kgen profile -- {program} {}`", path.display()))
}

/// Returns a hint for a file that is not there: one beside it with a similar name.
fn near(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let names = programs(&[folder.to_path_buf()]);
    let near = kgen_ops::nearest(name, names.iter().map(String::as_str))?;
    Some(format!("did you mean `{}`?", folder.join(near).display()))
}

/// Returns a hint for a name that is not on the PATH.
fn way_out(name: &OsStr, folders: &[PathBuf]) -> Option<String> {
    let name = name.to_str()?;
    let first = name.split_whitespace().next()?;
    if first != name {
        return Some(format!("give its words apart: `kgen profile -- {name}`"));
    }
    if name.contains('=') {
        return Some(format!("variables are set by env: `kgen profile -- env {name} ..`"));
    }
    let here = Path::new(name);
    if is_program(here) {
        return Some(format!("did you mean `./{name}`?"));
    }
    if here.is_file() {
        return interpreter(here);
    }
    let names = programs(folders);
    let near = kgen_ops::nearest(name, names.iter().map(String::as_str))?;
    Some(format!("did you mean `{near}`?"))
}

/// Returns the names of the programs in folders.
fn programs(folders: &[PathBuf]) -> Vec<String> {
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let programs = entries.filter_map(Result::ok).filter(|entry| is_program(&entry.path()));
    programs.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
