//! The choice among the plan's parameter values.

use kgen_device::{Device, LaunchError};
use kgen_measure::Flush;
use kgen_record::{CaseOutcome, Timing, Verdict};

use super::{EvalError, Loader, N_QUICK, Sets, TimingJob, recipe};
use crate::CaseProgram;

/// Samples of a choice that are thrown away.
const N_WARM_UP: usize = 3;

/// Chooses among the plan's parameter values; a choice other than the default is judged again.
///
/// The one that was fastest here is not thereby faster than the default: the reported time is
/// measured anew.
pub(super) fn choose<'a>(
    job: &TimingJob<'_, 'a>,
    loader: &mut Loader<'a>,
    device: &mut dyn Device,
    flush: Flush,
) -> Result<&'a CaseProgram, EvalError> {
    let tunings = loader.program.tunings.iter();
    let mut choices: Vec<&CaseProgram> =
        tunings.filter(|tuning| tuning.case == job.default.case).collect();
    if choices.is_empty() {
        return Ok(job.default);
    }
    choices.insert(0, job.default);
    let mut ranked = Vec::new();
    for choice in choices {
        let modules = loader.modules(device, choice.variant)?;
        let sets = Sets::open(device, recipe(job, choice, modules), &[job.data.source()])?;
        let samples = device.time(&sets.calls(), &[0; N_WARM_UP + N_QUICK], flush);
        sets.close(device);
        // A choice that cannot be launched (too much shared memory, say) is no candidate.
        match samples {
            Ok(Some(samples)) => {
                let timing = Timing::of(samples[N_WARM_UP..].to_vec());
                ranked.extend(timing.map(|timing| (timing.median_us, choice)));
            }
            Ok(None)
            | Err(LaunchError::Kernel { device_lost: false, .. } | LaunchError::Budget { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (_, choice) in ranked {
        if std::ptr::eq(choice, job.default) {
            break;
        }
        let modules = loader.modules(device, choice.variant)?;
        let ran = job.data.run(device, choice, modules)?;
        if ran.result.outcome == CaseOutcome::Judged(Verdict::Passed) {
            return Ok(choice);
        }
    }
    Ok(job.default)
}
