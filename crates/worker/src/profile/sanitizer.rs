//! compute-sanitizer: four tools on the small cases of a kernel that was found right.

use std::{fs, thread, time::Duration};

use kgen_profile::sanitizer::{Report, Tool, internal_error, n_errors, parse_text, parse_xml};
use kgen_record::RawOutput;

use super::{Job, Profilers, SANITIZED, Stage, keep, tools};

/// Time that one tool has for all cases.
const LIMIT: Duration = Duration::from_secs(90);

/// Exit code that says that something was found.
const FOUND: &str = "86";

/// The reports of each tool; `Err` says why it did not run.
pub(super) type Sanitized = Vec<(Tool, Result<Vec<Report>, String>)>;

/// Runs all tools at once: they are slow to start and hardly use the GPU.
pub(super) fn run(
    stage: &Stage,
    job: &Job<'_>,
    profilers: &Profilers,
    raw: &mut Vec<RawOutput>,
) -> Sanitized {
    if job.wanted.sanitized.is_empty() {
        return Vec::new();
    }
    let program = match profilers.get("compute-sanitizer", job.wanted.retry) {
        Ok(program) => program,
        // One line for all four.
        Err(reason) => return vec![(Tool::Memcheck, Err(reason))],
    };
    let one = |tool: Tool| {
        let files = [format!("{}.xml", tool.name()), format!("{}.txt", tool.name())];
        let mut args: Vec<std::ffi::OsString> = [
            "--tool",
            tool.name(),
            "--xml",
            "--save",
            &files[0],
            "--log-file",
            &files[1],
            "--error-exitcode",
            FOUND,
            "--print-limit",
            "20",
            "--show-backtrace",
            "device",
            "--destroy-on-device-error",
            "kernel",
            // kgen asks for kernels' parameters until there is none, which the driver calls an error.
            "--report-api-errors",
            "no",
        ]
        .map(Into::into)
        .into();
        args.extend(stage.command(SANITIZED));
        let output = tools::run(&program.path, stage.dir(), args, LIMIT)?;
        let read = |name: &str| {
            fs::read(stage.dir().join(name)).map_or_else(
                |_| String::new(),
                |bytes| String::from_utf8_lossy(&bytes).into_owned(),
            )
        };
        let texts = [read(&files[0]), read(&files[1])];
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((files, texts, said + &output.stderr_text()))
    };
    let results: Vec<_> = thread::scope(|scope| {
        let running = Tool::ALL.map(|tool| (tool, scope.spawn(move || one(tool))));
        let joined = running.map(|(tool, thread)| {
            let result = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (tool, result)
        });
        joined.into()
    });
    let found = results.into_iter().map(|(tool, result): (Tool, Result<_, String>)| {
        let found = result.and_then(|([xml_name, text_name], [xml, text], said)| {
            keep(raw, format!("sanitizer-{xml_name}"), &xml);
            keep(raw, format!("sanitizer-{text_name}"), &text);
            understand(&xml, &text, &said)
        });
        (tool, found)
    });
    found.collect()
}

/// Parses the output of a tool.
///
/// `said`: the output of it and its program.
pub(super) fn understand(xml: &str, text: &str, said: &str) -> Result<Vec<Report>, String> {
    if let Some(error) = internal_error(text).or_else(|| internal_error(said)) {
        return Err(error);
    }
    let Some(n_errors) = n_errors(text) else {
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        return Err(last.unwrap_or("it left no report").trim().to_owned());
    };
    let reports = parse_xml(xml).unwrap_or_else(|| parse_text(text));
    if reports.is_empty() && 0 < n_errors {
        let line = text.lines().find(|line| line.contains("Program hit")).unwrap_or(text);
        return Err(line.trim_start_matches(['=', ' ']).lines().next().unwrap_or("").to_owned());
    }
    Ok(reports)
}
