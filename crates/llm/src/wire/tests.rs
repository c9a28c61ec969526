use kgen_record::{AttemptId, OpKey};
use kgen_settings::Effort;
use serde_json::{Value, json};

use super::{
    Anthropic, ApiError, Completion, OpenAiChat, OpenAiResponses, Step, WIRES, Wire, WireError,
    build, parse, stream_event,
};
use crate::{Call, CallKey, Finish, HttpAccess, Thinking, Turn, preset};

fn call() -> Call {
    let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 2 };
    Call {
        key: CallKey { attempt, call: 1 },
        system: "be brief".to_owned(),
        prompt: "say \"π\"".to_owned(),
        max_tokens: 64,
        turn: Turn::Code,
        sample: 1,
        temperature: None,
    }
}

/// Reads an error as a response with that body is read.
fn error_body(body: &str) -> ApiError {
    super::error_body(body).unwrap_or_else(|| super::plain(body))
}

fn access(name: &str) -> HttpAccess {
    HttpAccess::new(preset(name).unwrap(), None)
}

#[test]
fn bodies_are_exactly_these() {
    let bodies = ["anthropic", "openai", "openai-responses", "vllm"]
        .map(|name| build(&access(name), "m", &call()))
        .map(|built| format!("{} {}", built.path, built.body));
    insta::assert_snapshot!(bodies.join("\n"), @r#"
    /v1/messages {"model":"m","max_tokens":64,"system":"be brief","messages":[{"role":"user","content":"say \"π\""}],"stream":true}
    /chat/completions {"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"say \"π\""}],"max_completion_tokens":64,"stream":true,"stream_options":{"include_usage":true}}
    /responses {"model":"m","instructions":"be brief","input":"say \"π\"","max_output_tokens":64,"store":false,"stream":true}
    /chat/completions {"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"say \"π\""}],"max_tokens":64,"stream":true,"stream_options":{"include_usage":true}}
    "#);
}

#[test]
fn the_user_adds_drops_and_samples() {
    let mut access = access("openai");
    access.stream = false;
    access.extra_body.insert("reasoning_effort".to_owned(), "low".into());
    access.drop = vec!["max_completion_tokens".to_owned()];
    let body = build(&access, "m", &Call { temperature: Some(0.5), ..call() }).body;
    insta::assert_snapshot!(body, @r#"{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"say \"π\""}],"temperature":0.5,"reasoning_effort":"low"}"#);
}

#[test]
fn effort_thinking_and_caching_are_said_as_each_wants_it() {
    let bodies =
        ["anthropic", "openai", "openai-responses", "openrouter", "deepseek"].map(|name| {
            let access = HttpAccess {
                effort: Some(Effort::High),
                thinking: Some(match name {
                    "anthropic" => Thinking::Adaptive,
                    "deepseek" => Thinking::Off,
                    _ => Thinking::Tokens(2048),
                }),
                prompt_cache: true,
                stream: false,
                ..access(name)
            };
            let mut body: Value = serde_json::from_str(&build(&access, "m", &call()).body).unwrap();
            for known in ["model", "messages", "input", "instructions", "stream"] {
                body.as_object_mut().unwrap().shift_remove(known);
            }
            format!("{name} {body}")
        });
    insta::assert_snapshot!(bodies.join("\n"), @r#"
    anthropic {"max_tokens":64,"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}
    openai {"max_completion_tokens":64,"reasoning_effort":"high","prompt_cache_key":"kgen-8eee8d5ce58bb98f"}
    openai-responses {"max_output_tokens":64,"reasoning":{"effort":"high"},"prompt_cache_key":"kgen-8eee8d5ce58bb98f","store":false}
    openrouter {"max_tokens":64,"reasoning":{"effort":"high","max_tokens":2048},"prompt_cache_key":"kgen-8eee8d5ce58bb98f"}
    deepseek {"max_tokens":64,"reasoning_effort":"high","thinking":{"type":"disabled"},"prompt_cache_key":"kgen-8eee8d5ce58bb98f"}
    "#);
    for (thinking, expected) in [
        (Thinking::Off, json!({"type": "disabled"})),
        (Thinking::Tokens(2048), json!({"type": "enabled", "budget_tokens": 2048})),
    ] {
        let access = HttpAccess { thinking: Some(thinking), ..access("anthropic") };
        let body: Value = serde_json::from_str(&build(&access, "m", &call()).body).unwrap();
        assert_eq!(body["thinking"], expected);
    }
}

#[test]
fn prompts_of_one_op_share_their_cache_and_those_of_others_do_not() {
    let access = HttpAccess { prompt_cache: true, ..access("openai") };
    let key = |call: &Call| {
        let body: Value = serde_json::from_str(&build(&access, "m", call).body).unwrap();
        body["prompt_cache_key"].as_str().unwrap().to_owned()
    };
    let later = Call { prompt: "another".to_owned(), ..call() };
    let mut other = call();
    other.key.attempt.op = OpKey("add".to_owned());
    assert_eq!(key(&call()), key(&later));
    assert_ne!(key(&call()), key(&other));
}

#[test]
fn another_dialect_is_told_by_its_name() {
    let anthropic = json!({"type": "message", "content": [{"type": "text", "text": "x"}]});
    let chat = json!({"choices": [{"message": {"content": "x"}}]});
    let responses = json!({"object": "response", "output": []});
    let nothing = json!({"status": "ok"});
    let whole = |kind: &dyn Wire, body: &Value| match parse(kind, &body.to_string()) {
        Err(WireError::Foreign { speaks, .. }) => speaks,
        other => panic!("{other:?}"),
    };
    assert_eq!(whole(&Anthropic, &chat), Some("openai-chat"));
    assert_eq!(whole(&OpenAiChat, &anthropic), Some("anthropic"));
    assert_eq!(whole(&OpenAiChat, &responses), Some("openai-responses"));
    assert_eq!(whole(&OpenAiResponses, &nothing), None);

    let delta =
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}});
    let text = json!({"type": "response.output_text.delta", "delta": "x"});
    let chunk =
        json!({"object": "chat.completion.chunk", "choices": [{"delta": {"content": "x"}}]});
    for (name, event) in [("anthropic", delta), ("openai-chat", chunk), ("openai-responses", text)]
    {
        for asked in WIRES {
            let mut completion = Completion::default();
            match stream_event(asked, &mut completion, &event.to_string()) {
                Ok(step) => assert_eq!((asked.name(), step), (name, Step::More)),
                Err(WireError::Foreign { speaks, .. }) => {
                    assert_ne!(asked.name(), name);
                    assert_eq!(speaks, Some(name));
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn errors_are_told_apart_by_what_can_be_done() {
    let error = |code: &str, message: &str| {
        error_body(&json!({"error": {"code": code, "message": message}}).to_string())
    };
    assert!(error("context_length_exceeded", "").is_too_long(400));
    assert!(error("", "prompt is too long: 210000 tokens > 200000 maximum").is_too_long(400));
    assert!(error("", "").is_too_long(413));
    assert!(!error("", "prompt is too long").is_too_long(500));
    assert!(error("model_not_found", "").is_unknown_model(400));
    assert!(error("", "model: no-such-model").is_unknown_model(404));
    assert!(!error("", "no such page").is_unknown_model(404));
    assert!(
        error("slow_down", "x").implied_status() == 429 && !error("slow_down", "x").is_spent(429)
    );
    let detail = error_body(r#"{"detail": "Not Found"}"#);
    assert_eq!((detail.message.as_str(), detail.is_unknown_model(404)), ("Not Found", false));
}

#[test]
fn input_counts_what_each_provider_leaves_out_or_in() {
    let anthropic = json!({
        "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"},
                    {"type": "text", "text": "b"}, {"type": "new_block"}],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 3, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7,
                  "output_tokens": 11, "output_tokens_details": {"thinking_tokens": 2}},
    });
    let completion = parse(&Anthropic, &anthropic.to_string()).unwrap();
    assert_eq!((completion.text.as_str(), completion.reasoning.as_str()), ("ab", "t"));
    assert_eq!(completion.finish, Some(Finish::Length));
    let usage = completion.usage;
    assert_eq!((usage.input, usage.output, usage.reasoning), (Some(15), Some(11), Some(2)));

    let chat = json!({
        "choices": [{"message": {"content": [{"type": "text", "text": "a"}], "reasoning": "t"},
                     "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 15, "prompt_tokens_details": {"cached_tokens": 7},
                  "completion_tokens": 11, "cost": 0.25},
    });
    let completion = parse(&OpenAiChat, &chat.to_string()).unwrap();
    assert_eq!((completion.text.as_str(), completion.reasoning.as_str()), ("a", "t"));
    let usage = completion.usage;
    assert_eq!((usage.input, usage.cache_read, usage.cost_usd), (Some(15), Some(7), Some(0.25)));

    let responses = json!({
        "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "reasoning", "summary": []},
                   {"type": "message", "content": [{"type": "output_text", "text": "a"}]}],
        "usage": {"input_tokens": 15, "input_tokens_details": {"cached_tokens": 7}},
        "error": null,
    });
    let completion = parse(&OpenAiResponses, &responses.to_string()).unwrap();
    assert_eq!((completion.text.as_str(), completion.finish), ("a", Some(Finish::Length)));
    assert_eq!((completion.usage.input, completion.usage.output), (Some(15), None));
}

#[test]
fn refusals_are_read_from_every_format() {
    let refused = |kind: &dyn Wire, body: Value| parse(kind, &body.to_string()).unwrap().finish;
    let why = |reason: &str| Some(Finish::Refusal { reason: Some(reason.to_owned()) });
    let body = json!({"content": [], "stop_reason": "refusal",
                      "stop_details": {"category": "cyber"}});
    assert_eq!(refused(&Anthropic, body), why("cyber"));
    let body = json!({"choices": [{"message": {"refusal": "no"}, "finish_reason": "stop"}]});
    assert_eq!(refused(&OpenAiChat, body), why("no"));
    let body = json!({"output": [{"content": [{"type": "refusal", "refusal": "no"}]}]});
    assert_eq!(refused(&OpenAiResponses, body), why("no"));
}

#[test]
fn streamed_counts_are_cumulative_and_unknown_events_ignored() {
    let mut completion = Completion::default();
    let events = [
        (
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 4, "output_tokens": 1}}}),
            Step::More,
        ),
        (json!({"type": "a_new_event", "delta": {"text": "never"}}), Step::More),
        (
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
            Step::More,
        ),
        (
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}),
            Step::More,
        ),
        (
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
            Step::More,
        ),
        (json!({"type": "message_stop"}), Step::End),
    ];
    for (event, expected) in events {
        let step = stream_event(&Anthropic, &mut completion, &event.to_string());
        assert_eq!(step, Ok(expected), "{event}");
    }
    assert_eq!((completion.text.as_str(), completion.usage.output), ("x", Some(9)));
    assert_eq!(completion.usage.input, Some(4));
}

#[test]
fn a_streamed_refusal_outlives_the_stop_that_follows_it() {
    let mut completion = Completion::default();
    for choice in [
        json!({"delta": {"refusal": "I can"}}),
        json!({"delta": {"refusal": "not"}}),
        json!({"delta": {}, "finish_reason": "stop"}),
    ] {
        let event = json!({"choices": [choice]}).to_string();
        stream_event(&OpenAiChat, &mut completion, &event).unwrap();
    }
    assert_eq!(completion.finish, Some(Finish::Refusal { reason: Some("I cannot".to_owned()) }));
}

#[test]
fn errors_are_read_wherever_servers_put_them() {
    let event = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"});
    let mut completion = Completion::default();
    let error = stream_event(&OpenAiResponses, &mut completion, &event.to_string());
    let Err(WireError::Api(error)) = error else { panic!("{error:?}") };
    assert_eq!((error.implied_status(), error.message.as_str()), (429, "slow"));

    for (body, status, message) in [
        (r#"{"error": {"code": 502, "message": "down"}}"#, 502, "down"),
        (r#"[{"error": {"code": 400, "status": "INVALID", "message": "bad"}}]"#, 400, "bad"),
        (r#"{"error": "model not found"}"#, 500, "model not found"),
        (r#"{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}"#, 529, "x"),
        ("<html> gateway\n error </html>", 500, "<html> gateway error </html>"),
        ("", 500, "an empty body"),
    ] {
        let error = error_body(body);
        assert_eq!((error.implied_status(), error.message.as_str()), (status, message), "{body}");
    }
    for code in ["insufficient_quota", "project_spend_limit_exceeded", "credit_balance_exhausted"] {
        let body = json!({"error": {"code": code}}).to_string();
        assert!(error_body(&body).is_spent(429), "{code}");
    }
    assert!(!error_body(r#"{"error": {"code": "rate_limit_exceeded"}}"#).is_spent(429));
    let poor = json!({"error": {"message": "Your credit balance is too low to use the API."}});
    assert!(error_body(&poor.to_string()).is_spent(400));
}
