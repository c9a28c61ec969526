use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    task::JoinSet,
    time::{Duration, Instant, sleep},
};

use super::{Gate, Need, RateLimits};
use crate::rate::{Quota, Quotas};

const SECOND: Duration = Duration::from_secs(1);

fn gate(concurrency: usize) -> Gate {
    Gate::new(RateLimits {
        concurrency,
        requests_per_minute: None,
        tokens_per_minute: None,
        max_wait: None,
    })
}

fn tokens(input: u64) -> Need {
    Need { input, output: 0 }
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_everybody_back_and_a_shorter_one_does_not_end_it() {
    let gate = gate(2);
    let start = Instant::now();
    let sent = gate.ready(Need::default()).await.unwrap();
    gate.refused(sent, 30 * SECOND);
    gate.refused(sent, SECOND);
    gate.ready(Need::default()).await.unwrap();
    assert_eq!(start.elapsed(), 30 * SECOND);
    gate.ready(Need::default()).await.unwrap();
    assert_eq!(start.elapsed(), 30 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn refusals_of_one_burst_count_once_and_repeats_halve_the_places() {
    let gate = gate(8);
    let mut burst = Vec::new();
    for _ in 0..8 {
        burst.push(gate.ready(Need::default()).await.unwrap());
    }
    for sent in burst {
        gate.refused(sent, SECOND);
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(gate.allowed(), 8, "the first refusal is only waited for");
    for expected in [4, 2, 1, 1] {
        let sent = gate.ready(Need::default()).await.unwrap();
        gate.refused(sent, SECOND);
        assert_eq!(gate.allowed(), expected);
    }
    let mut n_replies = 0;
    while gate.allowed() < 8 {
        let sent = gate.ready(Need::default()).await.unwrap();
        gate.replied(sent, None);
        n_replies += 1;
    }
    assert_eq!(n_replies, 1 + 2 + 3 + 4 + 5 + 6 + 7, "one place per round of good replies");
    for _ in 0..8 {
        let sent = gate.ready(Need::default()).await.unwrap();
        gate.replied(sent, None);
    }
    let sent = gate.ready(Need::default()).await.unwrap();
    gate.refused(sent, SECOND);
    assert_eq!(gate.allowed(), 8, "after a quiet round it is a first refusal again");
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_than_allowed_are_in_flight() {
    let gate = Arc::new(gate(6));
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for index in 0..60 {
        let (gate, now, most) = (Arc::clone(&gate), Arc::clone(&now), Arc::clone(&most));
        tasks.spawn(async move {
            let _place = gate.enter().await;
            let sent = gate.ready(Need::default()).await.unwrap();
            let in_flight = now.fetch_add(1, Ordering::Relaxed) + 1;
            if index >= 20 {
                most.fetch_max(in_flight, Ordering::Relaxed);
            }
            sleep(SECOND).await;
            if index == 0 || index == 8 {
                gate.refused(sent, 3 * SECOND);
            }
            now.fetch_sub(1, Ordering::Relaxed);
        });
    }
    tasks.join_all().await;
    assert_eq!((gate.allowed(), most.load(Ordering::Relaxed)), (3, 3));
    assert_eq!(gate.places.available_permits(), 3);
}

#[tokio::test(start_paused = true)]
async fn own_limits_hold_in_every_minute() {
    let gate = Gate::new(RateLimits {
        concurrency: 100,
        requests_per_minute: Some(3),
        tokens_per_minute: None,
        ..RateLimits::default()
    });
    let start = Instant::now();
    let mut at = Vec::new();
    for index in 0..8 {
        gate.ready(Need::default()).await.unwrap();
        at.push(start.elapsed().as_secs());
        if index < 3 {
            sleep(10 * SECOND).await;
        }
    }
    assert_eq!(at, [0, 10, 20, 60, 70, 80, 120, 130]);

    let gate = Gate::new(RateLimits {
        concurrency: 100,
        requests_per_minute: None,
        tokens_per_minute: Some(1_000),
        ..RateLimits::default()
    });
    let start = Instant::now();
    let first = gate.ready(Need { input: 300, output: 500 }).await.unwrap();
    // It wrote less than it might have: the rest is free for others.
    gate.replied(first, Some(400));
    gate.ready(tokens(600)).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    gate.ready(tokens(5_000)).await.unwrap();
    assert_eq!(start.elapsed(), 60 * SECOND, "what never fits goes alone");
    gate.ready(tokens(1)).await.unwrap();
    assert_eq!(start.elapsed(), 120 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_the_headers_report_is_not_exceeded() {
    let gate = gate(100);
    let start = Instant::now();
    let requests = Quota { limit: Some(60), remaining: 2, reset: Some(58 * SECOND) };
    gate.learn(Quotas { requests: Some(requests), ..Quotas::default() });
    let mut at = Vec::new();
    for _ in 0..5 {
        gate.ready(Need::default()).await.unwrap();
        at.push(start.elapsed().as_secs());
    }
    // One comes back every second.
    assert_eq!(at, [0, 0, 1, 2, 3]);

    let gate = self::gate(100);
    let start = Instant::now();
    let quota = Quota { limit: None, remaining: 500, reset: Some(20 * SECOND) };
    gate.learn(Quotas { input: Some(quota), ..Quotas::default() });
    gate.ready(tokens(400)).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    gate.ready(tokens(200)).await.unwrap();
    assert_eq!(start.elapsed(), 20 * SECOND, "without a limit all comes back at the reset");

    // Better news end the wait before the time that older ones gave.
    let quota = Quota { limit: None, remaining: 0, reset: Some(3_600 * SECOND) };
    gate.learn(Quotas { input: Some(quota), ..Quotas::default() });
    let news = async {
        sleep(SECOND).await;
        gate.learn(Quotas { input: Some(Quota { remaining: 900, ..quota }), ..Quotas::default() });
    };
    let start = Instant::now();
    tokio::join!(async { gate.ready(tokens(10)).await.unwrap() }, news);
    assert!(start.elapsed() <= 5 * SECOND, "{:?}", start.elapsed());
}
