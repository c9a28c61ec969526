//! The material of a run, put together from the settings.

use std::{collections::BTreeMap, path::Path};

use super::{CommandError, machine, selection::Selection, ui::Ui};
use crate::{
    agent::SuiteMaterial,
    baseline::{self, BUILTIN, python},
    prompt::Prompts,
    record::{PythonKind, Target},
    settings::{DeviceChoice, Overrides, Settings},
};

/// The setting that stands for what the machine has.
const AUTO: &str = "auto";

/// Flags that say how kernels are timed and profiled.
const GPU_FLAGS: [&str; 6] = ["timing", "baseline", "l2", "graph", "compat", "profile"];

/// Warns of flags that do nothing on the emulator.
pub(crate) fn warn_of_idle_flags(
    ui: &Ui,
    settings: &Settings,
    flags: &Overrides,
) -> Result<(), CommandError> {
    let given = flags.flags().filter(|flag| GPU_FLAGS.contains(flag));
    let given: Vec<String> = given.map(|flag| format!("--{flag}")).collect();
    if !given.is_empty() && machine::device_choice(settings)? == DeviceChoice::Emu {
        let given = given.join(", ");
        ui.warn(&format!(
            "{given}: of no effect on the emulator, which neither times nor profiles"
        ));
    }
    Ok(())
}

/// Tells whether a baseline that was asked for runs in Python; looks at every name, and for the folders
/// among them.
pub(crate) fn wants_python(settings: &Settings) -> Result<bool, CommandError> {
    let mut wanted = false;
    for name in settings.timing.baselines.iter().filter(|name| *name != AUTO) {
        wanted |= baseline::needs_python(name)?;
        if let Some((_, folder)) = name.split_once('=').filter(|(_, at)| !Path::new(at).is_dir()) {
            return Err(CommandError::config(format!(
                "there is no folder `{folder}` for the baseline `{name}`"
            ))
            .hint("a folder as BackendBench makes it: relu__default/relu__default_...py"));
        }
    }
    Ok(wanted)
}

/// Settles what `auto` stands for among the baselines: PyTorch's operators, where a GPU and a
/// Python with PyTorch are found, then kgen's own kernels. Says once where one that was asked for
/// cannot be had.
pub(crate) fn settle_baselines(
    ui: &Ui,
    settings: &mut Settings,
    has_gpu: bool,
) -> Result<(), CommandError> {
    let asked_for = wants_python(settings)?;
    let timing = &mut settings.timing;
    let is_auto = timing.baselines.iter().any(|name| name == AUTO);
    if !has_gpu && timing.enabled && timing.baselines.iter().any(|name| name != AUTO) {
        let names = timing.baselines.join(", ");
        ui.note(&format!("nothing is timed without a GPU: {names} is not used as a baseline"));
    }
    let concerned = has_gpu && timing.enabled && (is_auto || asked_for);
    let python = concerned.then(|| python::find(settings.python.path.as_deref()));
    if let Some(Err(missing)) = &python
        && asked_for
    {
        ui.warn(&missing.to_string());
    }
    let has_torch = matches!(python, Some(Ok(_)));
    let mut settled: Vec<String> = Vec::new();
    for name in &timing.baselines {
        let names = match name.as_str() {
            AUTO if has_torch => vec![PythonKind::Aten.name(), BUILTIN],
            AUTO => vec![BUILTIN],
            name => vec![name],
        };
        for name in names {
            if !settled.iter().any(|known| known == name) {
                settled.push(name.to_owned());
            }
        }
    }
    timing.baselines = settled;
    Ok(())
}

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
        baselines.insert(op.name.clone(), baseline::requests(names, op)?);
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
        feedback: settings.feedback.kinds,
        prompt_tokens: prompt_tokens(settings),
    })
}

/// Returns the tokens that a prompt may have: what is set, and no more than the model's context
/// holds beside a reply.
fn prompt_tokens(settings: &Settings) -> u64 {
    let limit = settings.feedback.prompt_tokens;
    let model = settings.llm.model.as_ref().and_then(|name| settings.models.get(name));
    let context = model.and_then(|model| model.context_tokens);
    let reply = u64::from(settings.llm.max_tokens);
    context.map_or(limit, |context| limit.min(context.saturating_sub(reply)))
}
