//! How near the timed cases come to the limit of the hardware, and which limit that is.

use kgen_measure::roofline::{Limit, Roofline};
use kgen_record::{CaseTiming, FeedbackKind};

use super::{Section, Subject, timing};
use crate::text::{inline, significant};

/// Cases that are described, the slowest against the baseline first.
const MAX_CASES: usize = 5;

/// Describes the timed cases.
pub(super) fn section(subject: &Subject<'_>) -> Option<Section> {
    let timings = timing::sorted(subject.evaluation);
    let lines: Vec<String> = timings.iter().take(MAX_CASES).map(|timing| line(timing)).collect();
    (!lines.is_empty()).then(|| {
        let text = format!(
            "Against the least time in which this GPU can do the op's work (its bytes, its \
             operations, one launch):\n\n{}",
            lines.join("\n")
        );
        Section::new(FeedbackKind::Roofline, text)
    })
}

fn line(timing: &CaseTiming) -> String {
    let us = timing.candidate.median_us;
    let reached = format!(
        "{} GB/s, {} GFLOP/s",
        significant(timing.bytes / us / 1e3, 4),
        significant(timing.flops / us / 1e3, 4)
    );
    let limit = match &timing.roofline {
        Some(roofline) => format!(
            "{} % of the floor, which is set by {}",
            significant(roofline.percent_of_floor(us), 2),
            words(roofline)
        ),
        None => "the floor is not known".to_owned(),
    };
    format!("- `{}`: {limit}; {reached}", inline(&timing.args, 100))
}

/// Explains a floor.
pub(super) fn words(roofline: &Roofline) -> &'static str {
    match roofline.limit {
        Limit::Memory => "moving its bytes",
        Limit::Compute => "its arithmetic",
        Limit::Launch => "launching a kernel at all",
    }
}
