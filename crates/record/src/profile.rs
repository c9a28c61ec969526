//! A right kernel seen through a profiler: the request, and the result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Case, CaseClass};

/// Bytes of tensors that a profiled case may have at most: a profiler saves and restores them for
/// each of its passes.
const MAX_BYTES: usize = 1 << 30;

/// The same for cases under compute-sanitizer, which is a hundred times slower.
const MAX_SANITIZED_BYTES: usize = 1 << 20;

const MAX_SANITIZED: usize = 16;

/// The cases to profile once a kernel is found right; cases are named by their index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRequest {
    /// The case whose counters are read.
    pub case: usize,
    /// The cases that compute-sanitizer sees.
    pub sanitized: Vec<usize>,
    /// Tries profilers again that were not permitted before.
    pub retry: bool,
}

impl ProfileRequest {
    /// Chooses among cases that are no secret: the largest that is not too large for a profiler, and
    /// small ones of all kinds for compute-sanitizer; `None` where there is none.
    #[must_use]
    pub fn of(cases: &[Case]) -> Option<Self> {
        let known = || {
            cases
                .iter()
                .enumerate()
                .filter(|(_, case)| !matches!(case.class, CaseClass::Drawn | CaseClass::Huge))
        };
        let fits = known().filter(|(_, case)| bytes(case) <= MAX_BYTES);
        let (case, _) =
            fits.max_by_key(|(_, case)| (case.class == CaseClass::Realistic, bytes(case)))?;
        let small = known()
            .filter(|(_, case)| !case.class.is_large() && bytes(case) <= MAX_SANITIZED_BYTES);
        let small: Vec<usize> = small.map(|(index, _)| index).collect();
        let step = small.len().div_ceil(MAX_SANITIZED).max(1);
        Some(Self { case, sanitized: small.into_iter().step_by(step).collect(), retry: false })
    }
}

fn bytes(case: &Case) -> usize {
    case.tensors().map(|(_, tensor)| tensor.spec.storage_bytes()).sum()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelProfile {
    /// Arguments of the case whose counters were read.
    pub args: String,
    /// Facts, their meaning and place, at most 35 lines; why a profiler did not run is among them.
    pub summary: Vec<String>,
    /// Whether compute-sanitizer found something.
    pub suspicious: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawOutput>,
}

/// A file that a tool wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawOutput {
    /// Name, for example `ncu-raw.csv`.
    pub name: String,
    /// Contents, cut off where they are very long.
    pub text: String,
}
