//! Limits on a provider as a whole: calls in flight, and a pause after it said "too many".

use std::sync::Mutex;

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Duration, Instant, sleep_until},
};

/// Lets calls through to one provider.
#[derive(Debug)]
pub(super) struct Gate {
    permits: Semaphore,
    paused_until: Mutex<Option<Instant>>,
}

impl Gate {
    pub(super) fn new(max_concurrency: usize) -> Self {
        Self {
            permits: Semaphore::new(max_concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            paused_until: Mutex::new(None),
        }
    }

    /// Waits for a free place; it is held for a whole call, retries included.
    pub(super) async fn enter(&self) -> SemaphorePermit<'_> {
        self.permits.acquire().await.expect("the semaphore is never closed")
    }

    /// Stops all calls for a while; the longest pause asked for counts.
    pub(super) fn pause(&self, wait: Duration) {
        let mut paused = self.paused_until.lock().expect("no code panics while holding it");
        *paused = (*paused).max(Some(Instant::now() + wait));
    }

    /// Waits until no pause is left.
    pub(super) async fn ready(&self) {
        loop {
            let until = *self.paused_until.lock().expect("no code panics while holding it");
            match until {
                Some(until) if Instant::now() < until => sleep_until(until).await,
                Some(_) | None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, Instant};

    use super::Gate;

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_everybody_back_and_a_shorter_one_does_not_end_it() {
        let gate = Gate::new(2);
        let start = Instant::now();
        gate.pause(Duration::from_secs(30));
        gate.pause(Duration::from_secs(1));
        gate.ready().await;
        assert_eq!(start.elapsed().as_secs(), 30);
        gate.ready().await;
        assert_eq!(start.elapsed().as_secs(), 30);
    }
}
