//! Table `slurm` of an experiment's file: how its job array is submitted.

use toml::{Table, Value};

/// Settings of a job array.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlurmSettings {
    /// Options of `sbatch`, each a line `#SBATCH ..`.
    pub options: Vec<String>,
    /// Lines of shell before each task.
    pub setup: Vec<String>,
    /// Tasks at once at most; `None` leaves that to Slurm.
    pub max_tasks: Option<u32>,
}

impl SlurmSettings {
    /// Reads the table.
    ///
    /// # Errors
    ///
    /// A sentence about the key that is unknown or has a wrong value.
    pub(crate) fn parse(table: Table) -> Result<Self, String> {
        let mut settings = Self::default();
        for (name, value) in table {
            match name.as_str() {
                "options" => settings.options = lines(&name, &value)?,
                "setup" => settings.setup = lines(&name, &value)?,
                "max_tasks" => {
                    let n = value.as_integer().and_then(|n| u32::try_from(n).ok());
                    let n = n.filter(|n| 0 < *n);
                    let wrong = || {
                        format!("`slurm.max_tasks` must be an integer of at least 1, not `{value}`")
                    };
                    settings.max_tasks = Some(n.ok_or_else(wrong)?);
                }
                _ => {
                    return Err(format!(
                        "`slurm` has no `{name}` (it has options, setup, max_tasks)"
                    ));
                }
            }
        }
        let foreign = settings.options.iter().find(|option| !option.starts_with('-'));
        match foreign {
            Some(option) => {
                Err(format!("`slurm.options` holds `{option}`, which is no option of sbatch"))
            }
            None => Ok(settings),
        }
    }
}

fn lines(name: &str, value: &Value) -> Result<Vec<String>, String> {
    let is_line = |text: &&str| !text.trim().is_empty() && !text.contains(['\n', '\r']);
    let values = value.as_array().map(Vec::as_slice);
    let lines = values.and_then(|values| {
        values.iter().map(|value| value.as_str().filter(is_line).map(str::to_owned)).collect()
    });
    lines.ok_or_else(|| format!("`slurm.{name}` must be a list of lines, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SlurmSettings, String> {
        SlurmSettings::parse(text.parse().unwrap())
    }

    #[test]
    fn a_table_is_read_and_mistakes_in_it_are_named() {
        let read = parse("options = ['--gpus=1']\nsetup = ['module load cuda']\nmax_tasks = 8");
        let read = read.unwrap();
        assert_eq!((read.options.len(), read.setup.len(), read.max_tasks), (1, 1, Some(8)));
        for (text, named) in [
            ("tasks = 8", "no `tasks`"),
            ("max_tasks = 0", "`slurm.max_tasks`"),
            ("options = '--gpus=1'", "`slurm.options`"),
            ("options = ['gpus=1']", "no option of sbatch"),
            ("setup = [\"a\\nb\"]", "`slurm.setup`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
