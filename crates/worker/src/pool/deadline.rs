//! How long a worker may be silent.
//!
//! Every message of a worker sets its deadline anew, by the stage it is in: a hang is one
//! compilation or one case, and the limits of a request are about those.

use std::time::Duration;

use kgen_record::{EvalRequest, Limits, Stage, TimingRequest};

/// Until the first message of a job.
const FIRST: Duration = Duration::from_secs(60);

/// For the profilers, which have limits of their own.
const PROFILE: Duration = Duration::from_secs(600);

/// How much longer a compilation may take with the headers of CUTLASS: a product in `CuTe` takes NVRTC
/// ten seconds on a free core, and workers share cores.
const CUTLASS_FACTOR: f64 = 3.0;

/// The silence allowed to a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    compile: Duration,
    case: Duration,
    time: Duration,
    /// kgen's own work: guards, plans, inputs, references, uploads, trusted kernels, comparisons.
    own: Duration,
}

impl Deadlines {
    /// Returns the deadlines of a request.
    pub(super) fn of(request: &EvalRequest) -> Self {
        let Limits { compile_s, case_s, own_s, .. } = request.limits;
        let compile_s = if request.cutlass { compile_s * CUTLASS_FACTOR } else { compile_s };
        let time_s = request.timing.as_ref().map_or(0.0, TimingRequest::case_s);
        let [compile, case, time, own] = [compile_s, case_s, time_s, own_s].map(seconds);
        Self { compile, case, time, own }
    }

    /// Returns the time until the first message of a job must be there.
    pub(super) const fn first() -> Duration {
        FIRST
    }

    /// Returns the time until the next message must be there when the worker waits for the Python
    /// process for at most `limit_s`; it needs some time to give the wait up by itself.
    pub(super) fn while_waiting(self, limit_s: f64, stage: Stage) -> Duration {
        seconds(limit_s).saturating_add(self.after(stage, true))
    }

    /// Returns whether silence in `stage` is the candidate's: its compilation or its timing. Its
    /// code in the others ends by itself, by a limit of the device.
    pub(super) const fn is_candidates(stage: Stage, in_case: bool) -> bool {
        matches!(stage, Stage::Compile) || (matches!(stage, Stage::Time) && in_case)
    }

    /// Returns the time until the next message must be there in `stage`; `in_case` says whether
    /// the last one was the start of a case.
    pub(super) fn after(self, stage: Stage, in_case: bool) -> Duration {
        match stage {
            Stage::Compile => self.compile.saturating_add(Duration::from_secs(1)),
            // The limit of a case ends a kernel that hangs on a GPU, a budget one on the emulator.
            Stage::Emulate | Stage::Execute if in_case => self.own.saturating_add(self.case),
            Stage::Time if in_case => self.case.saturating_add(self.time).saturating_mul(2),
            Stage::Profile => PROFILE,
            Stage::Reference
            | Stage::Emulate
            | Stage::Execute
            | Stage::Time
            | Stage::Extract
            | Stage::Guard
            | Stage::Plan
            | Stage::Link
            | Stage::Done => self.own,
        }
    }
}

/// A limit from the outside may be anything; a year is as good as for ever.
fn seconds(seconds: f64) -> Duration {
    const YEAR_S: f64 = 365.0 * 24.0 * 3600.0;
    Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.001, YEAR_S) } else { YEAR_S })
}

#[cfg(test)]
mod tests {
    use kgen_record::{Implementation, testing};

    use super::*;

    #[test]
    fn compilations_with_headers_of_cutlass_may_take_longer() {
        let plain = testing::request("relu", Implementation::kernel(String::new()), Vec::new());
        let long = EvalRequest { cutlass: true, ..plain.clone() };
        let [plain, long] = [&plain, &long].map(Deadlines::of);
        assert_eq!(long.compile, plain.compile * 3);
        assert_eq!(long.after(Stage::Plan, false), plain.after(Stage::Plan, false));
    }
}
