//! `kgen report`: the table or the page of a stored run.

use clap::{Args, ValueEnum};
use kgen_settings::Overrides;
use kgen_store::{Run, find_run};

use crate::{
    cli::{
        CommandError, Context, args::OutputArgs, commands::check, exit_codes::Exit,
        output::FileArgs, session::plural,
    },
    report::{self, KernelBenchError, Screen, Summary},
};

/// Sum up a stored run as a table or as a page with pictures; nothing in it is written
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Run ID, `latest`, or the path of a run's folder
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Print the table for people, as JSON, for KernelBench's scripts, or as one page for a browser
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    #[command(flatten)]
    file: FileArgs,
}

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ReportFormat {
    // No doc comments: they would spread the help text over many lines.
    #[default]
    Table,
    Json,
    #[value(name = "kernelbench")]
    KernelBench,
    Html,
}

pub(crate) fn run(context: &Context, args: &ReportArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.output.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let dir = find_run(&settings.run.output_dir, &args.run)?;
    let run = Run::open(&dir)?;
    check::warn_of_damage(&context.ui, &dir);
    let format = args.file.format(args.format, ReportFormat::Html)?;
    let summary = report::summarise(&run)?;
    let text = match format {
        ReportFormat::Html => report::page(&run)?,
        ReportFormat::KernelBench => eval_results(context, &run, &summary)?,
        ReportFormat::Json => String::new(),
        ReportFormat::Table => {
            let to_file = args.file.output.is_some();
            let screen = if to_file { Screen::FILE } else { context.ui.screen() };
            let result = report::result_lines(&summary).join("\n");
            screen.wrap(&format!("{result}\n\n{}", report::tables(&summary, screen)))
        }
    };
    args.file.put(context, &summary, &format!("kgen-{}.html", run.info().run_id), || text)?;
    if format == ReportFormat::Table
        && let Some(spend) = report::spend_line(&summary)
    {
        context.ui.note(&spend);
    }
    // A page that was made is no statement on the kernels.
    let is_ok = format == ReportFormat::Html || summary.all_passed();
    Ok(if is_ok { Exit::Ok } else { Exit::NotSolved })
}

fn eval_results(context: &Context, run: &Run, summary: &Summary) -> Result<String, CommandError> {
    let results = report::eval_results(run, summary).map_err(|error| match error {
        KernelBenchError::Store(error) => CommandError::from(error),
        error @ (KernelBenchError::NoProblems { .. } | KernelBenchError::Levels { .. }) => {
            CommandError::new(Exit::Usage, error)
        }
    })?;
    if !results.left_out.is_empty() {
        let n_out = plural(results.left_out.len(), "op");
        context.ui.note(&format!(
            "{n_out} left out, no problem of KernelBench: {}",
            results.left_out.join(", ")
        ));
    }
    context.ui.note(&format!("level {}; a runtime is the mean in milliseconds", results.level));
    Ok(results.text)
}
