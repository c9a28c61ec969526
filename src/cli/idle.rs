//! Flags that do nothing beside the others: each is named in a warning with the reason. Two that
//! contradict each other are refused.

use kgen_llm::Access;
use kgen_record::{PythonKind, Strategy};
use kgen_settings::{DeviceChoice, Overrides, Settings};

use super::{CommandError, backends::Backend, machine, providers, ui::Ui};

/// Flags about a model, its budget and the search.
const MODEL: &[&str] = &[
    "provider",
    "llm-model",
    "base-url",
    "replay",
    "reuse-evals",
    "effort",
    "thinking",
    "llm-cache",
    "mailbox-wait",
    "max-attempts",
    "target-speedup",
    "strategy",
    "samples",
    "width",
    "depth",
    "planner",
    "prompt-tokens",
    "max-cost",
    "max-total-tokens",
    "max-calls",
    "max-time",
    "max-cost-per-op",
    "max-tokens-per-op",
    "max-calls-per-op",
    "max-time-per-op",
];

/// Flags about times, which only a GPU gives, and about its work.
const GPU: &[&str] = &[
    "timing",
    "baseline",
    "l2",
    "graph",
    "compat",
    "profile",
    "target-speedup",
    "no-screen",
    "seeds",
];

/// Flags about times.
const TIMES: &[&str] = &["baseline", "l2", "graph", "compat", "target-speedup"];

/// Flags of requests over HTTP.
const REQUEST: &[&str] = &["llm-model", "base-url", "effort", "thinking", "llm-cache"];

/// Flags with the reason why they do nothing.
type Idle = (&'static [&'static str], String);

/// Warns of flags that do nothing. `backend`: where kernels come from; `None` for a file.
///
/// # Errors
///
/// A recording beside another provider; a device that does not exist.
pub(crate) fn warn_of_idle_flags(
    ui: &Ui,
    settings: &Settings,
    flags: &Overrides,
    backend: Option<Backend>,
) -> Result<(), CommandError> {
    let given: Vec<&str> = flags.flags().collect();
    let mut idle = match backend {
        None => Vec::new(),
        Some(Backend::Llm) => {
            refuse_two_providers(settings, &given)?;
            beside_the_model(settings)
        }
        Some(backend) => beside_the_backend(backend),
    };
    idle.extend(beside_the_suite(settings));
    if settings.device.launch.is_empty() {
        idle.push((&["launch-workers", "launch-wait"], "without --launch".to_owned()));
    }
    if given.iter().any(|flag| GPU.contains(flag))
        && machine::device_choice(settings)? == DeviceChoice::Emu
    {
        let reason = "on the emulator, which neither times nor profiles";
        idle.push((GPU, reason.to_owned()));
    } else if !settings.timing.enabled {
        idle.push((TIMES, "where nothing is timed".to_owned()));
    }
    let mut named = Vec::new();
    for (flags, reason) in idle {
        let found = given.iter().filter(|flag| flags.contains(flag) && !named.contains(*flag));
        let found: Vec<&str> = found.copied().collect();
        if !found.is_empty() {
            let list = found.iter().map(|flag| format!("--{flag}")).collect::<Vec<_>>().join(", ");
            ui.warn(&format!("{list}: of no effect {reason}"));
            named.extend(found);
        }
    }
    Ok(())
}

/// Refuses a recording that no provider would replay.
fn refuse_two_providers(settings: &Settings, given: &[&str]) -> Result<(), CommandError> {
    let provider = settings.llm.provider.as_str();
    if given.contains(&"replay") && given.contains(&"provider") && provider != "replay" {
        let message = format!("--replay and --provider {provider} contradict each other");
        return Err(CommandError::usage(message)
            .hint("a replay asks no provider: --replay alone takes the recorded replies"));
    }
    Ok(())
}

/// Flags that do nothing with this provider and this search.
fn beside_the_model(settings: &Settings) -> Vec<Idle> {
    let mut idle: Vec<Idle> = Vec::new();
    let strategy = settings.search.strategy;
    if strategy != Strategy::BestOf {
        idle.push((&["samples"], format!("with the strategy {}", strategy.name())));
    }
    if strategy != Strategy::Beam {
        idle.push((&["width", "depth"], format!("with the strategy {}", strategy.name())));
    }
    let is_replay = settings.llm.provider == "replay";
    let access = providers::described(settings).map(|provider| provider.access);
    let is_mailbox = matches!(access, Some(Access::Mailbox(_)));
    if is_replay {
        idle.push((REQUEST, "in a replay, which asks no model".to_owned()));
    } else {
        idle.push((&["reuse-evals"], "without a replay".to_owned()));
    }
    if is_mailbox {
        idle.push((&["base-url", "llm-cache"], "with a mailbox".to_owned()));
    } else if is_replay || access.is_some() {
        idle.push((&["mailbox-wait"], format!("with the provider {}", settings.llm.provider)));
    }
    if matches!(access, Some(Access::Command(_))) {
        idle.push((&["base-url"], "with a command".to_owned()));
    }
    idle
}

/// Flags that do nothing where kernels are given.
fn beside_the_backend(backend: Backend) -> Vec<Idle> {
    let mut idle: Vec<Idle> =
        vec![(MODEL, format!("with the backend {}, which asks no model", backend.name()))];
    if !matches!(backend, Backend::Pregenerated | Backend::Python(PythonKind::Triton)) {
        let reason = format!("with the backend {}, which reads no folder", backend.name());
        idle.push((&["kernels-dir"], reason));
    }
    idle
}

/// The suite where an op of one's own takes its place.
fn beside_the_suite(settings: &Settings) -> Vec<Idle> {
    let own_op = settings.suite.op_file.is_some();
    own_op
        .then(|| (&["suite"][..], "with --op-file, which takes its place".to_owned()))
        .into_iter()
        .collect()
}
