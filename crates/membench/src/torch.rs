//! PyTorch's caching allocator, timed by a program in Python.

use std::{path::Path, time::Duration};

use kgen_device::AllocationTime;
use kgen_process::{DEVICE_ENV, PYTHON_ENV, Scratch, Spec};

use crate::{Error, Plan, Test, run::Measured};

const PROGRAM: &str = include_str!("allocations.py");

/// Time that it has: importing PyTorch takes seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Its name among the allocators.
pub const TORCH: &str = "pytorch";

/// Size in bytes, and nanoseconds of allocating and freeing.
type Line = (u64, Vec<[f64; 2]>);

/// Times PyTorch's allocator over the sizes of a plan on the GPU of that number.
///
/// # Errors
///
/// [`Error::NotHere`] where the interpreter or PyTorch fails.
pub fn torch_allocations(python: &Path, ordinal: u32, plan: &Plan) -> Result<Measured, Error> {
    let not_here = |reason: String| Error::NotHere(reason);
    let scratch = Scratch::new("allocations", None).map_err(|error| not_here(error.to_string()))?;
    let numbers = [u64::from(ordinal)].into_iter().chain(plan.sizes.iter().copied());
    let spec = Spec::new(python, scratch.path())
        .args(["-c", PROGRAM])
        .args(numbers.map(|number| number.to_string()))
        .inherit(DEVICE_ENV)
        .inherit(PYTHON_ENV)
        .deadline(LIMIT);
    let output = kgen_process::run(&spec).map_err(|error| not_here(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Line> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if lines.is_empty() {
        let said = output.stderr_text();
        let last = said.lines().next_back().unwrap_or("no output");
        return Err(not_here(format!("{}: {last}", output.status)));
    }
    Ok(rows(plan, &lines))
}

fn rows(plan: &Plan, lines: &[Line]) -> Measured {
    let mut measured = Measured::default();
    for &bytes in &plan.sizes {
        let times = lines.iter().find(|line| line.0 == bytes).map(|line| line.1.as_slice());
        let time = |[alloc, free]: &[f64; 2]| AllocationTime {
            alloc_us: alloc / 1e3,
            free_us: free / 1e3,
        };
        let times: Vec<AllocationTime> = times.unwrap_or_default().iter().map(time).collect();
        if times.is_empty() {
            let reason = "PyTorch has too little memory, or ended before".to_owned();
            measured.leave_out(Test::Alloc, Some(TORCH), Some(bytes), reason);
        }
        measured.rows.extend(plan.allocation_rows(TORCH, bytes, &times));
    }
    measured
}

#[cfg(test)]
mod tests {
    use kgen_process::testing::program;

    use super::*;

    #[test]
    fn lines_are_rows_and_sizes_without_one_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\n[ \"$3 $4 $5 $6\" = '1 128 256 512' ] || exit 9\n\
                      echo '[128, [[1000, 3000], [2000, 4000], [3000, 5000]]]'\necho '[256, []]'\n";
        let python = program(dir.path(), "python", script);
        let plan = Plan { tests: vec![Test::Alloc, Test::Free], sizes: vec![128, 256, 512] };
        let found = torch_allocations(&python, 1, &plan).unwrap();
        let rows: Vec<_> = found.rows.iter().map(|row| (row.test.as_str(), row.time_us)).collect();
        assert_eq!(rows, [("alloc", Some(2.0)), ("free", Some(4.0))]);
        assert_eq!(found.left_out.len(), 2);
        let broken = program(dir.path(), "python", "#!/bin/sh\necho 'no torch' >&2; exit 1\n");
        let error = torch_allocations(&broken, 1, &plan).unwrap_err().to_string();
        assert!(error.ends_with(": no torch"), "{error}");
    }
}
