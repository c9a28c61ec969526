//! OpenAI's Chat Completions, as OpenAI and the servers that imitate it speak it.

use kgen_settings::LlmSettings;
use serde_json::{Value, json};

use super::{Completion, Step, Wire, cache_key, no_thinking, present, string};
use crate::{Call, Finish, HttpAccess, Reasoning, Thinking, Usage};

#[derive(Debug)]
pub(crate) struct OpenAiChat;

impl Wire for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn max_tokens_field(&self) -> &'static str {
        "max_tokens"
    }

    fn reasoning_fields(&self, access: &HttpAccess) -> (&'static str, &'static str) {
        match access.reasoning {
            Reasoning::OpenRouter => ("reasoning", "reasoning"),
            Reasoning::Standard | Reasoning::DeepSeek => ("reasoning_effort", "thinking"),
        }
    }

    fn check(
        &self,
        llm: &LlmSettings,
        thinking: Option<Thinking>,
        access: &HttpAccess,
    ) -> Result<(), String> {
        let takes = match (access.reasoning, thinking) {
            (Reasoning::OpenRouter, Some(Thinking::Tokens(_))) if llm.effort.is_some() => {
                return Err("this provider takes llm.effort or llm.thinking, not both".to_owned());
            }
            (_, None)
            | (Reasoning::DeepSeek, Some(Thinking::Off))
            | (Reasoning::OpenRouter, Some(Thinking::Tokens(_))) => return Ok(()),
            (Reasoning::Standard, Some(_)) => "take no llm.thinking",
            (Reasoning::DeepSeek, Some(_)) => "take here no llm.thinking but \"off\"",
            (Reasoning::OpenRouter, Some(_)) => "take here no llm.thinking but a number of tokens",
        };
        Err(no_thinking(self, takes))
    }

    fn body(&self, access: &HttpAccess, model: &str, call: &Call) -> Value {
        let mut messages = Vec::new();
        if !call.system.is_empty() {
            messages.push(json!({"role": "system", "content": call.system}));
        }
        messages.push(json!({"role": "user", "content": call.prompt}));
        let effort = access.effort.map(|effort| effort.name());
        let (effort, reasoning, thinking) = match (access.reasoning, access.thinking) {
            (Reasoning::OpenRouter, thinking) => {
                let max_tokens = match thinking {
                    Some(Thinking::Tokens(tokens)) => Some(tokens),
                    _ => None,
                };
                let reasoning = present(json!({"effort": effort, "max_tokens": max_tokens}));
                (None, Some(reasoning).filter(|fields| !fields.is_empty()), None)
            }
            (Reasoning::DeepSeek, Some(Thinking::Off)) => {
                (effort, None, Some(json!({"type": "disabled"})))
            }
            (Reasoning::Standard | Reasoning::DeepSeek, _) => (effort, None, None),
        };
        json!({
            "model": model,
            "messages": messages,
            (&access.max_tokens_field): call.max_tokens,
            "temperature": call.temperature,
            "reasoning": reasoning,
            "reasoning_effort": effort,
            "thinking": thinking,
            "prompt_cache_key": access.prompt_cache.then(|| cache_key(call)),
            "stream": access.stream.then_some(true),
            "stream_options": access.stream.then(|| json!({"include_usage": true})),
        })
    }

    fn is_spoken_in(&self, value: &Value) -> bool {
        value.get("choices").is_some()
    }

    fn parse(&self, value: &Value) -> Option<Completion> {
        value.get("choices")?;
        let mut completion = Completion::default();
        read(&mut completion, value, "message");
        Some(completion)
    }

    fn stream_event(&self, completion: &mut Completion, value: &Value) -> Step {
        read(completion, value, "delta");
        // Not every server closes with `[DONE]`, and the usage comes in a chunk after the last choice.
        if completion.finish.is_some() { Step::Complete } else { Step::More }
    }
}

fn read(completion: &mut Completion, value: &Value, part: &str) {
    completion.model = string(&value["model"]).or_else(|| completion.model.take());
    completion.id = string(&value["id"]).or_else(|| completion.id.take());
    read_usage(&mut completion.usage, &value["usage"]);
    let Some(choice) = value["choices"].get(0) else { return };
    completion.has_choice = true;
    let message = &choice[part];
    read_content(&mut completion.text, &message["content"]);
    let reasoning = message.get("reasoning").unwrap_or(&message["reasoning_content"]);
    read_content(&mut completion.reasoning, reasoning);
    let refusal = string(&message["refusal"]).filter(|text| !text.is_empty());
    if let Some(reason) = choice["finish_reason"].as_str() {
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
fn read_content(text: &mut String, content: &Value) {
    match content {
        Value::String(part) => text.push_str(part),
        Value::Array(parts) => {
            text.extend(parts.iter().filter_map(|part| part["text"].as_str()));
        }
        _ => {}
    }
}

/// Cached tokens are inside `prompt_tokens`.
pub(super) fn read_usage(usage: &mut Usage, value: &Value) {
    if !value.is_object() {
        return;
    }
    *usage = Usage {
        input: value["prompt_tokens"].as_u64(),
        cache_read: value["prompt_tokens_details"]["cached_tokens"].as_u64(),
        cache_write: value["prompt_tokens_details"]["cache_write_tokens"].as_u64(),
        output: value["completion_tokens"].as_u64(),
        reasoning: value["completion_tokens_details"]["reasoning_tokens"].as_u64(),
        cost_usd: value["cost"].as_f64(),
    };
}
