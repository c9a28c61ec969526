//! The material of a run, put together from the settings.

use std::{collections::BTreeMap, path::Path};

use kgen_agent::SuiteInputs;
use kgen_baseline::{BUILTIN, python};
use kgen_llm::ProviderConfig;
use kgen_ops::op::OpDef;
use kgen_prompt::Prompts;
use kgen_record::{Case, EvalRequest, Implementation, PythonKind, Target};
use kgen_settings::Settings;
use kgen_worker::Pool;

use super::{CommandError, selection::Selection, ui::Ui};

/// The setting that stands for the baselines of the machine.
const AUTO: &str = "auto";

/// Returns whether a baseline that was asked for runs in Python; looks at every name, and for the folders
/// among them.
pub(crate) fn wants_python(settings: &Settings) -> Result<bool, CommandError> {
    let mut wanted = false;
    for name in settings.timing.baselines.iter().filter(|name| *name != AUTO) {
        wanted |= kgen_baseline::needs_python(name)?;
        if let Some((_, folder)) = name.split_once('=').filter(|(_, at)| !Path::new(at).is_dir()) {
            return Err(CommandError::config(format!(
                "there is no folder `{folder}` for the baseline `{name}`"
            ))
            .hint("a folder as BackendBench makes it: relu__default/relu__default_...py"));
        }
    }
    Ok(wanted)
}

/// Resolves `auto` among the baselines: PyTorch's operators, where a GPU and a
/// Python with PyTorch are found, then kgen's own kernels. Says once where one that was asked for
/// cannot be had.
pub(crate) fn resolve_baselines(
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
    let mut distinct: Vec<String> = Vec::new();
    for name in &timing.baselines {
        let names = match name.as_str() {
            AUTO if has_torch => vec![PythonKind::Aten.name(), BUILTIN],
            AUTO => vec![BUILTIN],
            name => vec![name],
        };
        for name in names {
            if !distinct.iter().any(|known| known == name) {
                distinct.push(name.to_owned());
            }
        }
    }
    timing.baselines = distinct;
    Ok(())
}

/// Collects suite, prompts and baselines for a device; `provider` is whom the prompts go to.
pub(crate) fn inputs(
    settings: &Settings,
    selection: &Selection,
    target: &Target,
    can_time: bool,
    provider: Option<&ProviderConfig>,
) -> Result<SuiteInputs, CommandError> {
    let names = &settings.timing.baselines;
    let mut baselines = BTreeMap::new();
    for op in &selection.ops {
        baselines.insert(op.name.clone(), kgen_baseline::requests(names, op)?);
    }
    Ok(SuiteInputs {
        suite: selection.suite.clone(),
        dtypes: settings.suite.dtypes.clone(),
        prompts: Prompts::load(settings.prompts.dir.as_deref())?,
        target: target.clone(),
        timing: (can_time && settings.timing.enabled).then(|| settings.timing.clone()),
        baseline: names.first().map_or(kgen_baseline::BUILTIN, String::as_str).to_owned(),
        baselines,
        target_speedup: settings.run.target_speedup,
        max_variants: settings.limits.max_variants,
        precision: settings.suite.precision,
        libraries: settings.suite.libraries,
        cutlass: settings.suite.cutlass,
        feedback: settings.feedback.kinds,
        prompt_tokens: prompt_tokens(settings, provider),
    })
}

/// Returns the request for an evaluation of a kernel file on a pool's device, without timing or profile.
pub(crate) fn request(
    settings: &Settings,
    op: &OpDef,
    kernel: String,
    cases: Vec<Case>,
    seed: u64,
    pool: &Pool,
) -> EvalRequest {
    EvalRequest {
        op: op.name.clone(),
        definition: op.definition.clone(),
        candidate: Implementation::kernel(kernel),
        cases,
        ..request_of(settings, seed, pool)
    }
}

/// Returns a request with all that settings and device decide, without op, candidate and cases.
pub(crate) fn request_of(settings: &Settings, seed: u64, pool: &Pool) -> EvalRequest {
    EvalRequest {
        op: String::new(),
        definition: None,
        candidate: Implementation::kernel(""),
        params: BTreeMap::default(),
        compile_only: false,
        count_code: true,
        profile: None,
        cases: Vec::new(),
        seed,
        target: pool.target().clone(),
        on_gpu: pool.has_gpu(),
        screen: settings.device.screen,
        precision: settings.suite.precision,
        libraries: settings.suite.libraries,
        cutlass: settings.suite.cutlass,
        emulation: settings.device.emulation(),
        limits: settings.limits.into(),
        timing: None,
    }
}

/// Returns the tokens that a prompt may have: the setting, and no more than the model's context
/// holds beside a reply.
///
/// The provider says which model that is: it may be its own, or its preset's.
fn prompt_tokens(settings: &Settings, provider: Option<&ProviderConfig>) -> u64 {
    let limit = settings.feedback.prompt_tokens;
    let Some(provider) = provider else { return limit };
    let context = settings.models.get(&provider.model).and_then(|model| model.context_tokens);
    let max_tokens = settings.llm.max_tokens;
    let reply = provider.reply_limit(max_tokens).unwrap_or(max_tokens.into());
    context.map_or(limit, |context| limit.min(context.saturating_sub(reply)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_settings::{Overrides, resolve_with};

    #[test]
    fn a_prompt_leaves_room_for_the_reply_of_the_model_that_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let config = "[llm]\nmax_tokens = 1000\n\
                      [models.gpt-6-sol]\ncontext_tokens = 9000\n\
                      [models.own]\ncontext_tokens = 9000\n\
                      [providers.server]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1\"\n\
                      model = \"own\"\nextra_body = { max_tokens = 3000 }";
        std::fs::write(&file, config).unwrap();
        let resolved = resolve_with(Some(&file), &|_| None, &Overrides::default());
        let settings = resolved.unwrap().settings;
        let tokens = |name: &str| {
            let Settings { llm, providers, models, .. } = &settings;
            let key = |name: &str| name.ends_with("_KEY").then(|| "sk-0123456789".into());
            let provider = kgen_llm::from_settings(name, llm, providers, models, &key).unwrap();
            prompt_tokens(&settings, Some(&provider))
        };
        assert_eq!((tokens("openai"), tokens("server")), (8_000, 6_000));
        assert_eq!(tokens("anthropic"), settings.feedback.prompt_tokens);
    }
}
