//! Nsight Compute: which metrics are asked for, the pages that come back, and its log.

mod details;
mod log;
mod raw;
mod report;
mod source;

pub use details::{Advice, advice};
pub use log::{NcuError, failure};
pub use raw::{Launch, launches};
pub use report::report;
pub use source::{HotLine, hot_lines};

/// Reasons that a warp does not issue, as the names of metrics have them.
pub const STALLS: &[&str] = &[
    "long_scoreboard",
    "short_scoreboard",
    "barrier",
    "membar",
    "mio_throttle",
    "lg_throttle",
    "tex_throttle",
    "math_pipe_throttle",
    "wait",
    "not_selected",
    "no_instruction",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "sleeping",
    "imc_miss",
    "gmma",
];

/// Metrics that are collected; those that a GPU does not have are left out by the tool or by the
/// caller ([`NcuError::Metric`]).
const METRICS: &[&str] = &[
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "gpc__cycles_elapsed.avg.per_second",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum.per_second",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_barriers",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__grid_size",
    "launch__block_size",
    "launch__waves_per_multiprocessor",
    "smsp__issue_active.avg.per_cycle_active",
    "sm__inst_executed.avg.per_cycle_active",
    "smsp__warps_eligible.avg.per_cycle_active",
    "smsp__average_warp_latency_per_inst_issued.ratio",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
];

/// Sections that are collected beside the metrics: the lines of the source with their samples, and
/// advice of the tool's own rules.
pub const SECTIONS: &[&str] =
    &["SpeedOfLight", "WarpStateStats", "LaunchStats", "Occupancy", "SourceCounters"];

/// Returns the names of all metrics to collect.
#[must_use]
pub fn metrics() -> Vec<String> {
    METRICS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(STALLS.iter().map(|stall| stall_metric(stall)))
        .collect()
}

/// Returns the metric of a stall reason: warps stalled by it per issued instruction.
pub(crate) fn stall_metric(stall: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio")
}
