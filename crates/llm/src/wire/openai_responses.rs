//! OpenAI's Responses.

use kgen_settings::LlmSettings;
use serde_json::{Value, json};

use super::{Completion, Step, Wire, cache_key, no_thinking, string};
use crate::{Call, Finish, HttpAccess, Thinking, Usage};

#[derive(Debug)]
pub(crate) struct OpenAiResponses;

impl Wire for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn path(&self) -> &'static str {
        "/responses"
    }

    fn max_tokens_field(&self) -> &'static str {
        "max_output_tokens"
    }

    fn reasoning_fields(&self, _: &HttpAccess) -> (&'static str, &'static str) {
        ("reasoning", "thinking")
    }

    fn check(
        &self,
        _: &LlmSettings,
        thinking: Option<Thinking>,
        _: &HttpAccess,
    ) -> Result<(), String> {
        thinking.map_or(Ok(()), |_| Err(no_thinking(self, "take no llm.thinking")))
    }

    fn body(&self, access: &HttpAccess, model: &str, call: &Call) -> Value {
        json!({
            "model": model,
            "instructions": Some(&call.system).filter(|system| !system.is_empty()),
            "input": call.prompt,
            (&access.max_tokens_field): call.max_tokens,
            "temperature": call.temperature,
            "reasoning": access.effort.map(|effort| json!({"effort": effort.name()})),
            "prompt_cache_key": access.prompt_cache.then(|| cache_key(call)),
            // The default keeps prompts and replies on the provider's side.
            "store": false,
            "stream": access.stream,
        })
    }

    fn is_spoken_in(&self, value: &Value) -> bool {
        let kind = value["type"].as_str().unwrap_or_default();
        value["object"] == "response" || kind.starts_with("response.") || value["output"].is_array()
    }

    fn parse(&self, value: &Value) -> Option<Completion> {
        value["output"].as_array()?;
        let mut completion = Completion { has_choice: true, ..Completion::default() };
        read_output(&mut completion, value);
        read_end(&mut completion, value);
        Some(completion)
    }

    fn stream_event(&self, completion: &mut Completion, value: &Value) -> Step {
        let delta = value["delta"].as_str().unwrap_or_default();
        match value["type"].as_str() {
            Some("response.output_text.delta") => completion.text.push_str(delta),
            Some("response.reasoning_text.delta" | "response.reasoning_summary_text.delta") => {
                completion.reasoning.push_str(delta);
            }
            // Parts of a summary are paragraphs of their own.
            Some("response.reasoning_summary_part.added") if !completion.reasoning.is_empty() => {
                completion.reasoning.push_str("\n\n");
            }
            Some("response.refusal.done") => {
                completion.finish = Some(Finish::Refusal { reason: string(&value["refusal"]) });
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                completion.has_choice = true;
                let response = &value["response"];
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
}

/// Reads messages, refusals and reasoning; calls of tools and whatever else there is are not asked
/// for and not read.
fn read_output(completion: &mut Completion, response: &Value) {
    for item in response["output"].as_array().into_iter().flatten() {
        let is_reasoning = item["type"] == "reasoning";
        let parts = |name: &str| item[name].as_array().into_iter().flatten();
        for part in parts("summary").chain(parts("content")) {
            let kind = part["type"].as_str().unwrap_or_default();
            let text = part["text"].as_str().unwrap_or_default();
            if is_reasoning || matches!(kind, "reasoning_text" | "summary_text") {
                if !completion.reasoning.is_empty() {
                    completion.reasoning.push_str("\n\n");
                }
                completion.reasoning.push_str(text);
            } else if let Some(refusal) = string(&part["refusal"]) {
                completion.finish = Some(Finish::Refusal { reason: Some(refusal) });
            } else {
                completion.text.push_str(text);
            }
        }
    }
}

fn read_end(completion: &mut Completion, response: &Value) {
    completion.model = string(&response["model"]);
    completion.id = string(&response["id"]);
    completion.usage = usage(&response["usage"]);
    if completion.finish.is_some() {
        return;
    }
    let reason = response["incomplete_details"]["reason"].as_str();
    let status = response["status"].as_str();
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
        input: value["input_tokens"].as_u64(),
        cache_read: value["input_tokens_details"]["cached_tokens"].as_u64(),
        cache_write: value["input_tokens_details"]["cache_write_tokens"].as_u64(),
        output: value["output_tokens"].as_u64(),
        reasoning: value["output_tokens_details"]["reasoning_tokens"].as_u64(),
        cost_usd: None,
    }
}
