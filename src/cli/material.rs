//! The material of a run, put together from the settings.

use std::collections::BTreeMap;

use super::{CommandError, selection::Selection};
use crate::{agent::SuiteMaterial, baseline, prompt::Prompts, record::Target, settings::Settings};

/// Collects suite, prompts and baselines for a device.
pub(crate) fn material(
    settings: &Settings,
    selection: &Selection,
    target: &Target,
    can_time: bool,
) -> Result<SuiteMaterial, CommandError> {
    let baselines: BTreeMap<_, _> = selection
        .ops
        .iter()
        .filter_map(|op| Some((op.name.clone(), baseline::builtin(&op.name)?.to_owned())))
        .collect();
    Ok(SuiteMaterial {
        suite: selection.suite.clone(),
        dtypes: settings.suite.dtypes.clone(),
        prompts: Prompts::load(settings.prompts.dir.as_deref())?,
        target: target.clone(),
        timing: (can_time && settings.timing.enabled).then_some(settings.timing),
        baseline: baseline::BUILTIN.to_owned(),
        baselines,
        target_speedup: settings.run.target_speedup,
        max_variants: settings.limits.max_variants,
        precision: settings.suite.precision,
    })
}
