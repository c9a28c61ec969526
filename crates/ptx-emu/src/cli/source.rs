//! The kernel's source, to quote lines of.

use std::{fs, path::Path};

use ptx_emu::Finding;

use super::{Error, Result};

/// Lines of a source file, if there is one.
#[derive(Debug, Default)]
pub(super) struct Source {
    lines: Vec<String>,
}

impl Source {
    /// Reads `given`, or the `.cu` file beside the PTX file if there is one.
    pub(super) fn load(given: Option<&str>, ptx: &str) -> Result<Self> {
        let text = match given {
            Some(path) => {
                let bytes = fs::read(path).map_err(|error| Error::file(path, error))?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            None => fs::read_to_string(Path::new(ptx).with_extension("cu")).unwrap_or_default(),
        };
        Ok(Self { lines: text.lines().map(str::to_owned).collect() })
    }

    /// The line, numbered, as it is quoted; `None` if it is not there.
    pub(super) fn quote(&self, line: u32) -> Option<String> {
        let text = self.lines.get(usize::try_from(line).ok()?.checked_sub(1)?)?;
        let text: String = text.trim_end().chars().take(120).collect();
        Some(format!("{line:>5} | {text}"))
    }

    /// The lines a finding is about.
    pub(super) fn quotes(&self, finding: &Finding) -> Vec<String> {
        let mut lines = vec![finding.line, finding.other.as_ref().and_then(|o| o.line)];
        lines.dedup();
        lines.into_iter().flatten().filter_map(|line| self.quote(line)).collect()
    }
}
