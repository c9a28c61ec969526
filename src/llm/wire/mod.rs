//! Wire formats as pure functions: a call to bytes, bytes to a completion, one streamed event at a
//! time. Parsing is lenient: fields may be missing and unknown ones are ignored.

mod anthropic;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

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

/// What a streamed event did.
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
    Garbage(String),
}

/// An error as providers report it in a body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ApiError {
    /// HTTP status that it stands for, where the body says so.
    pub(super) status: Option<u16>,
    /// Kind, for example `rate_limit_error`.
    pub(super) kind: Option<String>,
    /// Code, for example `insufficient_quota`.
    pub(super) code: Option<String>,
    /// The parameter it is about.
    pub(super) param: Option<String>,
    /// The provider's words.
    pub(super) message: String,
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
    if let Some(error) = api_error(&value) {
        return Err(WireError::Api(error));
    }
    match kind {
        WireKind::Anthropic => anthropic::parse(&value),
        WireKind::OpenAiChat => openai_chat::parse(&value),
        WireKind::OpenAiResponses => openai_responses::parse(&value),
    }
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
    if let Some(error) = api_error(&value) {
        return Err(WireError::Api(error));
    }
    match kind {
        WireKind::Anthropic => Ok(anthropic::stream_event(completion, &value)),
        WireKind::OpenAiChat => Ok(openai_chat::stream_event(completion, &value)),
        WireKind::OpenAiResponses => Ok(openai_responses::stream_event(completion, &value)),
    }
}

/// Reads the error out of the body of a failed request, whatever it is.
pub(super) fn error_body(body: &str) -> ApiError {
    serde_json::from_str(body)
        .ok()
        .and_then(|value| api_error(&value))
        .unwrap_or_else(|| ApiError { message: excerpt(body), ..ApiError::default() })
}

fn api_error(value: &Value) -> Option<ApiError> {
    // Some servers wrap the error in a list of one.
    let value = value.get(0).unwrap_or(value);
    let is_error = value.get("type").and_then(Value::as_str) == Some("error");
    let error = match value.get("error").or_else(|| value.pointer("/response/error")) {
        // A streamed event may be the error itself.
        None if is_error => value,
        Some(Value::Null) | None => return None,
        Some(error) => error,
    };
    let code = error.get("code").or_else(|| error.get("status"));
    Some(ApiError {
        status: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        kind: string(error, "type").filter(|kind| kind != "error"),
        code: code.and_then(Value::as_str).map(str::to_owned),
        param: string(error, "param"),
        message: string(error, "message")
            .or_else(|| error.as_str().map(excerpt))
            .unwrap_or_else(|| excerpt(&error.to_string())),
    })
}

impl ApiError {
    /// Returns the HTTP status that an error inside a 200 stands for.
    pub(super) fn implied_status(&self) -> u16 {
        if let Some(status) = self.status {
            return status;
        }
        match self.kind.as_deref().or(self.code.as_deref()) {
            Some("overloaded_error") => 529,
            Some("rate_limit_error" | "rate_limit_exceeded") => 429,
            Some("authentication_error") => 401,
            Some("billing_error") => 402,
            Some("permission_error") => 403,
            Some("not_found_error") => 404,
            Some("invalid_request_error") => 400,
            Some(_) | None => 500,
        }
    }

    /// Tells whether waiting does not help, because an account is used up.
    pub(super) fn is_spent(&self, status: u16) -> bool {
        // Anthropic reports an empty account and a spending limit as a bad request.
        let words = ["credit balance is too low", "spend limit", "specified API usage limits"];
        if status == 400 && words.iter().any(|words| self.message.contains(words)) {
            return true;
        }
        let spent = |name: &str| {
            matches!(
                name,
                "insufficient_quota"
                    | "credit_balance_exhausted"
                    | "organization_usage_limit_exceeded"
                    | "billing_error"
                    | "billing_hard_limit_reached"
            ) || name.ends_with("_spend_limit_exceeded")
        };
        self.code.as_deref().is_some_and(spent) || self.kind.as_deref().is_some_and(spent)
    }
}

fn json(text: &str) -> Result<Value, WireError> {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => Ok(value),
        Ok(_) | Err(_) => Err(WireError::Garbage(excerpt(text))),
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
