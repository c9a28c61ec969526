//! A comparison for people.

use kgen_compare::{
    ArmSummary, Comparison, CurvePoint, Estimate, OpCell, Pair, Quantity, Speed, Speeds, Spend,
    summary::FACTORS,
};

use crate::report::{NOT_MEASURED, Screen, TextTable, spend::usd_digits};

/// Points of a curve that are printed at most.
const MAX_POINTS: usize = 12;

/// Returns a comparison as tables with notes on them.
#[must_use]
pub fn text(comparison: &Comparison, screen: Screen) -> String {
    let mut parts: Vec<String> =
        legend(comparison).into_iter().map(|lines| screen.wrap(&lines)).collect();
    parts.push(arm_table(comparison, screen));
    parts.push(speed_table(comparison, screen));
    parts.extend(curve_table(comparison, screen));
    parts.extend(pair_table(comparison, screen));
    parts.push(op_table(comparison, screen));
    let lines = comparison.notes.iter().chain(&comparison.method);
    let lines = lines.map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n");
    parts.push(screen.wrap(&lines));
    parts.join("\n\n")
}

/// Runs of an arm that the legend names.
const MAX_RUNS: usize = 3;

/// A line per arm: its letter, its runs, and the settings that set it apart; `None` for a single arm,
/// whose table has its name.
fn legend(comparison: &Comparison) -> Option<String> {
    let line = |arm: &ArmSummary| {
        let settings = comparison.differing.iter();
        let settings = settings.filter_map(|name| Some(format!("{name} {}", arm.fact(name)?)));
        let settings = settings.collect::<Vec<_>>().join(", ");
        let runs = match arm.runs.len().checked_sub(MAX_RUNS) {
            None | Some(0) => arm.runs.join(", "),
            Some(more) => format!("{} and {more} more", arm.runs[..MAX_RUNS].join(", ")),
        };
        let settings = if settings.is_empty() { String::new() } else { format!(": {settings}") };
        format!("{}  {runs}{settings}", arm.letter)
    };
    (1 < comparison.arms.len())
        .then(|| comparison.arms.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The name of an arm in tables: its letter, where the legend explains it.
fn short(comparison: &Comparison, arm: &ArmSummary) -> String {
    if 1 < comparison.arms.len() { arm.letter.clone() } else { arm.name.clone() }
}

fn arm_table(comparison: &Comparison, screen: Screen) -> String {
    let headers =
        ["arm", ">runs", ">ops", ">solved", "correct", "attempts to correct", "USD per solved op"];
    let mut headers = headers.to_vec();
    headers.extend([">USD", ">tokens", ">calls", "marks"]);
    let mut table = TextTable::new(&headers);
    for arm in &comparison.arms {
        let spend = &arm.spend;
        let paid = spend.is_paid();
        let dash = || "-".to_owned();
        let cost = spend.cost().map_or_else(|| "unpriced".to_owned(), |n| at_most(spend, usd(n)));
        let per_op = match (&arm.cost_per_solved, spend.cost()) {
            (Some(cost), _) => at_most(spend, estimate(cost, &usd)),
            (None, None) => "unpriced".to_owned(),
            (None, Some(_)) => dash(),
        };
        table.row(vec![
            short(comparison, arm),
            arm.runs.len().to_string(),
            arm.n_ops.to_string(),
            format!("{}/{}", arm.n_solved, arm.n_samples),
            arm.correct.map_or_else(dash, |correct| estimate(&correct, &share)),
            arm.attempts_to_correct.map_or_else(dash, |n| estimate(&n, &|n| format!("{n:.1}"))),
            if paid { per_op } else { dash() },
            if paid { cost } else { dash() },
            tokens(spend),
            spend.calls.to_string(),
            arm.marks.words().join("; "),
        ]);
    }
    table.fit(screen)
}

/// Speedups: the baselines beside each other, without and with cases that launch overhead dominates.
fn speed_table(comparison: &Comparison, screen: Screen) -> String {
    let baselines = &comparison.baselines;
    if baselines.is_empty() {
        return format!("speedup: {NOT_MEASURED}");
    }
    let mut headers = vec!["arm".to_owned(), "speedup".to_owned()];
    headers.extend(baselines.iter().map(|name| format!("over {name}")));
    headers.extend(baselines.iter().map(|name| format!("with overhead, {name}")));
    let mut table = TextTable::new(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    for arm in &comparison.arms {
        if arm.speeds.is_empty() {
            let mut cells = vec![short(comparison, arm), NOT_MEASURED.to_owned()];
            cells.resize(headers.len(), String::new());
            table.row(cells);
        }
        let mut gpus: Vec<&Option<String>> = arm.speeds.iter().map(|speeds| &speeds.gpu).collect();
        gpus.sort();
        gpus.dedup();
        for gpu in gpus {
            let on: Vec<&Speeds> = arm.speeds.iter().filter(|s| s.gpu == *gpu).collect();
            add_speeds(&mut table, (&short(comparison, arm), arm), gpu.as_deref(), &on, baselines);
        }
    }
    table.fit(screen)
}

fn add_speeds(
    table: &mut TextTable,
    (name, arm): (&str, &ArmSummary),
    gpu: Option<&str>,
    speeds: &[&Speeds],
    baselines: &[String],
) {
    let several = arm.speeds.iter().any(|other| other.gpu.as_deref() != gpu);
    let name = match gpu.filter(|_| several) {
        Some(gpu) => format!("{name} on {gpu}"),
        None => name.to_owned(),
    };
    let fast =
        FACTORS.iter().enumerate().map(|(at, p)| (format!("fast_{p}"), SpeedupStatistic::Fast(at)));
    let means = [
        ("geomean".to_owned(), SpeedupStatistic::Geomean),
        ("median".to_owned(), SpeedupStatistic::Median),
    ];
    for (what, row) in fast.chain(means) {
        let cell = |baseline: &String, all: bool| {
            let speeds = speeds.iter().find(|speeds| speeds.baseline == *baseline);
            let Some(speeds) = speeds else { return NOT_MEASURED.to_owned() };
            row.cell(if all { &speeds.all } else { &speeds.long })
        };
        let is_first = row == SpeedupStatistic::Fast(0);
        let mut cells = vec![if is_first { name.clone() } else { String::new() }, what];
        cells.extend(baselines.iter().map(|baseline| cell(baseline, false)));
        cells.extend(baselines.iter().map(|baseline| cell(baseline, true)));
        table.row(cells);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SpeedupStatistic {
    /// The share above one of [`FACTORS`].
    Fast(usize),
    Geomean,
    Median,
}

impl SpeedupStatistic {
    fn cell(self, speed: &Speed) -> String {
        let (found, show): (Option<Estimate>, &dyn Fn(f64) -> String) = match self {
            Self::Fast(at) => (speed.fast[at].share, &share),
            Self::Geomean => (speed.geomean, &factor),
            Self::Median => (speed.median, &factor),
        };
        let text = found.map_or_else(|| NOT_MEASURED.to_owned(), |found| estimate(&found, show));
        match (self, speed.n_unmeasured) {
            (Self::Fast(0), n) if n > 0 => format!("{text} ({n} {NOT_MEASURED})"),
            _ => text,
        }
    }
}

/// Learning curves; `None` where nothing was attempted twice.
fn curve_table(comparison: &Comparison, screen: Screen) -> Option<String> {
    let longest = comparison.arms.iter().max_by_key(|arm| arm.curve.len())?;
    if longest.curve.len() < 2 {
        return None;
    }
    let step = longest.curve.len().div_ceil(MAX_POINTS);
    let last = longest.curve.len() - 1;
    let mut headers = vec![">after attempts".to_owned()];
    headers.extend(comparison.arms.iter().map(|arm| short(comparison, arm)));
    let mut table = TextTable::new(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    let shown = longest.curve.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
    for (_, point) in shown {
        // An arm with fewer attempts stays where it ended.
        let of_arm = |arm: &ArmSummary| {
            let known = arm.curve.iter().rev().find(|other| other.attempts <= point.attempts);
            known.map_or_else(String::new, |point| curve_cell(point, &arm.spend))
        };
        let mut cells = vec![point.attempts.to_string()];
        cells.extend(comparison.arms.iter().map(of_arm));
        table.row(cells);
    }
    Some(format!("{}\n(correct, fast_1, geomean, USD per op)", table.fit(screen)))
}

fn curve_cell(point: &CurvePoint, spend: &Spend) -> String {
    let value = |found: Option<Estimate>, show: &dyn Fn(f64) -> String| {
        found.map_or_else(|| "-".to_owned(), |found| show(found.value))
    };
    let parts = [
        value(point.correct, &share),
        value(point.fast_1, &share),
        value(point.geomean, &factor),
        point.usd.map_or_else(|| "-".to_owned(), |n| at_most(spend, usd(n))),
    ];
    parts.join(" ")
}

fn pair_table(comparison: &Comparison, screen: Screen) -> Option<String> {
    if comparison.pairs.is_empty() {
        return None;
    }
    let headers =
        ["arms", "question", ">ops", "b against a", "better, worse", ">p", ">p corrected"];
    let mut table = TextTable::new(&headers);
    let name = |pair: &Pair| {
        format!("{} -> {}", comparison.arms[pair.a].letter, comparison.arms[pair.b].letter)
    };
    for pair in &comparison.pairs {
        for test in &pair.tests {
            let (question, show): (_, &dyn Fn(f64) -> String) = match test.quantity {
                Quantity::Correct => ("correct", &|d| format!("{d:+.2}")),
                Quantity::Fast1 => ("fast_1", &|d| format!("{d:+.2}")),
                Quantity::Speedup => ("speedup", &factor),
            };
            table.row(vec![
                name(pair),
                question.to_owned(),
                test.estimate.n_ops.to_string(),
                estimate(&test.estimate, show),
                format!("{}, {}", test.n_better, test.n_worse),
                p_value(test.p),
                p_value(test.p_holm),
            ]);
        }
        if pair.tests.is_empty() {
            let mut cells = vec![name(pair), "no op that both worked on".to_owned()];
            cells.resize(headers.len(), String::new());
            table.row(cells);
        }
    }
    Some(table.fit(screen))
}

fn op_table(comparison: &Comparison, screen: Screen) -> String {
    let mut headers = vec!["op".to_owned()];
    headers.extend(comparison.arms.iter().map(|arm| short(comparison, arm)));
    let mut table = TextTable::new(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &comparison.ops {
        let mut cells = vec![row.op.clone()];
        let cell = |cell: &Option<OpCell>| cell.as_ref().map_or_else(|| "-".to_owned(), op_cell);
        cells.extend(row.cells.iter().map(cell));
        table.row(cells);
    }
    table.fit(screen)
}

/// One op in one arm, for example `2/3 1.35x aten, 1.02x torch_compile`.
fn op_cell(cell: &OpCell) -> String {
    let mut text = format!("{}/{}", cell.n_solved, cell.marks.of);
    let speedup = |speedup: &kgen_compare::OpSpeedup| match speedup.long {
        Some(long) => format!("{} {}", factor(long), speedup.baseline),
        None => format!("{} {} (launch overhead only)", factor(speedup.all), speedup.baseline),
    };
    let speedups: Vec<String> = cell.speedups.iter().map(speedup).collect();
    match (&cell.failure, cell.n_solved) {
        (_, 1..) if !speedups.is_empty() => text = format!("{text} {}", speedups.join(", ")),
        (_, 1..) => text = format!("{text} {NOT_MEASURED}"),
        (Some(failure), 0) => text = format!("{text} {failure}"),
        (None, 0) => {}
    }
    let marks = cell.marks.words();
    if marks.is_empty() { text } else { format!("{text} [{}]", marks.join("; ")) }
}

fn estimate(estimate: &Estimate, show: &dyn Fn(f64) -> String) -> String {
    let value = show(estimate.value);
    match estimate.interval() {
        Some([low, high]) => format!("{value} [{}, {}]", show(low), show(high)),
        None => value,
    }
}

fn share(share: f64) -> String {
    format!("{share:.2}")
}

fn factor(factor: f64) -> String {
    format!("{factor:.2}x")
}

fn usd(usd: f64) -> String {
    usd_digits(usd)
}

/// The cost of calls, with `<=` where the worst case of a lost call is in it.
fn at_most(spend: &Spend, text: String) -> String {
    if spend.is_at_most() { format!("<= {text}") } else { text }
}

/// Tokens as far as they were reported; where none were, nobody knows how many.
fn tokens(spend: &Spend) -> String {
    match spend.tokens() {
        0 => "-".to_owned(),
        n if spend.has_untold_tokens() => format!(">= {n}"),
        n => n.to_string(),
    }
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}
