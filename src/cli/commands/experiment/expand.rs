//! From an experiment's file to its runs, everything checked before the first one begins.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use kgen_settings::{
    Settings,
    experiment::{Cell, ExperimentFile},
    slurm::SlurmSettings,
};
use kgen_store::{ExperimentInfo, Run, RunState, RunStatus, Spent, find_run, read_experiment};

use super::ExperimentArgs;
use crate::cli::{CommandError, Context, exit_codes::Exit, providers, selection};

/// Largest experiment file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Runs that no experiment may make: their list alone would not fit.
const TOO_MANY: usize = 1_000_000;

/// An experiment's file.
pub(super) struct File {
    path: PathBuf,
    text: String,
    pub(super) parsed: ExperimentFile,
}

/// An experiment with its runs.
pub(super) struct ExpandedExperiment {
    /// Its file.
    pub(super) file: PathBuf,
    /// The experiment's name.
    pub(super) name: String,
    /// The experiment's folder.
    pub(super) dir: PathBuf,
    /// The text of its file.
    pub(super) text: String,
    /// The settings of all runs, but for the ones that their cells vary.
    pub(super) settings: Settings,
    /// Its runs.
    pub(super) cells: Vec<Cell>,
    /// How its job array is submitted.
    pub(super) slurm: SlurmSettings,
    /// Whether its manifest is there.
    pub(super) is_begun: bool,
}

/// Reads an experiment's file.
pub(super) fn read(path: &Path) -> Result<File, CommandError> {
    let failed = |reason: String| {
        CommandError::config(format!("cannot read experiment {}: {reason}", path.display()))
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !meta.is_file() || MAX_FILE < meta.len() {
        return Err(failed(format!("it is no file of at most {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let parsed = ExperimentFile::parse(&text).map_err(|error| failed(error.to_string()))?;
    Ok(File { path: path.to_owned(), text, parsed })
}

/// Works out the runs, and makes sure that each of them can begin.
pub(super) fn plan(
    context: &Context,
    args: &ExperimentArgs,
    file: File,
) -> Result<ExpandedExperiment, CommandError> {
    let File { path, text, parsed } = file;
    let bad =
        |reason: String| CommandError::config(format!("experiment {}: {reason}", path.display()));
    contradictions(&parsed).map_err(bad)?;
    if parsed.n_runs().is_none_or(|n| TOO_MANY < n) {
        return Err(bad(format!("more than {TOO_MANY} runs")));
    }
    let cells = parsed.cells().map_err(|error| bad(error.to_string()))?;
    let here = context.settings(&args.here())?;
    let dir = here.run.output_dir.join(&parsed.name);
    let begun: Option<ExperimentInfo<Cell>> = read_experiment(&dir)?;
    let is_begun = begun.is_some();
    let settings = match begun {
        Some(info) => {
            if !ExperimentFile::parse(&info.file).is_ok_and(|begun| begun.is_same(&parsed)) {
                return Err(bad(format!("it is not what {} was begun with", dir.display())).hint(
                    "another `name` begins another experiment; the text that it was begun with is in \
                     experiment.json there",
                ));
            }
            again(&info, &here)?
        }
        None => {
            let mut settings = here.with_table(parsed.settings.clone(), &path)?;
            settings.run.output_dir.clone_from(&here.run.output_dir);
            // A recording is looked for beside the experiment's folder, not in it.
            let recording = settings.llm.replay.as_deref();
            let found = recording.and_then(|name| find_run(&here.run.output_dir, name).ok());
            if let Some(found) = found {
                let found = found.canonicalize().unwrap_or(found);
                settings.llm.replay = Some(found.display().to_string());
            }
            if !parsed.matrix.ops.is_empty() {
                settings.suite.ops.clone_from(&parsed.matrix.ops);
            }
            settings
        }
    };
    let mut settings = settings.with(&args.caps())?;
    settings.run.output_dir.clone_from(&dir);
    let ExperimentFile { name, slurm, .. } = parsed;
    let mut plan =
        ExpandedExperiment { file: path, name, dir, text, settings, cells, slurm, is_begun };
    plan.check(context)?;
    Ok(plan)
}

/// The settings that an experiment began with, on this machine.
fn again(info: &ExperimentInfo<Cell>, here: &Settings) -> Result<Settings, CommandError> {
    let mut settings =
        serde_json::from_value::<Settings>(info.settings.clone()).map_err(|error| {
            CommandError::new(Exit::Config, error).hint(format!(
                "the experiment was begun by kgen {}, whose settings this one does not read",
                info.kgen_version
            ))
        })?;
    settings.nvrtc = here.nvrtc.clone();
    settings.python = here.python.clone();
    settings.device = settings.device.with_workers_of(&here.device);
    Ok(settings)
}

/// Refuses keys that are both set and varied.
fn contradictions(file: &ExperimentFile) -> Result<(), String> {
    let matrix = &file.matrix;
    let varied = [
        (!matrix.models.is_empty(), "models", "llm", "model"),
        (!matrix.strategies.is_empty(), "strategies", "search", "strategy"),
        (!matrix.feedback.is_empty(), "feedback", "feedback", "kinds"),
        (!matrix.seeds.is_empty(), "seeds", "run", "seed"),
        (!matrix.ops.is_empty(), "ops", "suite", "ops"),
    ];
    for (_, axis, section, name) in varied.into_iter().filter(|(is_varied, ..)| *is_varied) {
        if file.settings.get(section).and_then(|section| section.get(name)).is_some() {
            return Err(format!("`{section}.{name}` and `matrix.{axis}` contradict each other"));
        }
    }
    Ok(())
}

impl ExpandedExperiment {
    /// Returns the settings of a run.
    pub(super) fn settings_of(&self, cell: &Cell) -> Result<Settings, CommandError> {
        let mut settings = self.settings.clone();
        if let Some(model) = &cell.model {
            let known = providers::known(&settings);
            let is_provider = |name: &str| known.iter().any(|known| known.name == name);
            match model.split_once('/') {
                Some((provider, model)) if is_provider(provider) => {
                    provider.clone_into(&mut settings.llm.provider);
                    settings.llm.model = Some(model.to_owned());
                }
                _ => settings.llm.model = Some(model.clone()),
            }
            if settings.llm.provider == "auto" && settings.llm.base_url.is_none() {
                let names: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
                return Err(CommandError::config(format!("no provider is named for `{model}`"))
                    .hint("write provider/model, or set `provider` in [llm] of the experiment")
                    .hint(format!("the providers are {}", names.join(", "))));
            }
        }
        settings.search.strategy = cell.strategy.unwrap_or(settings.search.strategy);
        settings.feedback.kinds = cell.feedback.unwrap_or(settings.feedback.kinds);
        settings.run.seed = cell.seed.or(settings.run.seed);
        Ok(settings)
    }

    /// Returns the folder of a run.
    pub(super) fn dir_of(&self, cell: &Cell) -> PathBuf {
        self.dir.join(cell.run.as_str())
    }

    /// Returns a run that was begun.
    pub(super) fn begun(&self, cell: &Cell) -> Result<Option<Run>, CommandError> {
        match Run::open(&self.dir_of(cell)) {
            Ok(run) => Ok(Some(run)),
            // The process that made its folder may have ended before it described the run.
            Err(kgen_store::Error::NotARun { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a run that came to its end.
    pub(super) fn finished(&self, cell: &Cell) -> Result<Option<Run>, CommandError> {
        let begun = self.begun(cell)?;
        Ok(begun.filter(|run| run.info().status == RunStatus::Finished))
    }

    /// Returns the spending of a run; `None` before it is begun.
    pub(super) fn spent(&self, cell: &Cell) -> Result<Option<Spent>, CommandError> {
        let Some(run) = self.begun(cell)? else { return Ok(None) };
        let state = RunState::scan(&run)?;
        Ok(Some(kgen_store::spent(&run, &state, self.calls_wait())?))
    }

    /// Returns whether a call of any run may wait for its reply beyond the end of this process.
    pub(super) fn calls_wait(&self) -> bool {
        const WAITS: &str = "mailbox";
        let named = |model: &String| model.split('/').next() == Some(WAITS);
        let any = self.cells.iter().any(|cell| cell.model.as_ref().is_some_and(named));
        self.settings.llm.provider == WAITS || any
    }

    /// Makes sure that ops and providers are there; a provider is looked at once for each model.
    fn check(&mut self, context: &Context) -> Result<(), CommandError> {
        let selection = selection::select(&context.ui, &self.settings.suite)?;
        self.settings.suite.suite = selection.suite_setting(&self.settings.suite);
        let mut seen = BTreeSet::new();
        for cell in self.cells.iter().filter(|cell| seen.insert(cell.model.clone())) {
            let mut settings = self.settings_of(cell)?;
            if providers::resolve(&mut settings) {
                return Err(CommandError::new(
                    Exit::Llm,
                    "no provider is named, and no key is there",
                )
                .hint("set `provider` in [llm] of the experiment; `kgen list backends` has them"));
            }
            providers::open(&settings)?;
        }
        Ok(())
    }
}
