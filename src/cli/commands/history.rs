//! `kgen history`: results over time, in one file.

mod entries;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use kgen_compare::csv::line;
use kgen_history::{Added, Entry, ExportRow, History, NewEntry};
use kgen_settings::Overrides;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cli::{
        CommandError, Context, args::OutputArgs, exit_codes::Exit, output::FileArgs, ui::json_text,
    },
    report::TextTable,
};

pub(super) use entries::{new_entry, unnumbered};

/// The file, where no other is named.
pub(super) const FILE: &str = "history.sqlite";

/// Keep results of benches and runs over time
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
enum HistoryCommand {
    /// Add benches or runs; one that is there is no change
    Add(AddArgs),
    /// List the entries, newest first
    List(ListArgs),
    /// Show the results of an entry
    Show(ShowArgs),
    /// Write all results of all entries
    Export(ExportArgs),
    /// Remove an entry
    Remove(RemoveArgs),
    /// Draw each case over time, with its change points
    Trend(TrendArgs),
}

/// Where the history is.
#[derive(Debug, Args, Default)]
pub(crate) struct HistoryFile {
    /// File of the history [default: history.sqlite in the folder of the runs]
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    #[command(flatten)]
    folder: OutputArgs,
}

/// How a history is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum HistoryFormat {
    // No doc comments: they would spread the help text over many lines.
    #[default]
    Table,
    Csv,
    Json,
}

#[derive(Debug, Args)]
struct AddArgs {
    /// IDs of benches or runs, `latest` or paths of their folders
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Name of the entry; with one ID
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,
    /// Print text for people or a JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: HistoryFormat,
    #[command(flatten)]
    file: HistoryFile,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Print text for people, CSV or a JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: HistoryFormat,
    #[command(flatten)]
    file: HistoryFile,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// Number, tag or ID of an entry, or `latest`
    #[arg(value_name = "ENTRY")]
    entry: String,
    /// Print text for people, CSV or a JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: HistoryFormat,
    #[command(flatten)]
    file: HistoryFile,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// Print CSV or a JSON document
    #[arg(long, value_enum, default_value = "csv", value_name = "FORMAT")]
    format: HistoryFormat,
    /// Write it into this file instead
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    file: HistoryFile,
}

#[derive(Debug, Args)]
struct RemoveArgs {
    /// Number, tag or ID of an entry
    #[arg(value_name = "ENTRY")]
    entry: String,
    #[command(flatten)]
    file: HistoryFile,
}

#[derive(Debug, Args)]
struct TrendArgs {
    #[command(flatten)]
    page: FileArgs,
    #[command(flatten)]
    file: HistoryFile,
}

/// Entries of a history, and results of them where they are asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryData {
    entries: Vec<EntryItem>,
    results: Vec<ExportRow>,
}

/// An entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct EntryItem {
    number: i64,
    /// ID of its bench or run.
    pub(super) id: String,
    /// `bench` or `run`.
    kind: &'static str,
    pub(super) tag: Option<String>,
    /// When it was measured, RFC 3339.
    created: String,
    added: String,
    /// Name of the GPU, or of the emulated one.
    device: String,
    n_results: u64,
}

impl From<&Entry> for EntryItem {
    fn from(entry: &Entry) -> Self {
        Self {
            number: entry.number,
            id: entry.source.clone(),
            kind: entry.kind.name(),
            tag: entry.tag.clone(),
            created: entry.created.to_string(),
            added: entry.added.to_string(),
            device: entry.device.clone(),
            n_results: entry.n_results,
        }
    }
}

pub(crate) fn run(context: &Context, args: &HistoryArgs) -> Result<Exit, CommandError> {
    match &args.command {
        HistoryCommand::Add(args) => add(context, args),
        HistoryCommand::List(args) => list(context, args),
        HistoryCommand::Show(args) => show(context, args),
        HistoryCommand::Export(args) => export(context, args),
        HistoryCommand::Remove(args) => remove(context, args),
        HistoryCommand::Trend(args) => trend(context, args),
    }
}

impl HistoryFile {
    /// Returns the folder of runs and benches, and the file.
    pub(super) fn places(&self, context: &Context) -> Result<(PathBuf, PathBuf), CommandError> {
        let mut flags = Overrides::default();
        self.folder.add_to(&mut flags);
        let root = context.settings(&flags)?.run.output_dir;
        let file = self.history.clone().unwrap_or_else(|| root.join(FILE));
        Ok((root, file))
    }

    fn open(&self, context: &Context) -> Result<History, CommandError> {
        Ok(History::open(&self.places(context)?.1)?)
    }
}

/// Adds an entry, and says so.
fn add_one(
    context: &Context,
    history: &mut History,
    entry: &NewEntry,
    tag: Option<&str>,
) -> Result<Entry, CommandError> {
    let added = history.add(entry, tag, Timestamp::now())?;
    let entry = added.entry().clone();
    let how = match added {
        Added::New(_) => "added",
        Added::Updated(_) => "has gone on since: its results are replaced",
        Added::Known(_) => "is there already",
    };
    let Entry { source, number, n_results, .. } = &entry;
    context.ui.note(&format!("{source} {how} (entry {number}, {n_results} results)"));
    Ok(entry)
}

/// The history that a bench is added to when it is done, and its tag there.
pub(super) struct Destination<'a> {
    pub(super) file: PathBuf,
    pub(super) tag: Option<&'a str>,
}

impl Destination<'_> {
    /// Makes sure that a bench of this ID can be added, before it runs.
    pub(super) fn check(&self, id: &str) -> Result<(), CommandError> {
        // Of a tag that cannot be one no file is made.
        self.tag.map_or(Ok(()), kgen_history::check_tag)?;
        Ok(History::create(&self.file)?.check(id, self.tag)?)
    }

    /// Adds a bench that is done.
    pub(super) fn add(&self, context: &Context, dir: &Path) -> Result<(), CommandError> {
        let entry = new_entry(dir, &dir.display().to_string())?;
        let mut history = History::create(&self.file)?;
        add_one(context, &mut history, &entry, self.tag).map(drop)
    }
}

fn add(context: &Context, args: &AddArgs) -> Result<Exit, CommandError> {
    if args.tag.is_some() && args.ids.len() > 1 {
        return Err(CommandError::usage("--tag names one entry, and several are added"));
    }
    let (root, file) = args.file.places(context)?;
    // Nothing is made where nothing can be added.
    let entries: Result<Vec<NewEntry>, _> =
        args.ids.iter().map(|id| new_entry(&root, id)).collect();
    let entries = entries?;
    let mut history = History::create(&file)?;
    let mut added = Vec::new();
    for entry in &entries {
        added.push(EntryItem::from(&add_one(context, &mut history, entry, args.tag.as_deref())?));
    }
    if args.format == HistoryFormat::Json {
        context.ui.result(&HistoryData { entries: added, results: Vec::new() }, String::new)?;
    }
    Ok(Exit::Ok)
}

fn list(context: &Context, args: &ListArgs) -> Result<Exit, CommandError> {
    let entries: Vec<EntryItem> =
        args.file.open(context)?.entries()?.iter().map(EntryItem::from).collect();
    let data = HistoryData { entries, results: Vec::new() };
    context.ui.result(&data, || match args.format {
        HistoryFormat::Csv => csv(&ENTRY_COLUMNS, data.entries.iter().map(EntryItem::fields)),
        HistoryFormat::Table | HistoryFormat::Json => {
            let mut table = TextTable::new(&ENTRY_COLUMNS);
            data.entries.iter().for_each(|entry| table.row(entry.fields().to_vec()));
            table.fit(context.ui.screen())
        }
    })?;
    Ok(Exit::Ok)
}

const ENTRY_COLUMNS: [&str; 6] = ["number", "id", "tag", "created", "device", "results"];

impl EntryItem {
    fn fields(&self) -> [String; 6] {
        [
            self.number.to_string(),
            self.id.clone(),
            self.tag.clone().unwrap_or_default(),
            self.created.get(..19).unwrap_or(&self.created).replace('T', " "),
            self.device.clone(),
            self.n_results.to_string(),
        ]
    }
}

fn show(context: &Context, args: &ShowArgs) -> Result<Exit, CommandError> {
    let history = args.file.open(context)?;
    let entry = history.find(&args.entry)?;
    let results = history.export_entry(&entry)?;
    let data = HistoryData { entries: vec![EntryItem::from(&entry)], results };
    context.ui.result(&data, || match args.format {
        HistoryFormat::Csv => csv(&ExportRow::COLUMNS, data.results.iter().map(ExportRow::fields)),
        HistoryFormat::Table | HistoryFormat::Json => results_table(context, &data.results),
    })?;
    Ok(Exit::Ok)
}

fn results_table(context: &Context, results: &[ExportRow]) -> String {
    let mut table = TextTable::new(&["op", "type", "case", "implementation", "outcome", "ms"])
        .yielding(&[("case", 20)]);
    for row in results {
        let ms = row.time_ms.map_or("not measured".to_owned(), |ms| format!("{ms:.4}"));
        table.row(vec![
            row.op.clone(),
            row.dtype.clone(),
            row.case.clone(),
            row.implementation.clone(),
            row.outcome.clone(),
            ms,
        ]);
    }
    table.fit(context.ui.screen())
}

fn export(context: &Context, args: &ExportArgs) -> Result<Exit, CommandError> {
    let history = args.file.open(context)?;
    let entries = history.entries()?.iter().map(EntryItem::from).collect();
    let results: Result<Vec<ExportRow>, _> = history.export()?.collect();
    let data = HistoryData { entries, results: results? };
    let output = FileArgs { output: args.output.clone(), open: false };
    output.put(context, &data, FILE, || match args.format {
        HistoryFormat::Json => json_text(&data),
        HistoryFormat::Table => results_table(context, &data.results),
        HistoryFormat::Csv => csv(&ExportRow::COLUMNS, data.results.iter().map(ExportRow::fields)),
    })?;
    Ok(Exit::Ok)
}

fn remove(context: &Context, args: &RemoveArgs) -> Result<Exit, CommandError> {
    let mut history = args.file.open(context)?;
    let entry = history.find(&args.entry)?;
    history.remove(entry.number)?;
    context.ui.note(&format!("entry {} ({}) is removed", entry.number, entry.source));
    Ok(Exit::Ok)
}

fn trend(context: &Context, args: &TrendArgs) -> Result<Exit, CommandError> {
    let history = args.file.open(context)?;
    let page = kgen_history::trend::page(&history.lines()?);
    args.page.put_page(context, "kgen-trend.html", &page)?;
    Ok(Exit::Ok)
}

fn csv<const N: usize>(columns: &[&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    rows.fold(line(columns), |text, row| text + &line(row))
}

impl From<kgen_history::Error> for CommandError {
    fn from(error: kgen_history::Error) -> Self {
        let hint = match &error {
            kgen_history::Error::Missing { .. } => {
                Some("`kgen history add ID` or `kgen bench --history` begins one")
            }
            _ => None,
        };
        let is_usage = matches!(error, kgen_history::Error::BadTag { .. });
        let kind = if is_usage { Exit::Usage } else { Exit::Config };
        Self::new(kind, error).maybe_hint(hint.map(str::to_owned))
    }
}
