//! Counters as text.

use std::fmt::Write as _;

use ptx_emu::{Counters, Executed, Traffic};

use super::source::Source;

/// Kinds and lines that are shown.
const SHOWN: usize = 8;

/// A table of the instructions that ran.
pub(super) fn table(counters: &Counters, source: &Source) -> String {
    let mut out = String::from("counters\n");
    let total = &counters.total;
    row(
        &mut out,
        "instructions",
        &format!(
            "{} by warps, {} by threads, {:.1} active threads of 32",
            total.warps,
            total.lanes,
            total.active_lanes()
        ),
    );
    for (name, traffic) in
        [("global loads", &counters.global_loads), ("global stores", &counters.global_stores)]
    {
        if traffic.requests > 0 {
            row(&mut out, name, &global(traffic));
        }
    }
    let shared = &counters.shared;
    if shared.requests + shared.wide_requests > 0 {
        let each = ratio(shared.wavefronts, shared.requests);
        let mut text = format!("{} requests, {each:.2} wavefronts each", shared.requests);
        if shared.wide_requests > 0 {
            _ = write!(text, "; {} wider ones not counted", shared.wide_requests);
        }
        row(&mut out, "shared", &text);
    }
    let atomics = &counters.atomics;
    if atomics.requests > 0 {
        let text = format!(
            "{} requests, {} by threads, {} collide",
            atomics.requests, atomics.lanes, atomics.collisions
        );
        row(&mut out, "atomics", &text);
    }
    row(&mut out, "barriers", &counters.barriers.to_string());
    row(&mut out, "divergence", &format!("{} branches", counters.divergent_branches));
    let kinds = most(counters.by_kind.iter(), total, |name, share| format!("{name} {share}"));
    row(&mut out, "by kind", &kinds.join(", "));
    for line in most(counters.by_line.iter(), total, |line, share| {
        format!("{share:>5}  {}", source.quote(*line).unwrap_or_else(|| format!("line {line}")))
    }) {
        row(&mut out, "by line", &line);
    }
    out
}

fn row(out: &mut String, name: &str, text: &str) {
    _ = writeln!(out, "  {name:<14}{text}");
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}

fn global(t: &Traffic) -> String {
    format!(
        "{} requests, {:.2} sectors each, {} bytes asked for, {} different",
        t.requests,
        ratio(t.sectors, t.requests),
        t.bytes,
        t.unique_bytes
    )
}

/// The entries with the most instructions by warps, with their shares.
fn most<'c, K: 'c>(
    entries: impl Iterator<Item = (&'c K, &'c Executed)>,
    total: &Executed,
    show: impl Fn(&K, &str) -> String,
) -> Vec<String> {
    let mut list: Vec<(&K, &Executed)> = entries.collect();
    list.sort_by_key(|(_, executed)| std::cmp::Reverse(executed.warps));
    list.truncate(SHOWN);
    let share = |e: &Executed| format!("{:.0} %", 100.0 * ratio(e.warps, total.warps));
    list.into_iter().map(|(key, executed)| show(key, &share(executed))).collect()
}
