//! Waits for a provider: how long they may be, and how a stop ends them.

use tokio_util::sync::CancellationToken;

use super::*;

fn limited(retry_after: &str) -> ResponseTemplate {
    let body = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down"}});
    ResponseTemplate::new(429).insert_header("retry-after", retry_after).set_body_json(body)
}

/// A client that waits for its provider for a minute at most.
fn patient(server: &MockServer, max_tries: u32) -> Client {
    let mut access = access("openai", &server.uri());
    access.base_url += "/v1";
    access.retry.max_tries = max_tries;
    access.retry.max_backoff = Duration::from_secs(60);
    access.retry.total = Duration::from_secs(600);
    let mut config = ProviderConfig::new("test", "m-1", 2, Access::Http(Box::new(access)));
    config.limits.max_wait = Some(Duration::from_secs(60));
    Client::new(config, Budget::default()).unwrap()
}

#[tokio::test]
async fn a_wait_of_a_day_stops_the_run_and_says_until_when() {
    let date = httpdate_in(86_400);
    for retry_after in ["86400", "61", date.as_str()] {
        let server = server(vec![limited(retry_after)]).await;
        let log = Log::default();
        let error = complete(&patient(&server, 6), &log).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::RateLimited { .. }), "{retry_after}: {text}");
        assert_eq!((error.scope(), log.kinds()), (Scope::Run, vec!["request", "failure"]));
        let until = jiff::Timestamp::now().strftime("until %Y-").to_string();
        assert!(text.contains(&until) && text.contains("llm.max_wait_s = 60"), "{text}");
    }
}

/// Returns an HTTP date that many seconds from now.
fn httpdate_in(seconds: u64) -> String {
    let at = jiff::Timestamp::now() + Duration::from_secs(seconds);
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[tokio::test]
async fn a_reported_limit_that_lasts_a_day_stops_the_run_before_a_request() {
    let spent = ResponseTemplate::new(200)
        .insert_header("x-ratelimit-remaining-requests", "0")
        .insert_header("x-ratelimit-reset-requests", "24h0m0s")
        .set_body_json(
            json!({"choices": [{"message": {"content": "code"}, "finish_reason": "stop"}]}),
        );
    let server = server(vec![spent]).await;
    let client = patient(&server, 6);
    complete(&client, &Log::default()).await.unwrap();
    let error = complete(&client, &Log::default()).await.unwrap_err();
    assert!(matches!(error, Error::RateLimited { .. }), "{error}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_stop_ends_a_wait_at_once_and_sends_nothing() {
    for refusal in [limited("50"), ResponseTemplate::new(500).insert_header("retry-after", "50")] {
        let server = server(vec![refusal]).await;
        let stop = CancellationToken::new();
        let client = patient(&server, 6).stopped_by(stop.clone());
        let log = Log::default();
        let begin = std::time::Instant::now();
        let stops = async {
            while server.received_requests().await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            stop.cancel();
        };
        let (outcome, ()) = tokio::join!(complete(&client, &log), stops);
        assert!(matches!(outcome, Err(Error::Stopped)) && begin.elapsed().as_secs() < 5);
        // Nothing is open: a run that continues need not take the call for a lost one.
        assert_eq!(log.kinds(), ["request", "failure"]);
        let error = client.complete(&call(), &log).await.unwrap_err();
        assert!(matches!(error, Error::Stopped), "{error}");
        assert_eq!(log.kinds().len(), 2, "a call after the stop is not on record");
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_stop_leaves_an_open_request_its_reply() {
    let slow = chat("code", "stop").set_delay(Duration::from_millis(60));
    let server = server(vec![slow]).await;
    let stop = CancellationToken::new();
    let client = patient(&server, 1).stopped_by(stop.clone());
    let later = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        stop.cancel();
    };
    let log = Log::default();
    let (reply, ()) = tokio::join!(complete(&client, &log), later);
    assert_eq!((reply.unwrap().text.as_str(), log.kinds()), ("code", vec!["request", "reply"]));
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while_is_tried_until_it_is_back() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut access = access("openai", &format!("http://127.0.0.1:{port}/v1"));
    access.retry.max_tries = 1;
    access.retry.max_outage = Duration::from_secs(30);
    access.retry.max_backoff = Duration::from_millis(20);
    let client = client(access, &Budget::default());
    let back = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let server = MockServer::builder().listener(listener).start().await;
        Mock::given(method("POST")).respond_with(chat("code", "stop")).mount(&server).await;
        server
    };
    let log = Log::default();
    let (reply, _server) = tokio::join!(complete(&client, &log), back);
    assert_eq!(reply.unwrap().text, "code");
    assert!(log.replies.lock().unwrap()[0].retries.len() > 3);
}
