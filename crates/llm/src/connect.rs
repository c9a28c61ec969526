//! From settings to a provider that is ready to be called.

use std::{collections::BTreeMap, time::Duration};

use kgen_settings::{LlmCache, LlmSettings, ModelSettings, ProviderSettings};
use secrecy::{ExposeSecret, SecretString};

use super::{
    Access, COMMAND_PRESETS, CommandAccess, CommandOutput, Error, HttpAccess, MailboxAccess,
    Preset, ProviderConfig, RateLimits, RetryPolicy, Thinking, check, command_preset,
    config::PRESETS,
    preset,
    wire::{self, OpenAiChat, WIRES},
};

/// The kind of a configured provider that is a program.
const COMMAND: &str = "command";

/// Looks up an environment variable that may hold a secret.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<SecretString>;

/// Returns the provider that `auto` stands for: the first of anthropic and openai whose key is
/// there.
#[must_use]
pub fn auto_provider(lookup: Lookup<'_>) -> Option<&'static str> {
    let has_key = |preset: &&Preset| preset.key_variable.and_then(lookup).is_some();
    ["anthropic", "openai"].into_iter().filter_map(preset).find(has_key).map(|preset| preset.name)
}

/// Resolves the provider `name`: a configured one, a preset or `mailbox`. Settings that contradict
/// each other, or the facts of the model, are refused here, before anything is sent.
///
/// `replay` is set up by whoever opens the recording: [`Access::Replay`].
///
/// # Errors
///
/// [`Error::NoKey`] or [`Error::Config`].
pub fn from_settings(
    name: &str,
    llm: &LlmSettings,
    providers: &BTreeMap<String, ProviderSettings>,
    models: &BTreeMap<String, ModelSettings>,
    lookup: Lookup<'_>,
) -> Result<ProviderConfig, Error> {
    check::models(models).map_err(|message| config(name, message))?;
    for (name, own) in providers {
        let mut kinds: Vec<_> = WIRES.iter().map(|wire| wire.name()).chain([COMMAND]).collect();
        if !kinds.contains(&own.kind.as_str()) {
            kinds.sort_unstable();
            let message = format!("its kind `{}` is none of {}", own.kind, kinds.join(", "));
            return Err(config(name, message));
        }
    }
    let settings = providers.get(name);
    let known = preset(name);
    let access = match (settings, known) {
        (Some(own), _) if own.kind == COMMAND => command(name, llm, settings, lookup)?,
        (None, None) if command_preset(name).is_some() => command(name, llm, None, lookup)?,
        (Some(_), _) | (None, Some(_)) => http(name, llm, settings, known, lookup)?,
        (None, None) if name == "mailbox" => Access::Mailbox(MailboxAccess {
            wait: seconds(llm.mailbox_wait_s),
            ..MailboxAccess::default()
        }),
        (None, None) => return Err(config(name, unknown(name, providers))),
    };
    let model = llm
        .model
        .clone()
        .or_else(|| settings.and_then(|settings| settings.model.clone()))
        .or_else(|| known.and_then(|preset| preset.model).map(str::to_owned));
    let model = match (model, &access) {
        (Some(model), _) => model,
        (None, Access::Http(_)) => {
            return Err(config(name, "no model is named: give one with --llm-model".to_owned()));
        }
        (None, Access::Command(_) | Access::Mailbox(_) | Access::Replay(_)) => String::new(),
    };
    let concurrency = match &access {
        // A person answers in any order, and wants to see all prompts.
        Access::Mailbox(_) => usize::MAX,
        Access::Http(_) | Access::Command(_) | Access::Replay(_) => llm.concurrency,
    };
    let limits = RateLimits {
        concurrency,
        requests_per_minute: llm.requests_per_minute.map(u64::from),
        tokens_per_minute: llm.tokens_per_minute,
        max_wait: Some(seconds(llm.max_wait_s)),
    };
    let abilities = models.get(&model).cloned().unwrap_or_default();
    let provider = ProviderConfig {
        limits,
        abilities,
        ..ProviderConfig::new(name, &model, concurrency, access)
    };
    check::settings(llm, &provider).map_err(|message| config(name, message))?;
    Ok(provider)
}

fn http(
    name: &str,
    llm: &LlmSettings,
    settings: Option<&ProviderSettings>,
    known: Option<&'static Preset>,
    lookup: Lookup<'_>,
) -> Result<Access, Error> {
    let configured = settings.and_then(|settings| wire::wire(&settings.kind));
    let wire = configured.or(known.map(|preset| preset.wire)).unwrap_or(&OpenAiChat);
    // A configured provider of a preset's name and kind keeps the other fields.
    let known = known.filter(|preset| preset.wire.name() == wire.name());
    let base_url = llm
        .base_url
        .clone()
        .or_else(|| settings.and_then(|settings| settings.base_url.clone()))
        .or_else(|| {
            let variable = known.and_then(|preset| preset.base_url_variable)?;
            lookup(variable).map(|url| url.expose_secret().to_owned())
        });
    let is_own_url = base_url.is_some();
    let Some(base_url) = base_url.or_else(|| known.map(|preset| preset.base_url.to_owned())) else {
        return Err(config(name, format!("set `base_url` in [providers.{name}]")));
    };
    let named = llm.key_env.clone().or_else(|| settings.and_then(|s| s.key_env.clone()));
    // A server of one's own may need no key, unless a variable was named for it.
    let key_required = named.is_some() || !is_own_url;
    let key_variable =
        named.or_else(|| known.and_then(|preset| preset.key_variable).map(str::to_owned));
    let key = key_variable.as_deref().and_then(lookup);
    // A kept reply needs no key.
    if let (Some(variable), None) = (&key_variable, &key)
        && key_required
        && llm.cache != LlmCache::Only
    {
        return Err(Error::NoKey { provider: name.to_owned(), variable: variable.clone() });
    }
    let mut access = match known {
        Some(preset) => HttpAccess::new(preset, key),
        None => HttpAccess::of_wire(wire, key),
    };
    access.base_url = base_url;
    access.key_variable = key_variable;
    access.effort = llm.effort;
    access.thinking = llm.thinking.as_deref().and_then(Thinking::parse);
    // A mark in a prompt is a part of the format; OpenAI's key is one of its own servers.
    let takes_key = !is_own_url && known.is_some_and(|preset| preset.cache_key);
    access.prompt_cache = llm.prompt_cache && (wire.marks_cached_prompts() || takes_key);
    if let Some(settings) = settings {
        access.extra_body = settings.extra_body.clone();
        access.drop.clone_from(&settings.drop);
        access.stream = settings.stream.unwrap_or(access.stream);
        if let Some(version) = &settings.version {
            access.anthropic_version.clone_from(version);
        }
    }
    access.connect_timeout = seconds(llm.connect_timeout_s);
    access.idle_timeout = seconds(llm.idle_timeout_s);
    access.response_timeout = seconds(llm.total_timeout_s);
    access.retry = RetryPolicy {
        max_tries: llm.retries.saturating_add(1),
        total: seconds(llm.total_timeout_s),
        max_outage: seconds(llm.max_wait_s),
        ..RetryPolicy::default()
    };
    Ok(Access::Http(Box::new(access)))
}

fn command(
    name: &str,
    llm: &LlmSettings,
    settings: Option<&ProviderSettings>,
    lookup: Lookup<'_>,
) -> Result<Access, Error> {
    let known = command_preset(name);
    let preset = known.map(|preset| preset.access(llm.effort, None, Duration::ZERO));
    let own = settings.and_then(|settings| settings.command.clone());
    let is_own = own.is_some();
    let argv = own.or_else(|| preset.as_ref().map(|preset| preset.argv.clone()));
    let argv = argv.unwrap_or_default();
    if argv.is_empty() {
        let message = format!("set `command` in [providers.{name}] to a program and its arguments");
        return Err(config(name, message));
    }
    let output = match (settings, preset) {
        (Some(settings), None) => own_output(settings),
        (Some(settings), Some(_)) if is_own => own_output(settings),
        (_, Some(preset)) => preset.output,
        (None, None) => CommandOutput::default(),
    };
    let variable = settings.and_then(|settings| settings.key_env.clone());
    let key = match variable.filter(|_| llm.cache != LlmCache::Only) {
        Some(variable) => {
            let key = lookup(&variable).ok_or_else(|| Error::NoKey {
                provider: name.to_owned(),
                variable: variable.clone(),
            })?;
            Some((variable, key))
        }
        None => None,
    };
    Ok(Access::Command(CommandAccess {
        argv,
        effort: llm.effort,
        output,
        key,
        deadline: seconds(llm.total_timeout_s),
    }))
}

fn own_output(settings: &ProviderSettings) -> CommandOutput {
    CommandOutput {
        reply_pointer: settings.reply_pointer.clone(),
        reply_file: settings.reply_file.clone(),
        usage_pointer: settings.usage_pointer.clone(),
        cost_pointer: settings.cost_pointer.clone(),
    }
}

fn config(name: &str, message: String) -> Error {
    Error::Config { provider: name.to_owned(), message }
}

fn unknown(name: &str, providers: &BTreeMap<String, ProviderSettings>) -> String {
    let presets = PRESETS.iter().map(|preset| preset.name);
    let own = providers.keys().map(String::as_str);
    let agents = COMMAND_PRESETS.iter().map(|preset| preset.name);
    let names: Vec<_> = presets.chain(agents).chain(["mailbox", "replay"]).chain(own).collect();
    match kgen_ops::nearest(name, names.iter().copied()) {
        Some(near) => format!("there is no such provider; did you mean `{near}`?"),
        None => format!("there is no such provider (known: {})", names.join(", ")),
    }
}

/// Seconds below zero or beyond any clock become zero or the longest time there is.
fn seconds(value: f64) -> Duration {
    if value <= 0.0 {
        return Duration::ZERO;
    }
    // Far beyond any run, and still safe to add to an instant.
    const LONGEST: Duration = Duration::from_secs(1 << 32);
    Duration::try_from_secs_f64(value).unwrap_or(LONGEST).min(LONGEST)
}
