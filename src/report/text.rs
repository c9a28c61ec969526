//! Text for people: the table of ops, `OVERALL_SUMMARY.txt`, `README.md`.

use std::{collections::BTreeSet, fmt::Write as _};

use kgen_record::Level;
use kgen_store::{Run, RunStatus};

use super::{
    MeanSpeedup, Screen, TextTable,
    chart::gauge,
    digits::factor,
    gpu_table,
    op_table::{op_table, tables, unfinished_line},
    score_table, spend_line, spend_table,
    summary::{OpSummary, Summary, ratio},
};

/// Stands where no number was measured.
pub const NOT_MEASURED: &str = "not measured";

/// Returns the speedups of a run, for example `1.32x vs aten, 1.10x vs builtin`.
#[must_use]
pub fn mean_speedup_text(speedups: &[MeanSpeedup]) -> String {
    let text = |mean: &MeanSpeedup| {
        let on = mean.gpu.as_ref().map_or(String::new(), |gpu| format!(" on {gpu}"));
        let kind = mean.library_use.map_or_else(String::new, |kind| format!(" ({})", kind.name()));
        format!("{}x vs {}{on}{kind}", factor(mean.geomean), mean.baseline)
    };
    let texts: Vec<String> = speedups.iter().map(text).collect();
    if texts.is_empty() { NOT_MEASURED.to_owned() } else { texts.join(", ") }
}

#[must_use]
pub fn totals_line(summary: &Summary) -> String {
    let n_ops = summary.ops.len();
    let noun = if n_ops == 1 { "op" } else { "ops" };
    let speedup = mean_speedup_text(&summary.speedups);
    let on = judged_on(summary);
    format!("{} of {n_ops} {noun} passed on {on}; speedup {speedup}", summary.n_passed)
}

/// Returns the device of a run, or where the evaluations were made that it has from another one.
fn judged_on(summary: &Summary) -> String {
    let reused = summary.ops.iter().filter(|op| op.reused_evaluation);
    let levels: BTreeSet<&str> =
        reused.filter_map(|op| op.level).map(|level| level.name()).collect();
    if levels.is_empty() {
        return summary.device.clone();
    }
    let levels: Vec<&str> = levels.into_iter().collect();
    format!("{} in the run that is replayed", levels.join(" and "))
}

/// Cells of the bar of passed ops.
const GAUGE: usize = 20;

/// Returns the result of a run for people: a bar, the totals, and in a line each the extent of the
/// evidence and its limits.
#[must_use]
pub fn result_lines(summary: &Summary) -> Vec<String> {
    let totals = totals_line(summary);
    let n_ops = summary.ops.len();
    let first = if n_ops < 2 {
        totals
    } else {
        format!("{} {totals}", gauge(ratio(summary.n_passed, n_ops), GAUGE))
    };
    [Some(first), shown_line(summary), not_shown_line(summary)].into_iter().flatten().collect()
}

/// Says how much was tested of the kernels that passed; `None` without any.
fn shown_line(summary: &Summary) -> Option<String> {
    let passed = || summary.ops.iter().filter(|op| op.passed());
    let n_cases: usize = passed().map(|op| op.counts.passed).sum();
    let on =
        |wanted: &[Level]| passed().any(|op| op.level.is_some_and(|level| wanted.contains(&level)));
    let places = [
        on(&[Level::Emu, Level::EmuCuda]).then_some("a PTX emulator"),
        on(&[Level::Cuda, Level::EmuCuda]).then_some("a GPU"),
    ];
    let places: Vec<&str> = places.into_iter().flatten().collect();
    let noun = if n_cases == 1 { "case" } else { "cases" };
    (n_cases > 0 && !places.is_empty()).then(|| {
        format!(
            "shown: every output element is within its error bound of an f64 reference, in {n_cases} \
             {noun}, on {}",
            places.join(" and ")
        )
    })
}

/// Says what is not known of the kernels that passed; `None` where nothing is open.
fn not_shown_line(summary: &Summary) -> Option<String> {
    let passed = || summary.ops.iter().filter(|op| op.passed());
    passed().next()?;
    let mut open = Vec::new();
    if passed().any(|op| op.level == Some(Level::Emu)) {
        open.push("behaviour on a GPU".to_owned());
    }
    if passed().any(|op| op.speedups.is_empty()) {
        open.push("speed (it was not measured)".to_owned());
    }
    let mut add = |n: usize, one: &str, many: &str| match n {
        0 => {}
        1 => open.push(format!("1 {one}")),
        n => open.push(format!("{n} {many}")),
    };
    let sum = |count: fn(&OpSummary) -> usize| passed().map(count).sum();
    add(
        sum(|op| op.counts.too_large),
        "case that is too large for the emulator",
        "cases that are too large for the emulator",
    );
    add(
        sum(|op| op.counts.skipped - op.counts.too_large.min(op.counts.skipped)),
        "case that did not run",
        "cases that did not run",
    );
    add(sum(|op| op.counts.unreached), "line that no case reached", "lines that no case reached");
    (!open.is_empty()).then(|| format!("not shown: {}", open.join("; ")))
}

/// Returns `OVERALL_SUMMARY.txt`.
#[must_use]
pub fn overall(run: &Run, summary: &Summary) -> String {
    let mut text = String::new();
    for (name, value) in facts(run) {
        writeln!(text, "{name:<16} {value}").expect("a string takes any text");
    }
    let mut line = |name: &str, value: &str| {
        writeln!(text, "{name:<16} {value}").expect("a string takes any text");
    };
    line("Ops", &summary.ops.len().to_string());
    line("Passed", &passed_text(summary));
    line("Attempts", &summary.ops.iter().map(|op| op.attempts).sum::<usize>().to_string());
    line("LLM calls", &summary.ops.iter().map(|op| op.calls).sum::<u32>().to_string());
    if let Some(spend) = spend_line(summary) {
        line("Spend", &spend);
    }
    if let Some(python) = python_text(summary) {
        line("PyTorch", &python);
    }
    let n_replayed = summary.ops.iter().filter(|op| op.replayed).count();
    if n_replayed > 0 {
        let from = "from a recording, not from a model";
        line("Replayed", &format!("replies of {} {from}", ops_text(n_replayed)));
    }
    let n_cached = summary.ops.iter().filter(|op| op.cached).count();
    if n_cached > 0 {
        let from = "kept from equal requests";
        line("Kept", &format!("replies of {} {from}", ops_text(n_cached)));
    }
    line("Speedup", &format!("{} (geometric mean)", mean_speedup_text(&summary.speedups)));
    text.push('\n');
    text.push_str(&tables(summary, Screen::FILE));
    text.push('\n');
    if let Some(spend) = spend_table(summary) {
        write!(text, "\nSpend by attempt\n\n{}\n", spend.render())
            .expect("a string takes any text");
    }
    text
}

fn ops_text(n_ops: usize) -> String {
    if n_ops == 1 { "1 op".to_owned() } else { format!("{n_ops} ops") }
}

/// Returns how many ops passed, and their share with its interval where there are enough ops for one.
fn passed_text(summary: &Summary) -> String {
    let interval = summary.correct.and_then(|correct| Some((correct.value, correct.interval()?)));
    let share = interval.map(|(share, [low, high])| format!(" ({share:.2} [{low:.2}, {high:.2}])"));
    format!("{}{}", summary.n_passed, share.unwrap_or_default())
}

/// Returns the facts of PyTorch, where something ran there: versions and settings.
#[must_use]
pub fn python_text(summary: &Summary) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for python in summary.ops.iter().filter_map(|op| op.python.as_ref()) {
        let text = python.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| texts.join(" | "))
}

fn facts(run: &Run) -> Vec<(&'static str, String)> {
    let info = run.info();
    let status = match info.status {
        RunStatus::Running => "not finished",
        RunStatus::Finished => "finished",
        RunStatus::Stopped => "stopped; `kgen resume` goes on",
        RunStatus::AwaitingReplies => "prompts await replies; `kgen resume` goes on",
    };
    let nvrtc = info.device.nvrtc.as_deref().unwrap_or("not reached");
    let mut facts = vec![
        ("Run", info.run_id.to_string()),
        ("Status", status.to_owned()),
        ("Made", format!("{} by kgen {}", info.created_at, info.kgen_version)),
        ("Command", info.command.join(" ")),
        ("Backend", info.backend.clone()),
    ];
    if let Some(provider) = &info.provider {
        let model = info.model.as_deref().filter(|model| !model.is_empty());
        let model = model.map_or(String::new(), |model| format!(", model {model}"));
        facts.push(("Provider", format!("{provider}{model}")));
    }
    if let Some(recording) = &info.replay_of {
        facts.push(("Replay of", recording.clone()));
    }
    facts.push(("Suite", info.suite.clone()));
    let target = &info.device.target;
    let uuid = target.uuid.as_ref().map_or(String::new(), |uuid| format!(", {uuid}"));
    let device = format!("{}: {}, {}{uuid}", info.device.name, target.name, target.arch);
    facts.push(("Device", device));
    facts.push(("NVRTC", nvrtc.to_owned()));
    facts.push((
        "Seed",
        info.seed.map_or("from the system, recorded".to_owned(), |s| s.to_string()),
    ));
    facts
}

/// Returns the run's `README.md`.
#[must_use]
pub fn readme(run: &Run, summary: &Summary) -> String {
    let mut text = format!("# {}\n\n{}.\n\n", summary.run, totals_line(summary));
    let mut table = TextTable::new(&["what", "value"]);
    for (name, value) in facts(run) {
        table.row(vec![name.to_owned(), value]);
    }
    if let Some(python) = python_text(summary) {
        table.row(vec!["PyTorch".to_owned(), python]);
    }
    if let Some(spend) = spend_line(summary) {
        table.row(vec!["Spend".to_owned(), spend]);
    }
    let spend = spend_table(summary)
        .map_or(String::new(), |spend| format!("## Spend\n\n{}\n\n{SPEND}\n", spend.markdown()));
    let gpus = gpu_table(summary)
        .map_or(String::new(), |gpus| format!("## GPUs\n\n{}\n\n", gpus.markdown()));
    let scores = score_table(summary).map_or(String::new(), |scores| {
        format!("## Scores\n\n{}\n\n{SCORES}\n", scores.markdown())
    });
    let ops = op_table(summary, Screen::FILE).map(|table| table.markdown());
    let ops = [ops, unfinished_line(summary)].into_iter().flatten().collect::<Vec<_>>();
    let ops = ops.join("\n\n");
    let id = &summary.run;
    write!(
        text,
        "{}\n\n## Ops\n\n{}\n\n{gpus}{LEGEND}\n{scores}{spend}## Files\n\n{FILES}\n## Going on\n\n    \
         kgen resume {id}     go on where it stopped\n    \
         kgen report {id}     make these files again\n    \
         kgen generate --replay {id}     the same replies, judged anew\n    \
         kgen run --backend pregenerated --kernels-dir {}     judge its kernels anew\n",
        table.markdown(),
        ops,
        run.dir()
            .file_name()
            .map_or_else(|| id.clone(), |name| name.to_string_lossy().into_owned()),
    )
    .expect("a string takes any text");
    text
}

const LEGEND: &str = "\
A verdict says where it was reached: `emu` is the PTX emulator, `cuda` a GPU, `emu+cuda` small cases on
the emulator and all on the GPU. `31/36, 6 too large` are passed cases of those that ran, and cases that did
not: the emulator has limits. `trend` has a sign per attempt, higher for a higher speedup, and a dot for one
without. A speedup stands only where it was measured; cases that the overhead of a launch dominates are left out of
it. That of a winner that was judged again is the median of those measurements, each in a fresh process,
all on one GPU. Brackets hold the 99 % interval: that of a winner spans the intervals of all its processes.
The floor of a case is the time in which the hardware could do it at best: 100 % is perfect.
";

const SCORES: &str = "\
`fast_p` is KernelBench's: the share of all ops that are correct and more than p times as fast as the baseline;
`fast_0` is the share that is correct. An op that was not timed against a baseline is not fast there. Mean and
median are over the ops that were. Brackets hold the 95 % interval from resampling ops, from 5 ops on. Kernels
whose plans call libraries have rows of their own, and are neither correct nor fast in those of the others.
";

const SPEND: &str = "\
Tokens are those that the provider reported; cached ones are part of the input, those of reasoning part
of the output. `<=` before a cost says that it holds the worst case of calls whose use is unknown:
lost ones, and retries of tries that may have been billed. `unpriced` calls have no known price.
";

const FILES: &str = "\
- `OVERALL_SUMMARY.txt`, `operator_summary.csv`: one row per op
- `full_results.json`: every case of every op's best attempt; `failed_tests.json`: those that failed
- `run.json`: settings, versions, device, seeds; `index.jsonl`: one line per finished attempt
- `<op>/<op>.cu`: the best kernel so far; `<op>/metadata.json`: the op's attempts
- `<op>/<op>_attempt_<n>.call_<m>.request.md` and `.reply.md`: what was asked and answered
- `<op>/<op>_attempt_<n>.cu`, `.eval.json`, `.samples.json`, `.log`, `.feedback.md`: one attempt
- `<op>/<op>_attempt_<n>.confirm.json`, `.confirm.samples.json`: the winner judged again, with all samples
";
