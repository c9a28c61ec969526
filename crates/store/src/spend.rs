//! Cost of a run, read from its files.

use std::{collections::BTreeMap, time::Duration};

use kgen_llm::{FailureRecord, ReplyRecord, RequestRecord};
use kgen_record::{AttemptId, OpKey, Spend};

use super::{AttemptState, CallFile, CallState, Error, Run, RunState, StageFile, run::read_json};

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CallsSpend {
    pub now: Spend,
    pub recorded: Option<Spend>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spent {
    /// Each op's calls, and the seconds that were worked on it.
    pub ops: BTreeMap<OpKey, (Spend, f64)>,
    /// Seconds that were worked on the run. The work of a killed process after its last file is not
    /// counted.
    pub seconds: f64,
}

impl Run {
    /// Sums up the cost of an attempt's calls. A call without a reply is charged the most that its
    /// request may take.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn calls_spend(
        &self,
        attempt: &AttemptId,
        calls: &BTreeMap<u32, CallState>,
    ) -> Result<CallsSpend, Error> {
        let mut sum = CallsSpend::default();
        for (&call, &state) in calls {
            match state {
                CallState::Replied => {
                    let path = self.call_path(attempt, call, CallFile::Reply);
                    let Some(reply): Option<ReplyRecord> = read_json(&path)? else { continue };
                    sum.now += reply.spend;
                    if reply.replayed.is_some() || reply.cached.is_some() {
                        *sum.recorded.get_or_insert_default() += recorded(&reply);
                    }
                }
                CallState::Failed => {
                    let path = self.call_path(attempt, call, CallFile::Failure);
                    let failure: Option<FailureRecord> = read_json(&path)?;
                    let spend = failure.map_or_else(Spend::default, |failure| failure.spend);
                    sum.now += Spend { calls: spend.calls.max(1), ..spend };
                }
                CallState::InFlight | CallState::Lost | CallState::TextOnly => {
                    let lost = u32::from(state != CallState::TextOnly);
                    let spend = self.worst_spend(attempt, call)?;
                    sum.now += Spend { lost_calls: spend.lost_calls + lost, ..spend };
                }
            }
        }
        Ok(sum)
    }

    /// Sums up the cost of the calls of an op's attempts that are not over. A call that
    /// costs nothing and waits for its reply took nothing yet.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn unfinished_spend(&self, op: &OpKey) -> Result<CallsSpend, Error> {
        let mut attempts: BTreeMap<u32, AttemptState> = BTreeMap::new();
        for (number, file) in self.attempt_files(op)? {
            attempts.entry(number).or_default().note(file);
        }
        let mut sum = CallsSpend::default();
        for (number, mut attempt) in attempts {
            if attempt.files.contains(&StageFile::Record) {
                continue;
            }
            let id = AttemptId { op: op.clone(), number };
            if let Some((&call, CallState::InFlight)) = attempt.calls.last_key_value()
                && self.request(&id, call)?.is_some_and(|request| is_free(&request))
            {
                attempt.calls.remove(&call);
            }
            let spend = self.calls_spend(&id, &attempt.calls)?;
            sum.now += spend.now;
            if let Some(recorded) = spend.recorded {
                *sum.recorded.get_or_insert_default() += recorded;
            }
        }
        Ok(sum)
    }

    fn worst_spend(&self, attempt: &AttemptId, call: u32) -> Result<Spend, Error> {
        let one = Spend { calls: 1, ..Spend::default() };
        Ok(self.request(attempt, call)?.map_or(one, |request| request.reserved))
    }

    /// Sums up the cost of an attempt, finished or not; its record says so where it has one.
    fn attempt_spend(
        &self,
        id: &AttemptId,
        state: &AttemptState,
        calls_wait: bool,
    ) -> Result<Spend, Error> {
        if let Some(record) = &state.record {
            return Ok(record.spend);
        }
        let mut calls = state.calls.clone();
        let last = calls.last_key_value().map(|(call, state)| (*call, *state));
        if let Some((call, CallState::InFlight | CallState::TextOnly)) = last
            && calls_wait
        {
            // It takes from the budget when it is made again.
            calls.remove(&call);
        }
        Ok(self.calls_spend(id, &calls)?.now)
    }

    /// Returns when an attempt was worked on, in seconds since 1970.
    fn attempt_span(
        &self,
        id: &AttemptId,
        state: &AttemptState,
    ) -> Result<Option<(f64, f64)>, Error> {
        if let Some(record) = &state.record {
            return Ok(seconds(&record.started_at).zip(seconds(&record.finished_at)));
        }
        let mut span: Option<(f64, f64)> = None;
        for (&call, &call_state) in &state.calls {
            let Some(request) = self.request(id, call)? else { continue };
            let Some(from) = seconds(&request.started_at) else { continue };
            let path = self.call_path(id, call, CallFile::Reply);
            let reply: Option<ReplyRecord> = match call_state {
                CallState::Replied => read_json(&path)?,
                _ => None,
            };
            let to = from + reply.map_or(0.0, |reply| reply.seconds);
            span = Some(span.map_or((from, to), |(a, b)| (a.min(from), b.max(to))));
        }
        Ok(span)
    }
}

/// Reads the cost of a run so far. `calls_wait` returns whether calls without a reply wait for one.
///
/// # Errors
///
/// [`Error::Io`] or [`Error::Damaged`].
pub fn spent(run: &Run, state: &RunState, calls_wait: bool) -> Result<Spent, Error> {
    let mut spent = Spent::default();
    let mut all = Vec::new();
    for (op, found) in &state.ops {
        let mut spans = Vec::new();
        let mut spend = Spend::default();
        for (&number, attempt) in &found.attempts {
            let id = AttemptId { op: op.clone(), number };
            spend += run.attempt_spend(&id, attempt, calls_wait)?;
            spans.extend(run.attempt_span(&id, attempt)?);
        }
        all.extend_from_slice(&spans);
        spent.ops.insert(op.clone(), (spend, covered(spans)));
    }
    let stored = run.info().totals.map_or(0.0, |totals| totals.seconds);
    spent.seconds = stored.max(covered(all));
    Ok(spent)
}

/// Returns the tokens and the cost of a reply as it was recorded.
fn recorded(reply: &ReplyRecord) -> Spend {
    let usage = &reply.usage;
    let usd = reply.cost.or(usage.cost_usd);
    Spend {
        calls: 1,
        input_tokens: usage.input.unwrap_or(0),
        cache_read_tokens: usage.cache_read.unwrap_or(0),
        cache_write_tokens: usage.cache_write.unwrap_or(0),
        output_tokens: usage.output.unwrap_or(0),
        reasoning_tokens: usage.reasoning.unwrap_or(0),
        unreported: u32::from(usage.input.is_none() || usage.output.is_none()),
        usd: usd.unwrap_or(0.0),
        unpriced: u32::from(usd.is_none()),
        ..Spend::default()
    }
}

/// Returns whether a call was sent to nobody who is paid.
pub(super) fn is_free(request: &RequestRecord) -> bool {
    matches!(request.kind.as_str(), "mailbox" | "replay")
}

fn seconds(timestamp: &str) -> Option<f64> {
    let timestamp: jiff::Timestamp = timestamp.parse().ok()?;
    let since = Duration::try_from(timestamp.as_duration()).ok()?;
    Some(since.as_secs_f64())
}

/// Returns the length of the union of some spans.
fn covered(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let mut end = f64::NEG_INFINITY;
    for (from, to) in spans {
        sum += (to - from.max(end)).max(0.0);
        end = end.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn time_that_several_attempts_shared_counts_once() {
        for (spans, expected) in [
            (vec![], 0.0),
            (vec![(5.0, 9.0), (1.0, 3.0)], 6.0),
            (vec![(1.0, 9.0), (2.0, 3.0), (8.0, 10.0)], 9.0),
        ] {
            assert!((covered(spans) - expected).abs() < 1e-12);
        }
    }
}
