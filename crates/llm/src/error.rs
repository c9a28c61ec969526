//! Errors of LLM calls, each with how far it reaches.

use std::{io, path::PathBuf, time::Duration};

use kgen_record::{Cap, CapScope};

use super::{CallKey, LogError};

/// Why a call brought no usable reply.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The provider needs a key and none was found.
    #[error("provider `{provider}` needs a key: set the environment variable {variable}")]
    NoKey {
        provider: String,
        /// The variable that was looked at.
        variable: String,
    },
    /// The configuration of a provider is unusable.
    #[error("provider `{provider}` is misconfigured: {message}")]
    Config { provider: String, message: String },
    /// The provider does not accept the key.
    #[error("provider `{provider}` refused the key ({status}): {message}; {}", key_hint(variable.as_deref()))]
    Auth {
        provider: String,
        /// The variable the key came from.
        variable: Option<String>,
        status: u16,
        message: String,
    },
    /// The account is used up or has reached its spending limit.
    #[error("provider `{provider}` has no quota left ({status}): {message}")]
    Spent { provider: String, status: u16, message: String },
    /// A limit of spending is reached.
    #[error("the limit of {cap} is reached")]
    Budget { cap: Cap },
    /// The provider refuses the request; the same bytes would be refused again.
    #[error("provider `{provider}` rejected the request ({status}): {message}{}", param_hint(param.as_deref()))]
    Rejected {
        provider: String,
        status: u16,
        message: String,
        /// The parameter it objects to.
        param: Option<String>,
    },
    /// The provider failed or was overloaded until the retries were used up.
    #[error("provider `{provider}` gave no reply after {tries} {}: {message}", if *tries == 1 { "try" } else { "tries" })]
    Unavailable {
        provider: String,
        /// HTTP status of the last try, where there was one.
        status: Option<u16>,
        tries: u32,
        message: String,
    },
    /// The provider takes no request for longer than it is waited for.
    #[error(
        "provider `{provider}` has a rate limit{} and asks to wait until {} ({:#}), longer than \
         llm.max_wait_s = {}",
        status.map_or_else(String::new, |status| format!(" (status {status})")),
        until.strftime("%Y-%m-%d %H:%M:%S UTC"),
        jiff::SignedDuration::from_secs(wait.as_secs() as i64),
        max_wait.as_secs_f64()
    )]
    RateLimited {
        provider: String,
        /// Its answer; `None` where an earlier one reported the limit.
        status: Option<u16>,
        /// When it takes one.
        until: jiff::Timestamp,
        /// Time until then.
        wait: Duration,
        max_wait: Duration,
    },
    /// The run was stopped while the call waited; nothing is open.
    #[error("stopped while it waited")]
    Stopped,
    /// A response that is not of the provider's wire format.
    #[error(
        "provider `{provider}` sent something else than a response of kind `{kind}`: {excerpt}; {}",
        dialect_hint(provider, *speaks, url)
    )]
    Garbage {
        provider: String,
        kind: &'static str,
        status: u16,
        /// The beginning of it.
        excerpt: String,
        /// The wire kind that it is of, where it is of one.
        speaks: Option<&'static str>,
        /// The base URL, without user info and query.
        url: String,
    },
    /// The provider has no such model.
    #[error(
        "provider `{provider}` does not know the model `{model}`: {message}{}",
        models_hint(model, known)
    )]
    UnknownModel {
        provider: String,
        /// The model asked for.
        model: String,
        message: String,
        /// The models that it has; empty where it does not say.
        known: Vec<String>,
    },
    /// The prompt does not fit into its context; it was not sent.
    #[error(
        "the prompt of {key} has about {estimate} tokens and its reply may have {max_tokens}, \
         together more than the {context_tokens} of model `{model}`"
    )]
    ContextWindow {
        key: CallKey,
        /// The model asked for.
        model: String,
        /// Tokens of the prompt, estimated.
        estimate: u64,
        /// Tokens of the reply at most.
        max_tokens: u64,
        context_tokens: u64,
    },
    /// The provider finds the prompt too long.
    #[error("the prompt is too long for provider `{provider}`: {message}")]
    PromptTooLong { provider: String, message: String },
    /// No reply is kept for the request, and nothing may be sent.
    #[error("no reply is kept for {key}, and `--llm-cache only` sends nothing: {nearest}")]
    NotCached {
        key: CallKey,
        /// How the request differs from the most similar one that a reply is kept for.
        nearest: String,
    },
    #[error("the model refused{}", reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    Refused {
        /// Its words, where given.
        reason: Option<String>,
    },
    /// The provider's content filter removed the reply.
    #[error("the provider's content filter removed the reply")]
    Filtered,
    /// All tokens went into reasoning.
    #[error("the reply reached its token limit before any text{}; raise max_tokens or lower the reasoning effort",
        reasoning_tokens.map(|n| format!(" ({n} tokens of reasoning)")).unwrap_or_default())]
    LengthWithoutText {
        /// Tokens spent on reasoning, where reported.
        reasoning_tokens: Option<u64>,
    },
    /// The reply is complete and has no text.
    #[error("the reply has no text")]
    EmptyReply,
    /// A `mailbox` call whose reply is not there yet.
    #[error("{key} awaits its reply in {}", path.display())]
    AwaitingReply {
        key: CallKey,
        /// Where the reply goes.
        path: PathBuf,
    },
    /// A `replay` call behind the end of its recording.
    #[error("the recording has no reply for {key}")]
    EndOfRecording { key: CallKey },
    /// The command could not be run or failed.
    #[error("the command of provider `{provider}` failed: {message}")]
    Command { provider: String, message: String },
    /// The HTTP client could not be set up.
    #[error("failed to set up the HTTP client")]
    Setup(#[source] reqwest::Error),
    /// The call could not be put on record.
    #[error("failed to record {key}")]
    Log {
        key: CallKey,
        #[source]
        source: LogError,
    },
    /// The reply file of a mailbox or a recording could not be read.
    #[error("failed to read the reply of {key}")]
    Read {
        key: CallKey,
        #[source]
        source: LogError,
    },
    /// An input or output error of a local provider.
    #[error("provider `{provider}`: input or output failed")]
    Io {
        provider: String,
        #[source]
        source: io::Error,
    },
}

fn key_hint(variable: Option<&str>) -> String {
    match variable {
        Some(variable) => format!("the key came from {variable}"),
        None => "no key variable is configured".to_owned(),
    }
}

fn param_hint(param: Option<&str>) -> String {
    param.map_or_else(String::new, |param| {
        format!("; to leave it out put `drop = [\"{param}\"]` into the provider's configuration")
    })
}

fn dialect_hint(provider: &str, speaks: Option<&str>, url: &str) -> String {
    match speaks {
        Some(kind) => format!(
            "{url} speaks `{kind}`: set kind = \"{kind}\" in [providers.{provider}], or another base URL"
        ),
        None => format!("is the base URL {url} right?"),
    }
}

fn models_hint(model: &str, known: &[String]) -> String {
    const SHOWN: usize = 8;
    if let Some(nearest) = kgen_ops::nearest(model, known.iter().map(String::as_str)) {
        return format!("; did you mean `{nearest}`?");
    }
    match known {
        [] => String::new(),
        [shown @ .., _] if known.len() > SHOWN => {
            format!("; it has {} and {} more", shown[..SHOWN].join(", "), known.len() - SHOWN)
        }
        all => format!("; it has {}", all.join(", ")),
    }
}

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This call only: another attempt may succeed.
    Call,
    /// This op: another attempt would end alike, or its reply is still to come.
    Op,
    /// The run: no other call would succeed either.
    Run,
}

impl Error {
    /// Returns how far the error reaches.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        match self {
            Self::Refused { .. }
            | Self::Filtered
            | Self::LengthWithoutText { .. }
            | Self::EmptyReply => Scope::Call,
            // A rejected request concerns one op, an unknown model all of them.
            Self::Rejected { status: 400 | 422, .. }
            | Self::ContextWindow { .. }
            | Self::PromptTooLong { .. }
            | Self::Unavailable { .. }
            | Self::Stopped
            // One reply is damaged on its way; another dialect or path speaks in all of them.
            | Self::Garbage { status: 200..=299, speaks: None, .. }
            | Self::Command { .. }
            | Self::AwaitingReply { .. }
            | Self::EndOfRecording { .. } => Scope::Op,
            Self::Budget { cap } => match cap.scope {
                CapScope::Op => Scope::Op,
                CapScope::Run => Scope::Run,
            },
            Self::NoKey { .. }
            | Self::Config { .. }
            | Self::Auth { .. }
            | Self::Spent { .. }
            | Self::RateLimited { .. }
            | Self::Rejected { .. }
            | Self::Garbage { .. }
            | Self::UnknownModel { .. }
            | Self::NotCached { .. }
            | Self::Setup(_)
            | Self::Log { .. }
            | Self::Read { .. }
            | Self::Io { .. } => Scope::Run,
        }
    }
}
