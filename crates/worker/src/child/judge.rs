//! The two halves of an evaluation in a worker: the compiler, or the device it opened at its start.

use std::{
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use kgen_baseline::side::{Sidecar, Sides};
use kgen_compile::{Compiler, Disassembler};
use kgen_device::{CudaDevice, Device as _, GpuLock};
use kgen_eval::{Program, Progress};
use kgen_process::Access;
use kgen_record::{EvalRequest, Evaluation, Implementation, Stage, StageTime, Target};

use crate::{
    profile::{self, Profilers},
    protocol::{FailureCause, Hello, PROTOCOL, Role, Setup},
};

/// The result of one half of an evaluation.
pub struct Half {
    /// The evaluation so far.
    pub evaluation: Evaluation,
    /// The compiled program as one line of JSON, where the second half is to follow.
    pub program: Option<String>,
    /// Whether the worker must end, because its device can no longer be used.
    pub retire: bool,
    /// The processes that must be replaced.
    pub broken: Vec<Sidecar>,
}

/// A job that failed.
pub struct Failure {
    /// The error with its causes.
    pub message: String,
    pub cause: FailureCause,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { message, cause: FailureCause::Machine }
    }
}

impl From<kgen_eval::Error> for Failure {
    fn from(error: kgen_eval::Error) -> Self {
        let cause = if error.is_of_op() { FailureCause::Op } else { FailureCause::Machine };
        Self { message: causes(&error), cause }
    }
}

/// The two halves of an evaluation.
pub trait Judge {
    /// Does the half that needs no GPU.
    ///
    /// # Errors
    ///
    /// Failures of kgen, its machine or the op, never of the candidate.
    fn cpu(
        &mut self,
        request: &EvalRequest,
        sides: &Sides,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure>;

    /// Hears the numbers of the processes beside the GPU's worker before a job there.
    fn set_side_pids(&mut self, side_pids: &[u32]);

    /// Does the half on the GPU; `program` is the line that the first half made, `sides` the GPU's
    /// processes, `usage` how the GPU is used meanwhile.
    ///
    /// # Errors
    ///
    /// Failures of kgen, its machine or the op, never of the candidate.
    fn gpu(
        &mut self,
        request: &EvalRequest,
        evaluation: Evaluation,
        program: &[u8],
        sides: &Sides,
        usage: Access,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure>;
}

/// Opens the compiler or device that the role needs.
pub(super) fn open(
    setup: &Setup,
    disassembler: Disassembler,
) -> Result<(Box<dyn Judge>, Hello), String> {
    let hello = Hello {
        protocol: PROTOCOL,
        kgen: env!("CARGO_PKG_VERSION").to_owned(),
        target: None,
        nvrtc: None,
        session: None,
        sandbox: None,
    };
    match setup.role {
        Role::Cpu => {
            kgen_compile::end_with_memory().map_err(|error| causes(&error))?;
            let compiler = Compiler::open(&setup.toolchain, setup.cache_dir.clone());
            let compiler =
                compiler.map_err(|error| causes(&error))?.with_disassembler(disassembler);
            let (major, minor) = compiler.version();
            let hello = Hello { nvrtc: Some(format!("{major}.{minor}")), ..hello };
            Ok((Box::new(CpuJudge { compiler }), hello))
        }
        Role::Gpu => {
            // The compile cache is a folder of kgen's.
            let cache = setup.cache_dir.as_deref().and_then(Path::parent);
            let profilers = Profilers::new(cache);
            let mut device = CudaDevice::open(setup.device).map_err(|error| causes(&error))?;
            device.set_beside(&setup.side_pids);
            let session = if setup.calibrate {
                let patient = |waited| waited < START_PATIENCE;
                let _lock = lock(device.target(), Access::Exclusive, patient);
                let session = device.begin_session().map_err(|error| causes(&error))?;
                Some(Box::new(session.clone()))
            } else {
                None
            };
            let target = Some(device.target().clone());
            let hello = Hello { target, session, ..hello };
            Ok((Box::new(GpuJudge { device, ordinal: setup.device, profilers }), hello))
        }
    }
}

/// Judges with the compiler and the emulator.
struct CpuJudge {
    compiler: Compiler,
}

impl Judge for CpuJudge {
    fn cpu(
        &mut self,
        request: &EvalRequest,
        sides: &Sides,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        let outcome = kgen_eval::cpu_half(request, &self.compiler, sides, progress)?;
        let program = outcome.program.as_ref().map(serde_json::to_string).transpose();
        let program = program.map_err(|error| format!("the program has no JSON form: {error}"))?;
        let (evaluation, broken) = (outcome.evaluation, sides.broken());
        Ok(Half { evaluation, program, retire: false, broken })
    }

    fn set_side_pids(&mut self, _side_pids: &[u32]) {}

    fn gpu(
        &mut self,
        _request: &EvalRequest,
        _evaluation: Evaluation,
        _program: &[u8],
        _sides: &Sides,
        _usage: Access,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        Err("a cpu worker has no GPU".to_owned().into())
    }
}

/// Time that a worker waits at its start for another kgen to leave the GPU.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// Time between two messages that say that another kgen has the GPU.
const REMINDER: Duration = Duration::from_secs(10);

/// Judges on a GPU.
struct GpuJudge {
    device: CudaDevice,
    ordinal: u32,
    profilers: Profilers,
}

impl Judge for GpuJudge {
    fn cpu(
        &mut self,
        _request: &EvalRequest,
        _sides: &Sides,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        Err("a gpu worker has no compiler".to_owned().into())
    }

    fn set_side_pids(&mut self, side_pids: &[u32]) {
        self.device.set_beside(side_pids);
    }

    fn gpu(
        &mut self,
        request: &EvalRequest,
        evaluation: Evaluation,
        program: &[u8],
        sides: &Sides,
        usage: Access,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        let program: Program = serde_json::from_slice(program)
            .map_err(|error| format!("the program cannot be read: {error}"))?;
        let device = &mut self.device;
        let mut reminder = Duration::ZERO;
        let _lock = lock(device.target(), usage, |waited| {
            if reminder <= waited {
                reminder = waited + REMINDER;
                progress(Progress::Queued);
            }
            true
        });
        if request.timing.is_some() && device.session().is_none() {
            device.begin_session().map_err(|error| causes(&error))?;
        }
        let mut evaluation =
            kgen_eval::gpu_half(request, &program, evaluation, device, sides, progress)?;
        // A context that a fault has poisoned fails every call from then on.
        let lost = self.device.is_lost() || self.device.sync().is_err();
        if !lost {
            self.device.release_all();
            self.profile(request, &program, &mut evaluation, progress);
        }
        // Measurements for claims are made in fresh processes, each with other addresses.
        let n_processes = request.timing.as_ref().map_or(1, |timing| timing.profile.n_processes());
        let retire = lost || n_processes > 1;
        Ok(Half { evaluation, program: None, retire, broken: sides.broken() })
    }
}

impl GpuJudge {
    /// Profiles a right kernel where that is asked for; the GPU is this worker's alone meanwhile.
    fn profile(
        &self,
        request: &EvalRequest,
        program: &Program,
        evaluation: &mut Evaluation,
        progress: &mut dyn FnMut(Progress),
    ) {
        let Some(wanted) = &request.profile else { return };
        if !evaluation.verdict.is_pass()
            || !matches!(request.candidate, Implementation::Kernel { .. })
        {
            return;
        }
        progress(Progress::Stage { stage: Stage::Profile });
        let began = Instant::now();
        let job = profile::Job { request, wanted, evaluation, program, device: self.ordinal };
        let profile = profile::profile(&job, &self.profilers);
        evaluation.profile = Some(Box::new(profile));
        let seconds = began.elapsed().as_secs_f64();
        evaluation.stage_times.push(StageTime { stage: Stage::Profile, seconds });
    }
}

/// Waits until the GPU may be used so; where that cannot be made sure, the evaluation goes on and
/// the log says so.
fn lock(target: &Target, usage: Access, waited: impl FnMut(Duration) -> bool) -> Option<GpuLock> {
    match GpuLock::wait(target.uuid.as_deref()?, usage, waited) {
        Ok(Some(lock)) => return Some(lock),
        Ok(None) => tracing::warn!("another kgen measures on this GPU"),
        Err(error) => tracing::warn!(%error, "the GPU cannot be locked against another kgen"),
    }
    None
}

/// Returns an error and its causes in one line.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
