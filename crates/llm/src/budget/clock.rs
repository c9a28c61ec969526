//! Wall time of a run and of its ops, that of earlier processes included.

use std::{collections::HashMap, sync::Mutex};

use kgen_record::OpKey;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    before: Mutex<Before>,
}

/// Seconds that earlier processes took, and when this one came to each op.
#[derive(Debug, Default)]
struct Before {
    run: f64,
    ops: HashMap<OpKey, f64>,
    began: HashMap<OpKey, Instant>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { began: Instant::now(), before: Mutex::default() }
    }
}

impl Clock {
    pub(super) fn charge_run(&self, seconds: f64) {
        self.before().run += seconds;
    }

    pub(super) fn charge_op(&self, op: &OpKey, seconds: f64) {
        *self.before().ops.entry(op.clone()).or_default() += seconds;
    }

    /// Returns the seconds of the run.
    pub(super) fn run(&self) -> f64 {
        self.before().run + self.began.elapsed().as_secs_f64()
    }

    /// Returns the seconds of an op; its clock starts with the first question.
    pub(super) fn op(&self, op: &OpKey) -> f64 {
        let mut before = self.before();
        let earlier = before.ops.get(op).copied().unwrap_or(0.0);
        let began = *before.began.entry(op.clone()).or_insert_with(Instant::now);
        earlier + began.elapsed().as_secs_f64()
    }

    fn before(&self) -> std::sync::MutexGuard<'_, Before> {
        self.before.lock().expect("no code panics while holding it")
    }
}
