//! Wire formats as pure functions: a call to bytes, bytes to a completion, one streamed event at a
//! time. Parsing is lenient: fields may be missing and unknown ones are ignored.

mod anthropic;
mod api_error;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod tests;
mod thoughts;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub(super) use api_error::{ApiError, error_body, plain};
pub(super) use thoughts::split as split_thoughts;

use super::{Call, Finish, HttpAccess, Usage, WireKind};

/// A request body with the path it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Built {
    /// Path below the base URL.
    pub(super) path: &'static str,
    /// The exact body.
    pub(super) body: String,
}

/// A reply as far as it has been read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Completion {
    /// The text so far.
    pub(super) text: String,
    /// Reasoning so far.
    pub(super) reasoning: String,
    /// Why the model stopped, once known.
    pub(super) finish: Option<Finish>,
    /// Tokens, as last reported.
    pub(super) usage: Usage,
    /// The model's own name.
    pub(super) model: Option<String>,
    /// The provider's name for the response.
    pub(super) id: Option<String>,
    /// Whether there was anything that could have held a text.
    pub(super) has_choice: bool,
}

/// The effect of a streamed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// More events follow.
    More,
    /// The reply is complete; the provider may still send its usage.
    Complete,
    /// The stream is over.
    End,
}

/// An answer that is no reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WireError {
    /// The provider reports an error.
    Api(ApiError),
    /// Not of the wire format.
    Foreign {
        /// The beginning of it.
        excerpt: String,
        /// The wire format that it is of, where it is of one.
        speaks: Option<&'static str>,
    },
}

impl WireError {
    /// Returns the error for what is of no known format.
    pub(super) fn garbage(excerpt: impl Into<String>) -> Self {
        Self::Foreign { excerpt: excerpt.into(), speaks: None }
    }
}

/// Builds the request of a call.
pub(super) fn build(access: &HttpAccess, model: &str, call: &Call) -> Built {
    let (path, mut body) = match access.kind {
        WireKind::Anthropic => anthropic::build(access, model, call),
        WireKind::OpenAiChat => openai_chat::build(access, model, call),
        WireKind::OpenAiResponses => openai_responses::build(access, model, call),
    };
    for (name, value) in &access.extra_body {
        body.insert(name.clone(), value.clone());
    }
    for name in &access.drop {
        body.shift_remove(name);
    }
    Built { path, body: Value::Object(body).to_string() }
}

/// Reads a whole response body.
pub(super) fn parse(kind: WireKind, body: &str) -> Result<Completion, WireError> {
    let value = json(body)?;
    if let Some(error) = api_error::find(&value) {
        return Err(WireError::Api(error));
    }
    let completion = match kind {
        WireKind::Anthropic => anthropic::parse(&value),
        WireKind::OpenAiChat => openai_chat::parse(&value),
        WireKind::OpenAiResponses => openai_responses::parse(&value),
    };
    completion.ok_or_else(|| foreign(body, &value))
}

/// Reads one streamed event into the completion.
pub(super) fn stream_event(
    kind: WireKind,
    completion: &mut Completion,
    data: &str,
) -> Result<Step, WireError> {
    if data.trim() == "[DONE]" {
        return Ok(Step::End);
    }
    let value = json(data)?;
    if let Some(error) = api_error::find(&value) {
        return Err(WireError::Api(error));
    }
    // Unknown events are ignored, those of another format are not: nothing else would follow.
    if speaks(&value).is_some_and(|other| other != kind) {
        return Err(foreign(data, &value));
    }
    match kind {
        WireKind::Anthropic => Ok(anthropic::stream_event(completion, &value)),
        WireKind::OpenAiChat => Ok(openai_chat::stream_event(completion, &value)),
        WireKind::OpenAiResponses => Ok(openai_responses::stream_event(completion, &value)),
    }
}

/// Tells which format a response or an event is of, by what only that format has.
fn speaks(value: &Value) -> Option<WireKind> {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_list = |name: &str| value.get(name).is_some_and(Value::is_array);
    let is_response = value.get("object").and_then(Value::as_str) == Some("response");
    if value.get("choices").is_some() {
        Some(WireKind::OpenAiChat)
    } else if is_response || kind.starts_with("response.") || is_list("output") {
        Some(WireKind::OpenAiResponses)
    } else if matches!(kind, "message" | "message_start" | "message_delta" | "message_stop")
        || kind.starts_with("content_block_")
        || is_list("content")
    {
        Some(WireKind::Anthropic)
    } else {
        None
    }
}

fn foreign(text: &str, value: &Value) -> WireError {
    WireError::Foreign { excerpt: excerpt(text), speaks: speaks(value).map(WireKind::name) }
}

fn json(text: &str) -> Result<Value, WireError> {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => Ok(value),
        // A server that streams although it was not asked to, under another content type.
        Ok(_) | Err(_) => match text.trim_start().strip_prefix("data:") {
            Some(event) if !event.is_empty() => {
                let excerpt =
                    format!("a stream of events that is not declared as one: {}", excerpt(text));
                Err(WireError::garbage(excerpt))
            }
            _ => Err(WireError::garbage(excerpt(text))),
        },
    }
}

/// Returns the beginning of a text in one line.
pub(super) fn excerpt(text: &str) -> String {
    const CHARS: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return "an empty body".to_owned();
    }
    match line.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Reads tokens by whatever names an agent reports them.
pub(super) fn any_usage(value: &Value) -> Usage {
    let has = |name: &str| value.get(name).is_some();
    let mut usage = Usage::default();
    if has("cache_read_input_tokens") || has("cache_creation_input_tokens") {
        anthropic::read_usage(&mut usage, Some(value));
    } else if has("prompt_tokens") {
        openai_chat::read_usage(&mut usage, Some(value));
    } else {
        usage = openai_responses::usage(value);
        usage.cache_read = usage.cache_read.or_else(|| count(value, &["cached_input_tokens"]));
        usage.reasoning = usage.reasoning.or_else(|| count(value, &["reasoning_output_tokens"]));
    }
    usage
}

fn string(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn count(value: &Value, path: &[&str]) -> Option<u64> {
    path.iter().try_fold(value, |value, name| value.get(name)).and_then(Value::as_u64)
}

/// Puts the temperature into a body, if the user set one.
fn insert_temperature(body: &mut Map<String, Value>, call: &Call) {
    if let Some(temperature) = call.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
}

/// Returns what names prompts with a common beginning: the provider sends them to one cache.
fn cache_key(call: &Call) -> String {
    let mut hasher = Sha256::new();
    hasher.update(call.system.as_bytes());
    hasher.update([0xff]);
    hasher.update(call.key.attempt.op.0.as_bytes());
    let hash: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("kgen-{hash}")
}
