//! Reference kernels of custom ops: run in f64 on the emulator, wherever the candidate runs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use kgen_device::{Device as _, EmuDevice, Image, LaunchError, ModuleId};
use kgen_ops::op::{Array, Call, Inputs};
use kgen_record::{Case, Emulation, HostTensor, Sanitize, Target, TensorSpec};

use super::{
    CaseProgram, Job, Program,
    arrays::{array, contiguous},
    budget,
    builder::describe_args,
    program::ReferenceProgram,
    session::{InputSource, Modules, Session},
};

/// How a call is run.
#[derive(Clone)]
struct Run {
    reference: Arc<ReferenceProgram>,
    /// Which of the program's cases it is.
    index: usize,
    target: Target,
    lane_instructions: u64,
}

/// The calls of a job that its reference kernel can be run for.
#[derive(Default)]
pub(super) struct ReferenceKernels(Mutex<HashMap<String, Run>>);

/// Names a call: two calls of one name have equal arguments.
fn key(case: &Case) -> String {
    format!("{}\n{}", describe_args(case), case.dtype)
}

/// Keeps the PTX of a program, which does not leave the process by itself.
pub(super) fn portable(program: Program) -> ReferenceProgram {
    ReferenceProgram {
        ptx: program.variants.iter().map(|variant| variant.ptx.clone()).collect(),
        copy_ptx: program.copy.as_ref().map(|copy| copy.ptx.clone()),
        program,
    }
}

/// Lets the reference of a job's op be evaluated for cases.
pub(super) fn enable(job: &Job<'_>, cases: &[Case], reference: &Arc<ReferenceProgram>) {
    let mut runs = job.references.0.lock().unwrap_or_else(PoisonError::into_inner);
    for (index, case) in cases.iter().enumerate() {
        let run = Run {
            reference: Arc::clone(reference),
            index,
            target: job.target.clone(),
            lane_instructions: job.limits.emu_lane_instructions,
        };
        runs.insert(key(case), run);
    }
}

/// Returns why a case has no reference, where that is a kernel and the case is beyond the emulator.
pub(super) fn too_big(job: &Job<'_>, case: &Case) -> Option<String> {
    job.op.reference_kernel.as_ref()?;
    let reason = budget::refusal(job, case, budget::operations(job, case))?;
    Some(format!("its reference runs on the emulator: {reason}"))
}

/// Runs the reference kernel of a call.
pub(super) fn evaluate(
    kernels: &ReferenceKernels,
    call: &Call<'_>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Array>, String> {
    let kernel = call.op.reference_kernel.as_ref().ok_or("the op has none")?;
    let runs = kernels.0.lock().unwrap_or_else(PoisonError::into_inner);
    let run = runs.get(&key(call.case)).cloned();
    drop(runs);
    let run = run.ok_or("it was not compiled for this call")?;
    let case = kernel.in_f64(call.case);
    let specs = call.op.infer(&case).map_err(|error| error.to_string())?;
    let program = run.reference.program.case(run.index).ok_or("its plan declines the case")?;
    let hosts: Vec<HostTensor> = case
        .tensors()
        .zip(inputs.all())
        .map(|((_, tensor), (_, input))| contiguous(&tensor.spec, input.array()))
        .collect();
    let names = call.op.output_names(specs.len());
    let outputs: Vec<(String, TensorSpec)> = names.into_iter().zip(specs).collect();
    let mut device = EmuDevice::new(&run.target);
    device.set_budget(run.lane_instructions);
    device.set_emulation(Emulation { sanitize: Sanitize::Memory, counters: false });
    launch(&mut device, &run.reference, &case, program, &hosts, &outputs).map_err(|error| {
        match error {
            LaunchError::Kernel { verdict, finding, .. } => {
                format!("{verdict}: {}", finding.message)
            }
            LaunchError::Budget { reason, .. } => {
                format!("it takes too long on the emulator: {reason}")
            }
            LaunchError::Machine(error) => error.to_string(),
        }
    })
}

fn launch(
    device: &mut EmuDevice,
    reference: &ReferenceProgram,
    case: &Case,
    program: &CaseProgram,
    hosts: &dyn InputSource,
    outputs: &[(String, TensorSpec)],
) -> Result<Vec<Array>, LaunchError> {
    let mut load =
        |ptx: &str| -> Result<ModuleId, LaunchError> { device.load(&Image { ptx, cubin: &[] }) };
    let candidate = load(&reference.ptx[program.variant])?;
    let modules =
        Modules::loaded(Some(candidate), reference.copy_ptx.as_deref().map(load).transpose()?);
    let session = Session::open(device, case, program, modules, hosts, outputs)?;
    let ran = session.run(device).and_then(|()| {
        let values = outputs
            .iter()
            .enumerate()
            .map(|(index, (_, spec))| Ok(array(spec, &session.output(device, index)?)));
        values.collect()
    });
    session.close(device);
    ran
}
