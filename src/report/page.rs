//! One run as a page for a browser. `kgen_compare` draws it; here it is read, with the samples of each
//! op's best attempt.

use kgen_compare::{self as data, TimedBaseline, TimedCase};
use kgen_record::{BaselineTiming, CaseTiming};
use kgen_store::Run;

use super::{
    compare::{alone, folder},
    summary::{attempt_id, reported_timings},
};

/// Returns the page of a run, which needs no other file.
///
/// # Errors
///
/// When the run cannot be read.
pub fn page(run: &Run) -> Result<String, kgen_store::Error> {
    let mut arm = alone(run)?;
    for op in arm.runs.iter_mut().flat_map(|run| &mut run.ops).filter(|op| op.solved) {
        op.timed = timed(run, op)?;
    }
    Ok(data::html::run_page(&arm))
}

/// Reads the times that the speedups of an op are of.
fn timed(run: &Run, op: &data::Op) -> Result<Vec<TimedCase>, kgen_store::Error> {
    let Some(best) = op.best else { return Ok(Vec::new()) };
    let attempt = attempt_id(&folder(&op.name), best);
    let Some(evaluation) = run.evaluation(&attempt)? else { return Ok(Vec::new()) };
    let confirmation = run.confirmation(&attempt)?;
    Ok(reported_timings(&evaluation, confirmation.as_ref()).into_iter().map(case).collect())
}

/// The kernel that a run reports for an op, with its times.
pub struct BestTimings {
    pub op: String,
    pub kernel: Option<String>,
    pub timings: Vec<CaseTiming>,
}

/// Returns the kernels that a run reports, of the ops that it has solved.
///
/// # Errors
///
/// When the run cannot be read.
pub fn best_timings(run: &Run) -> Result<Vec<BestTimings>, kgen_store::Error> {
    let arm = alone(run)?;
    let mut found = Vec::new();
    for op in arm.runs.iter().flat_map(|run| &run.ops).filter(|op| op.solved) {
        let Some(best) = op.best else { continue };
        let attempt = attempt_id(&folder(&op.name), best);
        let Some(evaluation) = run.evaluation(&attempt)? else { continue };
        let confirmation = run.confirmation(&attempt)?;
        found.push(BestTimings {
            op: op.name.clone(),
            kernel: run.kernel(&attempt)?,
            timings: reported_timings(&evaluation, confirmation.as_ref()),
        });
    }
    Ok(found)
}

fn case(timing: CaseTiming) -> TimedCase {
    TimedCase {
        args: timing.args,
        bytes: timing.bytes,
        flops: timing.flops,
        roofline: timing.roofline,
        kernel: timing.candidate,
        baselines: timing.baselines.into_iter().map(baseline).collect(),
    }
}

fn baseline(timing: BaselineTiming) -> TimedBaseline {
    TimedBaseline {
        name: timing.name,
        timing: timing.timing,
        comparison: timing.comparison,
        overhead_dominated: timing.overhead_dominated,
    }
}
