//! Shows on standard error how a run goes: bars on a terminal, lines everywhere.

use std::collections::BTreeMap;

use indicatif::ProgressBar;
use kgen_agent::{Event, OpEnd, PromptMatch};
use kgen_record::{AttemptId, Stage, Verdict};
use kgen_store::{AttemptRecord, Purpose};
use tokio::sync::mpsc::UnboundedReceiver;

use super::ui::Ui;
use crate::report::{cost_text, speedup_text, usd_text};

pub(crate) struct Progress {
    ui: Ui,
    total: ProgressBar,
    ops: BTreeMap<String, ProgressBar>,
    n_differing: usize,
}

impl Progress {
    /// Returns the display of a run over so many ops.
    pub(crate) fn new(ui: &Ui, n_ops: usize) -> Self {
        let total = ui.bar(n_ops as u64, "ops");
        Self { ui: ui.clone(), total, ops: BTreeMap::new(), n_differing: 0 }
    }

    /// Shows events until the run is over; returns how many recorded replies answered another
    /// prompt than today's.
    pub(crate) async fn follow(mut self, mut events: UnboundedReceiver<Event>) -> usize {
        while let Some(event) = events.recv().await {
            self.show(event);
        }
        for bar in self.ops.values() {
            bar.finish_and_clear();
        }
        self.total.finish_and_clear();
        self.n_differing
    }

    fn show(&mut self, event: Event) {
        match event {
            Event::OpStarted { op } => {
                let bar = self.ui.spinner(&op);
                self.ops.insert(op, bar);
            }
            Event::AttemptStarted { attempt, purpose } => {
                let what = match purpose {
                    Purpose::Initial => "first try",
                    Purpose::Repair => "repair",
                    Purpose::Improve => "improvement",
                    Purpose::Given => "given kernel",
                };
                self.message(&attempt, what);
            }
            Event::CallStarted { key } => self.message(&key.attempt, "waiting for the reply"),
            Event::ReplyReceived { key, seconds, usage, cost, cached, replayed } => {
                let tokens = usage.output.map_or(String::new(), |n| format!(", {n} tokens"));
                let text = match replayed {
                    Some(PromptMatch::Same) => "reply replayed".to_owned(),
                    Some(PromptMatch::Differs) => {
                        self.n_differing += 1;
                        "reply replayed (it answered another prompt)".to_owned()
                    }
                    None if cached => "reply kept from an equal request".to_owned(),
                    None => {
                        let cost = cost.map_or(String::new(), |usd| format!(", {}", usd_text(usd)));
                        format!("reply after {seconds:.1} s{tokens}{cost}")
                    }
                };
                self.ui.detail(&format!("{}: {text}", key.attempt));
            }
            Event::Evaluating { stage: Stage::Done, .. } => {}
            Event::Evaluating { attempt, stage } => self.message(&attempt, stage.name()),
            Event::AttemptDone { attempt, record, reason } => {
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                self.ui.note(&format!("{}{reason}", attempt_line(&attempt, &record)));
            }
            Event::Confirming { attempt } => self.message(&attempt, "judged again, fresh seeds"),
            Event::Confirmed { attempt, passed } => {
                if passed {
                    self.ui.detail(&format!("{attempt}: passed again with fresh seeds"));
                } else {
                    self.ui.note(&format!("{attempt}: passed once and failed with a fresh seed"));
                }
            }
            Event::Awaiting { key, .. } => self.message(&key.attempt, "waiting for the reply file"),
            Event::Note { message } => self.ui.note(&message),
            Event::OpDone { outcome } => {
                if let OpEnd::Failed { message } = &outcome.end {
                    self.ui.warn(&format!("{} is left unfinished: {message}", outcome.op));
                }
                if let Some(bar) = self.ops.remove(&outcome.op) {
                    bar.finish_and_clear();
                }
                self.total.inc(1);
            }
        }
    }

    fn message(&self, attempt: &AttemptId, what: &str) {
        // The key is the op's name but for overloads that are not the canonical one.
        let bar = self.ops.get(&attempt.op.0).or_else(|| self.ops.values().next());
        if let Some(bar) = bar {
            bar.set_message(format!("attempt {}: {what}", attempt.number));
        }
    }
}

/// Returns in a line the outcome of an attempt.
fn attempt_line(attempt: &AttemptId, record: &AttemptRecord) -> String {
    let counts = record.counts;
    let cases = if counts.cases == 0 {
        String::new()
    } else {
        format!(" {}/{}", counts.passed, counts.cases)
    };
    let verdict = if record.verdict == Verdict::Passed {
        let unreached = match counts.unreached {
            0 => String::new(),
            n => format!(", {n} lines unreached"),
        };
        format!("passed on {}{cases}{unreached}", record.level)
    } else {
        format!("{}{cases} ({})", record.verdict, record.level)
    };
    let speedup = match &record.speedup {
        Some(speedup) => format!(", {}", speedup_text(Some(speedup))),
        None => String::new(),
    };
    let cost = cost_text(&record.spend).map_or(String::new(), |cost| format!(", {cost}"));
    let replayed = if record.replayed { " [replayed]" } else { "" };
    let cached = if record.cached { " [kept reply]" } else { "" };
    let equal = record.duplicate_of.map_or_else(String::new, |original| {
        format!(" [the kernel of attempt {original} again, not judged twice]")
    });
    let marks = format!("{equal}{replayed}{cached}");
    format!("{} attempt {}: {verdict}{speedup}{cost}{marks}", attempt.op, attempt.number)
}
