//! The emulator's counters, where they were asked for: no times, but a kernel's traffic of memory.

use kgen_record::{Evaluation, FeedbackKind, LaunchCounters};

use super::Section;
use crate::text::{inline, significant};

/// Launches that are described.
const MAX_LAUNCHES: usize = 4;

/// Describes the launches of the case in which most was done.
pub(super) fn section(evaluation: &Evaluation) -> Option<Section> {
    let lanes = |launches: &[LaunchCounters]| {
        launches.iter().map(|launch| launch.counters.total.lanes).sum::<u64>()
    };
    let case = evaluation.cases.iter().max_by_key(|case| lanes(&case.counters))?;
    let lines: Vec<_> = case.counters.iter().take(MAX_LAUNCHES).map(line).collect();
    (!lines.is_empty()).then(|| {
        let text = format!(
            "Counted on the emulator for `{}`:\n\n{}",
            inline(&case.args, 100),
            lines.join("\n")
        );
        Section::new(FeedbackKind::Profile, text)
    })
}

fn line(launch: &LaunchCounters) -> String {
    let counters = &launch.counters;
    let mut parts = vec![format!(
        "{} of 32 threads of a warp are active",
        significant(counters.total.active_lanes(), 3)
    )];
    for (what, traffic) in [("loads", counters.global_loads), ("stores", counters.global_stores)] {
        if 0 < traffic.sectors && 0 < traffic.unique_bytes {
            let used = ratio(traffic.bytes, traffic.sectors);
            let times = ratio(traffic.bytes, traffic.unique_bytes);
            let again = match 1.05 < times {
                true => format!(" and touch a byte {} times", significant(times, 3)),
                false => String::new(),
            };
            let used = significant(used, 3);
            parts.push(format!("{what} use {used} bytes of each 32-byte sector{again}"));
        }
    }
    let shared = counters.shared;
    if 0 < shared.requests && shared.requests < shared.wavefronts {
        let passes = significant(ratio(shared.wavefronts, shared.requests), 3);
        parts.push(format!("shared memory takes {passes} passes per access (bank conflicts)"));
    }
    if 0 < counters.atomics.lanes {
        parts.push(format!("{} atomic operations", counters.atomics.lanes));
    }
    format!("- `{}`: {}", inline(&launch.kernel, 60), parts.join("; "))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}
