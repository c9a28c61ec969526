//! Programs for tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use super::{Spec, run};

/// Makes a program of a script's whole text. A child writes it: a file that this process has open
/// for writing while another test forks is busy.
pub fn program(folder: &Path, name: &str, text: &str) -> PathBuf {
    let write = "rm -f \"$0\"; cat > \"$0\"; chmod 755 \"$0\"";
    let spec = Spec::new("/bin/sh", folder).args(["-c", write, name]);
    assert!(run(&spec.stdin(text.to_owned())).unwrap().status.is_success());
    folder.join(name)
}
