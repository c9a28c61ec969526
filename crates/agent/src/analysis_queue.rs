//! Branches of a round are planned one after the other, so that each knows the plans before it.

use std::collections::BTreeMap;

use tokio::sync::watch;

/// Which attempts of an op are past their planning.
#[derive(Debug)]
pub(super) struct AnalysisQueue(watch::Sender<BTreeMap<u32, bool>>);

/// Makes known that an attempt is past its planning, or will not come to it.
pub(super) struct AnalysisTurn<'a> {
    plans: &'a AnalysisQueue,
    number: u32,
    is_past: bool,
}

impl AnalysisQueue {
    /// Takes the attempts that are finished.
    pub(super) fn new(finished: impl Iterator<Item = u32>) -> Self {
        Self(watch::Sender::new(finished.map(|number| (number, true)).collect()))
    }

    /// Takes note of an attempt that begins.
    pub(super) fn begin(&self, number: u32) -> AnalysisTurn<'_> {
        AnalysisTurn { plans: self, number, is_past: false }
    }

    /// Waits until attempts are past their planning; `false` where one of them never will be.
    pub(super) async fn passed(&self, numbers: &[u32]) -> bool {
        let all = |plans: &BTreeMap<u32, bool>| numbers.iter().all(|n| plans.contains_key(n));
        let mut receiver = self.0.subscribe();
        let plans = receiver.wait_for(all).await.expect("`self` keeps the channel open");
        numbers.iter().all(|number| plans[number])
    }
}

impl AnalysisTurn<'_> {
    /// Says that the plan is stored, or that none is made.
    pub(super) fn is_past(&mut self) {
        self.is_past = true;
        self.notify();
    }

    fn notify(&self) {
        self.plans.0.send_modify(|plans| {
            plans.insert(self.number, self.is_past);
        });
    }
}

impl Drop for AnalysisTurn<'_> {
    fn drop(&mut self) {
        if !self.is_past {
            self.notify();
        }
    }
}
