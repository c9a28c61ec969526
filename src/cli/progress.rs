//! Shows on standard error how a run goes: bars on a terminal, lines everywhere.

use indicatif::ProgressBar;
use kgen_agent::{Event, OpEnd, PromptMatch};
use kgen_record::{AttemptId, Spend, Stage, Verdict};
use kgen_store::{AttemptRecord, Purpose};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{board::Board, session::plural, ui::Ui};
use crate::report::{Screen, cases_text, cost_text, speedup_text, tone, usd_text};

pub(crate) struct Progress {
    ui: Ui,
    total: ProgressBar,
    /// The lines below it.
    lines: ProgressBar,
    board: Board,
    n_attempts: usize,
    spend: Spend,
    n_differing: usize,
}

impl Progress {
    /// Returns the display of a run over so many ops.
    pub(crate) fn new(ui: &Ui, n_ops: usize) -> Self {
        Self {
            ui: ui.clone(),
            total: ui.run_bar(n_ops as u64),
            lines: ui.lines_bar(),
            board: Board::default(),
            n_attempts: 0,
            spend: Spend::default(),
            n_differing: 0,
        }
    }

    /// Shows events until the run is over; returns how many recorded replies answered another
    /// prompt than today's.
    pub(crate) async fn follow(mut self, mut events: UnboundedReceiver<Event>) -> usize {
        while let Some(event) = events.recv().await {
            self.show(event);
            self.lines.set_message(self.board.lines(self.ui.notes()).join("\n"));
        }
        self.lines.finish_and_clear();
        self.total.finish_and_clear();
        self.n_differing
    }

    fn show(&mut self, event: Event) {
        match event {
            Event::OpStarted { op } => self.board.start(&op),
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
                let line = attempt_line(&attempt, &record, self.ui.notes());
                self.ui.note(&format!("{line}{reason}"));
                self.n_attempts += 1;
                self.spend += record.spend;
                self.total.set_message(totals(self.n_attempts, &self.spend));
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
                self.board.finish(&outcome.op);
                self.total.inc(1);
            }
        }
    }

    fn message(&mut self, attempt: &AttemptId, what: &str) {
        self.board.set(&attempt.op.0, format!("attempt {}: {what}", attempt.number));
    }
}

/// Returns the attempts so far and their cost, to follow the time that is left.
fn totals(n_attempts: usize, spend: &Spend) -> String {
    let cost = cost_text(spend).map_or_else(String::new, |cost| format!(", {cost}"));
    format!(", {}{cost}", plural(n_attempts, "attempt"))
}

/// Returns in a line the outcome of an attempt.
fn attempt_line(attempt: &AttemptId, record: &AttemptRecord, screen: Screen) -> String {
    let counts = record.counts;
    let cases = cases_text(&counts).map_or_else(String::new, |cases| format!(" {cases}"));
    let painted = |text: String| screen.paint(tone(Some(record.verdict)), &text);
    let verdict = if record.verdict == Verdict::Passed {
        let unreached = match counts.unreached {
            0 => String::new(),
            1 => ", 1 line unreached".to_owned(),
            n => format!(", {n} lines unreached"),
        };
        format!("{}{cases}{unreached}", painted(format!("passed on {}", record.level)))
    } else {
        format!("{}{cases}", painted(format!("{} ({})", record.verdict, record.level)))
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
