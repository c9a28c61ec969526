//! Builtin kernels that share code: `#include "name"` pastes a file of `suites/baselines/parts`, in a
//! plan, where the line is a comment otherwise, as in a kernel.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{LazyLock, OnceLock},
};

use include_dir::{Dir, File, include_dir};

use super::KERNELS;

static PARTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../suites/baselines/parts");

/// A kernel file, and its text with the parts once somebody has asked for it.
type Kernel = (&'static File<'static>, OnceLock<String>);

static PASTED: LazyLock<BTreeMap<&'static Path, Kernel>> = LazyLock::new(|| {
    let kernel = |file: &'static File<'static>| (file.path(), (file, OnceLock::new()));
    KERNELS
        .files()
        .filter(|file| file.path().extension() == Some("cu".as_ref()))
        .map(kernel)
        .collect()
});

/// Returns the kernel file of that name, its parts pasted; `None` where there is none.
pub(super) fn kernel(name: &str) -> Option<&'static str> {
    let (file, whole) = PASTED.get(Path::new(name))?;
    Some(whole.get_or_init(|| pasted(text(file))))
}

fn pasted(source: &str) -> String {
    let mut whole = String::with_capacity(2 * source.len());
    for line in source.lines() {
        let code = line.trim_start();
        let Some(name) = included(code) else {
            whole.extend([line, "\n"]);
            continue;
        };
        let indent = &line[..line.len() - code.len()];
        for line in pasted(part(name)).lines() {
            whole.extend([if line.is_empty() { "" } else { indent }, line, "\n"]);
        }
    }
    whole
}

/// Returns the name in an `#include "name"` line.
fn included(line: &str) -> Option<&str> {
    line.strip_prefix("#include \"")?.strip_suffix('"')
}

fn part(name: &str) -> &'static str {
    text(PARTS.get_file(name).unwrap_or_else(|| panic!("no part is called `{name}`")))
}

fn text(file: &'static File<'static>) -> &'static str {
    file.contents_utf8().expect("kernel files are text")
}
