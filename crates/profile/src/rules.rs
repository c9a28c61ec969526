//! The limits in the metrics about its limits.
//!
//! The thresholds are those of Nsight Compute's own rules (`SpeedOfLight`, `CPIStall`,
//! `SharedMemoryConflicts`, `UncoalescedAccess`), so that both agree.

use crate::ncu::{Launch, STALLS, stall_metric};

/// The limit of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Neither memory nor arithmetic is busy.
    Latency,
    /// Memory.
    Memory,
    /// Arithmetic or another pipe of the multiprocessors.
    Compute,
    /// Both alike.
    Balanced,
}

impl Bound {
    /// Returns the name as shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Memory => "memory",
            Self::Compute => "compute",
            Self::Balanced => "memory and compute alike",
        }
    }
}

/// Percent of peak below which a unit counts as not busy.
const BUSY: f64 = 60.0;

/// Percent of peak from which on work has to be shifted, not sped up.
const HIGH: f64 = 80.0;

/// Points of percent by which memory and arithmetic differ where one is the bottleneck.
const LEAD: f64 = 10.0;

/// Returns the percentages of peak of arithmetic and of memory.
#[must_use]
pub fn speed_of_light(launch: &Launch) -> Option<(f64, f64)> {
    Some((
        launch.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed")?,
        launch.metric("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")?,
    ))
}

/// Returns the limit of a launch; `None` where it was not measured.
#[must_use]
pub fn bound(launch: &Launch) -> Option<Bound> {
    let (compute, memory) = speed_of_light(launch)?;
    Some(if compute < BUSY && memory < BUSY {
        Bound::Latency
    } else if LEAD <= memory - compute {
        Bound::Memory
    } else if LEAD <= compute - memory {
        Bound::Compute
    } else {
        Bound::Balanced
    })
}

/// Returns the stall reasons with their shares of the time between two instructions of a warp, the
/// largest first.
#[must_use]
pub fn stalls(launch: &Launch) -> Vec<(&'static str, f64)> {
    let Some(latency) = launch.metric("smsp__average_warp_latency_per_inst_issued.ratio") else {
        return Vec::new();
    };
    let share = |stall: &&'static str| {
        let cycles = launch.metric(&stall_metric(stall))?;
        (0.0 < latency && 0.0 < cycles).then(|| (*stall, cycles / latency))
    };
    let mut stalls: Vec<_> = STALLS.iter().filter_map(share).collect();
    stalls.sort_by(|a, b| b.1.total_cmp(&a.1));
    stalls
}

/// Share of the shared-memory wavefronts of loads and stores that bank conflicts added.
#[must_use]
pub fn bank_conflicts(launch: &Launch) -> Option<f64> {
    const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op";
    const WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op";
    let both = |name: &str| launch.sum(&format!("{name}_ld.sum"), &format!("{name}_st.sum"));
    let (conflicts, wavefronts) = (both(CONFLICTS)?, both(WAVEFRONTS)?);
    (0.0 < wavefronts).then(|| conflicts / wavefronts)
}

/// Share of the sectors between L1 and L2 that a coalesced kernel would not move.
#[must_use]
pub fn excess_sectors(launch: &Launch) -> Option<f64> {
    launch.ratio(
        "derived__memory_l2_theoretical_sectors_global_excessive",
        "memory_l2_theoretical_sectors_global",
    )
}

/// Returns the limit of the blocks of a multiprocessor, and how many it lets run.
#[must_use]
pub fn occupancy_limiter(launch: &Launch) -> Option<(&'static str, f64)> {
    let limits = ["registers", "shared_mem", "warps", "blocks", "barriers"];
    let measured = limits.into_iter().filter_map(|limit| {
        Some((limit, launch.metric(&format!("launch__occupancy_limit_{limit}"))?))
    });
    let (limit, blocks) = measured.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((if limit == "shared_mem" { "shared memory" } else { limit }, blocks))
}

/// Returns advice on a launch: short sentences, the weightiest first.
#[must_use]
pub fn fired(launch: &Launch) -> Vec<String> {
    let rules: [fn(&Launch) -> Option<String>; 8] = [
        throughput_rule,
        stall_rule,
        coalescing_rule,
        conflict_rule,
        spill_rule,
        occupancy_rule,
        tail_rule,
        divergence_rule,
    ];
    rules.iter().filter_map(|rule| rule(launch)).collect()
}

fn throughput_rule(launch: &Launch) -> Option<String> {
    let (compute, memory) = speed_of_light(launch)?;
    let waves = launch.metric("launch__waves_per_multiprocessor");
    match bound(launch)? {
        Bound::Latency if waves.is_some_and(|waves| waves < 1.0) => Some(
            "the grid is too small: it fills less than one wave of the multiprocessors".to_owned(),
        ),
        Bound::Latency => Some(format!(
            "latency-bound: memory {memory:.0} % and compute {compute:.0} % of peak are both under \
             {BUSY:.0} %; more loads in flight or more warps are needed"
        )),
        _ if HIGH <= compute.max(memory) => Some(format!(
            "{} works at {:.0} % of its peak: only less work makes it faster",
            if compute < memory { "memory" } else { "compute" },
            compute.max(memory)
        )),
        Bound::Memory | Bound::Compute | Bound::Balanced => None,
    }
}

fn stall_rule(launch: &Launch) -> Option<String> {
    const BUSY_ISSUE: f64 = 0.8;
    const WORTH_TELLING: f64 = 0.3;
    let issue = launch.metric("smsp__issue_active.avg.per_cycle_active")?;
    let (stall, share) = stalls(launch).into_iter().find(|(stall, _)| *stall != "not_selected")?;
    (issue < BUSY_ISSUE && WORTH_TELLING < share)
        .then(|| format!("{:.0} % of a warp's time is {stall}: {}", 100.0 * share, meaning(stall)))
}

/// Returns the meaning of a stall reason.
fn meaning(stall: &str) -> &'static str {
    match stall {
        "long_scoreboard" => "it waits for global or local memory",
        "short_scoreboard" => "it waits for shared memory or special functions",
        "barrier" => "it waits for other warps at a barrier",
        "membar" => "it waits for a memory fence",
        "mio_throttle" => "the queue of shared memory and special functions is full",
        "lg_throttle" => "the queue of global memory is full: use wider accesses",
        "tex_throttle" => "the queue of the texture unit is full",
        "math_pipe_throttle" => "the pipe it needs is busy",
        "wait" => "it waits a fixed number of cycles for the instruction before",
        "no_instruction" => "it waits for instructions: the code jumps or is large",
        "branch_resolving" => "it waits for branches",
        "dispatch_stall" => "the dispatcher holds it back",
        "drain" => "at its end it waits for its stores: they are many or scattered",
        "sleeping" => "it sleeps",
        "imc_miss" => "it waits for constants",
        "gmma" => "it waits for matrix instructions",
        _ => "see the metric",
    }
}

fn coalescing_rule(launch: &Launch) -> Option<String> {
    const WORTH_TELLING: f64 = 0.1;
    let excess = excess_sectors(launch)?;
    (WORTH_TELLING <= excess).then(|| {
        format!("uncoalesced: {:.0} % of the sectors of global accesses are excess", 100.0 * excess)
    })
}

fn conflict_rule(launch: &Launch) -> Option<String> {
    const WORTH_TELLING: f64 = 0.1;
    let conflicts = bank_conflicts(launch)?;
    (WORTH_TELLING <= conflicts).then(|| {
        format!("bank conflicts: {:.0} % of the wavefronts of shared memory", 100.0 * conflicts)
    })
}

fn spill_rule(launch: &Launch) -> Option<String> {
    let local =
        launch.sum("smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum")?;
    (0.0 < local).then(|| {
        "local memory is used: registers are spilled or arrays are indexed at run time".to_owned()
    })
}

fn occupancy_rule(launch: &Launch) -> Option<String> {
    const LOW: f64 = 50.0;
    let theoretical = launch.metric("sm__maximum_warps_per_active_cycle_pct")?;
    let achieved = launch.metric("sm__warps_active.avg.pct_of_peak_sustained_active");
    let (limiter, _) = occupancy_limiter(launch)?;
    if theoretical < LOW {
        return Some(format!("occupancy can only be {theoretical:.0} %: limited by {limiter}"));
    }
    let achieved = achieved.filter(|achieved| *achieved < theoretical - LEAD)?;
    Some(format!(
        "occupancy is {achieved:.0} % where {theoretical:.0} % is possible: blocks are uneven or \
         too short"
    ))
}

fn tail_rule(launch: &Launch) -> Option<String> {
    const WORTH_TELLING: f64 = 0.2;
    let waves = launch.metric("launch__waves_per_multiprocessor").filter(|waves| 1.0 < *waves)?;
    let idle = 1.0 - waves / waves.ceil();
    (WORTH_TELLING <= idle).then(|| {
        format!(
            "tail: {waves:.1} waves leave {:.0} % of the last one's places empty",
            100.0 * (waves.ceil() - waves)
        )
    })
}

fn divergence_rule(launch: &Launch) -> Option<String> {
    const FULL: f64 = 24.0;
    let threads = launch.metric("smsp__thread_inst_executed_per_inst_executed.ratio")?;
    (threads < FULL).then(|| format!("divergence: {threads:.1} of 32 threads take part"))
}
