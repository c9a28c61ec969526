//! Files inside the binary: the recorded session and the hand-written kernels.

use std::{
    fs,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};
use kgen_record::OpKey;
use kgen_store::Run;
use tempfile::TempDir;

use super::CommandError;

/// Name of the bundled session for `--replay`.
pub(crate) const DEMO: &str = "demo";
/// Name of the folder of the bundled hand-written kernels.
pub(crate) const EVALUATION_ONLY: &str = "evaluation_only";

static DEMO_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/generated_kernels/demo");
static KERNEL_FILES: Dir<'_> =
    include_dir!("$CARGO_MANIFEST_DIR/generated_kernels/evaluation_only");

/// The bundled session, unpacked for as long as this lives.
#[derive(Debug)]
pub(crate) struct UnpackedDemo {
    folder: TempDir,
}

impl UnpackedDemo {
    /// Unpacks the session into a scratch folder.
    pub(crate) fn new() -> Result<Self, CommandError> {
        if DEMO_FILES.get_file("run.json").is_none() {
            return Err(CommandError::config("this kgen was built without a bundled session")
                .hint("name a --provider: `kgen list backends` shows them"));
        }
        let failed = |source: std::io::Error| {
            CommandError::config(format!("failed to unpack the bundled session: {source}"))
                .hint("TMPDIR names the folder for scratch files")
        };
        let folder = tempfile::Builder::new().prefix("kgen-demo-").tempdir().map_err(failed)?;
        DEMO_FILES.extract(folder.path()).map_err(failed)?;
        Ok(Self { folder })
    }

    pub(crate) fn run(&self) -> Result<Run, CommandError> {
        Ok(Run::open(self.folder.path())?)
    }
}

/// Returns the bundled hand-written kernel of an op.
pub(crate) fn kernel(op: &OpKey) -> Option<&'static str> {
    KERNEL_FILES.get_file(format!("{op}/{op}.cu"))?.contents_utf8()
}

/// Returns the kernel of an op in a folder of kernels, if there is one.
pub(crate) fn kernel_in(folder: &Path, op: &OpKey) -> Result<Option<String>, CommandError> {
    let path = kernel_path(folder, op);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(CommandError::config(format!("failed to read {}: {error}", path.display())))
        }
    }
}

/// Returns where the kernel of an op is in a folder of kernels.
pub(crate) fn kernel_path(folder: &Path, op: &OpKey) -> PathBuf {
    folder.join(&op.0).join(format!("{op}.cu"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_in_the_binary() {
        assert!(DEMO_FILES.get_file("README.md").is_some());
        assert!(KERNEL_FILES.get_file("README.md").is_some());
        assert_eq!(kernel(&OpKey("no_such_op".to_owned())), None);
    }
}
