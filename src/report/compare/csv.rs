//! A comparison as CSV: one number per line, so that any program can pick its own.
//!
//! Columns: `arm`, `against` (the other arm of a test), `op` (empty for the whole arm), `quantity`,
//! `baseline`, `gpu`, `cases` (`long`: without those that launch overhead dominates, or `all`), `attempts`
//! (of a curve's point), `value`, `low`, `high` (95 %), `n_ops`, `n_samples`, `p`, `p_holm`, `marks`.
//! Numbers have four significant digits. A value that was not measured has no line, or an empty cell.

use kgen_compare::{ArmSummary, Comparison, Estimate, OpCell, Quantity, Speed, Spend, csv::line};

use crate::report::digits::significant;

const COLUMNS: [&str; 16] = [
    "arm",
    "against",
    "op",
    "quantity",
    "baseline",
    "gpu",
    "cases",
    "attempts",
    "value",
    "low",
    "high",
    "n_ops",
    "n_samples",
    "p",
    "p_holm",
    "marks",
];

#[derive(Default)]
struct Line<'a> {
    arm: &'a str,
    against: &'a str,
    op: &'a str,
    quantity: String,
    baseline: &'a str,
    gpu: &'a str,
    cases: &'a str,
    attempts: Option<u32>,
    value: f64,
    interval: Option<[f64; 2]>,
    n_ops: Option<usize>,
    n_samples: Option<usize>,
    p: Option<[f64; 2]>,
    marks: String,
}

impl<'a> Line<'a> {
    fn of(arm: &'a str, quantity: &str, value: f64) -> Self {
        Self { arm, quantity: quantity.to_owned(), value, ..Self::default() }
    }

    fn estimate(arm: &'a str, quantity: &str, estimate: &Estimate) -> Self {
        let interval = estimate.interval();
        Self { interval, n_ops: Some(estimate.n_ops), ..Self::of(arm, quantity, estimate.value) }
    }

    fn write(&self, text: &mut String) {
        fn cell(value: Option<impl ToString>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        let cells = [
            self.arm.to_owned(),
            self.against.to_owned(),
            self.op.to_owned(),
            self.quantity.clone(),
            self.baseline.to_owned(),
            self.gpu.to_owned(),
            self.cases.to_owned(),
            cell(self.attempts),
            significant(self.value),
            cell(self.interval.map(|[low, _]| significant(low))),
            cell(self.interval.map(|[_, high]| significant(high))),
            cell(self.n_ops),
            cell(self.n_samples),
            cell(self.p.map(|[p, _]| significant(p))),
            cell(self.p.map(|[_, corrected]| significant(corrected))),
            self.marks.clone(),
        ];
        text.push_str(&line(cells));
    }
}

#[must_use]
pub fn csv(comparison: &Comparison) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for arm in &comparison.arms {
        arm_lines(arm).iter().for_each(|line| line.write(&mut text));
        curve_lines(arm, comparison.baselines.first())
            .iter()
            .for_each(|line| line.write(&mut text));
    }
    for pair in &comparison.pairs {
        for test in &pair.tests {
            let quantity = match test.quantity {
                Quantity::Correct => "difference of correct",
                Quantity::Fast1 => "difference of fast_1",
                Quantity::Speedup => "ratio of speedups",
            };
            let arm = &comparison.arms[pair.b].name;
            let line = Line {
                against: &comparison.arms[pair.a].name,
                p: Some([test.p, test.p_holm]),
                ..Line::estimate(arm, quantity, &test.estimate)
            };
            line.write(&mut text);
        }
    }
    for row in &comparison.ops {
        for (arm, cell) in comparison.arms.iter().zip(&row.cells) {
            let lines = cell.iter().flat_map(|cell| op_lines(&arm.name, &row.op, cell));
            lines.for_each(|line| line.write(&mut text));
        }
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "counts of samples and tokens are far below 2^53")]
fn arm_lines(arm: &ArmSummary) -> Vec<Line<'_>> {
    let name = &arm.name;
    let n_samples = Some(arm.n_samples);
    let marks = arm.marks.words().join("; ");
    let solved = Line::of(name, "solved", arm.n_solved as f64);
    let mut lines = vec![Line { n_ops: Some(arm.n_ops), n_samples, marks, ..solved }];
    let mut count =
        |quantity, value| lines.push(Line { n_samples, ..Line::of(name, quantity, value) });
    count("attempts", arm.n_attempts as f64);
    let spend = &arm.spend;
    count("calls", spend.calls as f64);
    count("latency_s", spend.seconds);
    let mut marked = |quantity, value, mark: &str| {
        let marks = mark.to_owned();
        lines.push(Line { n_samples, marks, ..Line::of(name, quantity, value) });
    };
    // A call has tokens; where there are none, nobody reported them.
    if 0 < spend.tokens() {
        let mark = if spend.has_untold_tokens() { "at least" } else { "" };
        marked("input_tokens", spend.input_tokens as f64, mark);
        marked("cache_read_tokens", spend.cache_read_tokens as f64, mark);
        marked("output_tokens", spend.output_tokens as f64, mark);
        marked("reasoning_tokens", spend.reasoning_tokens as f64, mark);
    }
    if let Some(usd) = spend.cost().filter(|_| spend.is_paid()) {
        marked("usd", usd, at_most(spend));
    }
    lines.extend(arm.cost_per_solved.as_ref().map(|found| {
        let marks = at_most(spend).to_owned();
        Line { marks, ..Line::estimate(name, "usd_per_solved_op", found) }
    }));
    for (quantity, found) in
        [("correct", &arm.correct), ("attempts_to_correct", &arm.attempts_to_correct)]
    {
        lines.extend(found.as_ref().map(|found| Line::estimate(name, quantity, found)));
    }
    for speeds in &arm.speeds {
        for (cases, speed) in [("long", &speeds.long), ("all", &speeds.all)] {
            let gpu = speeds.gpu.as_deref().unwrap_or_default();
            let of = speed_lines(name, speed).into_iter();
            lines.extend(of.map(|line| Line { baseline: &speeds.baseline, gpu, cases, ..line }));
        }
    }
    lines
}

/// The mark of a cost that has the worst case of a lost call in it.
fn at_most(spend: &Spend) -> &'static str {
    if spend.is_at_most() { "at most" } else { "" }
}

fn speed_lines<'a>(arm: &'a str, speed: &Speed) -> Vec<Line<'a>> {
    let fast = speed.fast.iter().filter_map(|fast| {
        Some(Line::estimate(arm, &format!("fast_{}", fast.p), fast.share.as_ref()?))
    });
    let means = [("geomean", &speed.geomean), ("median", &speed.median)];
    let means = means
        .into_iter()
        .filter_map(|(quantity, found)| Some(Line::estimate(arm, quantity, found.as_ref()?)));
    fast.chain(means).collect()
}

fn curve_lines<'a>(arm: &'a ArmSummary, primary: Option<&'a String>) -> Vec<Line<'a>> {
    let baseline = primary.map_or("", String::as_str);
    let mut lines = Vec::new();
    for point in &arm.curve {
        let attempts = Some(point.attempts);
        let correct = point.correct.as_ref();
        lines.extend(
            correct.map(|c| Line { attempts, ..Line::estimate(&arm.name, "correct so far", c) }),
        );
        for (quantity, found) in
            [("fast_1 so far", &point.fast_1), ("geomean so far", &point.geomean)]
        {
            lines.extend(found.as_ref().map(|found| Line {
                attempts,
                baseline,
                cases: "long",
                ..Line::estimate(&arm.name, quantity, found)
            }));
        }
        let usd = point.usd;
        lines.extend(usd.map(|usd| Line {
            attempts,
            marks: at_most(&arm.spend).to_owned(),
            ..Line::of(&arm.name, "usd so far per op", usd)
        }));
    }
    lines
}

#[expect(clippy::cast_precision_loss, reason = "counts of samples are small")]
fn op_lines<'a>(arm: &'a str, op: &'a str, cell: &'a OpCell) -> Vec<Line<'a>> {
    let n_samples = Some(cell.marks.of);
    let of = |quantity: &str, value: f64| Line { op, n_samples, ..Line::of(arm, quantity, value) };
    let marks = cell.marks.words().join("; ");
    let mut lines = vec![Line { marks, ..of("solved", cell.n_solved as f64) }];
    lines.push(of("attempts", cell.n_attempts as f64));
    lines.extend(cell.attempts_to_correct.map(|n| of("attempts_to_correct", n)));
    let cost = cell.spend.cost().filter(|_| cell.spend.is_paid());
    let marks = at_most(&cell.spend).to_owned();
    lines.extend(cost.map(|usd| Line { marks, ..of("usd", usd) }));
    for speedup in &cell.speedups {
        let gpu = speedup.gpu.as_deref().unwrap_or_default();
        let line = |cases, value| Line {
            baseline: &speedup.baseline,
            gpu,
            cases,
            n_samples: Some(speedup.n_samples),
            ..of("speedup", value)
        };
        lines.extend(speedup.long.map(|long| line("long", long)));
        lines.push(line("all", speedup.all));
    }
    lines
}
