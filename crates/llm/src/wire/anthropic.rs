//! Anthropic's Messages.

use serde_json::{Map, Value, json};

use super::{Completion, Step, count, insert_temperature, string};
use crate::{Call, Finish, HttpAccess, Thinking, Usage};

pub(super) fn build(
    access: &HttpAccess,
    model: &str,
    call: &Call,
) -> (&'static str, Map<String, Value>) {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert(access.max_tokens_field.clone(), call.max_tokens.into());
    if !call.system.is_empty() {
        let system = match access.prompt_cache {
            // The common beginning of all calls of a run. A mark behind the prompt itself would pay
            // for writing prompts into the cache that are hardly ever sent twice.
            true => json!([{
                "type": "text", "text": call.system, "cache_control": {"type": "ephemeral"}
            }]),
            false => call.system.as_str().into(),
        };
        body.insert("system".to_owned(), system);
    }
    body.insert("messages".to_owned(), json!([{"role": "user", "content": call.prompt}]));
    insert_temperature(&mut body, call);
    if let Some(thinking) = access.thinking {
        let thinking = match thinking {
            Thinking::Adaptive => json!({"type": "adaptive"}),
            Thinking::Off => json!({"type": "disabled"}),
            Thinking::Tokens(tokens) => json!({"type": "enabled", "budget_tokens": tokens}),
        };
        body.insert("thinking".to_owned(), thinking);
    }
    if let Some(effort) = access.effort {
        body.insert("output_config".to_owned(), json!({"effort": effort.name()}));
    }
    body.insert("stream".to_owned(), access.stream.into());
    ("/v1/messages", body)
}

/// Reads a whole response; `None` where it is of another format.
pub(super) fn parse(value: &Value) -> Option<Completion> {
    let blocks = value.get("content")?.as_array()?;
    let mut completion = Completion {
        model: string(value, "model"),
        id: string(value, "id"),
        has_choice: true,
        ..Completion::default()
    };
    for block in blocks {
        read_block(&mut completion, block);
    }
    read_stop(&mut completion, value);
    read_usage(&mut completion.usage, value.get("usage"));
    Some(completion)
}

pub(super) fn stream_event(completion: &mut Completion, value: &Value) -> Step {
    match value.get("type").and_then(Value::as_str) {
        Some("message_start") => {
            let message = value.get("message").unwrap_or(&Value::Null);
            completion.model = string(message, "model");
            completion.id = string(message, "id");
            completion.has_choice = true;
            read_usage(&mut completion.usage, message.get("usage"));
        }
        Some("content_block_start") => {
            read_block(completion, value.get("content_block").unwrap_or(&Value::Null));
        }
        Some("content_block_delta") => {
            read_block(completion, value.get("delta").unwrap_or(&Value::Null));
        }
        Some("message_delta") => {
            read_stop(completion, value.get("delta").unwrap_or(&Value::Null));
            read_usage(&mut completion.usage, value.get("usage"));
        }
        Some("message_stop") => return Step::End,
        Some(_) | None => {}
    }
    Step::More
}

/// Reads a content block or a delta of one: both name their text alike.
fn read_block(completion: &mut Completion, block: &Value) {
    if let Some(text) = block.get("text").and_then(Value::as_str) {
        completion.text.push_str(text);
    }
    if let Some(thinking) = block.get("thinking").and_then(Value::as_str) {
        completion.reasoning.push_str(thinking);
    }
}

fn read_stop(completion: &mut Completion, value: &Value) {
    let Some(reason) = value.get("stop_reason").and_then(Value::as_str) else { return };
    completion.finish = Some(match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refusal {
            reason: value.get("stop_details").and_then(|details| {
                string(details, "explanation").or_else(|| string(details, "category"))
            }),
        },
        other => Finish::Other { name: other.to_owned() },
    });
}

/// Overwrites what is reported: streamed counts are cumulative. `input_tokens` are the uncached
/// ones alone.
pub(super) fn read_usage(usage: &mut Usage, value: Option<&Value>) {
    let Some(value) = value else { return };
    if let Some(uncached) = count(value, &["input_tokens"]) {
        usage.cache_read = count(value, &["cache_read_input_tokens"]);
        usage.cache_write = count(value, &["cache_creation_input_tokens"]);
        let cached = usage.cache_read.unwrap_or(0) + usage.cache_write.unwrap_or(0);
        usage.input = Some(uncached + cached);
    }
    usage.output = count(value, &["output_tokens"]).or(usage.output);
    usage.reasoning =
        count(value, &["output_tokens_details", "thinking_tokens"]).or(usage.reasoning);
}
