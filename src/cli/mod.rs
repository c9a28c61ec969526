//! The command line: flags, output, exit codes. The only code that prints.

mod args;
mod backends;
mod board;
mod budget;
mod bundled;
mod commands;
mod diagnostics;
mod document;
mod errors;
pub mod exit_codes;
mod help;
mod idle;
mod machine;
mod output;
mod printable;
mod progress;
mod providers;
mod run_inputs;
mod schemas;
mod search;
mod selection;
mod session;
mod signals;
mod ui;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use document::Draft;
pub use errors::CommandError;
use exit_codes::Exit;
use kgen_settings::{Overrides, Resolved};
use ui::Ui;

/// Turn an operator into a CUDA kernel that is proven correct and measured.
#[derive(Debug, Parser)]
#[command(name = "kgen", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: args::GlobalArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    Generate(commands::generate::GenerateArgs),
    Resume(commands::resume::ResumeArgs),
    Run(commands::run::RunCommandArgs),
    Bench(Box<commands::bench::BenchArgs>),
    Eval(commands::eval::EvalArgs),
    Profile(commands::profile::ProfileArgs),
    History(commands::history::HistoryArgs),
    Regress(Box<commands::regress::RegressArgs>),
    Dashboard(commands::dashboard::DashboardArgs),
    List(commands::list::ListArgs),
    Show(commands::show::ShowArgs),
    Report(commands::report::ReportArgs),
    Check(commands::check::CheckArgs),
    Compare(commands::compare::CompareArgs),
    Experiment(commands::experiment::ExperimentArgs),
    Export(commands::export::ExportArgs),
    Import(commands::import::ImportArgs),
    Doctor(commands::doctor::DoctorArgs),
    Selftest(commands::selftest::SelftestArgs),
    Mcp(Box<commands::mcp::McpArgs>),
    Serve(Box<commands::serve::ServeArgs>),
    Setup(commands::setup::SetupArgs),
    Schema(commands::schema::SchemaArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(hide = true)]
    Worker(commands::worker::WorkerArgs),
    #[command(hide = true)]
    Node(commands::node::NodeArgs),
    #[command(hide = true)]
    Rehearse(commands::rehearse::RehearseArgs),
}

pub(crate) struct Context {
    ui: Ui,
    config: Option<std::path::PathBuf>,
}

impl Context {
    /// Resolves the settings, warns of stray variables.
    fn settings(&self, flags: &Overrides) -> Result<kgen_settings::Settings, CommandError> {
        let Resolved { mut settings, file, warnings } =
            kgen_settings::resolve(self.config.as_deref(), flags)?;
        // The op of that name is aten.all.
        if settings.suite.ops.iter().any(|name| name == "all") {
            settings.suite.ops.clear();
        }
        if let Some(file) = file {
            self.ui.detail(&format!("settings from {}", file.display()));
        }
        for warning in warnings {
            self.ui.warn(&warning);
        }
        Ok(settings)
    }
}

/// Returns the command line with its whole help.
fn command_line() -> clap::Command {
    help::complete(Cli::command())
}

/// Returns the same without the commands that kgen starts itself, which scripts would offer.
fn public_command_line() -> clap::Command {
    let whole = command_line();
    let commands = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let public = clap::Command::default().name("kgen").args(whole.get_arguments().cloned());
    public.subcommands(commands).disable_help_subcommand(true)
}

/// Runs kgen with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let parsed = command_line().try_get_matches().and_then(|matches| {
        let draft = Draft::asked(&matches);
        Ok((Cli::from_arg_matches(&matches)?, draft))
    });
    let (cli, draft) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            if !error.use_stderr() {
                // Printing fails only where nobody reads; the exit code still says it.
                drop(error.print());
                return Exit::Ok.into();
            }
            return refuse(error).into();
        }
    };
    // It hears signals itself: its worker is to end before it does.
    if let Command::Node(args) = &cli.command {
        return commands::node::run(args);
    }
    let ui = Ui::new(cli.global.verbosity(), cli.global.wide, draft);
    diagnostics::start(&ui, cli.global.verbose);
    signals::end_on_signal(&ui);
    let context = Context { ui, config: cli.global.config };
    let ended = match cli.command {
        Command::Worker(args) => return commands::worker::run(&args),
        command => dispatch(&context, command),
    };
    output::end(&context.ui, ended).into()
}

/// Reports a wrong command line, as it asks for.
fn refuse(error: clap::Error) -> Exit {
    let ui = Ui::new(ui::Verbosity::Normal, false, None);
    // It quotes arguments, which may hold anything.
    ui.announce(error.render().to_string().trim_end());
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(draft) = Draft::asked_wrongly(&words, &command_line()) {
        let document = draft.document(Exit::Usage, Some(&error.into()));
        drop(ui.data(&ui::json_text(&document)));
    }
    Exit::Usage
}

fn dispatch(context: &Context, command: Command) -> Result<Exit, CommandError> {
    match command {
        Command::Generate(args) => commands::generate::run(context, &args),
        Command::Resume(args) => commands::resume::run(context, &args),
        Command::Run(args) => commands::run::run(context, &args),
        Command::Bench(args) => commands::bench::run(context, &args),
        Command::Eval(args) => commands::eval::run(context, &args),
        Command::Profile(args) => commands::profile::run(context, &args),
        Command::Rehearse(args) => commands::rehearse::run(&args),
        Command::History(args) => commands::history::run(context, &args),
        Command::Dashboard(args) => commands::dashboard::run(context, &args),
        Command::Regress(args) => commands::regress::run(context, &args),
        Command::List(args) => commands::list::run(context, &args),
        Command::Show(args) => commands::show::run(context, &args),
        Command::Report(args) => commands::report::run(context, &args),
        Command::Check(args) => commands::check::run(context, &args),
        Command::Compare(args) => commands::compare::run(context, &args),
        Command::Experiment(args) => commands::experiment::run(context, &args),
        Command::Export(args) => commands::export::run(context, &args),
        Command::Import(args) => commands::import::run(context, &args),
        Command::Doctor(args) => commands::doctor::run(context, &args),
        Command::Selftest(args) => commands::selftest::run(context, &args),
        Command::Mcp(args) => commands::mcp::run(context, &args),
        Command::Serve(args) => commands::serve::run(context, &args),
        Command::Setup(args) => commands::setup::run(context, &args),
        Command::Schema(args) => commands::schema::run(context, &args),
        Command::Completions(args) => commands::completions::run(context, &args),
        Command::Man(args) => commands::man::run(context, &args),
        Command::Worker(_) | Command::Node(_) => unreachable!("they are started before"),
    }
}
