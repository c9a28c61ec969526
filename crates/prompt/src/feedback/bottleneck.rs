//! The one thing to look at first in a correct kernel, by the strongest evidence that there is and
//! that the kinds allow.

use kgen_measure::roofline::{Limit, is_overhead_dominated};
use kgen_ops::op::OpFamily;
use kgen_record::{CaseTiming, Evaluation, FeedbackKind, FeedbackSet, Resources};

use super::{Section, Subject, profile, roofline};
use crate::text::{inline, significant};

/// Percent of the floor from which on little is left to gain.
const NEAR: f64 = 90.0;

/// Waves below which a grid leaves multiprocessors idle.
const ONE_WAVE: f64 = 1.0;

/// Occupancy below which too few warps may hide latency.
const LOW_OCCUPANCY: f64 = 0.25;

/// Names the first thing to look at.
pub(super) fn section(subject: &Subject<'_>, kinds: FeedbackSet) -> Option<Section> {
    type Rule = fn(&Subject<'_>) -> Option<String>;
    let rules: [(FeedbackKind, Rule); 5] = [
        (FeedbackKind::Timing, overhead),
        // Measured costs go before possible ones.
        (FeedbackKind::Profile, profiled),
        (FeedbackKind::Static, spills),
        (FeedbackKind::Roofline, floor),
        (FeedbackKind::Static, grid),
    ];
    let mut rules = rules.into_iter().filter(|(kind, _)| kinds.has(*kind));
    rules.find_map(|(kind, rule)| {
        let text = format!("Look at this first: {}", rule(subject)?);
        Some(Section::new(kind, text))
    })
}

/// Where every case is mostly a launch, nothing else counts.
fn overhead(subject: &Subject<'_>) -> Option<String> {
    let timings = &subject.evaluation.timings;
    let all = timings.iter().all(is_overhead);
    (all && !timings.is_empty()).then(|| {
        "launch overhead. Every timed case takes less than five empty kernels: what helps is one \
         launch instead of several, no copy by `contiguous`, no cleared scratch."
            .to_owned()
    })
}

fn is_overhead(timing: &CaseTiming) -> bool {
    is_overhead_dominated(timing.candidate.median_us, timing.floor_us)
}

/// Names the kernel that spills most; one that no timed case launches costs nothing that was seen.
fn spills(subject: &Subject<'_>) -> Option<String> {
    let timings = &subject.evaluation.timings;
    let is_timed = |kernel: &&Resources| {
        let mut launches = kernel.launches.iter();
        launches.any(|launch| timings.iter().any(|timing| timing.args == launch.args))
    };
    let kernels = subject.evaluation.resources.iter().filter(|kernel| 0 < kernel.spill_stores);
    let kernels = kernels.filter(|kernel| timings.is_empty() || is_timed(kernel));
    let worst = kernels.max_by_key(|kernel| kernel.spill_stores)?;
    Some(format!(
        "registers. `{}` spills {} bytes per thread to local memory: give a thread less to hold, \
         or the kernel a larger register budget by a smaller block in `__launch_bounds__`.",
        inline(&worst.kernel, 60),
        worst.spill_stores
    ))
}

fn profiled(subject: &Subject<'_>) -> Option<String> {
    let said = profile::verdict(subject.evaluation)?;
    Some(format!("the profiler says that the longest launch is limited by {said}."))
}

/// Judges the longest case that launching does not dominate by its share of the floor.
fn floor(subject: &Subject<'_>) -> Option<String> {
    let timings = subject.evaluation.timings.iter().filter(|timing| !is_overhead(timing));
    let longest = timings.max_by(|a, b| a.candidate.median_us.total_cmp(&b.candidate.median_us))?;
    let floor = longest.roofline.as_ref()?;
    let percent = floor.percent_of_floor(longest.candidate.median_us);
    let reached = significant(percent, 2);
    let case = inline(&longest.args, 100);
    if NEAR <= percent {
        return Some(format!(
            "`{case}` reaches {reached} % of what this GPU can, limited by {}: little is left \
             there, so look at the cases that are farther from their floor.",
            roofline::words(floor)
        ));
    }
    let what = match floor.limit {
        Limit::Memory => memory(subject.family),
        Limit::Compute => compute(subject.family, subject.evaluation),
        Limit::Launch => "launches, copies by `contiguous` and cleared scratch are what is left",
    };
    Some(format!(
        "`{case}` reaches {reached} % of what this GPU can; the limit is {}. {}.",
        roofline::words(floor),
        capitalised(what)
    ))
}

/// Names the usual obstacles of this family on the way to the full bandwidth.
const fn memory(family: OpFamily) -> &'static str {
    if family.sums_products() {
        "at this size the factors are read from memory more often than once, or too few blocks \
         share the reading: larger tiles, or a split of the inner dimension"
    } else if family.reduces() {
        "what is missing is lost to a second read of the rows, to waiting at barriers between \
         reads, or to too few bytes under way: keep rows in registers, load 16 bytes per thread, \
         give every SM several rows"
    } else {
        match family {
            OpFamily::Index => {
                "what is missing is lost to scattered accesses: let neighbouring threads take \
                 neighbouring elements of a row, 16 bytes each"
            }
            _ => {
                "what is missing is lost to too few bytes under way, to accesses that are not \
                 coalesced, or to extra passes: 16-byte loads, several per thread before the \
                 first use, one launch"
            }
        }
    }
}

/// Names the usual obstacles of this family on the way to the peak of its arithmetic.
fn compute(family: OpFamily, evaluation: &Evaluation) -> &'static str {
    let has_matrix = |kernel: &Resources| {
        kernel.sass.as_ref().is_some_and(|code| code.kinds.contains_key("matrix instructions"))
    };
    if family.sums_products() && evaluation.resources.iter().any(has_matrix) {
        "what is missing is matrix instructions that never wait: loads several stages ahead, all but the \
         newest group of them still running, no fence of the whole GPU in the loop, the results of a tile \
         stored while the next is multiplied"
    } else if family.sums_products() {
        "what is missing is tensor cores where the inputs are 16-bit, results per thread (register \
         tiles) where they are f32, and loads that overlap with arithmetic"
    } else {
        "what is missing is fewer or cheaper instructions per element: divisions, transcendental \
         functions, index arithmetic in 64 bits"
    }
}

/// Judges the largest launch by how it fills the device.
fn grid(subject: &Subject<'_>) -> Option<String> {
    let evaluation: &Evaluation = subject.evaluation;
    let launches = evaluation.resources.iter().flat_map(|kernel| {
        let name = inline(&kernel.kernel, 60);
        kernel.launches.iter().map(move |launch| (name.clone(), launch))
    });
    let (name, launch) = launches.max_by_key(|(_, launch)| {
        let blocks = |of: [u32; 3]| of.into_iter().map(u64::from).product::<u64>();
        blocks(launch.grid) * blocks(launch.block)
    })?;
    if let Some(waves) = launch.waves.filter(|waves| waves.count < ONE_WAVE) {
        return Some(format!(
            "parallelism. The largest launch of `{name}` fills {} % of the places for blocks: \
             smaller blocks or more of them would use the idle ones.",
            significant(100.0 * waves.count, 2)
        ));
    }
    let fits = launch.occupancy.filter(|fits| fits.fraction <= LOW_OCCUPANCY)?;
    Some(format!(
        "occupancy. Of the warps that an SM can hold `{name}` allows {} %, limited by {}: fewer of \
         those per block, unless each thread has many loads under way.",
        significant(100.0 * fits.fraction, 2),
        fits.limiter.name()
    ))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
