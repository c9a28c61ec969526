//! All kernels of a report, by time.

use std::collections::BTreeMap;

use super::{Advice, Launch, advice, launches};
use crate::{
    ReadError,
    report::{Kernel, Report, Tool, kernel_name, kernels},
    rules,
};

/// Kernels whose limits are named.
const MAX_KERNELS: usize = 3;

/// Percent that a rule must promise.
const WORTH: f64 = 5.0;

/// Makes a report of the pages `raw` and `details` as CSV; the latter may be empty.
///
/// # Errors
///
/// [`ReadError::NotExported`] for another page in place of `raw`, [`ReadError::NoTable`] where no launch is in it.
pub fn report(raw: &str, details: &str) -> Result<Report, ReadError> {
    let launches = launches(raw);
    if launches.is_empty() {
        if raw.contains("\"Metric Name\"") || raw.contains("\"Rule Name\"") {
            return Err(ReadError::NotExported {
                form: "the page `details` of ncu",
                command: "ncu --import REPORT.ncu-rep --page raw --csv",
            });
        }
        return Err(ReadError::NoTable("it has no launch of a kernel with metrics".to_owned()));
    }
    let mut report = Report::new(Tool::Ncu);
    let mut durations = BTreeMap::<String, Vec<i64>>::new();
    let mut longest = BTreeMap::<String, &Launch>::new();
    for launch in &launches {
        let name = kernel_name(&launch.kernel).to_owned();
        durations.entry(name.clone()).or_default().push(ns(launch));
        let kept = longest.entry(name).or_insert(launch);
        if ns(kept) < ns(launch) {
            *kept = launch;
        }
    }
    report.kernels = kernels(durations);
    let by_name = |kernel: &Kernel| longest.get(&kernel.name).copied();
    for kernel in &mut report.kernels {
        let Some(launch) = by_name(kernel) else { continue };
        let speed = rules::speed_of_light(launch);
        kernel.compute_percent = speed.map(|(compute, _)| compute);
        kernel.memory_percent = speed.map(|(_, memory)| memory);
        kernel.occupancy_percent =
            launch.metric("sm__warps_active.avg.pct_of_peak_sustained_active");
    }
    let advice = advice(details);
    for kernel in report.kernels.iter().take(MAX_KERNELS) {
        let fired = by_name(kernel).map(rules::fired).unwrap_or_default();
        let fired = fired.into_iter().take(2).map(|rule| format!("{}: {rule}", kernel.name));
        report.notes.extend(fired);
        report.notes.extend(best(&advice, kernel));
    }
    Ok(report)
}

/// Returns the tool's own most promising advice on a kernel.
fn best(advice: &[Advice], kernel: &Kernel) -> Option<String> {
    let own = advice.iter().find(|advice| {
        kernel_name(&advice.kernel) == kernel.name
            && advice.speedup_percent.is_some_and(|percent| WORTH <= percent)
    })?;
    let percent = own.speedup_percent?;
    Some(format!("{}: ncu's {} (at most {percent:.0} %): {}", kernel.name, own.rule, own.text))
}

fn ns(launch: &Launch) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "no kernel runs for 100 years")]
    launch.metric("gpu__time_duration.sum").map_or(0, |ns| ns as i64)
}
