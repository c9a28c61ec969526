//! A profile in a few lines, for people and models: facts, then advice of the rules, then where.
//!
//! A value that was not measured is left out, never shown as 0.

use crate::{
    ncu::{Advice, HotLine, Launch},
    rules,
    sanitizer::{Report, Tool},
    sass::SassMix,
};

/// Most lines of a summary.
pub const MAX_LINES: usize = 35;

/// Launches that are described.
const MAX_LAUNCHES: usize = 2;

/// The subject of a line of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Times that others measured.
    Times,
    /// Counters of Nsight Compute, its advice, where the warps waited, and failures of tools.
    Counters,
    /// The machine code.
    Code,
    /// The findings of compute-sanitizer, or that it found nothing.
    Sanitizer,
}

/// Beginning of the line with the times.
const TIMES: &str = "time per call: ";

/// Beginning of a line about machine code.
const CODE: &str = "code of ";

/// Beginning of the line that names the tools that found nothing.
const CLEAN: &str = "compute-sanitizer finds nothing: ";

/// Returns the subject of a line of [`lines`].
#[must_use]
pub fn topic(line: &str) -> Topic {
    let is_tool = |tool: &Tool| line.starts_with(tool.name());
    if line.starts_with(TIMES) {
        Topic::Times
    } else if line.starts_with(CODE) {
        Topic::Code
    } else if line.starts_with(CLEAN) || Tool::ALL.iter().any(is_tool) {
        Topic::Sanitizer
    } else {
        Topic::Counters
    }
}

/// Everything that a summary may be made of; each part may be empty.
#[derive(Debug, Clone, Default)]
pub struct Facts<'a> {
    /// The launch, for example the case's arguments.
    pub subject: &'a str,
    /// The profiler with its version; empty where none ran.
    pub profiler: &'a str,
    /// Time per call in microseconds as kgen measured it, and that of the baseline it names.
    pub median_us: Option<f64>,
    /// The baseline that comes first.
    pub baseline: Option<(&'a str, f64)>,
    /// The time that the hardware needs at least, in microseconds.
    pub floor_us: Option<f64>,
    /// Bytes that the operator has to move.
    pub bytes: Option<f64>,
    /// The profiled launches.
    pub launches: &'a [Launch],
    /// Advice of Nsight Compute's own rules.
    pub advice: &'a [Advice],
    /// Where the warps were sampled.
    pub hot: &'a [HotLine],
    /// Name of the kernel file, as [`HotLine::file`] ends.
    pub file: &'a str,
    /// The kernel file.
    pub source: &'a str,
    /// The machine code.
    pub sass: &'a [SassMix],
    /// Findings of compute-sanitizer's tools; `Err` says why one did not run.
    pub sanitizer: &'a [(Tool, Result<Vec<Report>, String>)],
    /// Failures of tools, one line each.
    pub notes: &'a [String],
}

/// Returns the lines, [`MAX_LINES`] at most.
#[must_use]
pub fn lines(facts: &Facts<'_>) -> Vec<String> {
    let mut lines = vec![head(facts)];
    lines.extend(mistakes(facts.sanitizer));
    lines.extend(times(facts));
    let mut launches: Vec<&Launch> = facts.launches.iter().collect();
    let time = |launch: &&Launch| launch.metric("gpu__time_duration.sum").unwrap_or(0.0);
    launches.sort_by(|a, b| time(b).total_cmp(&time(a)));
    let whole = launches.len() == 1;
    for launch in launches.iter().take(MAX_LAUNCHES) {
        lines.extend(of_launch(launch, facts.bytes.filter(|_| whole)));
    }
    if MAX_LAUNCHES < launches.len() {
        lines.push(format!("{} shorter launches are left out", launches.len() - MAX_LAUNCHES));
    }
    lines.extend(hot_lines(facts));
    lines.extend(advice(facts.advice));
    lines.extend(facts.sass.iter().take(2).filter_map(sass));
    lines.extend(sanitizer(facts.sanitizer));
    lines.extend(facts.notes.iter().take(6).cloned());
    lines.truncate(MAX_LINES);
    lines
}

fn head(facts: &Facts<'_>) -> String {
    let cc = facts.launches.first().and_then(|launch| launch.cc.as_deref());
    let cc = cc.map_or(String::new(), |cc| format!(", compute capability {cc}"));
    if facts.profiler.is_empty() {
        return format!("profile of {}", facts.subject);
    }
    format!(
        "profile of {} ({}{cc}, cold caches, clocks as they are)",
        facts.subject, facts.profiler
    )
}

/// Says how long a call takes as kgen measured it.
fn times(facts: &Facts<'_>) -> Option<String> {
    let us = facts.median_us.filter(|us| 0.0 < *us)?;
    let mut line = format!("{TIMES}{us:.2} us");
    if let Some((name, baseline)) = facts.baseline {
        line = format!("{line}; {name} {baseline:.2} us: {:.2}x", baseline / us);
    }
    if let Some(floor) = facts.floor_us {
        line = format!(
            "{line}; the hardware needs {floor:.2} us: {:.0} % of it reached",
            100.0 * floor / us
        );
    }
    Some(line)
}

fn of_launch(launch: &Launch, bytes: Option<f64>) -> Vec<String> {
    let parts = [
        Some(shape(launch)),
        limits(launch),
        traffic(launch, bytes),
        occupancy(launch),
        issue(launch),
        access(launch),
        pipes(launch),
    ];
    let mut lines: Vec<String> = parts.into_iter().flatten().collect();
    lines.extend(rules::fired(launch).into_iter().take(5).map(|rule| format!("-> {rule}")));
    lines
}

/// Joins the parts that there are; `None` where there is none.
fn joined(name: &str, parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{name}: {}", parts.join(", ")))
}

fn shape(launch: &Launch) -> String {
    let dims = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    };
    let parts = [
        launch.grid.map(|grid| format!("grid {}", dims(grid))),
        launch.block.map(|block| format!("block {}", dims(block))),
        launch.metric("launch__waves_per_multiprocessor").map(|waves| format!("{waves:.2} waves")),
        launch.metric("gpu__time_duration.sum").map(|ns| format!("{:.2} us", ns / 1e3)),
        launch
            .metric("gpc__cycles_elapsed.avg.per_second")
            .map(|hertz| format!("SM clock {:.0} MHz", hertz / 1e6)),
    ];
    let name = format!("kernel {}", launch.kernel);
    joined(&name, parts).unwrap_or(name)
}

fn limits(launch: &Launch) -> Option<String> {
    let metric = |name: &str| launch.metric(name);
    let dram = metric("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed");
    let rate = metric("dram__bytes.sum.per_second");
    let l2 = metric("lts__throughput.avg.pct_of_peak_sustained_elapsed");
    let l1 = metric("l1tex__throughput.avg.pct_of_peak_sustained_active");
    let speed = rules::speed_of_light(launch);
    joined(
        "limited by",
        [
            rules::bound(launch).map(|bound| bound.name().to_owned()),
            speed.map(|(compute, memory)| {
                format!("memory {memory:.0} % and compute {compute:.0} % of peak")
            }),
            dram.map(|percent| match rate {
                Some(rate) => format!("DRAM {percent:.0} % ({:.2} TB/s)", rate / 1e12),
                None => format!("DRAM {percent:.0} %"),
            }),
            l2.map(|percent| format!("L2 {percent:.0} %")),
            l1.map(|percent| format!("L1 {percent:.0} %")),
        ],
    )
}

fn traffic(launch: &Launch, bytes: Option<f64>) -> Option<String> {
    let metric = |name: &str| launch.metric(name);
    let (read, write) = (metric("dram__bytes_read.sum"), metric("dram__bytes_write.sum"));
    let both = launch.sum("dram__bytes_read.sum", "dram__bytes_write.sum");
    let hit = |name: &str, cache: &str| {
        metric(name).map(|percent| format!("{cache} hits {percent:.0} %"))
    };
    let needed = bytes.filter(|bytes| 0.0 < *bytes).zip(both).map(|(bytes, moved)| {
        let ratio = moved / bytes;
        // The last writes are still in the cache when the kernel ends.
        let cached = if ratio < 0.98 { " (the rest stays in the L2 cache)" } else { "" };
        format!("the operator has to move {} MB: {ratio:.2}x{cached}", megabytes(bytes))
    });
    joined(
        "DRAM traffic",
        [
            read.map(|bytes| format!("read {} MB", megabytes(bytes))),
            write.map(|bytes| format!("write {} MB", megabytes(bytes))),
            needed,
            hit("l1tex__t_sector_hit_rate.pct", "L1"),
            hit("lts__t_sector_hit_rate.pct", "L2"),
        ],
    )
}

fn megabytes(bytes: f64) -> String {
    let mega = bytes / 1e6;
    if mega < 10.0 { format!("{mega:.2}") } else { format!("{mega:.1}") }
}

fn occupancy(launch: &Launch) -> Option<String> {
    let metric = |name: &str| launch.metric(name);
    let shared =
        launch.sum("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic");
    joined(
        "occupancy",
        [
            metric("sm__warps_active.avg.pct_of_peak_sustained_active")
                .map(|percent| format!("{percent:.0} % reached")),
            metric("sm__maximum_warps_per_active_cycle_pct")
                .map(|percent| format!("{percent:.0} % possible")),
            rules::occupancy_limiter(launch)
                .map(|(limit, blocks)| format!("limited by {limit} ({blocks:.0} blocks per SM)")),
            metric("launch__registers_per_thread").map(|n| format!("{n:.0} registers per thread")),
            shared.map(|bytes| format!("{bytes:.0} bytes of shared memory per block")),
        ],
    )
}

fn issue(launch: &Launch) -> Option<String> {
    let stalls = rules::stalls(launch);
    let shown = stalls.iter().filter(|(_, share)| 0.05 <= *share).take(4);
    let stalls: Vec<String> =
        shown.map(|(stall, share)| format!("{stall} {:.0} %", 100.0 * share)).collect();
    joined(
        "issue",
        [
            launch
                .metric("smsp__issue_active.avg.per_cycle_active")
                .map(|active| format!("{active:.2} per cycle and scheduler")),
            launch
                .metric("smsp__average_warp_latency_per_inst_issued.ratio")
                .map(|cycles| format!("{cycles:.1} cycles between two of a warp")),
            (!stalls.is_empty()).then(|| format!("spent in {}", stalls.join(", "))),
        ],
    )
}

fn access(launch: &Launch) -> Option<String> {
    let used = |op: &str, what: &str| {
        let name = format!("smsp__sass_average_data_bytes_per_sector_mem_global_op_{op}.ratio");
        launch
            .metric(&name)
            .filter(|bytes| 0.0 < *bytes)
            .map(|bytes| format!("{what} use {bytes:.1} of 32 bytes of a sector"))
    };
    joined(
        "accesses",
        [
            used("ld", "loads"),
            used("st", "stores"),
            rules::bank_conflicts(launch)
                .map(|share| format!("bank conflicts {:.0} %", 100.0 * share)),
        ],
    )
}

fn pipes(launch: &Launch) -> Option<String> {
    const BUSY_PERCENT: f64 = 10.0;
    let pipes = [
        ("tensor", "sm__pipe_tensor_cycles_active"),
        ("fma", "sm__pipe_fma_cycles_active"),
        ("alu", "sm__pipe_alu_cycles_active"),
        ("fp64", "sm__pipe_fp64_cycles_active"),
        ("special functions", "sm__inst_executed_pipe_xu"),
        ("load/store", "sm__inst_executed_pipe_lsu"),
    ];
    let busy = pipes.into_iter().map(|(name, metric)| {
        let percent = launch.metric(&format!("{metric}.avg.pct_of_peak_sustained_elapsed"))?;
        (BUSY_PERCENT <= percent).then(|| format!("{name} {percent:.0} %"))
    });
    joined("busy pipes", busy)
}

fn hot_lines(facts: &Facts<'_>) -> Vec<String> {
    const WORTH_TELLING: f64 = 0.03;
    let own = |line: &&HotLine| line.file.ends_with(facts.file) && WORTH_TELLING <= line.share;
    let shown = facts.hot.iter().filter(own).take(4);
    let shown = shown.map(|hot| {
        let stall = hot.stall.as_ref().map_or(String::new(), |(stall, share)| {
            format!(", {:.0} % of them {stall}", 100.0 * share)
        });
        let index = usize::try_from(hot.line).unwrap_or(0).checked_sub(1);
        let text = index.and_then(|index| facts.source.lines().nth(index)).unwrap_or_default();
        let text: String = text.trim().chars().take(90).collect();
        format!("  line {}: {:.0} % of the samples{stall} | {text}", hot.line, 100.0 * hot.share)
    });
    let lines: Vec<String> = shown.collect();
    if lines.is_empty() { lines } else { [vec!["hot lines:".to_owned()], lines].concat() }
}

fn advice(advice: &[Advice]) -> Vec<String> {
    let promising = advice.iter().filter_map(|advice| Some((advice, advice.speedup_percent?)));
    let worth_telling = promising.filter(|(_, percent)| 5.0 <= *percent).take(3);
    worth_telling
        .map(|(advice, percent)| {
            let text: String = advice.text.chars().take(160).collect();
            format!("ncu: {} (at most {percent:.0} %): {text}", advice.rule)
        })
        .collect()
}

/// Returns a mix in one line; `None` where there are no instructions.
#[must_use]
pub fn sass(mix: &SassMix) -> Option<String> {
    let mut kinds: Vec<(&String, &u32)> = mix.kinds.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let kinds = kinds.into_iter().take(8).map(|(kind, n)| format!("{n} {kind}"));
    let parts: Vec<String> = kinds.chain(mix.lints.iter().cloned()).collect();
    (0 < mix.n_instructions).then(|| {
        format!("{CODE}{}: {} instructions; {}", mix.kernel, mix.n_instructions, parts.join(", "))
    })
}

/// Reports the findings of compute-sanitizer: it comes first, as no speed makes up for it.
fn mistakes(tools: &[(Tool, Result<Vec<Report>, String>)]) -> Vec<String> {
    let found = tools.iter().filter_map(|(tool, found)| Some((tool, found.as_ref().ok()?)));
    let lines = found.flat_map(|(tool, reports)| {
        reports.iter().take(3).map(|report| format!("{}: {}", tool.name(), report.line()))
    });
    lines.collect()
}

/// Says which tools of compute-sanitizer found nothing, and why others did not run.
fn sanitizer(tools: &[(Tool, Result<Vec<Report>, String>)]) -> Vec<String> {
    let clean: Vec<&str> = tools
        .iter()
        .filter(|(_, found)| found.as_ref().is_ok_and(Vec::is_empty))
        .map(|(tool, _)| tool.name())
        .collect();
    let mut lines = Vec::new();
    if !clean.is_empty() {
        lines.push(format!("{CLEAN}{}", clean.join(", ")));
    }
    let failed = tools.iter().filter_map(|(tool, found)| Some((tool, found.as_ref().err()?)));
    lines.extend(failed.map(|(tool, reason)| format!("{} did not run: {reason}", tool.name())));
    lines
}
