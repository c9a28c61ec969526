//! Wire formats as pure functions: a call to bytes, bytes to a completion, one streamed event at a
//! time. Parsing is lenient: fields may be missing and unknown ones are ignored.

mod anthropic;
mod api_error;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod tests;
mod thoughts;

use std::fmt;

use kgen_record::hex;
use kgen_settings::LlmSettings;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub(super) use anthropic::Anthropic;
pub(super) use api_error::{ApiError, error_body, plain};
pub(super) use openai_chat::OpenAiChat;
pub(super) use openai_responses::OpenAiResponses;
pub(super) use thoughts::split as split_thoughts;

use super::{Call, Finish, HttpAccess, Thinking, Usage};

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
pub struct Completion {
    /// The text so far.
    pub text: String,
    /// Reasoning so far.
    pub reasoning: String,
    /// Why the model stopped, once known.
    pub finish: Option<Finish>,
    /// Tokens, as last reported.
    pub usage: Usage,
    /// The model's own name.
    pub model: Option<String>,
    /// The provider's name for the response.
    pub id: Option<String>,
    /// Whether there was anything that could have held a text.
    pub has_choice: bool,
}

/// The effect of a streamed event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
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

/// A wire format. To add one: a file with its `impl`, a row of [`WIRES`], recorded replies in
/// `tests/it/wire` and its name in `config.toml`.
pub trait Wire: fmt::Debug + Sync {
    /// Returns the name as configured and stored.
    fn name(&self) -> &'static str;
    /// Returns the path of calls below the base URL.
    fn path(&self) -> &'static str;
    /// Returns the path of the list of models.
    fn models_path(&self) -> &'static str {
        "/models"
    }
    /// Returns the field of the token limit, for servers that no preset names.
    fn max_tokens_field(&self) -> &'static str;
    /// Returns the fields that hold effort and thinking.
    fn reasoning_fields(&self, access: &HttpAccess) -> (&'static str, &'static str);
    /// Whether a prompt itself marks what the provider is to cache.
    fn marks_cached_prompts(&self) -> bool {
        false
    }
    /// Returns the headers of its own, that of the key included.
    fn headers(&self, _: &HttpAccess, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }
    /// Refuses settings that it has no place for.
    ///
    /// # Errors
    ///
    /// The reason and the way out, for the user.
    fn check(
        &self,
        llm: &LlmSettings,
        thinking: Option<Thinking>,
        access: &HttpAccess,
    ) -> Result<(), String>;
    /// Returns the body of a call; fields that are null are left out.
    fn body(&self, access: &HttpAccess, model: &str, call: &Call) -> Value;
    /// Whether a response or an event has something that only this format has.
    fn is_spoken_in(&self, value: &Value) -> bool;
    /// Reads a whole response; `None` where it is of another format.
    fn parse(&self, value: &Value) -> Option<Completion>;
    /// Reads one streamed event into the completion.
    fn stream_event(&self, completion: &mut Completion, value: &Value) -> Step;
}

/// All wire formats. The first that is spoken in a response names it.
pub const WIRES: [&dyn Wire; 3] = [&OpenAiChat, &OpenAiResponses, &Anthropic];

/// Returns the wire format of a name.
pub(super) fn wire(name: &str) -> Option<&'static dyn Wire> {
    WIRES.into_iter().find(|wire| wire.name() == name)
}

/// Builds the request of a call.
pub(super) fn build(access: &HttpAccess, model: &str, call: &Call) -> Built {
    let mut body = present(access.wire.body(access, model, call));
    for (name, value) in &access.extra_body {
        body.insert(name.clone(), value.clone());
    }
    for name in &access.drop {
        body.shift_remove(name);
    }
    Built { path: access.wire.path(), body: Value::Object(body).to_string() }
}

/// Reads a whole response body.
pub(super) fn parse(wire: &dyn Wire, body: &str) -> Result<Completion, WireError> {
    let value = json(body)?;
    wire.parse(&value).ok_or_else(|| foreign(body, &value))
}

/// Reads one streamed event into the completion.
pub(super) fn stream_event(
    wire: &dyn Wire,
    completion: &mut Completion,
    data: &str,
) -> Result<Step, WireError> {
    if data.trim() == "[DONE]" {
        return Ok(Step::End);
    }
    let value = json(data)?;
    // Unknown events are ignored, those of another format are not: nothing else would follow.
    if speaks(&value).is_some_and(|other| other != wire.name()) {
        return Err(foreign(data, &value));
    }
    Ok(wire.stream_event(completion, &value))
}

/// Returns the format that a response or an event is of.
fn speaks(value: &Value) -> Option<&'static str> {
    WIRES.into_iter().find(|wire| wire.is_spoken_in(value)).map(Wire::name)
}

fn foreign(text: &str, value: &Value) -> WireError {
    WireError::Foreign { excerpt: excerpt(text), speaks: speaks(value) }
}

/// Reads a response or an event that is no error.
fn json(text: &str) -> Result<Value, WireError> {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            api_error::find(&value).map_or(Ok(value), |error| Err(WireError::Api(error)))
        }
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
        anthropic::read_usage(&mut usage, value);
    } else if has("prompt_tokens") {
        openai_chat::read_usage(&mut usage, value);
    } else {
        usage = openai_responses::usage(value);
        usage.cache_read = usage.cache_read.or_else(|| value["cached_input_tokens"].as_u64());
        usage.reasoning = usage.reasoning.or_else(|| value["reasoning_output_tokens"].as_u64());
    }
    usage
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns the fields of an object that are not null.
fn present(object: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = object else { return Map::new() };
    fields.retain(|_, value| !value.is_null());
    fields
}

/// Returns the error of a format that takes no thinking, or not this one.
fn no_thinking(wire: &dyn Wire, takes: &str) -> String {
    format!("providers of kind `{}` {takes}: use llm.effort, or `extra_body`", wire.name())
}

/// Returns the name of prompts with a common beginning: the provider sends them to one cache.
fn cache_key(call: &Call) -> String {
    let mut hasher = Sha256::new();
    hasher.update(call.system.as_bytes());
    hasher.update([0xff]);
    hasher.update(call.key.attempt.op.0.as_bytes());
    format!("kgen-{}", hex(&hasher.finalize()[..8]))
}
