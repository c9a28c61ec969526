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
    let names = &settings.timing.baselines;
    let mut baselines = BTreeMap::new();
    for op in &selection.ops {
        baselines.insert(op.name.clone(), baseline::requests(names, &op.name)?);
    }
    Ok(SuiteMaterial {
        suite: selection.suite.clone(),
        dtypes: settings.suite.dtypes.clone(),
        prompts: Prompts::load(settings.prompts.dir.as_deref())?,
        target: target.clone(),
        timing: (can_time && settings.timing.enabled).then(|| settings.timing.clone()),
        baseline: names.first().map_or(baseline::BUILTIN, String::as_str).to_owned(),
        baselines,
        target_speedup: settings.run.target_speedup,
        max_variants: settings.limits.max_variants,
        precision: settings.suite.precision,
    })
}
