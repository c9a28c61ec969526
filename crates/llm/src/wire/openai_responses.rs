//! OpenAI's Responses.

use serde_json::{Map, Value, json};

use super::{Completion, Step, cache_key, count, insert_temperature, string};
use crate::{Call, Finish, HttpAccess, Usage};

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
    if let Some(effort) = access.effort {
        body.insert("reasoning".to_owned(), json!({"effort": effort.name()}));
    }
    if access.prompt_cache {
        body.insert("prompt_cache_key".to_owned(), cache_key(call).into());
    }
    // The default keeps prompts and replies on the provider's side.
    body.insert("store".to_owned(), false.into());
    body.insert("stream".to_owned(), access.stream.into());
    ("/responses", body)
}

/// Reads a whole response; `None` where it is of another format.
pub(super) fn parse(value: &Value) -> Option<Completion> {
    value.get("output")?.as_array()?;
    let mut completion = Completion { has_choice: true, ..Completion::default() };
    read_output(&mut completion, value);
    read_end(&mut completion, value);
    Some(completion)
}

pub(super) fn stream_event(completion: &mut Completion, value: &Value) -> Step {
    let delta = value.get("delta").and_then(Value::as_str).unwrap_or_default();
    match value.get("type").and_then(Value::as_str) {
        Some("response.output_text.delta") => completion.text.push_str(delta),
        Some("response.reasoning_text.delta" | "response.reasoning_summary_text.delta") => {
            completion.reasoning.push_str(delta);
        }
        // Parts of a summary are paragraphs of their own.
        Some("response.reasoning_summary_part.added") if !completion.reasoning.is_empty() => {
            completion.reasoning.push_str("\n\n");
        }
        Some("response.refusal.done") => {
            completion.finish = Some(Finish::Refusal { reason: string(value, "refusal") });
        }
        Some("response.completed" | "response.incomplete" | "response.failed") => {
            completion.has_choice = true;
            let response = value.get("response").unwrap_or(&Value::Null);
            // The end holds everything once more, for servers that streamed none of it.
            if completion.text.is_empty() && completion.finish.is_none() {
                let mut whole = Completion::default();
                read_output(&mut whole, response);
                completion.text = whole.text;
                completion.finish = whole.finish;
                if completion.reasoning.is_empty() {
                    completion.reasoning = whole.reasoning;
                }
            }
            read_end(completion, response);
            return Step::End;
        }
        Some(_) | None => {}
    }
    Step::More
}

/// Reads messages, refusals and reasoning; calls of tools and whatever else there is are not asked
/// for and not read.
fn read_output(completion: &mut Completion, response: &Value) {
    let items = response.get("output").and_then(Value::as_array);
    for item in items.into_iter().flatten() {
        let is_reasoning = item.get("type").and_then(Value::as_str) == Some("reasoning");
        let parts = |name: &str| item.get(name).and_then(Value::as_array).into_iter().flatten();
        for part in parts("summary").chain(parts("content")) {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            if is_reasoning || matches!(kind, "reasoning_text" | "summary_text") {
                if !completion.reasoning.is_empty() {
                    completion.reasoning.push_str("\n\n");
                }
                completion.reasoning.push_str(text);
            } else if let Some(refusal) = string(part, "refusal") {
                completion.finish = Some(Finish::Refusal { reason: Some(refusal) });
            } else {
                completion.text.push_str(text);
            }
        }
    }
}

fn read_end(completion: &mut Completion, response: &Value) {
    completion.model = string(response, "model");
    completion.id = string(response, "id");
    completion.usage = usage(response.get("usage").unwrap_or(&Value::Null));
    if completion.finish.is_some() {
        return;
    }
    let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    let status = response.get("status").and_then(Value::as_str);
    completion.finish = Some(match (reason, status) {
        (Some("max_output_tokens"), _) => Finish::Length,
        (Some("content_filter"), _) => Finish::ContentFilter,
        (Some(other), _) => Finish::Other { name: other.to_owned() },
        (None, None | Some("completed")) => Finish::Stop,
        (None, Some(other)) => Finish::Other { name: other.to_owned() },
    });
}

pub(super) fn usage(value: &Value) -> Usage {
    Usage {
        input: count(value, &["input_tokens"]),
        cache_read: count(value, &["input_tokens_details", "cached_tokens"]),
        cache_write: count(value, &["input_tokens_details", "cache_write_tokens"]),
        output: count(value, &["output_tokens"]),
        reasoning: count(value, &["output_tokens_details", "reasoning_tokens"]),
        cost_usd: None,
    }
}
