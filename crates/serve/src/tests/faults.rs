//! Failures of the machine, ends of the server.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};

use super::{
    client::{evaluate, get, post},
    fake::{Options, Server},
};
use crate::StoreError;

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_machine_is_tried_again_and_never_a_wrong_answer() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    for (source, kind) in [("broken", "worker"), ("panic", "internal")] {
        let answer = evaluate(server.address, source).await;
        assert_eq!(answer.status, 503, "{source}");
        assert!(answer.head.contains("retry-after: "), "{}", answer.head);
        let job = answer.json();
        assert_eq!((&job["state"], &job["tries"]), (&json!("failed"), &json!(3)));
        let result = &job["result"];
        assert_eq!((&result["compiled"], &result["correct"]), (&Value::Null, &Value::Null));
        assert_eq!(result["infra_error"]["kind"], kind);
        assert_eq!(result["infra_error"]["retryable"], true);
    }
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 6);
    // An equal request queues it anew.
    assert_eq!(evaluate(server.address, "broken").await.json()["tries"], 3);
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 9);
    // Others are none the worse.
    assert_eq!(evaluate(server.address, "right").await.json()["result"]["correct"], true);
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_server_ends_its_jobs_and_keeps_the_others() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options { runners: 1, ..Options::default() }).await;
    let address = server.address;
    let ask = |source: &str| json!({ "op": "relu", "source": source });
    let waiting = tokio::spawn(async move {
        post(address, "/v1/evaluate?wait=10", &json!({ "op": "relu", "source": "slow" })).await
    });
    server.begun(1).await;
    let kept = post(address, "/v1/evaluate", &ask("right")).await.json();
    server.service.drain();
    let refused = post(address, "/v1/evaluate", &ask("wrong")).await;
    assert_eq!((refused.status, refused.kind().as_str()), (503, "draining"));
    assert_eq!(get(address, "/health").await.json()["status"], "draining");
    // Who waits is not kept from leaving.
    assert_eq!(waiting.await.unwrap().status, 202);
    server.end().await;

    let server = Server::start(state.path(), Options::default()).await;
    let slow = evaluate(server.address, "slow").await.json();
    assert_eq!((&slow["state"], &slow["tries"]), (&json!("done"), &json!(1)));
    let id = kept["id"].as_str().unwrap();
    let kept = get(server.address, &format!("/v1/jobs/{id}?wait=10")).await.json();
    assert_eq!((&kept["state"], &kept["tries"]), (&json!("done"), &json!(1)));
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 1);
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_ran_into_the_limit_of_draining_are_no_deaths() {
    let state = tempfile::tempdir().unwrap();
    for round in 1..=7 {
        let options = Options { drain: Duration::from_millis(50), ..Options::default() };
        let server = Server::start(state.path(), options).await;
        let ask = json!({ "op": "relu", "source": "never" });
        post(server.address, "/v1/evaluate", &ask).await;
        server.begun(1).await;
        let job = post(server.address, "/v1/evaluate", &ask).await.json();
        assert_eq!(job["tries"], round, "{job}");
        server.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_jobs_survive_a_killed_server() {
    let state = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    for round in 0..4 {
        let options = Options { max_queue: 64, ..Options::default() };
        let server = Server::start(state.path(), options).await;
        for n in 0..3 {
            let ask = json!({ "op": "relu", "source": format!("slow {round} {n}") });
            let answer = post(server.address, "/v1/evaluate", &ask).await;
            assert_eq!(answer.status, 202, "{}", answer.body);
            ids.push(answer.json()["id"].as_str().unwrap().to_owned());
        }
        tokio::time::sleep(Duration::from_millis(100 * round)).await;
        server.kill().await;
    }
    let server = Server::start(state.path(), Options::default()).await;
    for id in ids {
        let job = get(server.address, &format!("/v1/jobs/{id}?wait=20")).await.json();
        assert_eq!(job["state"], "done", "{job}");
    }
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_kills_the_server_again_and_again_is_given_up() {
    let state = tempfile::tempdir().unwrap();
    let ask = json!({ "op": "relu", "source": "never" });
    for _ in 0..5 {
        let server = Server::start(state.path(), Options::default()).await;
        post(server.address, "/v1/evaluate", &ask).await;
        server.begun(1).await;
        server.kill().await;
    }
    let server = Server::start(state.path(), Options::default()).await;
    let job = post(server.address, "/v1/evaluate?wait=10", &ask).await.json();
    assert_eq!(job["result"]["infra_error"]["kind"], "server_died", "{job}");
    assert_eq!(server.evaluations.load(Ordering::SeqCst), 0);
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_has_one_server() {
    let state = tempfile::tempdir().unwrap();
    let server = Server::start(state.path(), Options::default()).await;
    let judge = std::sync::Arc::clone(&server.service.judge);
    let config = server.service.config.clone();
    let second = crate::Service::new(std::sync::Arc::clone(&judge), config.clone());
    assert!(matches!(second, Err(StoreError::InUse { .. })));
    let file = state.path().join("a file");
    std::fs::write(&file, "").unwrap();
    let other = crate::Service::new(judge, crate::Config { state: file, ..config });
    assert!(matches!(other, Err(StoreError::Folder { .. })));
    server.end().await;
}
