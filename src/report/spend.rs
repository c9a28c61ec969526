//! Cost of the LLM calls of a run: calls, tokens, dollars, time.

use kgen_record::Spend;
use kgen_store::{AttemptRecord, Run};
use schemars::JsonSchema;
use serde::Serialize;

use super::{OpSummary, Summary, TextTable};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AttemptSpend {
    pub attempt: u32,
    #[serde(flatten)]
    pub spend: Spend,
    /// Seconds of judging its kernel.
    pub seconds_judging: f64,
}

impl AttemptSpend {
    pub(super) fn of(record: &AttemptRecord) -> Self {
        let AttemptRecord { attempt, spend, seconds_judging, .. } = record;
        Self { attempt: *attempt, spend: *spend, seconds_judging: *seconds_judging + 0.0 }
    }
}

/// Returns the cost of a whole run: as its totals say, which know of unfinished attempts, unless the
/// process that knew more was killed before it wrote them.
pub(super) fn of_run(run: &Run, ops: &[OpSummary]) -> Spend {
    let finished: Spend = ops.iter().map(|op| op.spend).sum();
    let totals = run.info().totals.map(|totals| totals.spend);
    totals.filter(|totals| finished.calls <= totals.calls).unwrap_or(finished)
}

/// Returns dollars with as many digits as people look at: `$12.30`, `$0.0421`.
#[must_use]
pub fn usd_text(usd: f64) -> String {
    format!("${}", usd_digits(usd))
}

/// Returns the same without the sign, for columns whose title has the unit.
pub(super) fn usd_digits(usd: f64) -> String {
    if usd < 1.0 { format!("{usd:.4}") } else { format!("{usd:.2}") }
}

/// Returns the cost of calls: `$0.0421`, `<= $0.1221` where the worst case of a lost call is in it,
/// `unpriced` where nobody knows; `None` where nothing was paid.
#[must_use]
pub fn cost_text(spend: &Spend) -> Option<String> {
    let usd = spend.charged_usd();
    let priced = spend.calls.saturating_sub(spend.unpriced);
    if spend.unpriced > 0 && (priced == 0 || usd <= 0.0) {
        return Some("unpriced".to_owned());
    }
    if usd <= 0.0 && spend.tokens() == 0 {
        return None;
    }
    let at_most = if spend.assumed_usd > 0.0 { "<= " } else { "" };
    let unpriced = match spend.unpriced {
        0 => String::new(),
        n => format!(" + {n} unpriced"),
    };
    Some(format!("{at_most}{}{unpriced}", usd_text(usd)))
}

/// Returns the cost of a run's calls, in a line; `None` where there were none, and for runs of versions
/// that did not count.
#[must_use]
pub fn spend_line(summary: &Summary) -> Option<String> {
    let spend = &summary.spend;
    let of_others = summary.recorded_spend.as_ref().map_or(0, |recorded| recorded.calls);
    // Where every reply is another run's nobody was asked.
    let was_asked = of_others < spend.calls || cost_text(spend).is_some();
    let now = was_asked.then(|| calls_text(spend));
    let recorded = summary.recorded_spend.as_ref().map(|recorded| {
        let replies = plural(recorded.calls, "reply");
        let free = format!("{replies} of other runs, free of charge now");
        match cost_text(recorded) {
            Some(cost) if 0 < recorded.tokens() => {
                format!("{free}, took {}, {cost}", tokens_text(recorded))
            }
            Some(_) | None => free,
        }
    });
    let parts: Vec<_> = now.into_iter().chain(recorded).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn calls_text(spend: &Spend) -> String {
    let calls = plural(spend.calls, "LLM call");
    let Some(cost) = cost_text(spend) else {
        return format!("{calls}, for which nothing was paid");
    };
    let mut parts = vec![calls];
    if spend.lost_calls > 0 {
        parts.push(format!("{} of them lost", spend.lost_calls));
    }
    if spend.tokens() > 0 {
        parts.push(tokens_text(spend));
    }
    // Where no call has a count there is none to doubt.
    if spend.unreported > 0 && spend.tokens() > 0 {
        parts.push(format!("without the tokens of {}", plural(spend.unreported, "call")));
    }
    parts.push(cost);
    parts.push(format!("{:.1} s of calls", spend.seconds));
    parts.join(", ")
}

fn tokens_text(spend: &Spend) -> String {
    let cached = match spend.cache_read_tokens {
        0 => String::new(),
        n => format!(" ({n} cached)"),
    };
    let reasoning = match spend.reasoning_tokens {
        0 => String::new(),
        n => format!(" ({n} of reasoning)"),
    };
    let Spend { input_tokens, output_tokens, .. } = spend;
    format!("{input_tokens} input tokens{cached}, {output_tokens} output tokens{reasoning}")
}

/// Returns the table of the cost of each attempt's calls, with a sum per op; `None` where nothing is
/// known of any.
#[must_use]
pub fn spend_table(summary: &Summary) -> Option<TextTable> {
    let counted = |op: &&OpSummary| 0 < op.spend.calls;
    let columns = [
        "op",
        ">attempt",
        ">calls",
        ">input",
        ">cached",
        ">output",
        ">reasoning",
        ">cost",
        ">call s",
        ">judge s",
    ];
    let yielding = [("judge s", 0), ("call s", 0), ("reasoning", 0), ("cached", 0), ("calls", 0)];
    let mut table = TextTable::new(&columns).yielding(&yielding);
    let mut any = false;
    for op in summary.ops.iter().filter(counted) {
        any = true;
        let judging = op.by_attempt.iter().map(|attempt| attempt.seconds_judging).sum();
        for attempt in &op.by_attempt {
            let number = attempt.attempt.to_string();
            table.row(row(&op.op, number, &attempt.spend, attempt.seconds_judging));
        }
        if op.by_attempt.len() > 1 {
            table.row(row(&op.op, "all".to_owned(), &op.spend, judging));
        }
    }
    any.then_some(table)
}

fn row(op: &str, attempt: String, spend: &Spend, judging: f64) -> Vec<String> {
    let reported = spend.unreported < spend.calls && spend.tokens() > 0;
    let tokens = |n: u64| if reported { n.to_string() } else { "-".to_owned() };
    vec![
        op.to_owned(),
        attempt,
        spend.calls.to_string(),
        tokens(spend.input_tokens),
        tokens(spend.cache_read_tokens),
        tokens(spend.output_tokens),
        tokens(spend.reasoning_tokens),
        cost_text(spend).unwrap_or_else(|| "-".to_owned()),
        format!("{:.1}", spend.seconds),
        format!("{judging:.1}"),
    ]
}

fn plural(n: u32, noun: &str) -> String {
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{n} {stem}ies"),
        (_, None) => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{cost_text, usd_text};
    use kgen_record::Spend;

    #[test]
    fn a_cost_says_what_is_not_known_of_it() {
        let spend = Spend { calls: 2, input_tokens: 10, usd: 0.04211, ..Spend::default() };
        let check = |spend: Spend, expected: Option<&str>| {
            assert_eq!(cost_text(&spend).as_deref(), expected, "{spend:?}");
        };
        check(spend, Some("$0.0421"));
        check(Spend { assumed_usd: 0.08, ..spend }, Some("<= $0.1221"));
        check(Spend { unpriced: 1, ..spend }, Some("$0.0421 + 1 unpriced"));
        check(Spend { unpriced: 2, usd: 0.0, ..spend }, Some("unpriced"));
        // A server whose price the user set to nothing.
        check(Spend { usd: 0.0, ..spend }, Some("$0.0000"));
        // A person who answered.
        check(Spend { calls: 2, ..Spend::default() }, None);
        check(Spend::default(), None);
        assert_eq!(usd_text(12.301), "$12.30");
    }
}
