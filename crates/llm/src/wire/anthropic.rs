//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{Completion, Step, Wire, string};
use crate::{Call, Finish, HttpAccess, Thinking, Usage};
use kgen_settings::{Effort, LlmSettings};

/// First version of its API without sampling parameters.
const WITHOUT_SAMPLING: &str = "2026-10-21";

/// Fewest tokens of thinking that it takes.
const MIN_THINKING: u32 = 1024;

#[derive(Debug)]
pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn models_path(&self) -> &'static str {
        "/v1/models"
    }

    fn max_tokens_field(&self) -> &'static str {
        "max_tokens"
    }

    fn reasoning_fields(&self, _: &HttpAccess) -> (&'static str, &'static str) {
        ("output_config", "thinking")
    }

    fn marks_cached_prompts(&self) -> bool {
        true
    }

    fn headers(&self, access: &HttpAccess, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        [("anthropic-version", access.anthropic_version.clone())].into_iter().chain(key).collect()
    }

    fn check(
        &self,
        llm: &LlmSettings,
        thinking: Option<Thinking>,
        access: &HttpAccess,
    ) -> Result<(), String> {
        let version = access.anthropic_version.as_str();
        if llm.temperature.is_some() && WITHOUT_SAMPLING <= version {
            return Err(format!(
                "version {version} of its API takes no temperature: unset llm.temperature, or set \
                 version = \"2023-06-01\" for the provider"
            ));
        }
        if let Some(effort @ (Effort::None | Effort::Minimal)) = llm.effort {
            return Err(format!(
                "providers of kind `anthropic` take no effort `{}` but low, medium, high, xhigh and \
                 max; llm.thinking = \"off\" turns thinking off",
                effort.name()
            ));
        }
        match thinking {
            Some(Thinking::Tokens(tokens)) if tokens < MIN_THINKING => {
                Err(format!("llm.thinking must be at least {MIN_THINKING} tokens, not {tokens}"))
            }
            _ => Ok(()),
        }
    }

    fn body(&self, access: &HttpAccess, model: &str, call: &Call) -> Value {
        // All calls of a run begin with the system prompt. A mark behind the prompt itself would pay for
        // writing prompts into the cache that are hardly ever sent twice.
        let system = match (call.system.is_empty(), access.prompt_cache) {
            (true, _) => Value::Null,
            (false, true) => json!([{
                "type": "text", "text": call.system, "cache_control": {"type": "ephemeral"}
            }]),
            (false, false) => call.system.as_str().into(),
        };
        json!({
            "model": model,
            (&access.max_tokens_field): call.max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": call.prompt}],
            "temperature": call.temperature,
            "thinking": access.thinking.map(|thinking| match thinking {
                Thinking::Adaptive => json!({"type": "adaptive"}),
                Thinking::Off => json!({"type": "disabled"}),
                Thinking::Tokens(tokens) => json!({"type": "enabled", "budget_tokens": tokens}),
            }),
            "output_config": access.effort.map(|effort| json!({"effort": effort.name()})),
            "stream": access.stream,
        })
    }

    fn is_spoken_in(&self, value: &Value) -> bool {
        let kind = value["type"].as_str().unwrap_or_default();
        matches!(kind, "message" | "message_start" | "message_delta" | "message_stop")
            || kind.starts_with("content_block_")
            || value["content"].is_array()
    }

    fn parse(&self, value: &Value) -> Option<Completion> {
        let mut completion = Completion {
            model: string(&value["model"]),
            id: string(&value["id"]),
            has_choice: true,
            ..Completion::default()
        };
        for block in value["content"].as_array()? {
            read_block(&mut completion, block);
        }
        read_stop(&mut completion, value);
        read_usage(&mut completion.usage, &value["usage"]);
        Some(completion)
    }

    fn stream_event(&self, completion: &mut Completion, value: &Value) -> Step {
        match value["type"].as_str() {
            Some("message_start") => {
                let message = &value["message"];
                completion.model = string(&message["model"]);
                completion.id = string(&message["id"]);
                completion.has_choice = true;
                read_usage(&mut completion.usage, &message["usage"]);
            }
            Some("content_block_start") => read_block(completion, &value["content_block"]),
            Some("content_block_delta") => read_block(completion, &value["delta"]),
            Some("message_delta") => {
                read_stop(completion, &value["delta"]);
                read_usage(&mut completion.usage, &value["usage"]);
            }
            Some("message_stop") => return Step::End,
            Some(_) | None => {}
        }
        Step::More
    }
}

/// Reads a content block or a delta of one: both name their text alike.
fn read_block(completion: &mut Completion, block: &Value) {
    completion.text.push_str(block["text"].as_str().unwrap_or_default());
    completion.reasoning.push_str(block["thinking"].as_str().unwrap_or_default());
}

fn read_stop(completion: &mut Completion, value: &Value) {
    let Some(reason) = value["stop_reason"].as_str() else { return };
    let details = &value["stop_details"];
    completion.finish = Some(match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refusal {
            reason: string(&details["explanation"]).or_else(|| string(&details["category"])),
        },
        other => Finish::Other { name: other.to_owned() },
    });
}

/// Overwrites what is reported: streamed counts are cumulative. `input_tokens` are the uncached
/// ones alone.
pub(super) fn read_usage(usage: &mut Usage, value: &Value) {
    if let Some(uncached) = value["input_tokens"].as_u64() {
        usage.cache_read = value["cache_read_input_tokens"].as_u64();
        usage.cache_write = value["cache_creation_input_tokens"].as_u64();
        let cached = usage.cache_read.unwrap_or(0) + usage.cache_write.unwrap_or(0);
        usage.input = Some(uncached + cached);
    }
    usage.output = value["output_tokens"].as_u64().or(usage.output);
    usage.reasoning =
        value["output_tokens_details"]["thinking_tokens"].as_u64().or(usage.reasoning);
}
