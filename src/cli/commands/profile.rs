//! `kgen profile`: judges a kernel file and runs it again under profilers.

use std::path::{Path, PathBuf};

use clap::Args;
use kgen_eval::describe_args;
use kgen_record::{Case, CaseClass, KernelProfile, ProfileRequest};
use kgen_settings::DeviceChoice;

use super::eval::{self, EvalArgs};
use crate::cli::{CommandError, Context, exit_codes::Exit, machine};

/// Judge one kernel file; if it is right, say which resource limits it, with Nsight Compute and
/// compute-sanitizer
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    eval: EvalArgs,
    /// Case to profile: its name, or a part of its arguments; the largest without it
    #[arg(long, value_name = "TEXT", help_heading = "Profile")]
    case: Option<String>,
    /// Try profilers again that were not permitted before
    #[arg(long, help_heading = "Profile")]
    retry: bool,
    /// Folder for the profilers' output
    #[arg(long, value_name = "DIR", help_heading = "Profile")]
    out: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: &ProfileArgs) -> Result<Exit, CommandError> {
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
    if let Some(out) = &args.out {
        write(out, profile)?;
    }
    Ok(if profile.suspicious { Exit::NotSolved } else { Exit::Ok })
}

fn no_gpu() -> CommandError {
    CommandError::new(Exit::Device, "profilers need a GPU, and none is used")
        .hint("`kgen eval --counters` counts on the emulator what every launch does")
}

/// Chooses the cases.
fn wanted(args: &ProfileArgs, cases: &[Case]) -> Result<ProfileRequest, CommandError> {
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
