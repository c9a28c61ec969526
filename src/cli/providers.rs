//! Which LLM provider a command uses.

use std::{path::Path, sync::Arc};

use kgen_llm::{Access, COMMAND_PRESETS, CacheAccess, PRESETS, ProviderConfig};
use kgen_settings::{LlmCache, Settings, env};
use kgen_store::{RecordedRun, ReplyCacheFolder, Run, RunInfo, find_run};

use super::{
    CommandError,
    bundled::{self, UnpackedDemo},
};

/// A provider with its context.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The provider, ready to be called.
    pub(crate) config: ProviderConfig,
    /// The recording that is replayed, by its name, and opened.
    pub(crate) recording: Option<(String, Run)>,
    /// Whether a call may wait for its reply beyond the end of this process.
    pub(crate) calls_wait: bool,
    /// Keeps the unpacked files of the bundled session.
    _demo: Option<UnpackedDemo>,
}

/// Replaces `auto` by the provider whose key is there, else by a replay of the bundled session.
///
/// Returns whether it came to the latter.
pub(crate) fn resolve(settings: &mut Settings) -> bool {
    if settings.llm.provider != "auto" {
        return false;
    }
    if let Some(name) = kgen_llm::auto_provider(&env::secret) {
        name.clone_into(&mut settings.llm.provider);
        return false;
    }
    // A server of one's own may need no key.
    if settings.llm.base_url.is_some() {
        "openai".clone_into(&mut settings.llm.provider);
        return false;
    }
    "replay".clone_into(&mut settings.llm.provider);
    settings.llm.replay = Some(bundled::DEMO.to_owned());
    true
}

/// Opens the provider that the settings name; `auto` must be resolved.
pub(crate) fn open(settings: &Settings) -> Result<Provider, CommandError> {
    let name = settings.llm.provider.as_str();
    if name == "replay" {
        return replay(settings);
    }
    let mut config = kgen_llm::from_settings(
        name,
        &settings.llm,
        &settings.providers,
        &settings.models,
        &env::secret,
    )?;
    let calls_wait = matches!(config.access, Access::Mailbox(_));
    // A person's replies are not kept: the files of the run are theirs.
    if settings.llm.cache != LlmCache::Off && !calls_wait {
        config.cache = Some(kept_replies(settings)?);
    }
    Ok(Provider { config, recording: None, calls_wait, _demo: None })
}

/// Returns the provider that the settings name as far as it is known without its key and without
/// starting anything, for display.
pub(crate) fn described(settings: &Settings) -> Option<ProviderConfig> {
    let mut settings = settings.clone();
    resolve(&mut settings);
    let Settings { llm, providers, models, .. } = &settings;
    // The stand-in for a missing key is sent nowhere.
    let lookup = |name: &str| Some(env::secret(name).unwrap_or_else(|| "none".into()));
    kgen_llm::from_settings(&llm.provider, llm, providers, models, &lookup).ok()
}

fn kept_replies(settings: &Settings) -> Result<CacheAccess, CommandError> {
    let own = settings.llm.cache_dir.clone();
    let Some(dir) = own.or_else(|| env::cache_home().map(|folder| folder.join("llm"))) else {
        return Err(CommandError::config("there is no folder for kept replies")
            .hint("set llm.cache_dir, HOME or XDG_CACHE_HOME"));
    };
    let replies = Arc::new(ReplyCacheFolder::new(dir));
    Ok(CacheAccess { mode: settings.llm.cache, replies, seed: settings.run.seed })
}

/// Returns the facts of the run that is replayed, if one is.
pub(crate) fn recorded(settings: &Settings) -> Result<Option<RunInfo>, CommandError> {
    if settings.llm.provider != "replay" {
        return Ok(None);
    }
    let recording = replay(settings)?.recording;
    Ok(recording.map(|(_, run)| run.info().clone()))
}

fn replay(settings: &Settings) -> Result<Provider, CommandError> {
    let Some(name) = &settings.llm.replay else {
        return Err(CommandError::usage("the provider `replay` needs a run to replay").hint(
            format!("--replay RUN names it; `--replay {}` is the bundled one", bundled::DEMO),
        ));
    };
    let (run, demo) = if name == bundled::DEMO {
        let demo = UnpackedDemo::new()?;
        (demo.run()?, Some(demo))
    } else {
        (Run::open(&find_run(&settings.run.output_dir, name)?)?, None)
    };
    if settings.run.reuse_evals {
        check_rules(run.info(), settings)?;
    }
    let model = run.info().model.clone().unwrap_or_default();
    let access = Access::Replay(Arc::new(RecordedRun::new(run.clone())));
    let config = ProviderConfig::new("replay", &model, settings.llm.concurrency, access);
    let recording = Some((name.clone(), run));
    Ok(Provider { config, recording, calls_wait: false, _demo: demo })
}

/// Refuses to reuse evaluations that were made under other rules.
fn check_rules(recorded: &RunInfo, settings: &Settings) -> Result<(), CommandError> {
    let recorded_suite = &recorded.settings["suite"];
    let recorded_flag = |name: &str| recorded_suite[name].as_bool().unwrap_or_default();
    let suite = &settings.suite;
    let wanted = rules(suite.precision.name(), suite.libraries, suite.cutlass);
    // A recording of an old kgen does not name its precision.
    let precision = recorded_suite["precision"].as_str().unwrap_or(suite.precision.name());
    let made = rules(precision, recorded_flag("libraries"), recorded_flag("cutlass"));
    if made == wanted {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "the evaluations of {} are of {made}, and --reuse-evals would show them as of {wanted}",
        recorded.run_id,
    ))
    .hint("without --reuse-evals the recorded kernels are evaluated anew"))
}

/// Describes the rules of evaluations.
fn rules(precision: &str, libraries: bool, cutlass: bool) -> String {
    let libraries = if libraries { "with" } else { "without" };
    let cutlass = if cutlass { ", with CUTLASS" } else { "" };
    format!("precision {precision}, {libraries} libraries{cutlass}")
}

/// A provider that can be named.
pub(crate) struct Known {
    pub(crate) name: String,
    /// Whether its key is there.
    pub(crate) state: String,
    /// A description in a few words.
    pub(crate) what: String,
    pub(crate) base_url: Option<String>,
}

/// Lists the providers there are.
pub(crate) fn known(settings: &Settings) -> Vec<Known> {
    let mut known = Vec::new();
    for preset in PRESETS {
        let state = preset.key_variable.map_or_else(
            || "no key needed".to_owned(),
            |variable| match env::secret(variable) {
                Some(_) => "has its key".to_owned(),
                None => format!("no {variable}"),
            },
        );
        known.push(Known {
            name: preset.name.to_owned(),
            state,
            what: preset.wire.name().to_owned(),
            base_url: Some(preset.base_url.to_owned()),
        });
    }
    let agents = COMMAND_PRESETS.iter().map(|preset| {
        let program = preset.argv.first().copied().unwrap_or_default();
        (preset.name, format!("the program `{program}`, with the account it is logged in with"))
    });
    let local = LOCAL.iter().map(|(name, what)| (*name, (*what).to_owned()));
    let local = agents.chain(local);
    known.extend(local.map(|(name, what)| Known {
        name: name.to_owned(),
        state: "-".to_owned(),
        what,
        base_url: None,
    }));
    known.extend(settings.providers.iter().map(|(name, provider)| Known {
        name: name.clone(),
        state: "-".to_owned(),
        what: "of the config file".to_owned(),
        base_url: provider.base_url.clone(),
    }));
    known
}

const LOCAL: [(&str, &str); 2] = [
    ("mailbox", "a person or another machine writes the reply files"),
    ("replay", "the replies of another run"),
];

/// Returns whether a folder is one of the sessions that come with kgen, and not a user's run.
pub(crate) fn is_demo(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name == bundled::DEMO || name.starts_with("demo-"))
}
