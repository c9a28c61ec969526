//! The card of a project: how the kernel was judged, and what is not known of it.

use std::fmt::Write as _;

use kgen_record::{CaseTiming, Evaluation, Level, Speedup, Target};
use kgen_store::{AttemptRecord, Confirmation, RunInfo};

use super::Export;
use crate::report::{cases_text, factor, significant, speedup_text};

/// The records of an exported kernel.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub run: &'a RunInfo,
    pub record: &'a AttemptRecord,
    pub confirmation: Option<&'a Confirmation>,
    /// `None` where it is gone.
    pub evaluation: Option<&'a Evaluation>,
    /// The speedups that the run reports of it, over the primary baseline first.
    pub speedups: &'a [Speedup],
}

impl Evidence<'_> {
    /// Returns the compute capability that the kernel was judged for, for example `9.0`.
    pub(super) fn capability(&self) -> String {
        let target = self.target();
        format!("{}.{}", target.cc_major, target.cc_minor)
    }

    /// Returns the GPU that it ran on; `None` where that was the emulator alone.
    fn gpu(&self) -> Option<&str> {
        let is_gpu = matches!(self.record.level, Level::Cuda | Level::EmuCuda);
        is_gpu.then_some(&*self.target().name)
    }

    fn target(&self) -> &Target {
        self.evaluation.map_or(&self.run.device.target, |evaluation| &evaluation.target)
    }

    fn timings(&self) -> &[CaseTiming] {
        self.evaluation.map_or(&[], |evaluation| &evaluation.timings)
    }
}

/// Writes the card. It is a template to kernel-builder, and has none of a template's marks.
pub(super) fn text(export: &Export<'_>, evidence: &Evidence<'_>, name: &str, aten: &str) -> String {
    let function = export.op.folder();
    let arguments: Vec<&str> = export.op.params.iter().map(|param| &*param.name).collect();
    let arguments = arguments.join(", ");
    let run = evidence.run;
    let by = match run.model.as_deref().filter(|model| !model.is_empty()) {
        Some(model) => format!("written by {model} and judged by kgen"),
        None => "judged by kgen".to_owned(),
    };
    let text = format!(
        "---\nlibrary_name: kernels\nlicense: unknown\n---\n\n\
         # {name}\n\n\
         A CUDA kernel for `torch.ops.aten.{aten}`, {by} {} (run {}, attempt {}). PyTorch's NVRTC compiles it at the \
         first call. It has no backward pass.\n\n\
         ```python\n\
         from kernels import get_kernel\n\n\
         kernel = get_kernel(\"OWNER/{name}\", version=1, trust_remote_code=True)\n\
         out = kernel.{function}({arguments})\n\
         ```\n\n\
         Arguments are those of the ATen op, tensors lie on one GPU. `kernels` asks for `trust_remote_code` where it does not know the publisher. `get_local_kernel(Path(\"{name}\"))` \
         loads this folder.\n\n\
         ## How it was judged\n\n{}\n\
         Passed means: every output element is within its error bound of an f64 reference, in every case that ran.\n\n\
         ## Times\n\n{}\n\
         ## Not shown\n\n{}\n\
         ## Once more on your GPU\n\n\
         `pytest tests` compares it with eager PyTorch on {} of the cases, `kernels benchmark ./{name}` times both.\n\n\
         ## License\n\n\
         Unknown: put the kernel's license here and into `build.toml`. The runtime around it in `kernel.py` is kgen's, under MIT OR \
         Apache-2.0.\n",
        run.kgen_version,
        run.run_id,
        evidence.record.attempt,
        facts(export, evidence),
        times(evidence),
        not_shown(evidence),
        export.checked().len(),
    );
    ["{{", "{%", "{#"]
        .iter()
        .fold(text, |text, mark| text.replace(mark, &format!("{{ {}", &mark[1..])))
}

/// Writes the table of the judgement.
fn facts(export: &Export<'_>, evidence: &Evidence<'_>) -> String {
    let record = evidence.record;
    let level = match record.level {
        Level::EmuCuda => "small cases on a PTX emulator, all cases on a GPU",
        Level::Cuda => "all cases on a GPU",
        Level::Emu | Level::Static => "on a PTX emulator alone",
    };
    let mut rows = vec![
        ("verdict", format!("{} ({}): {level}", record.verdict, record.level)),
        ("cases that passed", cases_text(&record.counts).unwrap_or_else(|| "unknown".to_owned())),
    ];
    if let Some(confirmation) = evidence.confirmation {
        rows.push(("passed again with fresh seeds", format!("{} times", confirmation.seeds.len())));
    }
    if let Some(ratio) = evidence.evaluation.and_then(Evaluation::worst_ratio) {
        rows.push(("largest error", format!("{} of its bound", significant(ratio))));
    }
    rows.push(("precision", export.precision.name().to_owned()));
    rows.push(("GPU", evidence.gpu().unwrap_or("none").to_owned()));
    rows.push(("compute capability", evidence.capability()));
    let mut out = String::from("| | |\n|---|---|\n");
    for (what, value) in rows {
        writeln!(out, "| {what} | {} |", cell(&value)).expect("a string takes any text");
    }
    out
}

/// Writes the speedups with their intervals.
fn times(evidence: &Evidence<'_>) -> String {
    let timings = evidence.timings();
    let Some(gpu) = evidence.gpu() else {
        return "Not measured on a GPU: the emulator gives no times.\n".to_owned();
    };
    if evidence.speedups.is_empty() && timings.is_empty() {
        return format!("Not measured: it ran on {gpu} for its outputs alone.\n");
    }
    let mut out = format!("Measured on {gpu}.");
    for speedup in evidence.speedups {
        write!(out, " {}.", speedup_text(Some(speedup))).expect("a string takes any text");
    }
    out.push_str(
        " Brackets hold 99 % intervals; means are geometric, over cases. `builtin` is kgen's own kernel of the op, `aten` eager \
         PyTorch.\n\n\
         | case | mode | kernel | baseline | its time | speedup | the kernel is |\n|---|---|---|---|---|---|---|\n",
    );
    for timing in timings {
        for baseline in &timing.baselines {
            let (Some(time), Some(comparison)) = (&baseline.timing, &baseline.comparison) else {
                continue;
            };
            let [low, high] = comparison.ci;
            let candidate = baseline.candidate.as_ref().unwrap_or(&timing.candidate);
            writeln!(
                out,
                "| {} | {} | {} us | {} | {} us | {}x [{}, {}] | {} |",
                cell(&timing.case),
                timing.mode.name(),
                significant(candidate.median_us),
                cell(&baseline.name),
                significant(time.median_us),
                factor(comparison.speedup),
                factor(low),
                factor(high),
                comparison.verdict.name(),
            )
            .expect("a string takes any text");
        }
    }
    out
}

/// Lists what the records leave open.
fn not_shown(evidence: &Evidence<'_>) -> String {
    let counts = &evidence.record.counts;
    let mut open = Vec::new();
    if evidence.gpu().is_none() {
        open.push("behaviour on a GPU".to_owned());
        open.push("speed".to_owned());
    }
    open.push(format!("GPUs of other compute capabilities than {}", evidence.capability()));
    for (n, what) in [
        (counts.skipped, "cases that did not run"),
        (counts.unreached, "lines that no case reached"),
    ] {
        if n > 0 {
            open.push(format!("{what}: {n}"));
        }
    }
    open.iter().map(|line| format!("* {line}\n")).collect()
}

/// Keeps a text in its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
