//! `kgen eval`: judges one kernel file and prints everything that was found.

mod counters;
mod coverage;
mod full_size;
mod resources;
mod timings;

use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::Args;
use kgen_agent::{RunInputs, fresh_seed};
use kgen_record::{
    Case, CaseOutcome, CaseResult, Diagnostic, EvalRequest, Evaluation, Fault, Finding, LibraryUse,
    Mismatch, ProfileRequest, RelatedAccess, Severity, Stage,
};
use kgen_settings::{Overrides, Settings};

use kgen_store::Counts;

use crate::{
    cli::{
        CommandError, Context,
        args::{DeviceArgs, FormatArgs, SuiteArgs},
        exit_codes::Exit,
        idle::warn_of_idle_flags,
        machine,
        run_inputs::{self, inputs, resolve_baselines, wants_python},
        selection, session,
    },
    report::{Screen, cases_text, tone},
};

/// Skipped cases that are named per reason.
const MAX_NAMES: usize = 4;

/// Judge one kernel file on an op's cases and print all findings
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Kernel file
    #[arg(value_name = "FILE.cu")]
    file: PathBuf,
    /// Op that it implements, for example relu; left out with --op-file
    #[arg(
        long,
        value_name = "OP",
        required_unless_present = "op_file",
        help_heading = "Selection"
    )]
    op: Option<String>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// Seed of the inputs and the drawn shapes
    #[arg(long, value_name = "N", help_heading = "Selection")]
    seed: Option<i64>,
    #[command(flatten)]
    device: DeviceArgs,
    /// Count the work of every launch on the emulator
    #[arg(long, help_heading = "Device")]
    counters: bool,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(context: &Context, args: &EvalArgs) -> Result<Exit, CommandError> {
    let settings = settings(context, args)?;
    let (evaluation, source) = evaluate(context, args, &settings, &|_, _| Ok(None))?;
    context.ui.result(&evaluation, || {
        let screen = context.ui.screen();
        let counters = counters::text(&evaluation, &source, screen);
        screen.wrap(&(text(&evaluation, screen, context.ui.is_verbose()) + &counters))
    })?;
    Ok(if evaluation.verdict.is_pass() { Exit::Ok } else { Exit::NotSolved })
}

/// Chooses the cases to profile; the truth value says whether there is a GPU.
pub(super) type Wanted<'a> =
    &'a dyn Fn(&[Case], bool) -> Result<Option<ProfileRequest>, CommandError>;

/// Resolves the settings that the flags ask for.
pub(super) fn settings(context: &Context, args: &EvalArgs) -> Result<Settings, CommandError> {
    let mut flags = Overrides::default();
    args.suite.add_to(&mut flags);
    args.device.add_to(&mut flags);
    flags.set("device.counters", args.counters.then_some(true));
    flags.set("run.seed", args.seed);
    flags.set("suite.ops", args.op.clone().map(|op| vec![op]));
    let settings = context.settings(&flags)?;
    warn_of_idle_flags(&context.ui, &settings, &flags, None)?;
    Ok(settings)
}

/// Judges the kernel file that the flags name, and returns its text too.
pub(super) fn evaluate(
    context: &Context,
    args: &EvalArgs,
    settings: &Settings,
    wanted: Wanted<'_>,
) -> Result<(Evaluation, String), CommandError> {
    let selection = selection::select(&context.ui, &settings.suite)?;
    let kernel = read_kernel(&args.file)?;
    let runtime = session::runtime()?;
    let source = kernel.clone();
    let judged = judge(context, settings, &selection, kernel, wanted);
    let evaluation = runtime.block_on(Box::pin(judged))?;
    Ok((evaluation, source))
}

/// Most bytes of a kernel file that are read: one more than the judge's guard lets through, so that
/// the guard still sees a file that is too long.
const MAX_BYTES: u64 = (1 << 20) + 1;

/// Reads a kernel file, which must be a regular file: a pipe or a device may never end.
pub(super) fn read_kernel(path: &Path) -> Result<String, CommandError> {
    let failed =
        |error| CommandError::config(format!("failed to read {}: {error}", path.display()));
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(CommandError::config(format!("{} is not a regular file", path.display())));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
        .map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| {
        CommandError::config(format!("failed to read {}: it is not UTF-8 text", path.display()))
    })
}

async fn judge(
    context: &Context,
    settings: &Settings,
    selection: &selection::Selection,
    kernel: String,
    wanted: Wanted<'_>,
) -> Result<Evaluation, CommandError> {
    let op = selection.ops.first().ok_or_else(|| CommandError::usage("no op is given"))?;
    let seed = match settings.run.seed {
        Some(seed) => seed,
        None => fresh_seed().map_err(|error| CommandError::new(Exit::Device, error))?,
    };
    let cases = selection.suite.cases(&op.name, selection.dtypes(), seed)?;
    wants_python(settings)?;
    let machine = machine::start(&context.ui, settings).await?;
    let on_gpu = machine.pool.has_gpu();
    let mut settings = settings.clone();
    resolve_baselines(&context.ui, &mut settings, on_gpu)?;
    let inputs = inputs(&settings, selection, machine.pool.target(), on_gpu, None)?;
    let timing = inputs.timing(&op.name);
    if let Some(timing) = timing.as_ref().filter(|_| on_gpu) {
        let has = |name: &str| timing.baselines.iter().any(|baseline| baseline.name == name);
        // One of a folder is named `triton`, not `triton=DIR`.
        let asked = settings.timing.baselines.iter().map(|name| name.split('=').next());
        for name in asked.flatten().filter(|name| !has(name)) {
            context.ui.note(&format!("the baseline {name} has nothing for {}", op.name));
        }
    }
    let request = EvalRequest {
        profile: wanted(&cases, on_gpu)?,
        timing,
        ..run_inputs::request(&settings, op, kernel, cases, seed, &machine.pool)
    };
    let spinner = context.ui.spinner(&op.name);
    let shown = spinner.clone();
    let entered = move |stage: Stage| shown.set_message(stage.name());
    let evaluation = Box::pin(machine.pool.evaluate_across(request, &entered)).await;
    spinner.finish_and_clear();
    machine.pool.shutdown().await;
    Ok(evaluation?)
}

/// Returns everything that was found, for people; where `verbose`, with where the time went.
pub(super) fn text(evaluation: &Evaluation, screen: Screen, verbose: bool) -> String {
    let mut out = headline(evaluation, screen) + "\n";
    for finding in &evaluation.findings {
        add_finding(&mut out, finding, "");
    }
    if let Some(coverage) = evaluation.coverage.as_ref().filter(|_| evaluation.verdict.is_pass()) {
        out.push_str(&coverage::text(coverage));
    }
    for diagnostic in &evaluation.diagnostics {
        add_diagnostic(&mut out, diagnostic);
    }
    let is_repeated = |case: &&CaseResult| {
        !case.findings.is_empty() && case.findings == evaluation.findings && case.mismatch.is_none()
    };
    let (repeated, failed): (Vec<_>, Vec<_>) = evaluation.failed().partition(is_repeated);
    if !repeated.is_empty() || !failed.is_empty() {
        line(&mut out, "\nFailed cases:");
    }
    if !repeated.is_empty() {
        let names: Vec<&str> = repeated.iter().map(|case| case.case.as_str()).collect();
        line(&mut out, &format!("  as above: {}", some_of(&names)));
    }
    for case in failed {
        add_case(&mut out, case);
    }
    add_skipped(&mut out, evaluation);
    out.push_str(&resources::text(evaluation, screen));
    out.push_str(&timings::text(evaluation, screen));
    out.push_str(&full_size::text(evaluation, verbose));
    if let Some(python) = &evaluation.python {
        line(&mut out, &python.to_string());
    }
    if let Some(remark) = evaluation.sandbox.remark() {
        line(&mut out, &remark);
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn headline(evaluation: &Evaluation, screen: Screen) -> String {
    let verdict = if evaluation.verdict.is_pass() {
        let with = match evaluation.library_use {
            Some(LibraryUse::WithLibrary) => ", with-library",
            Some(LibraryUse::DeviceOnly) | None => "",
        };
        format!("passed on {} ({}{with})", evaluation.level, evaluation.precision.name())
    } else {
        format!("{} ({}, stage {})", evaluation.verdict, evaluation.level, evaluation.stage.name())
    };
    let verdict = screen.paint(tone(Some(evaluation.verdict)), &verdict);
    let cases = match cases_text(&Counts::of(evaluation)) {
        // The reasons of those that did not run come after their number.
        Some(cases) => match cases.split_once(", ") {
            Some((ran, others)) => format!("{ran} cases passed, {others}"),
            None => format!("{cases} cases passed"),
        },
        None => "no case".to_owned(),
    };
    let seconds: f64 = evaluation.stage_times.iter().map(|time| time.seconds).sum();
    format!(
        "{}: {verdict}; {cases}; speedup {}; {seconds:.2} s, seed {}",
        evaluation.op,
        timings::speedups(evaluation),
        evaluation.seed
    )
}

fn add_finding(out: &mut String, finding: &Finding, indent: &str) {
    line(out, &format!("{indent}{}", finding.message));
    if let Some(span) = &finding.span {
        line(out, &format!("{indent}  line {}: {}", span.line, span.text.trim()));
    }
    if let Some(fault) = &finding.fault {
        add_fault(out, fault, indent);
    }
    if let Some(hint) = &finding.hint {
        line(out, &format!("{indent}  hint: {hint}"));
    }
}

fn add_fault(out: &mut String, fault: &Fault, indent: &str) {
    let mut parts = vec![format!("kernel {}", fault.kernel)];
    parts.extend(fault.line.map(|line| format!("line {line}")));
    parts.extend(fault.block.map(|[x, y, z]| format!("block ({x}, {y}, {z})")));
    parts.extend(fault.thread.map(|[x, y, z]| format!("thread ({x}, {y}, {z})")));
    parts.extend(fault.buffer.as_ref().map(|buffer| format!("buffer {buffer}")));
    parts.extend(fault.element.map(|element| format!("element {element}")));
    parts.extend(fault.buffer_elements.map(|n| format!("of {n}")));
    line(out, &format!("{indent}  {}: {}", fault.kind, parts.join(", ")));
    if fault.n_threads > 1 {
        let range = fault.elements.filter(|(low, high)| low != high);
        let range =
            range.map_or(String::new(), |(low, high)| format!(", elements {low} to {high}"));
        line(out, &format!("{indent}  {} such accesses in all{range}", fault.n_threads));
    }
    if let Some(RelatedAccess { what, line: at, instruction, by }) = &fault.other {
        let at = at.map_or(String::new(), |at| format!(" at line {at}"));
        let by = by.map_or(String::new(), |([bx, by, bz], [x, y, z])| {
            format!(" by block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})")
        });
        line(out, &format!("{indent}  {what}{at}{by}: {instruction}"));
    }
    if let Some(instruction) = &fault.instruction {
        line(out, &format!("{indent}  instruction: {instruction}"));
    }
}

fn add_diagnostic(out: &mut String, diagnostic: &Diagnostic) {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let at = diagnostic.line.map_or(String::new(), |line| format!("line {line}: "));
    line(out, &format!("{at}{severity}: {}", diagnostic.message));
    if let Some(source) = &diagnostic.source_line {
        line(out, &format!("    {}", source.trim_end()));
    }
}

fn add_case(out: &mut String, case: &CaseResult) {
    let CaseOutcome::Judged(verdict) = &case.outcome else { return };
    line(out, &format!("  {}  {verdict} ({}): {}", case.case, case.level, case.args));
    for finding in &case.findings {
        add_finding(out, finding, "    ");
    }
    if let Some(mismatch) = &case.mismatch {
        add_mismatch(out, mismatch);
    }
}

fn add_mismatch(out: &mut String, mismatch: &Mismatch) {
    let output = &mismatch.output;
    line(out, &format!("    {}", mismatch.headline()));
    if let Some(pattern) = &mismatch.pattern {
        line(out, &format!("    pattern: {pattern}"));
    }
    for diff in &mismatch.first {
        line(
            out,
            &format!(
                "    {output}{:?}: expected {}, got {} (allowed error {})",
                diff.index,
                short(diff.expected.0),
                short(diff.got.0),
                short(diff.bound.0)
            ),
        );
    }
    line(out, &format!("    rule: {}", mismatch.rule));
}

/// Lists the skipped cases by their reasons.
fn add_skipped(out: &mut String, evaluation: &Evaluation) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for case in &evaluation.cases {
        if let CaseOutcome::Skipped { reason } = &case.outcome {
            by_reason.entry(reason).or_default().push(&case.case);
        }
    }
    if by_reason.is_empty() {
        return;
    }
    line(out, "\nSkipped cases:");
    for (reason, cases) in by_reason {
        line(out, &format!("  {reason}: {}", some_of(&cases)));
    }
}

/// Joins the first names, with the number of the others.
fn some_of(names: &[&str]) -> String {
    let shown = &names[..names.len().min(MAX_NAMES)];
    let more = names.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", shown.join(", "))
}

/// Writes a number with an exponent where its digits would fill a line.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_an_exponent_instead_of_sixty_digits() {
        let text = [0.0, 1.5, -3e-40, 2e38, f64::INFINITY].map(super::short);
        assert_eq!(text, ["0", "1.5", "-3e-40", "2e38", "inf"]);
    }
}
