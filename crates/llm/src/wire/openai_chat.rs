//! OpenAI's Chat Completions, as OpenAI and the servers that imitate it speak it.

use serde_json::{Map, Value, json};

use super::{Completion, Step, cache_key, count, insert_temperature, string};
use crate::{Call, Finish, HttpAccess, Reasoning, Thinking, Usage};

pub(super) fn build(
    access: &HttpAccess,
    model: &str,
    call: &Call,
) -> (&'static str, Map<String, Value>) {
    let mut messages = Vec::new();
    if !call.system.is_empty() {
        messages.push(json!({"role": "system", "content": call.system}));
    }
    messages.push(json!({"role": "user", "content": call.prompt}));
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.into());
    body.insert(access.max_tokens_field.clone(), call.max_tokens.into());
    insert_temperature(&mut body, call);
    insert_reasoning(&mut body, access);
    if access.prompt_cache {
        body.insert("prompt_cache_key".to_owned(), cache_key(call).into());
    }
    if access.stream {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    ("/chat/completions", body)
}

/// Puts effort and thinking where the server looks for them.
fn insert_reasoning(body: &mut Map<String, Value>, access: &HttpAccess) {
    let effort = access.effort.map(|effort| effort.name());
    match access.reasoning {
        Reasoning::OpenRouter => {
            let mut reasoning = Map::new();
            if let Some(effort) = effort {
                reasoning.insert("effort".to_owned(), effort.into());
            }
            if let Some(Thinking::Tokens(tokens)) = access.thinking {
                reasoning.insert("max_tokens".to_owned(), tokens.into());
            }
            if !reasoning.is_empty() {
                body.insert("reasoning".to_owned(), reasoning.into());
            }
        }
        Reasoning::Standard | Reasoning::DeepSeek => {
            if let Some(effort) = effort {
                body.insert("reasoning_effort".to_owned(), effort.into());
            }
            if let (Reasoning::DeepSeek, Some(Thinking::Off)) = (access.reasoning, access.thinking)
            {
                body.insert("thinking".to_owned(), json!({"type": "disabled"}));
            }
        }
    }
}

/// Reads a whole response; `None` where it is of another format.
pub(super) fn parse(value: &Value) -> Option<Completion> {
    value.get("choices")?;
    let mut completion = Completion::default();
    read(&mut completion, value, "message");
    Some(completion)
}

pub(super) fn stream_event(completion: &mut Completion, value: &Value) -> Step {
    read(completion, value, "delta");
    // Not every server closes with `[DONE]`, and the usage comes in a chunk after the last choice.
    if completion.finish.is_some() { Step::Complete } else { Step::More }
}

fn read(completion: &mut Completion, value: &Value, part: &str) {
    completion.model = string(value, "model").or_else(|| completion.model.take());
    completion.id = string(value, "id").or_else(|| completion.id.take());
    read_usage(&mut completion.usage, value.get("usage"));
    let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else { return };
    completion.has_choice = true;
    let message = choice.get(part).unwrap_or(&Value::Null);
    read_content(&mut completion.text, message.get("content"));
    let reasoning = message.get("reasoning").or_else(|| message.get("reasoning_content"));
    read_content(&mut completion.reasoning, reasoning);
    let refusal = string(message, "refusal").filter(|text| !text.is_empty());
    if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
        let finish = match reason {
            "stop" => Finish::Stop,
            "length" => Finish::Length,
            "content_filter" => Finish::ContentFilter,
            other => Finish::Other { name: other.to_owned() },
        };
        // A refusal streamed before is the reason that counts.
        let refused = matches!(completion.finish, Some(Finish::Refusal { .. }));
        if !refused {
            completion.finish = Some(finish);
        }
    }
    if let Some(part) = refusal {
        let before = match completion.finish.take() {
            Some(Finish::Refusal { reason }) => reason.unwrap_or_default(),
            Some(_) | None => String::new(),
        };
        completion.finish = Some(Finish::Refusal { reason: Some(before + &part) });
    }
}

/// Content is a string or a list of parts.
fn read_content(text: &mut String, content: Option<&Value>) {
    match content {
        Some(Value::String(part)) => text.push_str(part),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            text.extend(parts);
        }
        Some(_) | None => {}
    }
}

/// Cached tokens are inside `prompt_tokens`.
pub(super) fn read_usage(usage: &mut Usage, value: Option<&Value>) {
    let Some(value @ Value::Object(_)) = value else { return };
    *usage = Usage {
        input: count(value, &["prompt_tokens"]),
        cache_read: count(value, &["prompt_tokens_details", "cached_tokens"]),
        cache_write: count(value, &["prompt_tokens_details", "cache_write_tokens"]),
        output: count(value, &["completion_tokens"]),
        reasoning: count(value, &["completion_tokens_details", "reasoning_tokens"]),
        cost_usd: value.get("cost").and_then(Value::as_f64),
    };
}
