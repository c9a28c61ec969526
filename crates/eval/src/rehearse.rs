//! Cases run once without being judged, for a profiler or compute-sanitizer to watch.

use kgen_device::Device;
use kgen_record::{EvalRequest, TensorSpec};

use super::{Error, Job, Program, loader::Loader, prepared_case::PreparedCase, session::Session};

/// Runs cases of a program once each; outputs are neither poisoned nor looked at.
///
/// Returns why the run ended early, where a kernel made it end.
///
/// # Errors
///
/// When kgen or its machine failed.
pub fn rehearse(
    request: &EvalRequest,
    program: &Program,
    cases: &[usize],
    device: &mut dyn Device,
) -> Result<Option<String>, Error> {
    let job = Job::resolve(request)?;
    let mut loader = Loader::new(program);
    for &index in cases {
        let (Some(case), Some(steps)) = (job.cases.get(index), program.case(index)) else {
            continue;
        };
        let modules = match loader.modules(device, steps.variant) {
            Ok(modules) => modules,
            Err(error) => return Ok(Some(error.into_refusal()?.1.message)),
        };
        let inputs = PreparedCase::inputs(case, job.seed);
        let specs = job.op.infer(case)?;
        let names = job.op.output_names(specs.len());
        let outputs: Vec<(String, TensorSpec)> = names.into_iter().zip(specs).collect();
        let ran =
            Session::open(device, case, steps, modules, &inputs, &outputs).and_then(|session| {
                let ran = session.run(device);
                session.close(device);
                ran
            });
        if let Err(error) = ran {
            return Ok(Some(error.to_string()));
        }
    }
    Ok(None)
}
