//! Refusals and rate limits of providers: each has its own message with a remedy.

use std::time::{Duration, Instant};

use kgen_llm::{Access, Budget, Client, Error, ProviderConfig, Scope, command_preset};
use serde_json::json;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use crate::llm::{Log, access, against, chat, complete};

#[tokio::test]
async fn an_unknown_model_is_named_with_those_that_there_are() {
    let server = MockServer::start().await;
    let unknown = json!({"error": {"code": "model_not_found", "message": "no such model"}});
    let unknown = ResponseTemplate::new(404).set_body_json(unknown);
    Mock::given(method("POST")).respond_with(unknown).mount(&server).await;
    let ask = async || {
        let access = Access::Http(Box::new(access("openai", &format!("{}/v1", server.uri()))));
        let config = ProviderConfig::new("test", "gpt-6-soll", 2, access);
        let client = Client::new(config, Budget::default()).unwrap();
        complete(&client, &Log::default()).await.unwrap_err()
    };
    let error = ask().await;
    assert_eq!(
        error.to_string(),
        "provider `test` does not know the model `gpt-6-soll`: no such model"
    );
    assert_eq!(error.scope(), Scope::Run);
    for (models, hint) in [
        (json!({"data": [{"id": "qwen"}, {"id": "gpt-6-sol"}]}), "; did you mean `gpt-6-sol`?"),
        (json!({"models": [{"name": "llama"}, {"name": "aya"}]}), "; it has aya, llama"),
    ] {
        let list = ResponseTemplate::new(200).set_body_json(models);
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(list)
            .up_to_n_times(1)
            .mount(&server)
            .await;
        let error = ask().await.to_string();
        assert!(error.ends_with(&format!("no such model{hint}")), "{error}");
    }
}

#[tokio::test]
async fn a_prompt_that_the_provider_finds_too_long_is_one_ops_trouble() {
    let long = json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded",
        "param": "messages", "message": "maximum context length is 8192 tokens"}});
    let (reply, log, n_requests) =
        against(vec![ResponseTemplate::new(400).set_body_json(long)]).await;
    let error = reply.unwrap_err();
    assert!(matches!(error, Error::PromptTooLong { .. }), "{error}");
    assert_eq!(
        (error.scope(), n_requests, log.kinds()),
        (Scope::Op, 1, vec!["request", "failure"])
    );
}

#[tokio::test]
async fn a_web_server_in_place_of_an_api_is_recognised() {
    for status in [200, 302, 404, 405] {
        let html = ResponseTemplate::new(status).set_body_string("<html>nginx</html>");
        let (reply, log, n_requests) = against(vec![html]).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, Error::Garbage { .. }), "{status}: {error}");
        assert!(error.to_string().contains("is the base URL http://127.0.0.1:"), "{error}");
        // A page in the place of a reply may be a network's; a path that is not there stays so.
        let (scope, n) = if status == 200 { (Scope::Op, 3) } else { (Scope::Run, 1) };
        assert_eq!((error.scope(), n_requests), (scope, n), "{status}");
        let failed = log.failures.lock().unwrap()[0].response.clone().unwrap();
        assert_eq!((failed.status, failed.body), (Some(status), b"<html>nginx</html>".to_vec()));
    }
}

#[tokio::test]
async fn a_limit_is_waited_for_and_an_empty_account_is_not() {
    let limited = || {
        let body = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down"}});
        ResponseTemplate::new(429).insert_header("retry-after-ms", "5").set_body_json(body)
    };
    let (reply, log, _) = against(vec![limited(), limited(), chat("code", "stop")]).await;
    assert_eq!(reply.unwrap().text, "code");
    assert_eq!(log.replies.lock().unwrap()[0].retries.len(), 2);
    for (status, body) in [
        (429, json!({"error": {"code": "credit_balance_exhausted", "message": "x"}})),
        (429, json!({"error": {"code": "project_spend_limit_exceeded", "message": "x"}})),
        (402, json!({"error": {"message": "pay"}})),
        (400, json!({"error": {"message": "Your credit balance is too low"}})),
    ] {
        let (reply, _, n_requests) =
            against(vec![ResponseTemplate::new(status).set_body_json(&body)]).await;
        let error = reply.unwrap_err();
        assert!(matches!(error, Error::Spent { .. }), "{body}: {error}");
        assert_eq!((error.scope(), n_requests), (Scope::Run, 1));
    }
}

#[tokio::test]
async fn limits_in_the_headers_hold_the_next_call_back() {
    let server = MockServer::start().await;
    let last = chat("code", "stop")
        .insert_header("x-ratelimit-limit-requests", "10")
        .insert_header("x-ratelimit-remaining-requests", "0")
        .insert_header("x-ratelimit-reset-requests", "600ms");
    Mock::given(method("POST")).respond_with(last).mount(&server).await;
    let access = Access::Http(Box::new(access("openai", &format!("{}/v1", server.uri()))));
    let config = ProviderConfig::new("test", "m", 2, access);
    let client = Client::new(config, Budget::default()).unwrap();
    complete(&client, &Log::default()).await.unwrap();
    let start = Instant::now();
    complete(&client, &Log::default()).await.unwrap();
    // A tenth of the tokens that come back in 600 ms is one request.
    assert!(Duration::from_millis(50) < start.elapsed(), "{:?}", start.elapsed());
}

/// Puts a program of that name into a folder; it checks its arguments and answers.
fn program(folder: &std::path::Path, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn agents_report_their_reply_their_tokens_and_their_cost() {
    let folder = tempfile::tempdir().unwrap();
    let claude = r#"cat > prompt; cat <<'END'
{"type":"result","is_error":false,"result":"code","total_cost_usd":0.0125,
 "usage":{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":97,"output_tokens":9}}
END"#;
    let codex = r#"echo 'code' > last.txt; cat > prompt; cat <<'END'
{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"type":"agent_message","text":"code"}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":97,"output_tokens":9}}
END"#;
    let ollama = r"cat > prompt; printf '\033[?25l<think>\nhm\n</think>\n\ncode\n\033[?25h'";
    for (preset, script, cost, tokens) in [
        ("claude-cli", claude, Some(0.0125), Some(100)),
        ("codex-cli", codex, None, Some(100)),
        ("ollama-cli", ollama, None, None),
    ] {
        let mut access =
            command_preset(preset).unwrap().access(None, None, Duration::from_secs(20));
        access.argv[0] = program(folder.path(), preset, script);
        let config = ProviderConfig::new(preset, "m", 1, Access::Command(access));
        let client = Client::new(config, Budget::default()).unwrap();
        let log = Log::default();
        let reply = complete(&client, &log).await.unwrap();
        assert_eq!(reply.text.trim(), "code", "{preset}");
        assert_eq!((reply.usage.cost_usd, reply.usage.input), (cost, tokens), "{preset}");
        let request = log.requests.lock().unwrap()[0].clone();
        assert!(request.command.contains(&"m".to_owned()) && request.body.contains("Write relu."));
        let record = log.replies.lock().unwrap()[0].clone();
        assert!(!record.response.unwrap().body.is_empty());
        assert_eq!(record.reasoning.as_deref(), (preset == "ollama-cli").then_some("hm"));
    }
}

#[tokio::test]
async fn an_agent_that_reports_an_error_gave_no_reply() {
    let folder = tempfile::tempdir().unwrap();
    for (script, expected) in [
        (
            r#"echo '{"is_error":true,"result":"Credit balance is too low"}'"#,
            "it reports an error: Credit balance is too low",
        ),
        (r#"echo '{"result":null}'"#, "its output has no text at `/result`"),
        ("echo not json", "its output is not JSON: not json"),
        (r#"echo '{"is_error":true,"result":"no login"}'; exit 1"#, "code 1: no login"),
    ] {
        let mut access =
            command_preset("claude-cli").unwrap().access(None, None, Duration::from_secs(20));
        access.argv[0] = program(folder.path(), "claude", script);
        let config = ProviderConfig::new("claude-cli", "m", 1, Access::Command(access));
        let client = Client::new(config, Budget::default()).unwrap();
        let log = Log::default();
        let error = complete(&client, &log).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(log.failures.lock().unwrap()[0].response.is_some(), "what it wrote is kept");
    }
}
