//! Outputs of the kernels on a GPU: recorded once by `emu-check agreement`, kept in
//! `golden/`, and replayed by tests on machines without a GPU.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Agreement, Case, Data, Kernel, agree::error};

/// First elements of an output that are kept.
const HEAD: usize = 16;

/// Elements of an output that are kept in all.
const SAMPLES: usize = 64;

/// Outputs of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    /// The GPU's name.
    pub gpu: String,
    /// CUDA version of its driver, for example 13000.
    pub driver: Option<u32>,
    /// NVRTC's version.
    pub nvrtc: String,
    /// The architecture that was compiled for.
    pub arch: String,
    /// One per kernel and seed.
    pub runs: Vec<Run>,
}

/// Outputs of one kernel for one seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The kernel's name.
    pub kernel: String,
    /// SHA-256 of its source and inputs: a change of either makes it stale.
    pub case: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// The outputs in order.
    pub outputs: Vec<Output>,
}

/// One output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Bytes of some elements in hexadecimal, where the bits are not defined: the first 16 and then
    /// evenly spaced ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
}

impl Run {
    /// Records the outputs of a kernel.
    #[must_use]
    pub fn new(kernel: &Kernel, case: &Case, seed: u64, outputs: &[Vec<u8>]) -> Self {
        let exact = kernel.agreement == Agreement::Exact;
        let record = |(data, bytes): (&Data, &Vec<u8>)| Output {
            name: data.name.to_owned(),
            sha256: digest(&[bytes]),
            samples: (!exact).then(|| hex(&sampled(data, bytes))),
        };
        Self {
            kernel: kernel.name.to_owned(),
            case: case_digest(kernel, case),
            seed,
            outputs: case.outputs().zip(outputs).map(record).collect(),
        }
    }

    /// Whether this was recorded with the kernel's source and inputs as they are now.
    #[must_use]
    pub fn is_current(&self, kernel: &Kernel, case: &Case) -> bool {
        self.case == case_digest(kernel, case)
    }

    /// Compares other outputs with the recorded ones, as closely as the kernel asks. Returns the
    /// largest error, which for exact kernels is 0.
    ///
    /// # Errors
    /// The difference, in words.
    pub fn check(&self, kernel: &Kernel, case: &Case, outputs: &[Vec<u8>]) -> Result<f64, String> {
        let mut worst = 0.0_f64;
        for ((data, bytes), golden) in case.outputs().zip(outputs).zip(&self.outputs) {
            if digest(&[bytes]) == golden.sha256 {
                continue;
            }
            let Agreement::Within(bound) = kernel.agreement else {
                return Err(format!("`{}` has other bits than on the GPU", data.name));
            };
            let bound = if data.dtype.is_float() { bound } else { 0.0 };
            let want = golden.samples.as_deref().and_then(unhex).ok_or("there are no samples")?;
            let values = data.dtype.decode(&sampled(data, bytes)).into_iter();
            for (n, (got, want)) in values.zip(data.dtype.decode(&want)).enumerate() {
                let off = error(got, want);
                worst = worst.max(off);
                if off > bound {
                    let name = data.name;
                    return Err(format!(
                        "sample {n} of `{name}` is {got:e}, and {want:e} on the GPU"
                    ));
                }
            }
        }
        Ok(worst)
    }
}

/// Digest of all that decides the outputs.
fn case_digest(kernel: &Kernel, case: &Case) -> String {
    let dims = format!("{:?} {:?} {} {}", kernel.grid, kernel.block, kernel.smem, kernel.entry);
    let mut parts = vec![kernel.source.as_bytes(), dims.as_bytes()];
    for arg in &case.args {
        parts.push(match arg {
            Ok(data) => &data.bytes,
            Err(scalar) => scalar,
        });
    }
    digest(&parts)
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// The bytes of the elements that are kept.
fn sampled(data: &Data, bytes: &[u8]) -> Vec<u8> {
    let size = data.dtype.bytes();
    let n = bytes.len() / size;
    let step = n.saturating_sub(HEAD).div_ceil(SAMPLES - HEAD).max(1);
    let kept = (0..n.min(HEAD)).chain((HEAD..n).step_by(step));
    kept.flat_map(|at| &bytes[at * size..(at + 1) * size]).copied().collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, Role};

    #[test]
    fn samples_are_the_first_and_some_of_the_rest() {
        let name = "y";
        let data = Data { name, dtype: Dtype::U8, role: Role::Out, bytes: Vec::new() };
        let bytes: Vec<u8> = (0..=255).collect();
        let kept = sampled(&data, &bytes);
        assert!(kept.len() <= SAMPLES && kept[..HEAD] == bytes[..HEAD] && kept[17] == 21);
        assert_eq!(sampled(&data, &bytes[..5]), bytes[..5]);
        assert_eq!(unhex(&hex(&kept)), Some(kept));
    }
}
