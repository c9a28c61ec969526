//! Static facts of the compiled code: registers, spills, occupancy, the mix of
//! machine instructions.

use kgen_profile::sass::SassMix;
use kgen_record::{FeedbackKind, LaunchFacts, Resources};

use super::{Section, Subject};
use crate::text::inline;

/// Kernels that are described.
const MAX_KERNELS: usize = 6;

/// Kinds of instructions that are counted for a kernel.
const MAX_KINDS: usize = 6;

/// Describes the kernels; of a failed attempt only those that spill.
pub(super) fn section(subject: &Subject<'_>) -> Option<Section> {
    let evaluation = subject.evaluation;
    let is_pass = evaluation.verdict.is_pass();
    let tells = |kernel: &&Resources| is_pass || 0 < kernel.spill_stores;
    let mut kernels: Vec<&Resources> = evaluation.resources.iter().filter(tells).collect();
    // The kernels of the largest cases decide the speed.
    kernels.sort_by_key(|kernel| std::cmp::Reverse(n_threads(kernel)));
    let shown = kernels.into_iter().take(MAX_KERNELS);
    let lines: Vec<_> = shown.map(|kernel| line(subject, kernel)).collect();
    (!lines.is_empty()).then(|| {
        let text = format!("Compiled kernels, worst variant each:\n\n{}", lines.join("\n"));
        Section::new(FeedbackKind::Static, text)
    })
}

/// Returns the threads of a kernel's largest launch.
fn n_threads(kernel: &Resources) -> u64 {
    let product = |of: [u32; 3]| of.into_iter().map(u64::from).product::<u64>();
    let threads = |launch: &LaunchFacts| product(launch.grid) * product(launch.block);
    kernel.launches.iter().map(threads).max().unwrap_or(0)
}

fn line(subject: &Subject<'_>, kernel: &Resources) -> String {
    let name = inline(&kernel.kernel, 60);
    let mut line = format!("- `{name}`: {} registers", kernel.registers);
    if 0 < kernel.smem_bytes {
        line = format!("{line}, {} bytes of static shared memory", kernel.smem_bytes);
    }
    if 0 < kernel.spill_stores + kernel.spill_loads {
        let (stores, loads) = (kernel.spill_stores, kernel.spill_loads);
        line = format!("{line}, SPILLS {stores} bytes stored and {loads} loaded per thread");
    } else if 0 < kernel.stack_bytes {
        let stack = kernel.stack_bytes;
        line = format!("{line}, {stack} bytes of local memory (an array indexed at run time)");
    }
    if !subject.evaluation.verdict.is_pass() {
        return line;
    }
    let facts = kernel.launches.first().map(fit).into_iter();
    let facts = facts.chain(kernel.sass.as_ref().and_then(|code| mix(subject, code)));
    facts.fold(line, |line, fact| format!("{line}{fact}"))
}

/// Says how the largest launch of a kernel fits the device; empty where that is not known.
fn fit(launch: &LaunchFacts) -> String {
    let threads: u32 = launch.block.iter().product();
    let occupancy = launch.occupancy.map_or_else(String::new, |fits| {
        let percent = 100.0 * fits.fraction;
        format!(
            "; blocks of {threads}: {percent:.0} % occupancy, limited by {}",
            fits.limiter.name()
        )
    });
    let waves = launch.waves.map_or_else(String::new, |waves| {
        format!("; {:.2} waves for `{}`", waves.count, inline(&launch.args, 100))
    });
    occupancy + &waves
}

/// Counts the instructions of a kernel by their kinds, the most frequent first.
fn mix(subject: &Subject<'_>, code: &SassMix) -> Option<String> {
    if code.n_instructions == 0 {
        return None;
    }
    let mut kinds: Vec<(&String, &u32)> = code.kinds.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let kinds = kinds.into_iter().take(MAX_KINDS).map(|(kind, n)| format!("{n} {kind}"));
    let mut parts: Vec<String> = kinds.collect();
    if subject.family.sums_products() && !code.kinds.contains_key("matrix instructions") {
        parts.push("no matrix instructions".to_owned());
    }
    let mix = format!("; {} instructions: {}", code.n_instructions, parts.join(", "));
    Some(code.lints.iter().take(3).fold(mix, |mix, lint| format!("{mix}; {lint}")))
}
