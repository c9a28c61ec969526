//! Limits of a provider as they stand: one it reported, and one of the user's own.

use std::collections::VecDeque;

use tokio::time::{Duration, Instant};

use crate::rate::Quota;

/// The span that limits of one's own are about.
const MINUTE: Duration = Duration::from_secs(60);

/// A limit that the provider reported, filling up steadily until its reset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    at: Instant,
    remaining: f64,
    limit: Option<f64>,
    /// The amount that comes back per second; `None` where all comes back at `reset`.
    rate: Option<f64>,
    reset: Option<Instant>,
}

impl Bucket {
    #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
    pub(super) fn new(quota: Quota, now: Instant) -> Self {
        let (remaining, limit) = (quota.remaining as f64, quota.limit.map(|limit| limit as f64));
        let reset = quota.reset.and_then(|reset| now.checked_add(reset));
        let rate = limit.zip(quota.reset).and_then(|(limit, reset)| {
            let seconds = reset.as_secs_f64();
            (seconds > 0.0 && remaining < limit).then(|| (limit - remaining) / seconds)
        });
        Self { at: now, remaining, limit, rate, reset }
    }

    /// Returns when `need` is there; `None` is "now".
    ///
    /// More than there can ever be is not waited for: the provider itself answers to
    /// it. So is a limit of which nothing tells when it comes back.
    #[expect(clippy::cast_precision_loss, reason = "tokens of one call are far below 2^53")]
    pub(super) fn wait(&self, need: u64, now: Instant) -> Option<Instant> {
        let need = self.limit.map_or(need as f64, |limit| limit.min(need as f64));
        let reset = self.reset?;
        if reset <= now || need <= self.remaining {
            return None;
        }
        let Some(rate) = self.rate else { return Some(reset) };
        let wait = Duration::try_from_secs_f64((need - self.remaining) / rate).ok()?;
        let at = self.at.checked_add(wait)?.min(reset);
        (now < at).then_some(at)
    }

    /// Takes out the expected use of a call.
    #[expect(clippy::cast_precision_loss, reason = "tokens of one call are far below 2^53")]
    pub(super) fn take(&mut self, need: u64, now: Instant) {
        let grown = self.rate.map_or(0.0, |rate| rate * (now - self.at).as_secs_f64());
        let full = self.limit.unwrap_or(f64::INFINITY);
        self.remaining = (self.remaining + grown).min(full) - need as f64;
        self.at = now;
    }
}

/// A limit per minute of the user's own: never exceeded in any 60 seconds.
#[derive(Debug)]
pub(super) struct PerMinute {
    limit: u64,
    /// Number of the call, when it was sent, its count; oldest first.
    sent: VecDeque<(u64, Instant, u64)>,
    sum: u64,
}

impl PerMinute {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit: limit.max(1), sent: VecDeque::new(), sum: 0 }
    }

    /// Returns when a call that counts `need` may be sent; `None` is "now".
    pub(super) fn wait(&mut self, need: u64, now: Instant) -> Option<Instant> {
        while let Some((_, at, counts)) = self.sent.front().copied()
            && at + MINUTE <= now
        {
            self.sum -= counts;
            self.sent.pop_front();
        }
        let mut excess = (self.sum + need.min(self.limit)).checked_sub(self.limit)?;
        for (_, at, counts) in &self.sent {
            if excess == 0 {
                return None;
            }
            excess = excess.saturating_sub(*counts);
            if excess == 0 {
                return Some(*at + MINUTE);
            }
        }
        None
    }

    pub(super) fn take(&mut self, number: u64, need: u64, now: Instant) {
        let counts = need.min(self.limit);
        self.sent.push_back((number, now, counts));
        self.sum += counts;
    }

    /// Replaces the expected count of a call by the actual one.
    pub(super) fn charge(&mut self, number: u64, counts: u64) {
        if let Some(entry) = self.sent.iter_mut().find(|entry| entry.0 == number) {
            self.sum = self.sum - entry.2 + counts;
            entry.2 = counts;
        }
    }
}
