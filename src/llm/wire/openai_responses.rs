//! OpenAI's Responses.

use serde_json::{Map, Value};

use super::{Completion, Step, WireError, count, excerpt, insert_temperature, string};
use crate::llm::{Call, Finish, HttpAccess, Usage};

pub(super) fn build(
    access: &HttpAccess,
    model: &str,
    call: &Call,
) -> (&'static str, Map<String, Value>) {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    if !call.system.is_empty() {
        body.insert("instructions".to_owned(), call.system.as_str().into());
    }
    body.insert("input".to_owned(), call.prompt.as_str().into());
    body.insert(access.max_tokens_field.clone(), call.max_tokens.into());
    insert_temperature(&mut body, call);
    // The default keeps prompts and replies on the provider's side.
    body.insert("store".to_owned(), false.into());
    body.insert("stream".to_owned(), access.stream.into());
    ("/responses", body)
}

pub(super) fn parse(value: &Value) -> Result<Completion, WireError> {
    let Some(items) = value.get("output").and_then(Value::as_array) else {
        return Err(WireError::Garbage(excerpt(&value.to_string())));
    };
    let mut completion = Completion { has_choice: true, ..Completion::default() };
    for item in items {
        let parts = item.get("content").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                match part.get("type").and_then(Value::as_str) {
                    Some("reasoning_text") => completion.reasoning.push_str(text),
                    Some(_) | None => completion.text.push_str(text),
                }
            }
            if let Some(refusal) = string(part, "refusal") {
                completion.finish = Some(Finish::Refusal { reason: Some(refusal) });
            }
        }
    }
    read_end(&mut completion, value);
    Ok(completion)
}

pub(super) fn stream_event(completion: &mut Completion, value: &Value) -> Step {
    let delta = value.get("delta").and_then(Value::as_str).unwrap_or_default();
    match value.get("type").and_then(Value::as_str) {
        Some("response.output_text.delta") => completion.text.push_str(delta),
        Some("response.reasoning_text.delta" | "response.reasoning_summary_text.delta") => {
            completion.reasoning.push_str(delta);
        }
        Some("response.refusal.done") => {
            completion.finish = Some(Finish::Refusal { reason: string(value, "refusal") });
        }
        Some("response.completed" | "response.incomplete" | "response.failed") => {
            completion.has_choice = true;
            read_end(completion, value.get("response").unwrap_or(&Value::Null));
            return Step::End;
        }
        Some(_) | None => {}
    }
    Step::More
}

fn read_end(completion: &mut Completion, response: &Value) {
    completion.model = string(response, "model");
    completion.id = string(response, "id");
    completion.usage = usage(response.get("usage").unwrap_or(&Value::Null));
    if completion.finish.is_some() {
        return;
    }
    let incomplete = response.get("incomplete_details").and_then(|why| why.get("reason"));
    completion.finish = Some(match incomplete.and_then(Value::as_str) {
        Some("max_output_tokens") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        Some(other) => Finish::Other { name: other.to_owned() },
        None => Finish::Stop,
    });
}

fn usage(value: &Value) -> Usage {
    Usage {
        input: count(value, &["input_tokens"]),
        cache_read: count(value, &["input_tokens_details", "cached_tokens"]),
        cache_write: count(value, &["input_tokens_details", "cache_write_tokens"]),
        output: count(value, &["output_tokens"]),
        reasoning: count(value, &["output_tokens_details", "reasoning_tokens"]),
        cost_usd: None,
    }
}
