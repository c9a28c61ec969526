//! `kgen dashboard`: one page over the runs, benches and history of a folder.

use std::{fs, path::Path};

use clap::Args;
use kgen_history::{
    History,
    dashboard::{self, BenchItem, Dashboard, EntryItem, RunItem},
};
use kgen_settings::Overrides;
use kgen_store::{Run, RunEntry, list_runs};

use super::{bench, history};
use crate::{
    cli::{CommandError, Context, args::OutputArgs, exit_codes::Exit, output::FileArgs},
    report,
};

/// Make one page over all runs, benches and the history of a folder
#[derive(Debug, Args)]
pub(crate) struct DashboardArgs {
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    folder: OutputArgs,
}

/// Name of the page in the folder.
const PAGE: &str = "dashboard.html";

pub(crate) fn run(context: &Context, args: &DashboardArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    args.folder.add_to(&mut flags);
    let root = context.settings(&flags)?.run.output_dir;
    let mut dashboard =
        Dashboard { made: jiff::Timestamp::now().to_string(), ..Dashboard::default() };
    // Links are relative to the folder that the page is in.
    let is_inside = args.file.output.is_none();
    if root.is_dir() {
        add_runs(&mut dashboard, &root)?;
        add_benches(&mut dashboard, &root, is_inside);
        add_history(&mut dashboard, &root);
    }
    for problem in &dashboard.problems {
        context.ui.warn(problem);
    }
    if is_inside {
        let failed =
            |error| CommandError::config(format!("cannot make {}: {error}", root.display()));
        fs::create_dir_all(&root).map_err(failed)?;
    }
    let output = args.file.output.clone().unwrap_or_else(|| root.join(PAGE));
    let file = FileArgs { output: Some(output), open: args.file.open };
    file.put_page(context, PAGE, &dashboard::page(&dashboard))?;
    Ok(Exit::Ok)
}

fn add_runs(dashboard: &mut Dashboard, root: &Path) -> Result<(), CommandError> {
    for entry in list_runs(root)? {
        let name = entry.dir.display().to_string();
        match run_item(entry) {
            Ok(item) => dashboard.runs.push(item),
            Err(error) => dashboard.problems.push(format!("{name}: {error}")),
        }
    }
    Ok(())
}

fn run_item(entry: RunEntry) -> Result<RunItem, kgen_store::Error> {
    let info = entry.info?;
    let summary = report::summarise(&Run::open(&entry.dir)?)?;
    let primary = summary.speedups.first();
    Ok(RunItem {
        id: info.run_id.to_string(),
        created: info.created_at,
        device: info.device.target.name,
        backend: info.backend,
        model: info.model,
        n_ops: summary.ops.len(),
        n_solved: summary.n_passed,
        ops: info.ops,
        speedup: primary.map(|mean| mean.geomean),
        baseline: primary.map(|mean| mean.baseline.clone()),
        link: None,
    })
}

fn add_benches(dashboard: &mut Dashboard, root: &Path, is_inside: bool) {
    for id in bench::all(root) {
        match bench::StoredBench::read(root, &id) {
            Ok(stored) => {
                let read = stored.bench(bench::INTERRUPTED);
                let page = root.join(&id).join("bench.html");
                let link = (is_inside && page.is_file()).then(|| format!("{id}/bench.html"));
                dashboard.benches.push(BenchItem { link, ..BenchItem::from(&read) });
            }
            Err(error) => dashboard.problems.push(format!("{id}: {}", error.source)),
        }
    }
}

fn add_history(dashboard: &mut Dashboard, root: &Path) {
    let path = root.join(history::FILE);
    if !path.exists() {
        return;
    }
    let read = || -> Result<_, kgen_history::Error> {
        let history = History::open(&path)?;
        Ok((history.entries()?, history.lines()?))
    };
    match read() {
        Ok((entries, lines)) => {
            dashboard.entries = entries.iter().map(EntryItem::from).collect();
            dashboard.lines = lines;
        }
        Err(error) => dashboard.problems.push(error.to_string()),
    }
}
