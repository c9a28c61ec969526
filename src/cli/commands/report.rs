//! `kgen report`: makes a run's summaries again and prints its table.

use clap::Args;
use kgen_settings::Overrides;
use kgen_store::{Error, Run, RunStore, find_run};

use crate::{
    cli::{
        CommandError, Context,
        args::{FormatArgs, OutputArgs},
        exit_codes::Exit,
        ui::{self, Format},
    },
    report,
};

/// Sum up a stored run: its table, and its summary files made again
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run ID, or the path of a run's folder
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(context: &Context, args: &ReportArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.output.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let dir = find_run(&settings.run.output_dir, &args.run)?;
    let run = Run::open(&dir)?;
    let summary = match RunStore::open(&dir) {
        Ok(store) => match report::write(&store) {
            Ok(summary) => summary,
            Err(error) => read_only(context, &run, &error)?,
        },
        // A run that is being worked on, or lies where nobody may write, can still be read.
        Err(error @ (Error::Locked { .. } | Error::Io { .. })) => read_only(context, &run, &error)?,
        Err(error) => return Err(error.into()),
    };
    match args.format.format {
        Format::Json => ui::json(&context.ui, &summary)?,
        Format::Table => {
            context.ui.data(&report::tables(&summary))?;
            context.ui.note(&report::totals_line(&summary));
            if let Some(spend) = report::spend_line(&summary) {
                context.ui.note(&spend);
            }
        }
    }
    Ok(if summary.all_passed() { Exit::Ok } else { Exit::NotSolved })
}

fn read_only(context: &Context, run: &Run, error: &Error) -> Result<report::Summary, CommandError> {
    context.ui.warn(&format!("the summary files stay as they are: {error}"));
    Ok(report::summarise(run)?)
}
