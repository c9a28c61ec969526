//! Bytes of callers that are wrong, slow, many or uninvited.

use std::time::Duration;

use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{
    client::{evaluate, get, post, raw, read},
    fake::{Options, Server},
};
use crate::Limits;

fn with_body(body: &str) -> Vec<u8> {
    let head = format!(
        "POST /v1/evaluate HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json; charset=utf-8\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    head.into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_body_is_refused_by_the_member() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let nested = "[".repeat(3000);
    let malformed = ["", "{", "nul", &nested, "{} {}", "\u{feff}{}", r#"{"op":NaN}"#];
    for body in malformed {
        let answer = raw(server.address, &with_body(body)).await;
        assert_eq!(
            (answer.status, answer.kind().as_str()),
            (400, "malformed_json"),
            "{}",
            answer.body
        );
    }
    let cases = [
        (r#"{"op":"relu"}"#, "source"),
        (r#"{"source":"x"}"#, "op"),
        (r#"{"op":"relu","source":" "}"#, "source"),
        (r#"{"op":"relu","source":"x","problem":{"name":"p"}}"#, "problem"),
        (r#"{"op":"relu","source":"x","Level":"judge"}"#, "Level"),
        (r#"{"op":"relu","source":"x","op":"add"}"#, "op"),
        (r#"{"op":"relu","source":"x","level":"fast"}"#, "level"),
        (r#"{"op":"relu","source":"x","dtypes":["f33"]}"#, "dtypes[0]"),
        (r#"{"op":"relu","source":"x","dtypes":[]}"#, "dtypes"),
        (r#"{"op":"relu","source":"x","seed":-1}"#, "seed"),
        (r#"{"op":"relu","source":"x","seed":9223372036854775808}"#, "seed"),
        (r#"{"op":"relu","source":"x","deadline_s":0}"#, "deadline_s"),
        (r#"{"op":"relu","source":"x","deadline_s":1e300}"#, "deadline_s"),
        (r#"{"op":"relu","source":"x","idempotency_key":""}"#, "idempotency_key"),
        (r#"{"source":"x","problem":{"name":"p","definition":"q"}}"#, "problem"),
        (r#"{"source":"x","problem":{}}"#, "problem"),
        (r#"{"source":"x","problem":{"name":"p","path":"q"}}"#, "problem.path"),
        (r#"{"source":"x","problem":{"name":1}}"#, "problem.name"),
    ];
    for (body, field) in cases {
        let answer = raw(server.address, &with_body(body)).await;
        assert_eq!((answer.status, answer.kind().as_str()), (422, "invalid_request"), "{body}");
        assert_eq!(answer.json()["error"]["field"], field, "{body}: {}", answer.body);
    }
    let mut latin = with_body(r#"{"op":"relu","source":"aa"}"#);
    let at = latin.len() - 3;
    latin[at] = 0xe9;
    assert_eq!(raw(server.address, &latin).await.kind(), "malformed_json");
    // Absent members may be null.
    let null = r#"{"op":"relu","source":"x","problem":null,"dtypes":null,"seed":null}"#;
    assert_eq!(raw(server.address, &with_body(null)).await.status, 202);
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_types_paths_and_parameters_are_checked() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let address = server.address;
    let large = "POST /v1/evaluate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 content-length: 100000000\r\n\r\n";
    // It is not waited for.
    let answer = raw(address, large.as_bytes()).await;
    assert_eq!((answer.status, answer.kind().as_str()), (413, "body_too_large"));
    let chunk = format!("{:x}\r\n{}\r\n", 2000, "x".repeat(2000));
    let chunked = format!(
        "POST /v1/evaluate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{chunk}{chunk}{chunk}"
    );
    assert_eq!(raw(address, chunked.as_bytes()).await.status, 413);
    let text = "POST /v1/evaluate HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: text/plain\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(raw(address, text.as_bytes()).await.kind(), "unsupported_media_type");
    assert_eq!(get(address, "/v1/jobs/j_0").await.kind(), "not_found");
    assert_eq!(get(address, "/v1/jobs/%ff").await.kind(), "not_found");
    assert_eq!(get(address, "/v2").await.kind(), "not_found");
    assert_eq!(get(address, "/v1/evaluate").await.kind(), "method_not_allowed");
    let ask = json!({ "op": "relu", "source": "right" });
    for query in ["wait=-1", "wait=301", "wait=x", "wait=nan", "until=3"] {
        let answer = post(address, &format!("/v1/evaluate?{query}"), &ask).await;
        assert_eq!((answer.status, answer.kind().as_str()), (422, "invalid_request"), "{query}");
    }
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_callers_are_sent_away_and_others_are_served() {
    let state = tempfile::tempdir().unwrap();
    let limits = Limits {
        request: Duration::from_millis(400),
        pause: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = Server::start(state.path(), Options { limits, ..Options::default() }).await;
    let mut headers = TcpStream::connect(server.address).await.unwrap();
    headers.write_all(b"GET /health HTTP/1.1\r\nhost: loc").await.unwrap();
    let mut body = TcpStream::connect(server.address).await.unwrap();
    body.write_all(&with_body(r#"{"op":"relu"}"#)[..140]).await.unwrap();
    assert_eq!(evaluate(server.address, "right").await.status, 200);
    let answer = read(body).await;
    assert_eq!((answer.status, answer.kind().as_str()), (408, "request_timeout"));
    let mut rest = Vec::new();
    let closed = tokio::io::AsyncReadExt::read_to_end(&mut headers, &mut rest);
    let closed = tokio::time::timeout(Duration::from_secs(10), closed).await;
    assert!(closed.is_ok(), "slow headers are waited for without end");
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_keeps_others_out_and_a_web_page_too() {
    let state = tempfile::tempdir().unwrap();
    let options = Options { token: Some("secret"), ..Options::default() };
    let server = Server::start(state.path(), options).await;
    let answer = get(server.address, "/v1/ops").await;
    assert_eq!((answer.status, answer.kind().as_str()), (401, "unauthorized"));
    assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
    assert_eq!(get(server.address, "/health").await.status, 200);
    let with = "GET /v1/ops HTTP/1.1\r\nhost: far.example\r\nauthorization: Bearer secret\r\n\
                connection: close\r\n\r\n";
    assert_eq!(raw(server.address, with.as_bytes()).await.status, 200);
    server.end().await;

    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let page = "GET /v1/ops HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    assert_eq!(raw(server.address, page.as_bytes()).await.kind(), "foreign_host");
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lists_and_the_metrics_are_as_the_contract_says() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    evaluate(server.address, "wrong").await;
    evaluate(server.address, "broken").await;
    for path in
        ["/v1/ops", "/v1/problems", "/v1/prompt/relu?dtypes=f32,f16", "/health", "/openapi.json"]
    {
        assert_eq!(get(server.address, path).await.status, 200, "{path}");
    }
    assert_eq!(get(server.address, "/v1/prompt/relu?x=1").await.status, 422);
    let metrics = get(server.address, "/metrics").await.body;
    for line in [
        "kgen_jobs_accepted_total 2",
        r#"kgen_jobs_finished_total{state="done"} 1"#,
        r#"kgen_jobs_finished_total{state="failed"} 1"#,
        r#"kgen_evaluations_total{verdict="wrong_output"} 1"#,
        r#"kgen_infra_errors_total{kind="worker"} 1"#,
        "kgen_queue_depth 0",
        "kgen_running 0",
        "kgen_evaluation_seconds_count 2",
        "# TYPE kgen_queue_seconds histogram",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    server.end().await;
}
