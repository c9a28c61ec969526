//! Limits on a provider as a whole: calls in flight, requests and tokens per minute, and a pause
//! after it said "too many".
//!
//! A refusal (429, 529) holds everybody back, not only the call that it answered. If the next calls are
//! refused as well, half as many may be in flight; every round of good replies brings one place back.

mod bucket;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard};

use bucket::{Bucket, PerMinute};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Duration, Instant, sleep_until},
};

use super::rate::Quotas;

/// Longest sleep before the limits are looked at again: an answer may have brought better news.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Limits that the user sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateLimits {
    /// Calls in flight at most, at least 1.
    pub concurrency: usize,
    /// Requests in any minute at most.
    pub requests_per_minute: Option<u64>,
    /// Tokens in any minute at most, input and output together.
    pub tokens_per_minute: Option<u64>,
    /// Longest wait for the provider's own limits; `None` waits for ever.
    pub max_wait: Option<Duration>,
}

/// A wait for the provider that is longer than [`RateLimits::max_wait`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLongError {
    pub(super) wait: Duration,
    pub(super) max_wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Need {
    pub(super) input: u64,
    /// Output tokens at most.
    pub(super) output: u64,
}

/// Lets calls through to one provider.
#[derive(Debug)]
pub(super) struct Gate {
    places: Semaphore,
    max: usize,
    max_wait: Option<Duration>,
    /// Those who wait for a limit wait in the order in which they came.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Calls that may be in flight now.
    allowed: usize,
    /// Places that go when the calls in them end.
    withheld: usize,
    /// When the last pause began and ends.
    pause: Option<(Instant, Instant)>,
    /// Good replies since the last refusal; `None` once that is forgotten.
    good: Option<usize>,
    reported: [Option<Bucket>; 4],
    own_requests: Option<PerMinute>,
    own_tokens: Option<PerMinute>,
    number: u64,
}

/// A call's place among those in flight.
#[derive(Debug)]
pub(super) struct CallPermit<'a> {
    gate: &'a Gate,
    permit: Option<SemaphorePermit<'a>>,
}

/// A request that was let through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    number: u64,
    at: Instant,
}

impl Gate {
    pub(super) fn new(limits: RateLimits) -> Self {
        let max = limits.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Semaphore::new(max),
            max,
            max_wait: limits.max_wait,
            turn: tokio::sync::Mutex::new(()),
            state: Mutex::new(State {
                allowed: max,
                withheld: 0,
                pause: None,
                good: None,
                reported: [None; 4],
                own_requests: limits.requests_per_minute.map(PerMinute::new),
                own_tokens: limits.tokens_per_minute.map(PerMinute::new),
                number: 0,
            }),
        }
    }

    /// Waits for a free place; it is held for a whole call, retries included, but for waits for room in the
    /// budget.
    pub(super) async fn enter(&self) -> CallPermit<'_> {
        let permit = self.places.acquire().await.expect("the semaphore is never closed");
        CallPermit { gate: self, permit: Some(permit) }
    }

    /// Waits until no pause and no limit forbids a request, and counts it.
    pub(super) async fn ready(&self, need: Need) -> Result<Sent, TooLongError> {
        let _turn = self.turn.lock().await;
        loop {
            let now = Instant::now();
            let (theirs, own) = self.state().waits(need, now);
            self.check(theirs.map_or(Duration::ZERO, |until| until - now))?;
            match theirs.max(own) {
                Some(until) => sleep_until(until.min(now + LOOK_AGAIN)).await,
                None => return Ok(self.state().take(need, now)),
            }
        }
    }

    /// Returns whether the provider may be waited for that long.
    pub(super) fn check(&self, wait: Duration) -> Result<(), TooLongError> {
        match self.max_wait {
            Some(max_wait) if max_wait < wait => Err(TooLongError { wait, max_wait }),
            Some(_) | None => Ok(()),
        }
    }

    /// Takes note of a refusal: all requests wait. A refusal of a request that was sent before the
    /// last pause began says nothing new.
    pub(super) fn refused(&self, sent: Sent, wait: Duration) {
        let now = Instant::now();
        let mut state = self.state();
        let until = now + wait;
        match &mut state.pause {
            Some((began, end)) if sent.at <= *began => *end = (*end).max(until),
            _ => {
                if state.good.is_some() {
                    self.halve(&mut state);
                }
                state.good = Some(0);
                let end = state.pause.map_or(until, |(_, end)| end.max(until));
                state.pause = Some((now, end));
            }
        }
    }

    /// Takes note of a good reply.
    pub(super) fn replied(&self, sent: Sent, tokens: Option<u64>) {
        let mut state = self.state();
        if let (Some(own), Some(tokens)) = (&mut state.own_tokens, tokens) {
            own.charge(sent.number, tokens);
        }
        let Some(good) = state.good else { return };
        if good + 1 < state.allowed {
            state.good = Some(good + 1);
        } else if state.allowed < self.max {
            state.good = Some(0);
            state.allowed += 1;
            match state.withheld.checked_sub(1) {
                Some(left) => state.withheld = left,
                None => self.places.add_permits(1),
            }
        } else {
            state.good = None;
        }
    }

    /// Takes note of the limits in a response.
    pub(super) fn learn(&self, quotas: Quotas) {
        let now = Instant::now();
        let Quotas { requests, tokens, input, output } = quotas;
        let mut state = self.state();
        for (known, quota) in state.reported.iter_mut().zip([requests, tokens, input, output]) {
            if let Some(quota) = quota {
                *known = Some(Bucket::new(quota, now));
            }
        }
    }

    /// Returns how many calls may be in flight now.
    #[cfg(test)]
    fn allowed(&self) -> usize {
        self.state().allowed
    }

    fn halve(&self, state: &mut State) {
        let allowed = (state.allowed / 2).max(1);
        let surplus = state.allowed - allowed;
        state.allowed = allowed;
        state.withheld += surplus - self.places.forget_permits(surplus);
        if surplus > 0 {
            tracing::warn!(calls = allowed, "the provider refuses again: fewer calls at once");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while holding it")
    }
}

impl State {
    /// Returns until when the provider and the user's own limits forbid a request.
    fn waits(&mut self, need: Need, now: Instant) -> (Option<Instant>, Option<Instant>) {
        let pause = self.pause.map(|(_, end)| end).filter(|end| now < *end);
        let reported = self.reported.iter().zip(shares(need));
        let reported = reported.filter_map(|(bucket, need)| bucket.as_ref()?.wait(need, now));
        let requests = self.own_requests.as_mut().and_then(|own| own.wait(1, now));
        let tokens = self.own_tokens.as_mut();
        let tokens = tokens.and_then(|own| own.wait(need.input + need.output, now));
        (reported.chain(pause).max(), requests.max(tokens))
    }

    fn take(&mut self, need: Need, now: Instant) -> Sent {
        self.number += 1;
        for (bucket, need) in self.reported.iter_mut().zip(shares(need)) {
            if let Some(bucket) = bucket {
                bucket.take(need, now);
            }
        }
        if let Some(own) = &mut self.own_requests {
            own.take(self.number, 1, now);
        }
        if let Some(own) = &mut self.own_tokens {
            own.take(self.number, need.input + need.output, now);
        }
        Sent { number: self.number, at: now }
    }
}

/// Returns the share of a request in each reported limit. Output counts once it is written, so
/// that one token must be left.
fn shares(need: Need) -> [u64; 4] {
    [1, need.input, need.input, 1]
}

impl CallPermit<'_> {
    /// Gives the place to others for a while.
    pub(super) fn leave(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let mut state = self.gate.state();
        if let Some(left) = state.withheld.checked_sub(1) {
            state.withheld = left;
            permit.forget();
        }
    }

    /// Waits for a place again, where this one was left.
    pub(super) async fn come_back(&mut self) {
        if self.permit.is_none() {
            self.permit = self.gate.enter().await.permit.take();
        }
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
