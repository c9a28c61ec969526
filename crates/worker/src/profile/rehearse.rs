//! The child that profilers watch.

use std::path::Path;

use kgen_device::CudaDevice;
use kgen_eval::Program;
use kgen_record::EvalRequest;
use serde::{Deserialize, Serialize};

use super::Job;

/// The program and cases for the child.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rehearsal {
    request: EvalRequest,
    cases: Vec<usize>,
    program: Program,
    device: u32,
}

impl Rehearsal {
    /// Returns a rehearsal as the child reads it.
    pub(super) fn text(job: &Job<'_>, cases: &[usize]) -> Result<Vec<u8>, String> {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            request: &'a EvalRequest,
            cases: &'a [usize],
            program: Program,
            device: u32,
        }
        // Only variants that these cases need go along.
        let program = Program {
            cases: cases.iter().filter_map(|&case| job.steps(case)).cloned().collect(),
            tunings: Vec::new(),
            baselines: Vec::new(),
            reference: None,
            ..job.program.clone()
        };
        let (request, device) = (job.request, job.device);
        serde_json::to_vec(&Borrowed { request, cases, program, device })
            .map_err(|error| error.to_string())
    }
}

/// Runs a rehearsal from its file, with bare buffers.
///
/// # Errors
///
/// Why not all of its cases ran to their end.
pub fn rehearse(file: &Path) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let Rehearsal { request, cases, program, device } =
        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let mut device = CudaDevice::open(device).map_err(|error| error.to_string())?;
    device.set_bare(true);
    let ended_early = kgen_eval::rehearse(&request, &program, &cases, &mut device)
        .map_err(|error| error.to_string())?;
    ended_early.map_or(Ok(()), Err)
}
