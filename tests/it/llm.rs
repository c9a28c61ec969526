//! LLM providers against local servers, commands, files and recordings.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpListener,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use kgen_llm::{
    Access, Budget, BudgetCaps, Call, CallKey, CallLog, Client, CommandAccess, CommandOutput,
    Error, FailureRecord, HttpAccess, LogError, MailboxAccess, Pricer, ProviderConfig,
    RecordedReply, Recording, ReplyRecord, RequestRecord, RetryPolicy, Scope, Turn, from_settings,
    preset, prompt_hash,
};
use kgen_record::{AttemptId, Caps, OpKey};
use kgen_settings::{LlmSettings, Overrides, ProviderSettings, resolve_with};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_string_contains, method, path},
};

mod local;
mod stops;

const KEY: &str = "sk-test-0123456789";
const CHAT: &str = "/v1/chat/completions";

/// Keeps everything that is put on record, in order.
#[derive(Default)]
pub(crate) struct Log {
    entries: Mutex<Vec<(&'static str, String)>>,
    pub(crate) requests: Mutex<Vec<RequestRecord>>,
    pub(crate) replies: Mutex<Vec<ReplyRecord>>,
    pub(crate) failures: Mutex<Vec<FailureRecord>>,
    awaited: Mutex<Option<String>>,
}

impl Log {
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.entries.lock().unwrap().iter().map(|(kind, _)| *kind).collect()
    }

    fn last(&self) -> String {
        self.entries.lock().unwrap().last().unwrap().1.clone()
    }

    fn push(&self, kind: &'static str, text: String) -> Result<(), LogError> {
        self.entries.lock().unwrap().push((kind, text));
        Ok(())
    }
}

impl CallLog for Log {
    fn request(&self, _: &CallKey, record: &RequestRecord) -> Result<(), LogError> {
        self.requests.lock().unwrap().push(record.clone());
        self.push("request", serde_json::to_string(record)? + &record.markdown)
    }

    fn reply(&self, _: &CallKey, record: &ReplyRecord) -> Result<(), LogError> {
        self.replies.lock().unwrap().push(record.clone());
        self.push("reply", serde_json::to_string(record)? + &record.text)
    }

    fn failure(&self, _: &CallKey, record: &FailureRecord) -> Result<(), LogError> {
        self.failures.lock().unwrap().push(record.clone());
        self.push("failure", serde_json::to_string(record)?)
    }

    fn reply_path(&self, key: &CallKey) -> PathBuf {
        PathBuf::from(format!("{key}.reply.md"))
    }

    fn awaited_reply(&self, _: &CallKey) -> Result<Option<String>, LogError> {
        Ok(self.awaited.lock().unwrap().clone())
    }
}

pub(crate) fn call() -> Call {
    let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
    Call {
        key: CallKey { attempt, call: 1 },
        system: "You write CUDA kernels.".to_owned(),
        prompt: "Write relu.".to_owned(),
        max_tokens: 1000,
        turn: Turn::Code,
        sample: 1,
        temperature: None,
    }
}

pub(crate) fn access(name: &str, base_url: &str) -> HttpAccess {
    let mut access = HttpAccess::new(preset(name).unwrap(), Some(KEY.into()));
    access.base_url = base_url.to_owned();
    access.idle_timeout = Duration::from_millis(120);
    access.response_timeout = Duration::from_millis(120);
    access.retry = RetryPolicy {
        max_tries: 3,
        base_wait: Duration::from_millis(1),
        max_backoff: Duration::from_millis(2),
        max_outage: Duration::from_millis(100),
        total: Duration::from_secs(20),
    };
    access
}

fn client(access: HttpAccess, budget: &Budget) -> Client {
    let access = Access::Http(Box::new(access));
    Client::new(ProviderConfig::new("test", "m-1", 2, access), budget.clone()).unwrap()
}

/// Makes one call, with kgen's promises about records checked whatever comes of it.
pub(crate) async fn complete(client: &Client, log: &Log) -> Result<ReplyRecord, Error> {
    let outcome = client.complete(&call(), log).await;
    let mut shown = format!("{client:?}");
    if let Err(error) = &outcome {
        shown = format!("{shown} {error} {error:?}");
    }
    for (_, entry) in log.entries.lock().unwrap().iter() {
        shown.push_str(entry);
    }
    assert!(!shown.contains(KEY), "the key shows: {shown}");
    outcome
}

/// Checks the invariants of every request that a server gets.
fn check_invariants(request: &Request, log: &Log) {
    assert_eq!(request.headers["content-type"], "application/json");
    let key = request.headers.get("x-api-key").or_else(|| request.headers.get("authorization"));
    assert!(key.unwrap().to_str().unwrap().ends_with(KEY));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["model"], "m-1");
    assert!(body.get("temperature").is_none(), "sampling is sent only where it is set");
    let recorded = log.requests.lock().unwrap().last().unwrap().clone();
    assert_eq!(recorded.body.as_bytes(), request.body, "the exact bytes are on record");
    assert_eq!(recorded.prompt_hash, prompt_hash(&call()));
}

async fn server(responses: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let n_responses = responses.len();
    for (index, response) in responses.into_iter().enumerate() {
        let mock = Mock::given(method("POST")).respond_with(response);
        let mock = mock.with_priority(u8::try_from(index).unwrap() + 1);
        if index + 1 < n_responses {
            mock.up_to_n_times(1).mount(&server).await;
        } else {
            mock.mount(&server).await;
        }
    }
    server
}

/// Calls a server that gives these responses in order, the last one for ever.
pub(crate) async fn against(
    responses: Vec<ResponseTemplate>,
) -> (Result<ReplyRecord, Error>, Log, usize) {
    let server = server(responses).await;
    let log = Log::default();
    let base_url = format!("{}/v1", server.uri());
    let client = client(access("openai", &base_url), &Budget::default());
    let outcome = complete(&client, &log).await;
    let requests = server.received_requests().await.unwrap();
    for request in &requests {
        assert_eq!(request.url.path(), CHAT);
        check_invariants(request, &log);
    }
    (outcome, log, requests.len())
}

pub(crate) fn chat(content: &str, finish: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "c-1", "model": "m-1-2026",
        "choices": [{"message": {"content": content}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 7,
                  "prompt_tokens_details": {"cached_tokens": 30}},
    }))
}

fn sse(events: &[Value], done: bool) -> String {
    let mut body: String = events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect();
    if done {
        body.push_str(": a comment\n\ndata: [DONE]\n\n");
    }
    body
}

fn chat_stream() -> Vec<Value> {
    vec![
        json!({"id": "c-2", "model": "m-1-2026", "choices": [{"delta": {"role": "assistant"}}]}),
        json!({"choices": [{"delta": {"reasoning_content": "hm "}}]}),
        json!({"choices": [{"delta": {"content": "kern"}}]}),
        json!({"choices": [{"delta": {"content": "él"}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}),
    ]
}

fn stream(body: String) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

#[tokio::test]
async fn a_whole_reply_is_returned_and_recorded() {
    let response = chat("code", "stop").insert_header("x-request-id", "r-9");
    let (reply, log, n_requests) = against(vec![response]).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("code", "m-1-2026"));
    assert_eq!(reply.request_id.as_deref(), Some("r-9"));
    assert_eq!((reply.usage.input, reply.usage.cache_read), (Some(50), Some(30)));
    assert_eq!((n_requests, log.kinds()), (1, vec!["request", "reply"]));
    let request = log.requests.lock().unwrap()[0].clone();
    assert_eq!(request.headers, ["authorization", "content-type"]);
    assert!(request.markdown.contains("Write relu."));
}

#[tokio::test]
async fn a_streamed_reply_is_put_together() {
    let (reply, ..) = against(vec![stream(sse(&chat_stream(), true))]).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.output), ("kernél", Some(3)));
    assert_eq!(reply.reasoning.as_deref(), Some("hm "));
}

#[tokio::test]
async fn a_truncated_stream_is_asked_for_again_and_charged() {
    let truncated = stream(sse(&chat_stream()[..3], false));
    let (reply, log, n_requests) = against(vec![truncated, chat("code", "stop")]).await;
    assert_eq!(reply.unwrap().text, "code");
    assert_eq!(n_requests, 2);
    let retry = log.replies.lock().unwrap()[0].retries[0].clone();
    assert!(retry.maybe_billed, "{retry:?}");
    assert!(retry.reason.contains("ended before"), "{retry:?}");
    let spend = log.replies.lock().unwrap()[0].spend;
    assert_eq!((spend.calls, spend.lost_calls), (2, 1), "{spend:?}");
    // Killed during the second try, it would have been charged both.
    let requests = log.requests.lock().unwrap();
    let reserved: Vec<_> = requests.iter().map(|request| request.reserved.calls).collect();
    assert_eq!(reserved, [1, 2]);
}

#[tokio::test]
async fn a_billed_retry_does_not_exceed_the_call_budget() {
    let server = server(vec![stream(sse(&chat_stream()[..3], false))]).await;
    let run = Caps { calls: Some(2), ..Caps::default() };
    let caps = BudgetCaps { run, ..BudgetCaps::default() };
    let budget = Budget::new(caps, Pricer::free(), Some(1000)).unwrap();
    let client = client(access("openai", &format!("{}/v1", server.uri())), &budget);
    let log = Log::default();
    let error = complete(&client, &log).await.unwrap_err();
    assert!(matches!(error, Error::Budget { .. }), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
    let failure: Value = serde_json::from_str(&log.last()).unwrap();
    let retries = failure["retries"].as_array().unwrap();
    assert_eq!(retries.len(), 2, "also the one that there was no room for says why: {failure}");
}

/// Call number one of an attempt at an op.
fn of_op(op: &str, number: u32) -> Call {
    let attempt = AttemptId { op: OpKey(op.to_owned()), number };
    Call { key: CallKey { attempt, call: 1 }, prompt: format!("Write {op}."), ..call() }
}

#[tokio::test]
async fn a_call_that_waits_for_room_in_its_op_takes_no_place_from_other_ops() {
    let server = MockServer::start().await;
    let is_gelu = body_string_contains("Write gelu.");
    let quick = Mock::given(method("POST")).and(is_gelu).respond_with(chat("code", "stop"));
    quick.with_priority(1).mount(&server).await;
    let slow = chat("code", "stop").set_delay(Duration::from_millis(400));
    Mock::given(method("POST")).respond_with(slow).with_priority(2).mount(&server).await;
    let op = Caps { calls: Some(1), ..Caps::default() };
    let caps = BudgetCaps { op, ..BudgetCaps::default() };
    let budget = Budget::new(caps, Pricer::free(), Some(1000)).unwrap();
    let mut access = access("openai", &format!("{}/v1", server.uri()));
    access.idle_timeout = Duration::from_secs(20);
    let (client, ended) = (client(access, &budget), Mutex::new(Vec::new()));
    let ask = async |op: &'static str, number| {
        let is_ok = client.complete(&of_op(op, number), &Log::default()).await.is_ok();
        ended.lock().unwrap().push((op, is_ok));
    };
    tokio::join!(ask("relu", 1), ask("relu", 2), ask("gelu", 1));
    let ended = ended.into_inner().unwrap();
    assert_eq!(ended, [("gelu", true), ("relu", true), ("relu", false)]);
}

#[tokio::test]
async fn a_retry_that_waits_for_room_gives_its_place_to_those_that_have_it() {
    let broken = stream(sse(&chat_stream()[..3], false));
    let server = server(vec![broken, chat("code", "stop")]).await;
    let run = Caps { calls: Some(2), ..Caps::default() };
    let caps = BudgetCaps { run, ..BudgetCaps::default() };
    let budget = Budget::new(caps, Pricer::free(), Some(1000)).unwrap();
    let access = Access::Http(Box::new(access("openai", &format!("{}/v1", server.uri()))));
    let client = Client::new(ProviderConfig::new("test", "m-1", 1, access), budget).unwrap();
    let (first, second, log) = (of_op("relu", 1), of_op("gelu", 1), Log::default());
    let both =
        async { tokio::join!(client.complete(&first, &log), client.complete(&second, &log)) };
    let (first, second) = tokio::time::timeout(Duration::from_secs(20), both).await.unwrap();
    assert!(matches!(first, Err(Error::Budget { .. })), "{first:?}");
    assert_eq!(second.unwrap().text, "code");
}

#[tokio::test]
async fn a_rate_limit_waits_as_long_as_it_says() {
    let limited = ResponseTemplate::new(429)
        .insert_header("retry-after-ms", "30")
        .set_body_json(json!({"error": {"code": "rate_limit_exceeded", "message": "slow down"}}));
    let (reply, log, n_requests) = against(vec![limited, chat("code", "stop")]).await;
    assert_eq!((reply.unwrap().text.as_str(), n_requests), ("code", 2));
    let retry = log.replies.lock().unwrap()[0].retries[0].clone();
    assert_eq!(retry.status, Some(429));
    assert!(0.03 <= retry.wait_s && !retry.maybe_billed, "{retry:?}");
}

#[tokio::test]
async fn a_rate_limit_holds_all_calls_of_the_provider_back() {
    let limited = ResponseTemplate::new(429).insert_header("retry-after-ms", "40");
    let server = server(vec![limited, chat("code", "stop")]).await;
    let base_url = format!("{}/v1", server.uri());
    let client = client(access("openai", &base_url), &Budget::default());
    let (first, second) = (Log::default(), Log::default());
    let start = std::time::Instant::now();
    let later = async {
        tokio::time::sleep(Duration::from_millis(15)).await;
        complete(&client, &second).await
    };
    let (a, b) = tokio::join!(complete(&client, &first), later);
    assert_eq!((a.unwrap().text, b.unwrap().text), ("code".to_owned(), "code".to_owned()));
    let retries = second.replies.lock().unwrap()[0].retries.len();
    assert_eq!(retries, 0, "the second call waits and is not refused itself");
    assert!(Duration::from_millis(40) <= start.elapsed());
}

#[tokio::test]
async fn a_server_error_passes_and_one_that_stays_ends_the_call() {
    let failing = || ResponseTemplate::new(500).set_body_string("oops");
    let (reply, ..) = against(vec![failing(), chat("code", "stop")]).await;
    assert_eq!(reply.unwrap().text, "code");
    let (reply, log, n_requests) = against(vec![failing()]).await;
    let error = reply.unwrap_err();
    assert!(matches!(error, Error::Unavailable { status: Some(500), tries: 3, .. }), "{error}");
    assert_eq!((n_requests, log.kinds()), (3, vec!["request", "failure"]));
    assert_eq!(error.scope(), Scope::Op);
}

#[tokio::test]
async fn an_account_without_quota_stops_the_run_at_once() {
    let spent = ResponseTemplate::new(429)
        .set_body_json(json!({"error": {"type": "insufficient_quota", "message": "pay"}}));
    let (reply, _, n_requests) = against(vec![spent]).await;
    let error = reply.unwrap_err();
    assert!(matches!(error, Error::Spent { status: 429, .. }), "{error}");
    assert_eq!((n_requests, error.scope()), (1, Scope::Run));
}

#[tokio::test]
async fn a_wrong_key_names_the_variable_and_not_the_key() {
    let message = format!("Incorrect API key provided: {KEY}");
    let refused = ResponseTemplate::new(401).set_body_json(json!({"error": {"message": message}}));
    let (reply, log, n_requests) = against(vec![refused]).await;
    let error = reply.unwrap_err();
    insta::assert_snapshot!(error, @"provider `test` refused the key (401): Incorrect API key provided: [redacted]; the key came from OPENAI_API_KEY");
    assert_eq!((n_requests, error.scope()), (1, Scope::Run));
    assert!(log.last().contains("[redacted]"));
}

#[tokio::test]
async fn a_refused_parameter_names_the_way_out() {
    let refused = ResponseTemplate::new(400).set_body_json(
        json!({"error": {"param": "temperature", "code": "unsupported_value", "message": "no"}}),
    );
    let (reply, ..) = against(vec![refused]).await;
    insta::assert_snapshot!(reply.unwrap_err(), @r#"provider `test` rejected the request (400): no; to leave it out put `drop = ["temperature"]` into the provider's configuration"#);
}

#[tokio::test]
async fn garbage_is_asked_for_again_and_then_shown() {
    let html = ResponseTemplate::new(200).set_body_string("<html>\n<body>Welcome!</body></html>");
    let (reply, _, n_requests) = against(vec![html]).await;
    let error = reply.unwrap_err().to_string();
    let (before, after) = error.split_once("http://127.0.0.1:").unwrap();
    assert_eq!(
        before,
        "provider `test` sent something else than a response of kind `openai-chat`: <html> \
         <body>Welcome!</body></html>; is the base URL "
    );
    assert!(after.ends_with("/v1 right?"), "{error}");
    assert_eq!(n_requests, 3);
    let (reply, ..) = against(vec![stream("data: {not json\n\n".to_owned())]).await;
    assert!(matches!(reply.unwrap_err(), Error::Garbage { .. }));
    // Something on the way put its own page there, once.
    let page = || ResponseTemplate::new(200).set_body_string("<html>log in</html>");
    for body in [page(), ResponseTemplate::new(200), page().set_body_string("{\"a\": ")] {
        let (reply, log, n_requests) = against(vec![body, chat("code", "stop")]).await;
        assert_eq!((reply.unwrap().text.as_str(), n_requests), ("code", 2));
        assert!(log.replies.lock().unwrap()[0].retries[0].maybe_billed);
    }
}

#[tokio::test]
async fn an_empty_choice_is_asked_for_again_and_then_an_error() {
    let empty = || ResponseTemplate::new(200).set_body_json(json!({"choices": []}));
    let (reply, ..) = against(vec![empty(), chat("code", "stop")]).await;
    assert_eq!(reply.unwrap().text, "code");
    let (reply, log, n_requests) = against(vec![empty()]).await;
    assert!(matches!(reply.unwrap_err(), Error::EmptyReply));
    assert_eq!((n_requests, log.kinds().last()), (3, Some(&"reply")));
}

#[tokio::test]
async fn replies_without_a_usable_text_are_errors_of_their_own_and_on_record() {
    let refusal = ResponseTemplate::new(200).set_body_json(json!({"choices": [
        {"message": {"content": null, "refusal": "I cannot."}, "finish_reason": "stop"}
    ]}));
    let (reply, log, _) = against(vec![refusal]).await;
    assert!(matches!(reply.unwrap_err(), Error::Refused { reason: Some(_) }));
    assert_eq!(log.kinds(), ["request", "reply"]);

    let (reply, log, n_requests) = against(vec![chat("", "length")]).await;
    assert!(matches!(reply.unwrap_err(), Error::LengthWithoutText { .. }));
    assert_eq!((n_requests, log.kinds()), (1, vec!["request", "reply"]));

    let (reply, ..) = against(vec![chat("x", "content_filter")]).await;
    assert!(matches!(reply.unwrap_err(), Error::Filtered));

    let filtered = ResponseTemplate::new(400).set_body_json(
        json!({"error": {"param": "prompt", "code": "content_filter", "message": "no"}}),
    );
    let (reply, log, n_requests) = against(vec![filtered]).await;
    assert!(matches!(reply.unwrap_err(), Error::Filtered));
    assert_eq!((n_requests, log.kinds()), (1, vec!["request", "reply"]));
}

#[tokio::test]
async fn slow_headers_run_into_the_idle_timeout() {
    let slow = chat("late", "stop").set_delay(Duration::from_secs(30));
    let (reply, log, _) = against(vec![slow, chat("code", "stop")]).await;
    assert_eq!(reply.unwrap().text, "code");
    let retry = log.replies.lock().unwrap()[0].retries[0].clone();
    assert!(retry.reason.contains("no response"), "{retry:?}");
}

/// A server that sends these bytes one at a time and then, at the second connection, the second
/// text, and so on; `silent` keeps a connection open instead of closing it.
fn trickle(bodies: Vec<String>, silent: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut open = Vec::new();
        for body in bodies {
            let (mut socket, _) = listener.accept().unwrap();
            socket.set_nodelay(true).unwrap();
            let mut request = [0; 8192];
            let n_read = socket.read(&mut request).unwrap();
            assert!(0 < n_read);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                        connection: close\r\ntransfer-encoding: chunked\r\n\r\n";
            socket.write_all(head.as_bytes()).unwrap();
            for byte in body.bytes() {
                drop(socket.write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']));
            }
            if silent {
                open.push(socket);
            } else {
                drop(socket.write_all(b"0\r\n\r\n"));
            }
        }
        thread::sleep(Duration::from_secs(2));
    });
    format!("http://{address}/v1")
}

#[tokio::test]
async fn a_stream_in_chunks_of_one_byte_is_read() {
    let base_url = trickle(vec![sse(&chat_stream(), true)], false);
    let client = client(access("openai", &base_url), &Budget::default());
    let reply = complete(&client, &Log::default()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input), ("kernél", Some(5)));
}

#[tokio::test]
async fn a_silent_stream_is_given_up_but_a_complete_one_is_kept() {
    let half = sse(&chat_stream()[..3], false);
    let whole = sse(&chat_stream()[..4], false);
    let base_url = trickle(vec![half, whole], true);
    let client = client(access("openai", &base_url), &Budget::default());
    let log = Log::default();
    let reply = complete(&client, &log).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input), ("kernél", None));
    let retry = log.replies.lock().unwrap()[0].retries[0].clone();
    assert!(retry.reason.contains("went silent"), "{retry:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    // The port was free a moment ago and nobody else knows about it.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let base_url = format!("http://user:{KEY}@127.0.0.1:{port}/v1?key={KEY}");
    let client = client(access("openai", &base_url), &Budget::default());
    let log = Log::default();
    let error = complete(&client, &log).await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    let url = log.requests.lock().unwrap()[0].url.clone();
    assert_eq!(url, Some(format!("http://127.0.0.1:{port}/v1/chat/completions")));
}

#[tokio::test]
async fn anthropic_and_responses_speak_their_own_formats() {
    let server = MockServer::start().await;
    let anthropic = sse(
        &[
            json!({"type": "message_start", "message": {"id": "m", "model": "c",
                "usage": {"input_tokens": 10, "cache_read_input_tokens": 90}}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "t"}}),
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "code"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ],
        false,
    );
    let responses = sse(
        &[
            json!({"type": "response.output_text.delta", "delta": "code"}),
            json!({"type": "response.completed", "response": {"id": "r", "model": "g",
                "usage": {"input_tokens": 100, "output_tokens": 5}, "error": null}}),
        ],
        false,
    );
    for (at, body) in [("/v1/messages", anthropic), ("/v1/responses", responses)] {
        Mock::given(path(at)).respond_with(stream(body)).mount(&server).await;
    }
    for (name, base) in [("anthropic", server.uri()), ("openai-responses", server.uri() + "/v1")] {
        let log = Log::default();
        let client = client(access(name, &base), &Budget::default());
        let reply = complete(&client, &log).await.unwrap();
        assert_eq!(reply.text, "code", "{name}");
        assert_eq!((reply.usage.input, reply.usage.output), (Some(100), Some(5)), "{name}");
        check_invariants(server.received_requests().await.unwrap().last().unwrap(), &log);
    }
}

#[tokio::test]
async fn an_overloaded_provider_inside_a_stream_is_asked_again() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "x"}});
    let ok = json!({"content": [{"type": "text", "text": "code"}], "stop_reason": "end_turn"});
    let responses =
        vec![stream(sse(&[overloaded], false)), ResponseTemplate::new(200).set_body_json(ok)];
    let server = server(responses).await;
    let log = Log::default();
    let client = client(access("anthropic", &server.uri()), &Budget::default());
    assert_eq!(complete(&client, &log).await.unwrap().text, "code");
    assert_eq!(log.replies.lock().unwrap()[0].retries[0].status, Some(529));
}
