//! `kgen profile`: judges a kernel file and runs it again under profilers, or profiles any command.

pub(crate) mod command;

use std::path::{Path, PathBuf};

use clap::{
    Arg, ArgMatches, Args, Command, FromArgMatches, Id, builder::Resettable, error::ErrorKind,
    parser::ValueSource,
};
use kgen_eval::describe_args;
use kgen_record::{Case, CaseClass, KernelProfile, ProfileRequest};
use kgen_settings::DeviceChoice;

use self::command::{CommandArgs, FORMS};
use super::eval::{self, EvalArgs};
use crate::cli::{CommandError, Context, exit_codes::Exit, machine};

/// The command line: of a kernel file, or of a command.
#[derive(Debug)]
pub(crate) struct ProfileArgs {
    /// `None` for a command.
    kernel: Option<KernelArgs>,
    other: OtherArgs,
}

/// Judge one kernel file and, if it is right, say which resource limits it, with Nsight Compute and
/// compute-sanitizer; or profile any command
#[derive(Debug, Args)]
struct OtherArgs {
    /// Folder for the profilers' output; of a command [default: profile_<tool>_<time>]
    #[arg(long, value_name = "DIR", help_heading = "Profile")]
    out: Option<PathBuf>,
    #[command(flatten)]
    command: CommandArgs,
}

#[derive(Debug, Args)]
struct KernelArgs {
    #[command(flatten)]
    eval: EvalArgs,
    /// Case to profile: its name, or a part of its arguments; the largest without it
    #[arg(long, value_name = "TEXT", help_heading = "Profile")]
    case: Option<String>,
    /// Try profilers again that were not permitted before
    #[arg(long, help_heading = "Profile")]
    retry: bool,
}

impl Args for ProfileArgs {
    fn augment_args(command: Command) -> Command {
        let command = OtherArgs::augment_args(KernelArgs::augment_args(command));
        // Flags of an evaluation are required only where there is one: `required` looks.
        command
            .mut_arg("file", |arg| arg.index(1).required(false))
            .mut_arg("op", |arg| arg.required_unless_present(Resettable::<Id>::Reset))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ProfileArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let other = OtherArgs::from_arg_matches(matches)?;
        if !is_of_command(matches) {
            required(matches)?;
            let kernel = Some(KernelArgs::from_arg_matches(matches)?);
            return Ok(Self { kernel, other });
        }
        let of_kernel = KernelArgs::augment_args(Command::default().name("kgen"));
        let idle = of_kernel.get_arguments().find(|arg| {
            arg.get_id() != "format"
                && matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
        });
        match idle {
            None => Ok(Self { kernel: None, other }),
            Some(arg) => Err(clap::Error::raw(
                ErrorKind::ArgumentConflict,
                format!(
                    "{} is for a kernel file, and a command or a report is profiled\n",
                    name(arg)
                ),
            )),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Refuses a command line that names neither a kernel with its op nor a command.
fn required(matches: &ArgMatches) -> Result<(), clap::Error> {
    let missing = |message: String| {
        let forms = "  kgen profile FILE.cu --op OP    a kernel file\n  \
                     kgen profile -- COMMAND ..      any command\n";
        let kind = ErrorKind::MissingRequiredArgument;
        Err(clap::Error::raw(kind, format!("{message}\n\n{forms}")))
    };
    let Some(file) = matches.get_raw("file").and_then(|mut words| words.next()) else {
        return missing("FILE.cu with its op, or a COMMAND behind `--`, is missing".to_owned());
    };
    if matches.contains_id("op") || matches.contains_id("op_file") {
        return Ok(());
    }
    missing(format!("--op OP (or --op-file FILE.toml) of {} is missing", file.display()))
}

fn name(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| "FILE.cu".to_owned(), |name| format!("--{name}"))
}

/// Returns whether the command line profiles a command or reads a report.
pub(crate) fn is_of_command(matches: &ArgMatches) -> bool {
    FORMS.iter().any(|name| {
        matches!(matches.try_contains_id(name), Ok(true))
            && matches.value_source(name) == Some(ValueSource::CommandLine)
    })
}

pub(crate) fn run(context: &Context, args: &ProfileArgs) -> Result<Exit, CommandError> {
    match &args.kernel {
        Some(kernel) => profile_kernel(context, kernel, args.other.out.as_deref()),
        None => command::run(context, &args.other.command, args.other.out.as_deref()),
    }
}

fn profile_kernel(
    context: &Context,
    args: &KernelArgs,
    out: Option<&Path>,
) -> Result<Exit, CommandError> {
    let mut settings = eval::settings(context, &args.eval)?;
    settings.device.profile = true;
    if machine::device_choice(&settings)? == DeviceChoice::Emu {
        return Err(no_gpu());
    }
    let wanted = |cases: &[Case], on_gpu: bool| {
        // The GPU may have refused to start.
        if on_gpu { wanted(args, cases).map(Some) } else { Err(no_gpu()) }
    };
    let (evaluation, _) = eval::evaluate(context, &args.eval, &settings, &wanted)?;
    let Some(profile) = &evaluation.profile else {
        let (screen, verbose) = (context.ui.screen(), context.ui.is_verbose());
        context
            .ui
            .result(&evaluation, || screen.wrap(&eval::text(&evaluation, screen, verbose)))?;
        return Ok(Exit::NotSolved);
    };
    context.ui.result(&evaluation, || profile.summary.join("\n"))?;
    if let Some(out) = out {
        write(out, profile)?;
    }
    Ok(if profile.suspicious { Exit::NotSolved } else { Exit::Ok })
}

fn no_gpu() -> CommandError {
    CommandError::new(Exit::Device, "profilers need a GPU, and none is used")
        .hint("`kgen eval --counters` counts on the emulator what every launch does")
}

/// Chooses the cases.
fn wanted(args: &KernelArgs, cases: &[Case]) -> Result<ProfileRequest, CommandError> {
    let nothing = || CommandError::usage("the op has no case that is small enough to profile");
    let chosen = ProfileRequest::of(cases).ok_or_else(nothing)?;
    let case = match &args.case {
        None => chosen.case,
        Some(text) => {
            let known = |case: &Case| case.class != CaseClass::Drawn;
            let named = |case: &Case| case.id == *text || describe_args(case).contains(text);
            cases.iter().position(|case| known(case) && named(case)).ok_or_else(|| {
                CommandError::usage(format!("no case is named `{text}` or has it in its arguments"))
                    .hint("`kgen show OP` lists the cases of an op")
            })?
        }
    };
    Ok(ProfileRequest { case, retry: args.retry, ..chosen })
}

fn write(out: &Path, profile: &KernelProfile) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::config(format!("cannot write into {}: {error}", out.display()))
    };
    std::fs::create_dir_all(out).map_err(failed)?;
    for raw in &profile.raw {
        std::fs::write(out.join(&raw.name), &raw.text).map_err(failed)?;
    }
    std::fs::write(out.join("summary.txt"), profile.summary.join("\n") + "\n").map_err(failed)
}
