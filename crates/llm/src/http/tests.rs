use kgen_record::{AttemptId, OpKey, Spend};

use super::*;
use crate::{Budget, CallKey, RetryPolicy, Turn, Worst, gate::RateLimits, preset};

/// Sends a call to a port that nobody listens on, after a pause of a minute; returns the result
/// and its charge.
async fn after_a_pause(total: Duration) -> (String, Spend) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut access = HttpAccess::new(preset("vllm").unwrap(), None);
    access.base_url = format!("http://{address}/v1");
    let max_outage = Duration::ZERO;
    access.retry = RetryPolicy { max_tries: 1, max_outage, total, ..RetryPolicy::default() };
    let http = Http::new("test", "m", access).unwrap();
    let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
    let call = Call {
        key: CallKey { attempt: attempt.clone(), call: 1 },
        system: String::new(),
        prompt: "Write relu.".to_owned(),
        max_tokens: 1,
        turn: Turn::Code,
        sample: 1,
        temperature: None,
    };
    let gate = Gate::new(RateLimits { concurrency: 1, ..RateLimits::default() });
    let sent = gate.ready(Need::default()).await.unwrap();
    gate.refused(sent, Duration::from_secs(60));
    let budget = Budget::default();
    let mut place = gate.enter().await;
    let mut meter = Meter::open(&budget, &attempt.op, Worst::default()).await.unwrap();
    let built = http.build(&call);
    let stop = Stop::default();
    let outcome =
        http.send(&call, &built, (&gate, &mut place, &stop), Need::default(), &mut meter).await;
    (outcome.result.unwrap_err().0.to_string(), meter.fail(0.0))
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_provider_s_limits_takes_nothing_of_a_call_s_time() {
    let (error, spend) = after_a_pause(Duration::from_secs(5)).await;
    assert!(!error.contains("no complete reply"), "it was sent: {error}");
    assert_eq!((spend.calls, spend.lost_calls), (1, 0), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_there_is_no_time_for_is_not_sent_and_not_charged() {
    let (error, spend) = after_a_pause(Duration::ZERO).await;
    assert!(error.contains("nothing is left of llm.total_timeout_s = 0"), "{error}");
    assert_eq!((spend.calls, spend.lost_calls), (1, 0));
}
