//! Experiment files: settings as in a config file, and a matrix of the varied settings.

use std::collections::BTreeSet;

use kgen_record::{FeedbackSet, RunId, Strategy};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::slurm::SlurmSettings;

/// Characters of a run ID that a cell may take, so that name and seed fit beside it.
const MAX_CELL: usize = 60;

/// Why an experiment file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no TOML.
    #[error("it is not valid TOML: {0}")]
    Parse(String),
    /// It has no name, or one that cannot name runs.
    #[error("`name` {0}")]
    Name(String),
    /// There is nothing to vary.
    #[error("the matrix is empty: {0}")]
    Empty(String),
    /// A list of the matrix that does not exist.
    #[error("the matrix has no `{name}` (it has {})", AXES.join(", "))]
    UnknownAxis { name: String },
    /// A value that a list of the matrix cannot hold.
    #[error("`matrix.{axis}` holds `{got}`; {expected}")]
    BadValue { axis: &'static str, got: String, expected: String },
    /// A job array that cannot be submitted so.
    #[error("{0}")]
    Slurm(String),
    /// A value that stands twice in its list.
    #[error("`matrix.{axis}` holds `{value}` twice")]
    Twice { axis: &'static str, value: String },
}

/// Lists that a matrix may have.
const AXES: [&str; 5] = ["models", "strategies", "feedback", "seeds", "ops"];

/// An experiment file, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// The experiment's name, which begins the IDs of its runs.
    pub name: String,
    /// Its settings, by section, as in a config file.
    pub settings: Table,
    pub matrix: Matrix,
    /// How its job array is submitted.
    pub slurm: SlurmSettings,
}

/// The varied settings; an empty list leaves the settings as they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// Models, each as `model` or `provider/model`.
    pub models: Vec<String>,
    pub strategies: Vec<Strategy>,
    pub feedback: Vec<FeedbackSet>,
    /// Seeds: samples of each cell.
    pub seeds: Vec<u64>,
    /// Ops of every run.
    pub ops: Vec<String>,
}

/// One run of an experiment: a cell of its matrix with a seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub run: RunId,
    /// The model, as `model` or `provider/model`; `None` leaves that to the settings.
    pub model: Option<String>,
    pub strategy: Option<Strategy>,
    pub feedback: Option<FeedbackSet>,
    pub seed: Option<u64>,
}

impl ExperimentFile {
    /// Takes a file's text apart.
    ///
    /// # Errors
    ///
    /// Every [`Error`]; settings are not looked at.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
            Error::Parse(error.to_string().trim_end().to_owned())
        })?;
        let name = match table.remove("name") {
            Some(Value::String(name)) => name,
            Some(_) => return Err(Error::Name("must be a text".to_owned())),
            None => {
                return Err(Error::Name("is missing: it begins the IDs of the runs".to_owned()));
            }
        };
        if name.parse::<RunId>().is_err() || name.len() > 40 {
            let what = "must be 1 to 40 letters, digits, `.`, `_` or `-`, no leading `.` or `-`";
            return Err(Error::Name(format!("{what}, not `{name}`")));
        }
        let matrix = match table.remove("matrix") {
            Some(Value::Table(matrix)) => Matrix::parse(matrix)?,
            Some(_) => return Err(Error::Empty("`matrix` must be a table of lists".to_owned())),
            None => return Err(Error::Empty("there is no table `[matrix]`".to_owned())),
        };
        let slurm = match table.remove("slurm") {
            Some(Value::Table(slurm)) => SlurmSettings::parse(slurm).map_err(Error::Slurm)?,
            Some(_) => return Err(Error::Slurm("`slurm` must be a table".to_owned())),
            None => SlurmSettings::default(),
        };
        Ok(Self { name, settings: table, matrix, slurm })
    }

    /// Returns whether it makes the same runs as another one, whoever submits them.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let Self { name, settings, matrix, slurm: _ } = self;
        (name, settings, matrix) == (&other.name, &other.settings, &other.matrix)
    }

    /// Returns the number of runs; `None` where it is beyond counting.
    #[must_use]
    pub fn n_runs(&self) -> Option<usize> {
        let Matrix { models, strategies, feedback, seeds, ops: _ } = &self.matrix;
        let sizes = [models.len(), strategies.len(), feedback.len(), seeds.len()];
        sizes.into_iter().try_fold(1_usize, |product, size| product.checked_mul(size.max(1)))
    }

    /// Returns the runs: all cells with the first seed, then with the next, so that an experiment
    /// that is stopped halfway has something of every cell.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] where the name makes IDs that are too long.
    pub fn cells(&self) -> Result<Vec<Cell>, Error> {
        let Matrix { models, strategies, feedback, seeds, ops: _ } = &self.matrix;
        let mut runs = Vec::new();
        let mut taken = BTreeSet::new();
        for model in options(models) {
            for strategy in options(strategies) {
                for set in options(feedback) {
                    let slug = self.slug(model.as_deref(), strategy, set, &mut taken);
                    runs.push((slug, model.clone(), strategy, set));
                }
            }
        }
        let mut cells = Vec::new();
        for seed in options(seeds) {
            for (slug, model, strategy, feedback) in &runs {
                let (run, model) = (self.run_id(slug, seed)?, model.clone());
                let (strategy, feedback) = (*strategy, *feedback);
                cells.push(Cell { run, model, strategy, feedback, seed });
            }
        }
        Ok(cells)
    }

    /// Names a cell so that no other one has the name.
    fn slug(
        &self,
        model: Option<&str>,
        strategy: Option<Strategy>,
        feedback: Option<FeedbackSet>,
        taken: &mut BTreeSet<String>,
    ) -> String {
        let mut parts = vec![self.name.clone()];
        parts.extend(model.map(str::to_owned));
        parts.extend(strategy.map(|strategy| strategy.name().to_owned()));
        parts.extend(feedback.map(|set| set.to_string()));
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let mut slug: String = parts.join("_").chars().map(plain).collect();
        slug.truncate(self.name.len() + MAX_CELL);
        let wanted = slug.clone();
        let mut n = 1;
        while !taken.insert(slug.clone()) {
            n += 1;
            slug = format!("{wanted}-{n}");
        }
        slug
    }

    fn run_id(&self, slug: &str, seed: Option<u64>) -> Result<RunId, Error> {
        let seed = seed.map_or(String::new(), |seed| format!("_s{seed}"));
        let id = format!("{slug}{seed}");
        id.parse().map_err(|_| Error::Name(format!("`{}` makes runs with too long IDs", self.name)))
    }
}

/// The values of a list, or one that leaves the settings as they are.
fn options<T: Clone>(list: &[T]) -> Vec<Option<T>> {
    if list.is_empty() { vec![None] } else { list.iter().cloned().map(Some).collect() }
}

impl Matrix {
    fn parse(table: Table) -> Result<Self, Error> {
        let mut matrix = Self::default();
        for (name, value) in table {
            let Some(axis) = AXES.into_iter().find(|axis| *axis == name) else {
                return Err(Error::UnknownAxis { name });
            };
            let Value::Array(values) = value else {
                return Err(bad(axis, &value, "it must be a list"));
            };
            if values.is_empty() {
                return Err(Error::Empty(format!("`matrix.{axis}` has no value")));
            }
            match axis {
                "models" => matrix.models = list(axis, &values, text)?,
                "strategies" => matrix.strategies = list(axis, &values, strategy)?,
                "feedback" => matrix.feedback = list(axis, &values, feedback)?,
                "seeds" => matrix.seeds = list(axis, &values, seed)?,
                _ => matrix.ops = list(axis, &values, text)?,
            }
        }
        let Self { models, strategies, feedback, seeds, ops } = &matrix;
        let varied = [models.len(), strategies.len(), feedback.len(), seeds.len(), ops.len()];
        if varied.iter().all(|n| *n == 0) {
            let axes = AXES.map(|axis| format!("`{axis}`")).join(", ");
            return Err(Error::Empty(format!("give it at least one of {axes}")));
        }
        Ok(matrix)
    }
}

fn list<T: PartialEq>(
    axis: &'static str,
    values: &[Value],
    read: impl Fn(&'static str, &Value) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    for value in values {
        let read = read(axis, value)?;
        if list.contains(&read) {
            return Err(Error::Twice { axis, value: shown(value) });
        }
        list.push(read);
    }
    Ok(list)
}

fn text(axis: &'static str, value: &Value) -> Result<String, Error> {
    let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| bad(axis, value, "it must be a name"))
}

fn strategy(axis: &'static str, value: &Value) -> Result<Strategy, Error> {
    let named = |strategy: &Strategy| Some(strategy.name()) == value.as_str();
    let names = Strategy::ALL.map(Strategy::name).join(", ");
    let found = Strategy::ALL.into_iter().find(named);
    found.ok_or_else(|| bad(axis, value, &format!("the strategies are {names}")))
}

/// Reads a set of kinds: a text with commas, `all`, `none`, or a list of kinds.
fn feedback(axis: &'static str, value: &Value) -> Result<FeedbackSet, Error> {
    let text = match value {
        Value::Array(kinds) => {
            let names = kinds.iter().map(Value::as_str).collect::<Option<Vec<&str>>>();
            names.map(|names| if names.is_empty() { "none".to_owned() } else { names.join(",") })
        }
        value => value.as_str().map(str::to_owned),
    };
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let kinds = kgen_record::FeedbackKind::ALL.map(kgen_record::FeedbackKind::name);
        let kinds = kinds.join(", ");
        bad(axis, value, &format!("a set is `all`, `none` or some of {kinds}"))
    })
}

fn seed(axis: &'static str, value: &Value) -> Result<u64, Error> {
    let seed = value.as_integer().and_then(|seed| u64::try_from(seed).ok());
    seed.ok_or_else(|| bad(axis, value, "it must be an integer of at least 0"))
}

fn bad(axis: &'static str, value: &Value, expected: &str) -> Error {
    Error::BadValue { axis, got: shown(value), expected: expected.to_owned() }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        name = "prompts"
        [run]
        max_attempts = 3
        [models."a/b".price]
        input = 1.0
        [matrix]
        models = ["openai/gpt-5", "openai:gpt-5"]
        strategies = ["repair", "best-of"]
        feedback = ["all", ["timing", "compile"], "none"]
        seeds = [1, 2]
        ops = ["relu"]
    "#;

    #[test]
    fn every_cell_is_a_run_with_an_id_of_its_own() {
        let file = ExperimentFile::parse(FILE).unwrap();
        assert_eq!(file.settings.keys().collect::<Vec<_>>(), ["models", "run"]);
        assert_eq!((file.name.as_str(), file.n_runs()), ("prompts", Some(24)));
        let cells = file.cells().unwrap();
        let ids: BTreeSet<&str> = cells.iter().map(|cell| cell.run.as_str()).collect();
        assert_eq!((cells.len(), ids.len()), (24, 24));
        assert_eq!(cells[0].run.as_str(), "prompts_openai-gpt-5_repair_all_s1");
        assert_eq!(cells[1].run.as_str(), "prompts_openai-gpt-5_repair_compile-timing_s1");
        // Both models have the same letters.
        assert_eq!(cells[6].run.as_str(), "prompts_openai-gpt-5_repair_all-2_s1");
        assert_eq!(cells[6].model.as_deref(), Some("openai:gpt-5"));
        assert_eq!(cells[12].run.as_str(), "prompts_openai-gpt-5_repair_all_s2");
        assert_eq!(file.cells().unwrap(), cells);
    }

    #[test]
    fn what_is_not_varied_is_left_to_the_settings() {
        let file = ExperimentFile::parse("name = \"a\"\nmatrix.ops = [\"relu\"]").unwrap();
        let cells = file.cells().unwrap();
        assert_eq!((cells.len(), cells[0].run.as_str()), (1, "a"));
        assert_eq!((cells[0].strategy, cells[0].seed), (None, None));
    }

    #[test]
    fn long_names_of_models_still_make_ids() {
        let long = "m".repeat(300);
        let text = format!(
            "name = \"a\"\n[matrix]\nmodels = [\"{long}\", \"{long}x\"]\nseeds = [{}]",
            i64::MAX
        );
        let cells = ExperimentFile::parse(&text).unwrap().cells().unwrap();
        assert!(cells[0].run != cells[1].run, "{cells:?}");
    }

    #[test]
    fn mistakes_are_told_with_what_is_accepted() {
        let error = |text: &str| ExperimentFile::parse(text).unwrap_err().to_string();
        let matrix = |line: &str| error(&format!("name = \"a\"\n[matrix]\n{line}"));
        for (found, expected) in [
            (error("name = "), "it is not valid TOML"),
            (error("[matrix]\nseeds = [1]"), "`name` is missing"),
            (error("name = \"a b\"\n[matrix]\nseeds = [1]"), "`name` must be 1 to 40 letters"),
            (error("name = \"a\""), "the matrix is empty: there is no table"),
            (matrix(""), "the matrix is empty: give it at least one of `models`"),
            (matrix("seeds = []"), "the matrix is empty: `matrix.seeds` has no value"),
            (matrix("modells = [\"a\"]"), "the matrix has no `modells` (it has models, strategies"),
            (matrix("seeds = 3"), "`matrix.seeds` holds `3`; it must be a list"),
            (matrix("seeds = [-1]"), "`matrix.seeds` holds `-1`; it must be an integer"),
            (matrix("seeds = [1, 2, 1]"), "`matrix.seeds` holds `1` twice"),
            (
                matrix("strategies = [\"beem\"]"),
                "holds `beem`; the strategies are repair, best-of, beam",
            ),
            (matrix("feedback = [[\"speed\"]]"), "a set is `all`, `none` or some of compile,"),
            (matrix("feedback = [\"timing,compile\", [\"compile\", \"timing\"]]"), "twice"),
            (matrix("ops = [\" \"]"), "it must be a name"),
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }
}
