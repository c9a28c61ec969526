//! Baselines: what decides speedup.
//!
//! The `builtin` baseline is a kernel file per op, embedded in the binary and judged like any
//! candidate. It is decently written, not the fastest kernel there is: a speedup is always shown
//! with the name of what it is measured against.

pub mod python;
pub mod side;

use include_dir::{Dir, include_dir};

use crate::record::{BaselineRequest, Implementation};

/// Name of the baseline that comes with kgen.
pub const BUILTIN: &str = "builtin";

/// The embedded kernel files: `<op>.cu`, a dot in the op's name written as `__`.
static KERNELS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/suites/baselines");

/// Returns the kernel file of the `builtin` baseline for an op; `None` where there is none.
#[must_use]
pub fn builtin(op: &str) -> Option<&'static str> {
    KERNELS.get_file(format!("{}.cu", op.replace('.', "__")))?.contents_utf8()
}

/// A name that is no baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown baseline `{name}` (known: {BUILTIN})")]
pub struct UnknownBaseline {
    /// The name.
    pub name: String,
}

/// Returns what an op is timed against: one entry per name, in that order. A baseline that has
/// nothing for the op is left out.
///
/// # Errors
///
/// [`UnknownBaseline`].
pub fn requests(names: &[String], op: &str) -> Result<Vec<BaselineRequest>, UnknownBaseline> {
    let mut requests = Vec::new();
    for name in names {
        let implementation = match name.as_str() {
            BUILTIN => builtin(op).map(|source| Implementation::Kernel { source: source.into() }),
            _ => return Err(UnknownBaseline { name: name.clone() }),
        };
        let request = |implementation| BaselineRequest { name: name.clone(), implementation };
        requests.extend(implementation.map(request));
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use crate::{kernel::KernelFile, op};

    #[test]
    fn baselines_come_in_the_order_asked_for_and_unknown_ones_are_named() {
        let requests = super::requests(&["builtin".to_owned()], "relu").unwrap();
        assert_eq!(requests.len(), 1);
        assert!(super::requests(&["builtin".to_owned()], "no_such_op").unwrap().is_empty());
        let error = super::requests(&["atem".to_owned()], "relu").unwrap_err();
        assert_eq!(error.to_string(), "unknown baseline `atem` (known: builtin)");
    }

    #[test]
    fn every_baseline_is_a_kernel_file_of_an_op() {
        for file in super::KERNELS.files() {
            let stem = file.path().file_stem().unwrap().to_str().unwrap();
            let name = stem.replace("__", ".");
            let op = op::all().iter().find(|op| op.name == name);
            let op = op.unwrap_or_else(|| panic!("{name} is no op"));
            let kernel = super::builtin(&op.name).unwrap();
            KernelFile::parse(kernel).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
