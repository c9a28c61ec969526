//! The emulator's counters, for people.

use std::fmt::Write as _;

use kgen_compile::COPY_KERNELS;
use kgen_record::{CaseResult, Evaluation, LaunchCounters};
use ptx_emu::{Counters, Executed};

use crate::report::{Screen, TextTable};

/// Launches that have a row, those with most work first.
const MAX_LAUNCHES: usize = 12;

/// Lines and kinds of instructions that are listed of the launch with most work.
const MAX_PARTS: usize = 10;

/// Returns tables of the counters; nothing where none were asked for.
pub(super) fn text(evaluation: &Evaluation, kernel: &str, screen: Screen) -> String {
    let mut launches: Vec<(&CaseResult, &LaunchCounters)> = evaluation
        .cases
        .iter()
        .flat_map(|case| case.counters.iter().map(move |launch| (case, launch)))
        .collect();
    launches.sort_by_key(|(_, launch)| std::cmp::Reverse(launch.counters.total.lanes));
    if launches.is_empty() {
        return String::new();
    }
    let mut text =
        format!("\nCounters, launches with most work first:\n{}\n", table(&launches, screen));
    // Lines of kgen's own copy kernel are not lines of this file.
    let is_own = |launch: &LaunchCounters| COPY_KERNELS.contains(&launch.kernel.as_str());
    let Some((case, most)) = launches.iter().find(|(_, launch)| !is_own(launch)) else {
        return text;
    };
    let of = format!("kernel {} in {}", most.kernel, case.case);
    let lines = most.counters.by_line.iter().map(|(line, executed)| {
        let index = usize::try_from(*line).ok().and_then(|line| line.checked_sub(1));
        let source = index.and_then(|index| kernel.lines().nth(index)).unwrap_or_default();
        (format!("{line:>5} | {}", source.trim_end()), *executed)
    });
    let kinds = most.counters.by_kind.iter().map(|(kind, executed)| (kind.clone(), *executed));
    for (what, rows) in [("line", parts(lines, screen)), ("instruction", parts(kinds, screen))] {
        write!(text, "\nBy {what}, {of}:\n{rows}\n").expect("a string takes any text");
    }
    text
}

fn table(launches: &[(&CaseResult, &LaunchCounters)], screen: Screen) -> String {
    let headers = [
        "case",
        "kernel",
        ">lane instr.",
        ">active lanes",
        ">load sectors/req.",
        ">loaded/needed",
        ">store sectors/req.",
        ">stored/needed",
        ">shared passes/req.",
        ">atomics",
        ">colliding",
        ">barriers",
        ">divergent",
    ];
    let yielding = [
        ("colliding", 0),
        ("divergent", 0),
        ("barriers", 0),
        ("shared passes/req.", 0),
        ("atomics", 0),
        ("stored/needed", 0),
        ("store sectors/req.", 0),
        ("case", 16),
        ("kernel", 12),
        ("loaded/needed", 0),
    ];
    let mut table = TextTable::new(&headers).yielding(&yielding);
    for (case, launch) in launches.iter().take(MAX_LAUNCHES) {
        let Counters { total, global_loads, global_stores, shared, atomics, .. } = &launch.counters;
        table.row(vec![
            case.case.clone(),
            launch.kernel.clone(),
            total.lanes.to_string(),
            format!("{:.1}", total.active_lanes()),
            ratio(global_loads.sectors, global_loads.requests),
            ratio(global_loads.bytes, global_loads.unique_bytes),
            ratio(global_stores.sectors, global_stores.requests),
            ratio(global_stores.bytes, global_stores.unique_bytes),
            ratio(shared.wavefronts, shared.requests),
            atomics.lanes.to_string(),
            atomics.collisions.to_string(),
            launch.counters.barriers.to_string(),
            launch.counters.divergent_branches.to_string(),
        ]);
    }
    table.fit(screen)
}

#[expect(clippy::cast_precision_loss, reason = "numbers for people")]
fn ratio(a: u64, b: u64) -> String {
    if b == 0 { "-".to_owned() } else { format!("{:.2}", a as f64 / b as f64) }
}

/// Returns a table of the parts with most lane instructions.
fn parts(parts: impl Iterator<Item = (String, Executed)>, screen: Screen) -> String {
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|(_, executed)| std::cmp::Reverse(executed.lanes));
    let mut table = TextTable::new(&[">lane instr.", ">active lanes", ""]);
    for (what, executed) in parts.into_iter().take(MAX_PARTS) {
        let active = format!("{:.1}", executed.active_lanes());
        table.row(vec![executed.lanes.to_string(), active, what]);
    }
    table.fit(screen)
}
