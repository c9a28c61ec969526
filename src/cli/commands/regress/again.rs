//! Old and new kernels measured again in alternation, on the GPU of the new ones.

use std::{collections::HashMap, path::Path};

use kgen_history::{Entry, Options, Report, Row, Series};
use kgen_record::{BaselineRequest, EvalRequest, Implementation, Profile};
use kgen_settings::{DeviceChoice, Overrides};

use super::RegressArgs;
use crate::cli::{
    CommandError, Context,
    commands::{
        bench::{self, StoredBench},
        history,
    },
    machine, session,
};

/// The name of the old kernel among the baselines of an evaluation.
const OLD: &str = "old";

/// A case whose kernel changed, as a request for its new kernel beside the old one.
struct Pair {
    series: Series,
    request: EvalRequest,
}

/// Measures cases again whose kernels are on record in both entries and differ; their rows are replaced.
///
/// A kernel that did not change needs no measurement to be as fast as before: recorded times of it that
/// differ are of the machine.
pub(super) fn measure(
    context: &Context,
    root: &Path,
    args: &RegressArgs,
    report: &mut Report,
    [old, new]: [&Entry; 2],
    options: &Options,
) -> Result<(), CommandError> {
    let pairs = pairs(root, report, [old, new])?;
    if pairs.is_empty() {
        return Ok(());
    }
    let mut flags = Overrides::default();
    args.device.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let n = pairs.len();
    if machine::device_choice(&settings)? == DeviceChoice::Emu {
        context
            .ui
            .note(&format!("{n} changed kernels are not measured again: there is no GPU here"));
        return Ok(());
    }
    let runtime = session::runtime()?;
    let rows = runtime.block_on(Box::pin(async {
        let machine = machine::start(&context.ui, &settings).await?;
        let rows = if is_here(new, &machine) {
            all(context, &machine, pairs, options).await
        } else {
            context
                .ui
                .note(&format!("{n} changed kernels are not measured again: this GPU is another"));
            Ok(Vec::new())
        };
        machine.pool.shutdown().await;
        rows
    }))?;
    report.replace(rows, options);
    Ok(())
}

/// Returns whether one of the machine's GPUs is that of an entry.
fn is_here(entry: &Entry, machine: &machine::Machine) -> bool {
    let uuid = entry.fingerprint.as_ref().and_then(|of| of.gpu_uuid.as_deref());
    machine.pool.gpus().iter().any(|gpu| {
        let here = gpu.session.as_ref().and_then(|session| session.fingerprint.gpu_uuid.as_deref());
        uuid.is_some() && uuid == here
    })
}

/// Collects the cases whose kernels are on record in both entries and differ.
fn pairs(root: &Path, report: &Report, [old, new]: [&Entry; 2]) -> Result<Vec<Pair>, CommandError> {
    if !bench::exists(root, &old.source) || !bench::exists(root, &new.source) {
        return Ok(Vec::new());
    }
    let (old, new) = (StoredBench::read(root, &old.source)?, StoredBench::read(root, &new.source)?);
    let (of_old, of_new) = (known(&old), known(&new));
    let requests = new.requests();
    let mut pairs = Vec::new();
    for Row { series, ratio, .. } in &report.rows {
        let key = (&*series.op, series.implementation.clone());
        let (Some(before), Some(after)) = (of_old.get(&key), of_new.get(&key)) else { continue };
        let is_kernel = |kernel: &Implementation| matches!(kernel, Implementation::Kernel { .. });
        let changed = is_kernel(before) && is_kernel(after) && before != after;
        let request = requests.get(&(series.op.clone(), series.dtype.clone(), series.args.clone()));
        if let Some(request) = request.filter(|_| changed && ratio.is_some()) {
            pairs.push(Pair { series: series.clone(), request: between(request, before, after) });
        }
    }
    Ok(pairs)
}

/// Returns the implementations of a bench, by op and by the names that they have in other benches too.
fn known(stored: &StoredBench) -> HashMap<(&str, String), &Implementation> {
    let kernels = stored.kernels().into_iter();
    kernels.map(|((op, name), kernel)| ((op, history::unnumbered(name)), kernel)).collect()
}

fn between(request: &EvalRequest, old: &Implementation, new: &Implementation) -> EvalRequest {
    let mut request = EvalRequest { candidate: new.clone(), ..request.clone() };
    if let Some(timing) = &mut request.timing {
        timing.profile = Profile::Standard;
        timing.max_s = None;
        timing.baselines =
            vec![BaselineRequest { name: OLD.to_owned(), implementation: old.clone() }];
    }
    request
}

async fn all(
    context: &Context,
    machine: &machine::Machine,
    pairs: Vec<Pair>,
    options: &Options,
) -> Result<Vec<Row>, CommandError> {
    let bar = context.ui.bar(pairs.len() as u64, "cases measured again");
    let mut rows = Vec::new();
    for Pair { series, request } in pairs {
        let request = EvalRequest { target: machine.pool.target().clone(), ..request };
        let evaluation = Box::pin(machine.pool.evaluate_across(request, &|_| {})).await?;
        bar.inc(1);
        let timing = evaluation.timings.first();
        let paired = timing.and_then(|timing| {
            let baseline = timing.baseline(OLD)?;
            let old_us = baseline.timing.as_ref()?.median_us;
            Some((baseline.comparison?, [old_us, timing.candidate.median_us]))
        });
        match paired {
            Some((comparison, times)) => {
                rows.push(kgen_history::paired(&series, &comparison, times, options));
            }
            None => context.ui.warn(&format!(
                "{} {} {}: not measured again: {}",
                series.op, series.args, series.implementation, evaluation.verdict
            )),
        }
    }
    bar.finish_and_clear();
    Ok(rows)
}
