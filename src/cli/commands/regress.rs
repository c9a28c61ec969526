//! `kgen regress`: looks for slowdowns against an older entry of the history.

mod again;
mod report;

use std::path::Path;

use clap::{Args, ValueEnum};
use kgen_history::{Entry, History, Method, Options, Row};
use rayon::prelude::*;

use crate::cli::{
    CommandError, Context,
    args::DeviceArgs,
    commands::history::{self, HistoryFile},
    exit_codes::Exit,
};

pub(crate) use report::RegressData;

/// Look for cases that became slower against an older bench or run
#[derive(Debug, Args)]
pub(crate) struct RegressArgs {
    /// Entry, bench or run: a number, tag, ID or path [default: the newest entry]
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// Entry, bench or run that it is compared with; `last` is the newest older one of the same GPU
    #[arg(long, value_name = "OLD", default_value = "last")]
    against: String,
    /// The least slowdown that counts, for example 3% or 0.03
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    min_effect: f64,
    /// Keep to recorded samples: measure nothing again
    #[arg(long)]
    recorded: bool,
    /// Print a table for people, Markdown for a pull request, or a JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: RegressFormat,
    #[command(flatten)]
    file: HistoryFile,
    #[command(flatten)]
    device: DeviceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum RegressFormat {
    // No doc comments: they would spread the help text over many lines.
    #[default]
    Table,
    Markdown,
    Json,
}

/// Reads a share: `3%`, `0.03`, or `3` as percent.
fn share(text: &str) -> Result<f64, String> {
    let (number, is_percent) = match text.trim().strip_suffix('%') {
        Some(number) => (number, true),
        None => (text.trim(), false),
    };
    let wrong = || format!("`{text}` is no share from 0 to 100 %, such as 3% or 0.03");
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    let value = if is_percent || 1.0 <= value { value / 100.0 } else { value };
    if (0.0..1.0).contains(&value) { Ok(value) } else { Err(wrong()) }
}

pub(crate) fn run(context: &Context, args: &RegressArgs) -> Result<Exit, CommandError> {
    let (root, file) = args.file.places(context)?;
    let named: Vec<&str> = args
        .new
        .iter()
        .map(String::as_str)
        .chain([&*args.against])
        .filter(|name| *name != "last")
        .collect();
    // Removed when the command ends.
    let scratch = tempfile::tempdir().map_err(|error| CommandError::new(Exit::Config, error))?;
    let history = with_all(&file, &root, &named, &scratch.path().join("history.sqlite"))?;
    let new = match &args.new {
        None if history.entries()?.is_empty() => return Err(nothing("the history is empty")),
        None => history.find("latest")?,
        Some(name) => find(&history, name)?,
    };
    let old = match args.against.as_str() {
        "last" => history.against("last", &new)?,
        name => find(&history, name)?,
    };
    if old.number == new.number {
        return Err(nothing(&format!("{} would be compared with itself", new.source)));
    }
    let options = Options { min_effect: args.min_effect, ..Options::default() };
    let recorded = [history.recorded(&old)?, history.recorded(&new)?];
    let mut found = kgen_history::regress(&recorded[0], &recorded[1], &options);
    if found.count("gone") + found.count("new") == found.rows.len() {
        return Err(nothing(&format!("{} and {} have no case in common", new.source, old.source)));
    }
    if !args.recorded {
        again::measure(context, &root, args, &mut found, [&old, &new], &options)?;
    }
    if args.min_effect < Options::SESSION && found.rows.iter().any(is_recorded) {
        context
            .ui
            .note("recorded samples decide on nothing below 1 %: sessions differ by that much");
    }
    let changes = changes(&history, [&old, &new])?;
    let data = RegressData::new(&recorded, &found, changes);
    context.ui.result(&data, || match args.format {
        RegressFormat::Markdown => data.markdown(),
        RegressFormat::Table | RegressFormat::Json => data.text(context.ui.narrow_screen()),
    })?;
    Ok(if found.count("slower") + found.count("wrong") > 0 { Exit::NotSolved } else { Exit::Ok })
}

fn is_recorded(row: &Row) -> bool {
    row.ratio.is_some_and(|ratio| ratio.method == Method::Recorded)
}

fn nothing(reason: &str) -> CommandError {
    CommandError::config(format!("there is nothing to compare: {reason}"))
        .hint("`kgen history list` shows the entries, `kgen history add ID` adds one")
}

/// Opens the history; where a bench or run that is named is not in it, a copy to which it is added: only
/// `kgen history` and `kgen bench --history` change a history.
fn with_all(
    file: &Path,
    root: &Path,
    named: &[&str],
    copy: &Path,
) -> Result<History, CommandError> {
    let mut missing = Vec::new();
    if file.exists() || named.is_empty() {
        let history = History::open(file)?;
        missing.extend(named.iter().filter(|name| history.find(name).is_err()));
        if missing.is_empty() {
            return Ok(history);
        }
        std::fs::copy(file, copy).map_err(|error| CommandError::new(Exit::Config, error))?;
    } else {
        missing.extend(named);
    }
    let mut history = History::create(copy)?;
    for name in missing {
        let Ok(entry) = history::new_entry(root, name) else { continue };
        history.add(&entry, None, jiff::Timestamp::now())?;
    }
    Ok(history)
}

/// Finds an entry by its number, tag or ID, or by the path of its bench or run.
fn find(history: &History, name: &str) -> Result<Entry, CommandError> {
    let id = Path::new(name).file_name().and_then(|id| id.to_str()).unwrap_or(name);
    history.find(name).or_else(|missing| history.find(id).map_err(|_| missing.into()))
}

/// Finds the change points of the cases of two entries, on their GPUs.
fn changes(history: &History, pair: [&Entry; 2]) -> Result<Vec<report::CaseChanges>, CommandError> {
    let lines = history.lines_of(pair)?;
    let changed = lines.par_iter().map(report::CaseChanges::of);
    Ok(changed.filter(|case| !case.points.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_percent_or_fractions() {
        assert_eq!(
            ["3%", "0.03", "3", "0", "0 %"].map(share),
            [Ok(0.03), Ok(0.03), Ok(0.03), Ok(0.0), Ok(0.0)]
        );
        assert!(["x", "-1", "100%", "", "nan"].iter().all(|text| share(text).is_err()));
    }
}
