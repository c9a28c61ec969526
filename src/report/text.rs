//! Text for people: the table of ops, `OVERALL_SUMMARY.txt`, `README.md`.

use std::{collections::BTreeSet, fmt::Write as _};

use kgen_record::{Flag, LibraryUse, Speedup, Verdict};
use kgen_store::{Counts, Run, RunStatus};

use super::{
    MeanSpeedup, TextTable, cost_text, gpu_table, score_table, spend_line, spend_table,
    summary::{OpSummary, Summary},
};

/// Stands where no number was measured.
pub const NOT_MEASURED: &str = "not measured";

/// Returns the table of ops, that of GPUs where there are several, and the scores where something was
/// timed.
#[must_use]
pub fn tables(summary: &Summary) -> String {
    let mut text = op_table(summary).render();
    for line in flag_lines(summary) {
        text = format!("{text}\n{line}");
    }
    for table in [gpu_table(summary), score_table(summary)].into_iter().flatten() {
        text = format!("{text}\n\n{}", table.render());
    }
    text
}

/// Returns flags raised while ops were timed, a line per flag. That launching dominates is left
/// out: the speedups say it.
fn flag_lines(summary: &Summary) -> Vec<String> {
    let flags = summary.ops.iter().flat_map(|op| op.flags.iter().copied());
    let flags: BTreeSet<Flag> = flags.filter(|flag| *flag != Flag::FloorLimited).collect();
    let line = |flag: Flag| {
        let with = summary.ops.iter().filter(|op| op.flags.contains(&flag));
        let with: Vec<&str> = with.map(|op| op.op.as_str()).collect();
        format!("timed {}: {}", flag.meaning(), with.join(", "))
    };
    flags.into_iter().map(line).collect()
}

/// Returns the table of ops.
#[must_use]
pub fn op_table(summary: &Summary) -> TextTable {
    let mut baselines: Vec<&str> = Vec::new();
    for speedup in &summary.speedups {
        if !baselines.contains(&speedup.baseline.as_str()) {
            baselines.push(&speedup.baseline);
        }
    }
    let on_several_gpus = 1 < summary.gpus.len();
    let several = 1 < baselines.len();
    let over: Vec<String> = if several {
        baselines.iter().map(|name| format!("speedup over {name}")).collect()
    } else {
        vec!["speedup".to_owned()]
    };
    let mut headers = vec!["op", "verdict", ">attempts", "cases"];
    let has_library = summary.ops.iter().any(OpSummary::with_library);
    if has_library {
        headers.push("plan");
    }
    headers.extend(over.iter().map(String::as_str));
    headers.push(">% of floor");
    let has_cost = summary.ops.iter().any(|op| cost_text(&op.spend).is_some());
    if has_cost {
        headers.push(">cost");
    }
    if on_several_gpus {
        headers.push("GPU");
    }
    headers.push("best file");
    let mut table = TextTable::new(&headers);
    for op in &summary.ops {
        let mut cells =
            vec![op.op.clone(), verdict_text(op), op.attempts.to_string(), cases_text(op)];
        if has_library {
            cells.push(op.library_use.map_or("-", LibraryUse::name).to_owned());
        }
        if several {
            cells.extend(baselines.iter().map(|name| factor_text(op.speedup_over(name))));
        } else {
            cells.push(speedup_text(op.speedup()));
        }
        let percent = op.percent_of_floor.map(|percent| format!("{percent:.0}"));
        cells.push(percent.unwrap_or_else(|| "-".to_owned()));
        if has_cost {
            cells.push(cost_text(&op.spend).unwrap_or_else(|| "-".to_owned()));
        }
        if on_several_gpus {
            let uuid = op.gpu.as_ref().map_or("-", |gpu| short(&gpu.uuid));
            cells.push(uuid.to_owned());
        }
        cells.push(op.best_file.clone().unwrap_or_else(|| "-".to_owned()));
        table.row(cells);
    }
    table
}

/// Returns a UUID's first group, which distinguishes the GPUs of a machine: `GPU-1a2b3c4d`.
fn short(uuid: &str) -> &str {
    let end = uuid.match_indices('-').nth(1).map_or(uuid.len(), |(at, _)| at);
    &uuid[..end]
}

/// Returns a verdict with where it was reached: `passed on emu 31/36`, never a plain `passed`
/// for ops that only the emulator saw or that were skipped in part.
#[must_use]
pub fn verdict_text(op: &OpSummary) -> String {
    let Some(verdict) = op.verdict else { return "no attempt finished".to_owned() };
    let level = op.level.map_or("?", |level| level.name());
    let mut text = if verdict == Verdict::Passed {
        let Counts { passed, cases, unreached, .. } = op.counts;
        let unreached = match unreached {
            0 => String::new(),
            n => format!(", {n} lines unreached"),
        };
        format!("passed on {level} {passed}/{cases}{unreached}")
    } else {
        format!("{verdict} ({level})")
    };
    if op.cached {
        text.push_str(" [kept reply]");
    }
    if op.replayed {
        let what = if op.reused_evaluation { " [replayed, evaluation too]" } else { " [replayed]" };
        text.push_str(what);
    }
    text
}

fn cases_text(op: &OpSummary) -> String {
    let counts = op.counts;
    let parts = [(counts.passed, "passed"), (counts.failed, "failed"), (counts.skipped, "skipped")];
    let parts: Vec<_> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Returns a speedup with its baseline, for example `1.32x vs builtin`, and the one with
/// the cases that launch overhead dominates.
#[must_use]
pub fn speedup_text(speedup: Option<&Speedup>) -> String {
    let Some(speedup) = speedup else { return NOT_MEASURED.to_owned() };
    let interval = interval_text(speedup);
    let text = format!("{:.2}x{interval} vs {}", speedup.geomean, speedup.baseline);
    format!("{text}{}{}", overhead_text(speedup), total_text(speedup))
}

/// Returns a speedup without its baseline, which the table's header names.
fn factor_text(speedup: Option<&Speedup>) -> String {
    let Some(speedup) = speedup else { return NOT_MEASURED.to_owned() };
    let (interval, overhead) = (interval_text(speedup), overhead_text(speedup));
    format!("{:.2}x{interval}{overhead}{}", speedup.geomean, total_text(speedup))
}

fn total_text(speedup: &Speedup) -> String {
    speedup.total.map_or(String::new(), |total| format!(" ({total:.2}x in the log's total time)"))
}

fn interval_text(speedup: &Speedup) -> String {
    let text = |[low, high]: [f64; 2]| format!(" [{low:.2}, {high:.2}]");
    speedup.interval.map_or_else(String::new, text)
}

fn overhead_text(speedup: &Speedup) -> String {
    if !speedup.is_headline() {
        return " (launch overhead only)".to_owned();
    }
    match speedup.geomean_all {
        Some(all) => format!(" ({all:.2}x with {} of launch overhead)", speedup.n_overhead),
        None => String::new(),
    }
}

/// Returns the speedups of a run, for example `1.32x vs aten, 1.10x vs builtin`.
#[must_use]
pub fn mean_speedup_text(speedups: &[MeanSpeedup]) -> String {
    let text = |mean: &MeanSpeedup| {
        let on = mean.gpu.as_ref().map_or(String::new(), |gpu| format!(" on {gpu}"));
        let kind = mean.library_use.map_or_else(String::new, |kind| format!(" ({})", kind.name()));
        format!("{:.2}x vs {}{on}{kind}", mean.geomean, mean.baseline)
    };
    let texts: Vec<String> = speedups.iter().map(text).collect();
    if texts.is_empty() { NOT_MEASURED.to_owned() } else { texts.join(", ") }
}

#[must_use]
pub fn totals_line(summary: &Summary) -> String {
    let n_ops = summary.ops.len();
    let speedup = mean_speedup_text(&summary.speedups);
    format!("{} of {n_ops} ops passed on {}; speedup {speedup}", summary.n_passed, summary.device)
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
        line("Replayed", &format!("{n_replayed} ops: their replies come from a recording"));
    }
    let n_cached = summary.ops.iter().filter(|op| op.cached).count();
    if n_cached > 0 {
        line("Kept", &format!("{n_cached} ops: their replies were kept from equal requests"));
    }
    line("Speedup", &format!("{} (geometric mean)", mean_speedup_text(&summary.speedups)));
    text.push('\n');
    text.push_str(&tables(summary));
    text.push('\n');
    if let Some(spend) = spend_table(summary) {
        write!(text, "\nSpend by attempt\n\n{}\n", spend.render())
            .expect("a string takes any text");
    }
    text
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
    let id = &summary.run;
    write!(
        text,
        "{}\n\n## Ops\n\n{}\n\n{gpus}{LEGEND}\n{scores}{spend}## Files\n\n{FILES}\n## Going on\n\n    \
         kgen resume {id}     go on where it stopped\n    \
         kgen report {id}     make these files again\n    \
         kgen generate --replay {id}     the same replies, judged anew\n    \
         kgen run --backend pregenerated --kernels-dir {}     judge its kernels anew\n",
        table.markdown(),
        op_table(summary).markdown(),
        run.dir()
            .file_name()
            .map_or_else(|| id.clone(), |name| name.to_string_lossy().into_owned()),
    )
    .expect("a string takes any text");
    text
}

const LEGEND: &str = "\
A verdict says where it was reached: `emu` is the PTX emulator, `cuda` a GPU, `emu+cuda` small cases on
the emulator and all on the GPU. `31/36` are passed cases of all; the others were skipped or failed. A
speedup stands only where it was measured; cases that the overhead of a launch dominates are left out of
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
of the output. `<=` before a cost says that it holds the worst case of calls whose use nobody knows:
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
