//! Mutants: right kernels with one line made wrong.
//!
//! `mutants/<kernel>.toml` was written before the sanitizer was tuned and is not changed since.

use std::fs;

use serde::Deserialize;

use crate::{Kernel, difference, kernels};

/// Kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A block or warp barrier is gone.
    DroppedBarrier,
    /// A loop or guard goes one too far or stops one too early.
    OffByOne,
    /// Two indices are exchanged.
    SwappedIndex,
    /// A variable or buffer is not initialised.
    DroppedInitialisation,
    /// A stride or leading dimension is wrong.
    WrongStride,
    /// The guard of the last, partial tile is gone.
    MissingTailMask,
    /// A wait for asynchronous copies is gone or waits for too few.
    MissingAsyncWait,
    /// Threads of a block race on shared memory.
    SharedRace,
    /// Blocks race on global memory.
    BlockRace,
}

/// A kernel with one line changed.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// Name of the kernel, the class and a number: `softmax_shfl.dropped_barrier.1`.
    pub id: String,
    /// Kind of change.
    pub class: Class,
    /// The changed line, from 1.
    pub line: u32,
    /// Lines a right report may name: where the defect is, or where its effect is used.
    pub report: Vec<u32>,
    /// The kernel as it is with the changed source.
    pub kernel: Kernel,
    /// The changed source.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantSpec {
    class: Class,
    line: u32,
    from: String,
    to: String,
    report: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutant: Vec<MutantSpec>,
}

/// The mutants of all kernels.
///
/// # Panics
/// If a table does not fit its kernel.
#[must_use]
pub fn mutants() -> Vec<Mutant> {
    of(&kernels::all(), kernels::MUTANTS)
}

impl Mutant {
    /// Its PTX for `sm_90a`; `None` if it is one of a kernel for other architectures, whose mutants are
    /// compiled where they run.
    ///
    /// # Panics
    /// If its changes do not fit the kernel's PTX.
    #[must_use]
    pub fn ptx(&self) -> Option<String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/mutants");
        let differences = fs::read_to_string(format!("{folder}/{}.diff", self.kernel.name)).ok()?;
        let number = self.id.rsplit('.').next().and_then(|number| number.parse().ok());
        let text = self.kernel.ptx(90)?;
        let changed = number.and_then(|number| difference::apply(&text, &differences, number));
        Some(changed.unwrap_or_else(|| panic!("{}: its PTX does not fit the kernel's", self.id)))
    }
}

fn of(all: &[Kernel], tables: &[(&str, &str)]) -> Vec<Mutant> {
    let mut list = Vec::new();
    for (name, text) in tables {
        let kernel = all.iter().find(|k| k.name == *name);
        let kernel = kernel.unwrap_or_else(|| panic!("mutants of an unknown kernel `{name}`"));
        let file: File = toml::from_str(text).unwrap_or_else(|e| panic!("{name}.toml: {e}"));
        for (n, row) in file.mutant.into_iter().enumerate() {
            let class = format!("{:?}", row.class);
            let id = format!("{name}.{}.{}", snake(&class), n + 1);
            let source = mutate(kernel.source, &row).unwrap_or_else(|e| panic!("{id}: {e}"));
            list.push(Mutant {
                id,
                class: row.class,
                line: row.line,
                report: row.report,
                kernel: kernel.clone(),
                source,
            });
        }
    }
    list
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The source with `from` replaced by `to` in the row's line.
fn mutate(source: &str, row: &MutantSpec) -> Result<String, String> {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    let line = lines.get_mut(row.line as usize - 1).ok_or("there is no such line")?;
    if line.matches(&row.from).count() != 1 {
        return Err(format!("`{}` is not once in `{line}`", row.from));
    }
    *line = line.replace(&row.from, &row.to);
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::mutants;

    #[test]
    fn every_mutant_changes_its_kernel_and_names_lines_of_it() {
        for mutant in mutants() {
            assert_ne!(mutant.source, mutant.kernel.source, "{}", mutant.id);
            let lines = mutant.source.lines().count();
            let inside = mutant.report.iter().all(|l| (1..=lines).contains(&(*l as usize)));
            assert!(inside && !mutant.report.is_empty(), "{}: {:?}", mutant.id, mutant.report);
        }
    }
}
