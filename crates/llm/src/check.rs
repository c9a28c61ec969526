//! Settings that contradict each other, the provider or the facts of the model: refused before
//! anything is sent, with the way out. Settings without known limits are not checked.

use std::collections::BTreeMap;

use kgen_settings::{Effort, LlmSettings, ModelSettings};
use serde_json::Value;

use super::{Access, Call, CommandAccess, Error, HttpAccess, ProviderConfig, Thinking, size};

/// Checks the settings of a provider; the error is in words for the user.
pub(super) fn settings(llm: &LlmSettings, provider: &ProviderConfig) -> Result<(), String> {
    let thinking = llm.thinking.as_deref().and_then(Thinking::parse);
    match &provider.access {
        Access::Mailbox(_) | Access::Replay(_) => return Ok(()),
        Access::Http(access) => {
            model(llm, thinking, provider)?;
            limits(llm, thinking)?;
            http(llm, thinking, access)?;
        }
        Access::Command(access) => {
            model(llm, thinking, provider)?;
            command(llm, thinking, access, &provider.model)?;
        }
    }
    match (llm.effort, thinking) {
        (Some(Effort::None), Some(Thinking::Adaptive | Thinking::Tokens(_))) => {
            Err("llm.effort = \"none\" and llm.thinking contradict each other".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks the tables of all models by themselves; the error names the key.
pub(super) fn models(models: &BTreeMap<String, ModelSettings>) -> Result<(), String> {
    for (name, model) in models {
        let key = |key: &str| format!("[models.\"{name}\"].{key}");
        let limits = [
            ("context_tokens", model.context_tokens),
            ("max_output_tokens", model.max_output_tokens.map(u64::from)),
        ];
        if let Some((limit, _)) = limits.iter().find(|(_, tokens)| *tokens == Some(0)) {
            return Err(format!("{} is 0: leave it out where it is not known", key(limit)));
        }
        let is_known = |word: &&String| *word == "tokens" || Thinking::parse(word).is_some();
        let words = model.thinking.iter().flatten();
        if let Some(word) = words.into_iter().find(|word| !is_known(word)) {
            return Err(format!(
                "{} holds `{word}`, which is not adaptive, off, tokens or a number of them",
                key("thinking")
            ));
        }
    }
    Ok(())
}

/// Checks the limits in the model's table.
fn model(
    llm: &LlmSettings,
    thinking: Option<Thinking>,
    provider: &ProviderConfig,
) -> Result<(), String> {
    let (name, can) = (&provider.model, &provider.abilities);
    let says = format!("says [models.\"{name}\"]");
    let context = can.context_tokens.map(|tokens| tokens.saturating_sub(1));
    let most = can.max_output_tokens.map(u64::from).into_iter().chain(context).min();
    if let Some(most) = most.filter(|most| *most < u64::from(llm.max_tokens)) {
        let max_tokens = llm.max_tokens;
        return Err(format!(
            "llm.max_tokens is {max_tokens}, but `{name}` writes at most {most} tokens, {says}"
        ));
    }
    if llm.temperature.is_some() && can.temperature == Some(false) {
        return Err(format!("`{name}` takes no temperature, {says}: unset llm.temperature"));
    }
    if let (Some(effort), Some(takes)) = (llm.effort, &can.efforts)
        && !takes.contains(&effort)
    {
        let takes = list(takes.iter().map(|effort| effort.name()));
        let effort = effort.name();
        return Err(format!("`{name}` takes no effort `{effort}` but {takes}, {says}"));
    }
    if let (Some(thinking), Some(takes)) = (thinking, &can.thinking)
        && !takes
            .iter()
            .any(|word| word == thinking.word() || Thinking::parse(word) == Some(thinking))
    {
        let (word, takes) = (thinking.word(), list(takes.iter().map(String::as_str)));
        return Err(format!("`{name}` takes no thinking `{word}` but {takes}, {says}"));
    }
    Ok(())
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn limits(llm: &LlmSettings, thinking: Option<Thinking>) -> Result<(), String> {
    let max_tokens = llm.max_tokens;
    if let Some(limit) = llm.tokens_per_minute.filter(|limit| *limit < u64::from(max_tokens)) {
        return Err(format!(
            "llm.tokens_per_minute is {limit}, less than the {max_tokens} that one reply may have \
             (llm.max_tokens)"
        ));
    }
    match thinking {
        Some(Thinking::Tokens(tokens)) if max_tokens <= tokens => Err(format!(
            "llm.thinking is {tokens}, which leaves nothing of llm.max_tokens = {max_tokens} for the \
             reply itself"
        )),
        _ => Ok(()),
    }
}

fn http(llm: &LlmSettings, thinking: Option<Thinking>, access: &HttpAccess) -> Result<(), String> {
    access.wire.check(llm, thinking, access)?;
    for (setting, field) in fields(llm, thinking, access) {
        if access.extra_body.contains_key(field) {
            return Err(format!("{setting} and `{field}` in `extra_body` contradict each other"));
        }
        if access.drop.iter().any(|dropped| dropped == field) {
            return Err(format!("{setting} is set and `drop` leaves `{field}` out: keep one"));
        }
    }
    Ok(())
}

/// Lists the settings that were set, each with the field of the request that it becomes.
fn fields(
    llm: &LlmSettings,
    thinking: Option<Thinking>,
    access: &HttpAccess,
) -> Vec<(&'static str, &'static str)> {
    let (effort, think) = access.wire.reasoning_fields(access);
    let set = [
        (llm.temperature.is_some(), "llm.temperature", "temperature"),
        (llm.effort.is_some(), "llm.effort", effort),
        (thinking.is_some(), "llm.thinking", think),
    ];
    set.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, name, field)| (name, field)).collect()
}

fn command(
    llm: &LlmSettings,
    thinking: Option<Thinking>,
    access: &CommandAccess,
    model: &str,
) -> Result<(), String> {
    let place = |name: &str| access.argv.iter().position(|arg| arg.contains(name));
    if llm.effort.is_some() && place("{effort}").is_none() {
        return Err("llm.effort is set, but no argument of the command holds {effort}".to_owned());
    }
    if llm.temperature.is_some() || thinking.is_some() {
        let name = if thinking.is_some() { "llm.thinking" } else { "llm.temperature" };
        return Err(format!("{name} is set, which a command cannot be told"));
    }
    if model.is_empty()
        && let Some(at) = place("{model}")
        && !access.argv[at.saturating_sub(1)].starts_with('-')
    {
        return Err("no model is named: give one with --llm-model".to_owned());
    }
    Ok(())
}

/// Returns the tokens of a call's prompts, by the estimate that shortens prompts as well.
pub(super) fn estimate(call: &Call) -> u64 {
    size::of_call(&call.system, &call.prompt)
}

/// Checks that prompt and reply fit into its context, where its table says so.
pub(super) fn context_window(provider: &ProviderConfig, call: &Call) -> Result<(), Error> {
    let Some(context_tokens) = provider.abilities.context_tokens else { return Ok(()) };
    let (estimate, max_tokens) = (estimate(call), output_limit(provider, call));
    if estimate.saturating_add(max_tokens) <= context_tokens {
        return Ok(());
    }
    let (key, model) = (call.key.clone(), provider.model.clone());
    Err(Error::ContextWindow { key, model, estimate, max_tokens, context_tokens })
}

/// Returns the tokens that a reply may have: where nothing says so, those that it is meant to have.
pub(super) fn output_limit(provider: &ProviderConfig, call: &Call) -> u64 {
    reply_limit(provider, call.max_tokens).unwrap_or(call.max_tokens.into())
}

/// Returns the tokens that a reply may have; the user may have set the field itself, or left it out.
pub(super) fn reply_limit(provider: &ProviderConfig, max_tokens: u32) -> Option<u64> {
    let Access::Http(access) = &provider.access else { return Some(max_tokens.into()) };
    let field = &access.max_tokens_field;
    if access.drop.contains(field) {
        return provider.abilities.max_output_tokens.map(u64::from);
    }
    let own = access.extra_body.get(field).and_then(Value::as_u64);
    Some(own.unwrap_or(max_tokens.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_record::{AttemptId, OpKey};
    use kgen_settings::{Overrides, Settings, resolve_with};

    use crate::{CallKey, Turn, from_settings};

    /// Resolves a provider from a config file's text; the error is its message.
    fn resolve(name: &str, config: &str) -> Result<ProviderConfig, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let resolved = resolve_with(Some(&file), &|_| None, &Overrides::default());
        let resolved = resolved.map_err(|error| {
            error.to_string().replace(&file.display().to_string(), "config.toml")
        })?;
        let Settings { llm, providers, models, .. } = resolved.settings;
        let key = |name: &str| name.ends_with("_KEY").then(|| "sk-0123456789".into());
        from_settings(name, &llm, &providers, &models, &key).map_err(|error| error.to_string())
    }

    #[test]
    fn what_contradicts_is_refused_with_the_way_out() {
        let model =
            |says: &str, llm: &str| format!("[llm]\nmodel = \"m\"\n{llm}\n[models.m]\n{says}");
        let llm = |llm: &str| format!("[llm]\nmodel = \"m\"\n{llm}");
        let refused = [
            ("openai", model("max_output_tokens = 0", "")),
            ("openai", model("context_tokens = 0", "")),
            ("openai", model("thinking = [\"off\", \"adaptve\"]", "")),
            ("openai", model("max_output_tokens = 15999", "")),
            ("openai", model("context_tokens = 16000", "")),
            ("openai", model("temperature = false", "temperature = 0.5")),
            ("openai", model("efforts = [\"low\", \"high\"]", "effort = \"max\"")),
            ("anthropic", model("thinking = [\"adaptive\", \"off\"]", "thinking = 2048")),
            ("anthropic", llm("temperature = 0.5")),
            ("anthropic", llm("effort = \"minimal\"")),
            ("anthropic", llm("thinking = 512")),
            ("anthropic", llm("thinking = 16000")),
            ("anthropic", llm("tokens_per_minute = 15999")),
            ("openai", llm("thinking = \"off\"")),
            ("openai-responses", llm("thinking = \"adaptive\"")),
            ("openrouter", llm("thinking = \"off\"")),
            ("openrouter", llm("thinking = 2048\neffort = \"low\"")),
            ("deepseek", llm("thinking = \"adaptive\"")),
            ("claude-cli", llm("temperature = 0.5")),
            ("llm-cli", llm("effort = \"low\"")),
            ("ollama-cli", String::new()),
            ("openai", "[providers.x]\nkind = \"smoke-signals\"".to_owned()),
            (
                "own",
                llm("temperature = 0.5")
                    + "\n[providers.own]\nkind = \"openai-chat\"\n\
                base_url = \"http://127.0.0.1:1\"\ndrop = [\"temperature\"]",
            ),
            (
                "own",
                llm("effort = \"low\"")
                    + "\n[providers.own]\nkind = \"openai-responses\"\n\
                base_url = \"http://127.0.0.1:1\"\nextra_body = { reasoning = { effort = \"high\" } }",
            ),
        ];
        let errors = refused.map(|(name, config)| match resolve(name, &config) {
            Err(error) => error,
            Ok(_) => format!("NOT REFUSED: {name} {config}"),
        });
        insta::assert_snapshot!("refused", errors.join("\n"));
    }

    #[test]
    fn what_nothing_is_known_of_is_not_checked() {
        for (name, config) in [
            (
                "openai",
                "[llm]\nmodel = \"m\"\ntemperature = 0.5\neffort = \"max\"\nmax_tokens = 9000000",
            ),
            (
                "openai",
                "[llm]\nmodel = \"m\"\ntemperature = 0.5\n[models.other]\ntemperature = false",
            ),
            ("anthropic", "[llm]\neffort = \"xhigh\"\nthinking = \"adaptive\""),
            ("deepseek", "[llm]\nmodel = \"m\"\nthinking = \"off\"\neffort = \"high\""),
            ("codex-cli", "[llm]\neffort = \"high\""),
            ("mailbox", "[llm]\neffort = \"high\"\ntemperature = 1.0"),
            (
                "old",
                "[llm]\nmodel = \"m\"\ntemperature = 0.5\n[providers.old]\nkind = \"anthropic\"\n\
                base_url = \"http://127.0.0.1:1\"\nversion = \"2023-06-01\"",
            ),
        ] {
            assert!(resolve(name, config).is_ok(), "{name} {config}");
        }
    }

    #[test]
    fn a_prompt_over_the_context_window_is_not_sent() {
        let config = "[llm]\nmodel = \"m\"\nmax_tokens = 100\n[models.m]\ncontext_tokens = 1000";
        let provider = resolve("openai", config).unwrap();
        let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
        let call = |bytes: usize| Call {
            key: CallKey { attempt: attempt.clone(), call: 1 },
            system: String::new(),
            prompt: "x".repeat(bytes),
            max_tokens: 100,
            turn: Turn::Code,
            sample: 1,
            temperature: None,
        };
        assert!(context_window(&provider, &call(2_604)).is_ok());
        let error = context_window(&provider, &call(2_605)).unwrap_err();
        insta::assert_snapshot!(error, @"the prompt of relu_attempt_1.call_1 has about 901 tokens and its reply may have 100, together more than the 1000 of model `m`");
    }
}
