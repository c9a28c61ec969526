//! Jobs: identity, order, results, restarts.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{
    client::{evaluate, get, post},
    fake::{Options, Server},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_equal_request_is_the_same_job_also_after_a_restart() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let first = evaluate(server.address, "right").await;
    assert_eq!(first.status, 200);
    assert_eq!(first.json()["state"], "done");
    assert_eq!(first.json()["result"]["correct"], true);
    // The order of members and a deadline make no other request.
    let again = json!({ "source": "right", "deadline_s": 5, "op": "relu" });
    let again = post(server.address, "/v1/evaluate", &again).await;
    assert_eq!((again.status, again.json()), (200, first.json()));
    let other = evaluate(server.address, "right too").await;
    assert_ne!(other.json()["id"], first.json()["id"]);
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 2);
    server.end().await;

    let server = Server::start(state.path(), Options::default()).await;
    let kept = evaluate(server.address, "right").await;
    assert_eq!((kept.status, kept.body), (200, first.body.clone()));
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 0);
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let whole = get(server.address, &format!("/v1/jobs/{id}/evaluation")).await;
    assert_eq!(whole.json()["cases"][0]["case"], "f32[4]/normal");
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_kernel_is_a_result_and_what_kgen_cannot_run_is_none() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let wrong = evaluate(server.address, "wrong").await.json();
    assert_eq!(wrong["state"], "done");
    let result = &wrong["result"];
    assert_eq!((&result["compiled"], &result["correct"]), (&json!(true), &json!(false)));
    assert_eq!(result["error"], json!({ "kind": "wrong_output", "text": "found" }));
    assert_eq!(result["infra_error"], Value::Null);

    let unsupported = evaluate(server.address, "unsupported").await;
    let job = unsupported.json();
    // It would fare no better later.
    assert_eq!((unsupported.status, &job["state"]), (200, &json!("failed")));
    assert_eq!(job["result"]["correct"], Value::Null);
    assert_eq!(job["result"]["infra_error"]["kind"], "unsupported");
    assert_eq!(job["result"]["infra_error"]["retryable"], false);
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_takes_a_batch_whole_or_not_at_all() {
    let state = tempfile::tempdir().unwrap();
    let options = Options { max_queue: 3, runners: 1, ..Options::default() };
    let server = Server::start(state.path(), options).await;
    let address = server.address;
    let ask = |source: &str| json!({ "op": "relu", "source": source });
    post(address, "/v1/evaluate", &ask("never 1")).await;
    server.begun(1).await;
    assert_eq!(post(address, "/v1/evaluate", &ask("never 2")).await.status, 202);
    assert_eq!(post(address, "/v1/evaluate", &ask("never 3")).await.status, 202);
    let both = json!({ "requests": [ask("never 4"), ask("never 5")] });
    let refused = post(address, "/v1/batch", &both).await;
    assert_eq!((refused.status, refused.kind().as_str()), (429, "queue_full"));
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    // Nothing of it was taken, and a known job needs no room.
    let unknown = json!({ "op": "unknown", "source": "x" });
    let mixed = json!({ "requests": [ask("never 2"), unknown, ask("never 4")] });
    let jobs = post(address, "/v1/batch", &mixed).await.json();
    assert_eq!(jobs["jobs"][0]["state"], "queued");
    assert_eq!(jobs["jobs"][1]["error"]["kind"], "unknown_op");
    assert_eq!(jobs["jobs"][2]["state"], "queued");
    assert_eq!(post(address, "/v1/evaluate", &ask("never 5")).await.status, 429);
    assert_eq!(post(address, "/v1/evaluate", &ask("never 4")).await.status, 202);
    let four = json!({ "requests": [ask("a"), ask("b"), ask("c"), ask("d")] });
    assert_eq!(post(address, "/v1/batch", &four).await.kind(), "invalid_request");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_names_one_request() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let ask = |source: &str| json!({ "op": "relu", "source": source, "idempotency_key": "mine" });
    let first = post(server.address, "/v1/evaluate?wait=10", &ask("right")).await;
    let same = post(server.address, "/v1/evaluate", &ask("right")).await;
    assert_eq!(same.json()["id"], first.json()["id"]);
    let other = post(server.address, "/v1/evaluate", &ask("wrong")).await;
    assert_eq!((other.status, other.kind().as_str()), (409, "idempotency_conflict"));
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_jobs_that_run_and_jobs_that_wait() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options { runners: 1, ..Options::default() }).await;
    let ask = |source: &str, s: f64| json!({ "op": "relu", "source": source, "deadline_s": s });
    let runs = post(server.address, "/v1/evaluate", &ask("never 1", 2.0)).await.json();
    let waits = post(server.address, "/v1/evaluate?wait=10", &ask("never 2", 0.2)).await;
    // It ended before the one that runs.
    assert_eq!(waits.status, 503);
    assert_eq!(waits.json()["result"]["infra_error"]["kind"], "deadline");
    let id = runs["id"].as_str().unwrap();
    let runs = get(server.address, &format!("/v1/jobs/{id}?wait=10")).await;
    assert_eq!(runs.status, 200);
    assert_eq!(runs.json()["result"]["infra_error"]["retryable"], true);
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 1);
    server.end().await;
}
