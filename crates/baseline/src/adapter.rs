//! The programs of adapters: where they are, or how to get them.

use std::path::{Path, PathBuf};

use kgen_record::Adapter;
use kgen_settings::env;

/// A program that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The setting names a file that is not there.
    #[error("there is no file {} for the adapter of {adapter}", .path.display())]
    NoFile { adapter: Adapter, path: PathBuf },
    /// It lies neither beside kgen nor on the PATH.
    #[error(
        "{program} is neither beside kgen nor on the PATH; in kgen's repository `cargo build --release \
         --manifest-path adapters/Cargo.toml -p {program} --features cuda` builds it",
        program = .adapter.program()
    )]
    NotFound { adapter: Adapter },
}

/// Finds a program: at the path of the setting, else beside kgen, else on the PATH.
///
/// # Errors
///
/// Any [`Error`].
pub fn find(
    adapter: Adapter,
    named: Option<&Path>,
    beside: Option<&Path>,
) -> Result<PathBuf, Error> {
    if let Some(path) = named {
        let found = path.is_file().then(|| path.to_owned());
        return found.ok_or_else(|| Error::NoFile { adapter, path: path.to_owned() });
    }
    let folders = beside.map(Path::to_owned).into_iter().chain(env::PATH.paths());
    let mut programs = folders.map(|folder| folder.join(adapter.program()));
    programs.find(|path| path.is_file()).ok_or(Error::NotFound { adapter })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_taken_from_its_setting_or_from_beside_kgen() {
        let folder = tempfile::tempdir().unwrap();
        let missing = find(Adapter::Candle, None, Some(folder.path())).unwrap_err().to_string();
        assert!(missing.contains("-p kgen-candle --features cuda"), "{missing}");
        let path = folder.path().join("kgen-candle");
        std::fs::write(&path, "").unwrap();
        assert_eq!(find(Adapter::Candle, None, Some(folder.path())), Ok(path.clone()));
        assert_eq!(find(Adapter::Burn, Some(&path), None), Ok(path));
        let named = find(Adapter::Burn, Some(Path::new("/no/such")), None).unwrap_err().to_string();
        assert_eq!(named, "there is no file /no/such for the adapter of burn");
    }
}
