//! `kgen profile -- COMMAND`: profiles any command, or summarises a report that is there.

mod data;
mod folder;
mod program;
mod recorder;
mod tools;

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Read as _,
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use kgen_compile::find_tool;
use kgen_profile::{
    Form, flame, ncu, perf,
    report::{Report, THRESHOLDS, Tool},
};
use kgen_settings::keys;

pub(crate) use self::data::ProfiledCommand;
use self::{
    folder::Folder,
    recorder::{Limit, Recorded, record},
    tools::Recording,
};
use crate::{
    cli::{CommandError, Context, exit_codes::Exit, ui::json_text},
    report::TextTable,
};

/// Flags of a profiled command.
#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// Profiler of COMMAND; without it nsys where it is found and there is a GPU, else perf, on macOS xctrace
    #[arg(long, value_enum, value_name = "TOOL", requires = "command", help_heading = "Command")]
    tool: Option<ToolName>,
    /// With ncu: profile the first N launches of kernels alone
    #[arg(long, value_name = "N", requires = "command", help_heading = "Command")]
    launches: Option<NonZeroU32>,
    /// End COMMAND after that time, for example 60s, and report what was recorded
    #[arg(long, value_name = "TIME", value_parser = time, requires = "command", help_heading = "Command")]
    max_time: Option<Duration>,
    /// Summarise a report that is there: of nsys, ncu, perf, torch.profiler or xctrace
    #[arg(long, value_name = "FILE", conflicts_with = "command", help_heading = "Command")]
    read: Option<PathBuf>,
    /// Print the thresholds from which on a figure has a line of its own
    #[arg(long, conflicts_with_all = ["command", "read"], help_heading = "Command")]
    thresholds: bool,
    /// Command to profile in place of a kernel file
    #[arg(value_name = "COMMAND", index = 2, last = true, help_heading = "Command")]
    command: Vec<OsString>,
}

/// Flags and arguments of which one makes a command line that of a profiled command.
pub(crate) const FORMS: [&str; 3] = ["command", "read", "thresholds"];

/// Names of the tools on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ToolName {
    // No doc comments: they would spread the help text over many lines.
    Nsys,
    Ncu,
    Perf,
    Xctrace,
    Torch,
}

impl From<ToolName> for Tool {
    fn from(name: ToolName) -> Self {
        match name {
            ToolName::Nsys => Self::Nsys,
            ToolName::Ncu => Self::Ncu,
            ToolName::Perf => Self::Perf,
            ToolName::Xctrace => Self::Xctrace,
            ToolName::Torch => Self::Torch,
        }
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let seconds = || Duration::try_from_secs_f64(text.parse().ok()?).ok();
    let time = seconds().or_else(|| keys::duration(text)).filter(|time| !time.is_zero());
    time.ok_or_else(|| "a time above 0 is needed, for example 90, 60s or 5m".to_owned())
}

/// Profiles a command, reads a report or prints the thresholds.
pub(super) fn run(
    context: &Context,
    args: &CommandArgs,
    out: Option<&Path>,
) -> Result<Exit, CommandError> {
    if args.thresholds {
        if context.ui.document().is_some() {
            return Err(CommandError::usage("--thresholds is a table and no JSON document"));
        }
        context.ui.data(&thresholds(context))?;
        return Ok(Exit::Ok);
    }
    let profile = match &args.read {
        Some(file) => read(context, file, out)?,
        None => profile(context, args, out)?,
    };
    context.ui.result(&profile, || profile.summary.join("\n"))?;
    Ok(Exit::Ok)
}

fn thresholds(context: &Context) -> String {
    let mut table = TextTable::new(&["figure", "threshold", "needs", "meaning"]);
    for row in THRESHOLDS {
        let (metric, meaning) = (row.metric.to_owned(), row.meaning.to_owned());
        table.row([metric, row.condition(), row.needs(), meaning].into());
    }
    table.fit(context.ui.screen())
}

/// Summarises a file; a recording of a tool that is here is exported first.
fn read(
    context: &Context,
    file: &Path,
    out: Option<&Path>,
) -> Result<ProfiledCommand, CommandError> {
    let failed = |reason: &dyn std::fmt::Display| {
        CommandError::config(format!("cannot read {}: {reason}", file.display()))
    };
    let mut head = Vec::new();
    let opened = File::open(file).map_err(|error| failed(&error))?;
    opened.take(HEAD).read_to_end(&mut head).map_err(|error| failed(&error))?;
    let form = Form::of(file, &head).map_err(|error| failed(&error))?;
    let exportable = matches!(form, Form::NsysReport | Form::NcuReport | Form::PerfData);
    let program = exportable.then(|| tools::find(form.tool())).flatten();
    let mut report = match program {
        Some(program) => {
            let scratch = tempfile::tempdir().map_err(|error| failed(&error))?;
            let file = file.canonicalize().map_err(|error| failed(&error))?;
            exported(form.tool(), &program, &file, scratch.path())
                .map_err(|error| failed(&error))?
        }
        None => {
            // SQLite reads its file itself, which may be large.
            let bytes = if form == Form::NsysSqlite { Ok(Vec::new()) } else { fs::read(file) };
            let bytes = bytes.map_err(|error| failed(&error))?;
            kgen_profile::read(form, file, &bytes).map_err(|error| failed(&error))?
        }
    };
    report.subject = Some(format!("profile {} ({})", file.display(), report.tool.name()));
    let picture = flame::svg(&report.stacks, &file.display().to_string());
    let profile = ProfiledCommand::of(report, file);
    if let Some(out) = out {
        fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
        write(context, out, &profile, picture)?;
    }
    Ok(profile)
}

/// Bytes by which the form of a report is known: tools print lines of their own before it.
const HEAD: u64 = 64 << 10;

/// Runs the command below its tool and makes the report.
fn profile(
    context: &Context,
    args: &CommandArgs,
    out: Option<&Path>,
) -> Result<ProfiledCommand, CommandError> {
    program::check(&args.command)?;
    let tool = args.tool.map_or_else(tools::of_machine, Tool::from);
    if args.launches.is_some() && tool != Tool::Ncu {
        return Err(CommandError::usage("--launches is a flag of --tool ncu"));
    }
    let program = match tool {
        Tool::Torch => PathBuf::from(&args.command[0]),
        _ => tools::find(tool).ok_or_else(|| {
            CommandError::new(Exit::Device, format!("`{}` is not installed", tool.name()))
                .hint(tools::how_to_get(tool))
        })?,
    };
    let out = Folder::path(tool, out)?;
    let timeout = args.max_time.and_then(|_| find_tool("timeout"));
    let seconds = args.max_time.map(|limit| limit.as_secs_f64());
    let recording = Recording {
        tool,
        program: &program,
        out: &out,
        command: &args.command,
        timeout: timeout.as_deref().zip(seconds),
        launches: args.launches,
    };
    let words = recording.words().map_err(CommandError::usage)?;
    let raw = recording.file();
    let folder = Folder::make(&out, raw.clone())?;
    if tool == Tool::Torch {
        let tracer = out.join(tools::TORCH_TRACER);
        fs::write(&tracer, tools::TORCH_TRACE).map_err(|error| unwritable(&tracer, &error))?;
    }
    let grace = Duration::from_secs(tools::grace_s(tool) + 15);
    let slack = if timeout.is_some() { grace } else { Duration::ZERO };
    let limit = args.max_time.map(|time| Limit { time, slack });
    let recorded = record(context, &words, limit)?;
    let code = exit_code(&out, &recorded);
    let mut report = if raw.exists() {
        exported(tool, &program, &raw, &out)
    } else {
        Err("it wrote no report".to_owned())
    }
    .map_err(|reason| failure(tool, &reason, &recorded))?;
    let command: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let version = match tool {
        Tool::Torch => fs::read_to_string(out.join(tools::TORCH_VERSION)).ok(),
        _ => recorder::version(&program),
    };
    let seconds = report.counter("duration_time").map(|ns| ns / 1e9).or_else(|| duration(&out));
    report.subject = Some(subject(&command, tool, version.as_deref(), (code, seconds), &recorded));
    let picture = flame::svg(&report.stacks, &command.join(" "));
    let profile = ProfiledCommand {
        tool_version: version,
        command,
        command_exit_code: code,
        seconds,
        seconds_with_profiler: Some(recorded.seconds),
        ..ProfiledCommand::of(report, &raw)
    };
    write(context, &out, &profile, picture)?;
    for name in [tools::BEGUN, tools::TORCH_ENDED] {
        drop(fs::remove_file(out.join(name)));
    }
    drop(folder);
    context.ui.note(&format!("raw report, summary and pictures are in {}", out.display()));
    Ok(profile)
}

/// Exports a raw report into the folder and reads it; the error is one line.
fn exported(tool: Tool, program: &Path, raw: &Path, out: &Path) -> Result<Report, String> {
    for export in tools::exports(tool, raw, out) {
        let made = recorder::export(program, &export.args, out).and_then(|text| {
            let write =
                || fs::write(out.join(export.file), text).map_err(|error| error.to_string());
            if export.is_of_output { write() } else { Ok(()) }
        });
        if let Err(reason) = made
            && !export.is_optional
        {
            return Err(reason);
        }
    }
    let text = |name: &str| {
        let bytes = fs::read(out.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let form = |form, name: &str| {
        let path = out.join(name);
        let bytes =
            if form == Form::NsysSqlite { Vec::new() } else { fs::read(&path).unwrap_or_default() };
        kgen_profile::read(form, &path, &bytes)
    };
    let report = match tool {
        Tool::Perf => {
            let report = perf::report(&text("stat.csv"), &text("perf.txt"));
            return report.ok_or_else(|| "it recorded no sample and no counter".to_owned());
        }
        Tool::Ncu => ncu::report(&text("raw.csv"), &text("details.csv")),
        Tool::Nsys => form(Form::NsysSqlite, "report.sqlite"),
        Tool::Xctrace => form(Form::XctraceXml, "report.xml"),
        Tool::Torch => form(Form::TorchTrace, "trace.json.gz"),
    };
    report.map_err(|error| error.to_string())
}

/// Returns the command's own exit code; `None` where it was ended or never began.
fn exit_code(out: &Path, recorded: &Recorded) -> Option<i32> {
    let text = fs::read_to_string(out.join(tools::EXIT_CODE)).ok()?;
    text.trim().parse().ok().filter(|_| !recorded.is_cut)
}

/// Returns the seconds between the beginning and the end of the command, as the files of both say; `None` where one
/// is missing.
fn duration(out: &Path) -> Option<f64> {
    let at = |name: &str| fs::metadata(out.join(name)).ok()?.modified().ok();
    let end = at(tools::TORCH_ENDED).or_else(|| at(tools::EXIT_CODE))?;
    Some(end.duration_since(at(tools::BEGUN)?).ok()?.as_secs_f64())
}

/// Says why there is no report, and the way out.
fn failure(tool: Tool, reason: &str, recorded: &Recorded) -> CommandError {
    let name = tool.name();
    let permit = tools::how_to_permit(&recorded.messages);
    let lacks_torch = tool == Tool::Torch && recorded.messages.contains("has no PyTorch");
    let last = recorded.messages.lines().rev().find(|line| !line.trim().is_empty());
    let message = match (permit, lacks_torch) {
        (Some(_), _) => format!("`{name}` is not permitted to profile"),
        (None, true) => "the command's Python has no PyTorch".to_owned(),
        (None, false) => format!(
            "`{name}` made no report that can be read: {reason}; it {}{}",
            recorded.status,
            last.map_or_else(String::new, |line| format!(", its last line: {}", line.trim()))
        ),
    };
    let hint = permit.or(lacks_torch.then_some(tools::how_to_get(tool)));
    CommandError::new(Exit::Device, message).maybe_hint(hint.map(str::to_owned))
}

/// Returns the first line of the summary.
fn subject(
    command: &[String],
    tool: Tool,
    version: Option<&str>,
    (code, seconds): (Option<i32>, Option<f64>),
    recorded: &Recorded,
) -> String {
    let mut line = command.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(100) {
        line = format!("{}...", &line[..at]);
    }
    let end = match code {
        Some(code) => format!("exit code {code}"),
        None if recorded.is_cut => "ended before its end".to_owned(),
        None => "exit code not measured".to_owned(),
    };
    let name = tool.name();
    let tool = match version {
        Some(version) if version.contains(name) => version.to_owned(),
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    };
    let own = seconds.map_or("time not measured".to_owned(), |own| format!("{own:.2} s"));
    format!("profile of `{line}` ({tool}): {own} ({:.2} s with {name}), {end}", recorded.seconds)
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::config(format!("cannot write {}: {error}", path.display()))
}

/// Writes the summary in both forms, and the picture.
fn write(
    context: &Context,
    out: &Path,
    profile: &ProfiledCommand,
    picture: Option<String>,
) -> Result<(), CommandError> {
    let files = [
        ("summary.txt", Some(profile.summary.join("\n") + "\n")),
        ("summary.json", Some(json_text(profile) + "\n")),
        ("flame.svg", picture),
    ];
    for (name, text) in files {
        let Some(text) = text else { continue };
        let path = out.join(name);
        fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
        context.ui.detail(&format!("written to {}", path.display()));
    }
    Ok(())
}
