//! The JSON document of a command; docs/json.md is its description.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use clap::ArgMatches;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{CommandError, commands::profile, exit_codes::Exit, schemas};

/// The result of a command, and its failure. Members may be added within a version of the schema.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Document<T> {
    /// Name and version of this schema.
    schema: String,
    /// The command that printed it; empty where the command line names none.
    command: String,
    kgen_version: &'static str,
    /// Exit code of the process.
    exit_code: u8,
    /// The result; `null` where there is none.
    data: Option<T>,
    warnings: Vec<String>,
    /// Why the command failed; `null` where it did not.
    error: Option<Failure>,
}

/// Why a command failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failure {
    /// Name of the exit code.
    kind: Exit,
    message: String,
    /// Causes, from the failure inward.
    causes: Vec<String>,
    /// Ways out.
    hints: Vec<String>,
}

impl Failure {
    fn of(error: &CommandError) -> Self {
        Self {
            kind: error.kind,
            message: error.source.to_string().trim_end().to_owned(),
            causes: error.causes(),
            hints: error.hints.clone(),
        }
    }
}

/// A document while its command runs; clones are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    command: String,
    /// The schema where there is no data.
    schema: String,
    parts: Arc<Mutex<Parts>>,
}

#[derive(Debug, Default)]
struct Parts {
    data: Option<(String, Value)>,
    file: Option<PathBuf>,
    is_ended: bool,
    runs: bool,
    warnings: Vec<String>,
}

impl Draft {
    /// Begins the document that a command line asks for; `None` where it asks for none.
    pub(crate) fn asked(matches: &ArgMatches) -> Option<Self> {
        let (command, first) = matches.subcommand()?;
        let (mut inner, mut last) = (first, None);
        while let Some((name, next)) = inner.subcommand() {
            (inner, last) = (next, Some(name));
        }
        let raw = |name: &str| inner.try_get_raw(name).ok().flatten()?.next()?.to_str();
        let is_dry = matches!(inner.try_get_one("dry_run"), Ok(Some(&true)));
        let is_other = is_dry || command == "profile" && profile::is_of_command(inner);
        let schema = || schemas::of_command(command, raw("kind").or(last), is_other);
        (raw("format") == Some("json")).then(|| Self::new(command, schema()))
    }

    /// Begins the same for a command line that is wrong, as far as its words go.
    pub(crate) fn asked_wrongly(words: &[String], commands: &clap::Command) -> Option<Self> {
        let has = |word: &str| words.iter().any(|other| other == word);
        if !has("--format=json") && !words.windows(2).any(|pair| pair == ["--format", "json"]) {
            return None;
        }
        let is_command = |word: &&String| commands.find_subcommand(word).is_some();
        let command = words.iter().skip(1).find(is_command).map_or("", String::as_str);
        let kind =
            ["suites", "runs", "backends", "devices", "memory"].into_iter().find(|kind| has(kind));
        let is_other = ["--dry-run", "--", "--read"].into_iter().any(has);
        Some(Self::new(command, schemas::of_command(command, kind, is_other)))
    }

    fn new(command: &str, schema: String) -> Self {
        Self { command: command.to_owned(), schema, parts: Arc::default() }
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn warn(&self, text: &str) {
        self.parts().warnings.push(text.to_owned());
    }

    /// Sets the result; the document goes into the file, if there is one.
    pub(super) fn set<T: schemas::Output>(&self, data: &T, file: Option<PathBuf>) {
        let value = serde_json::to_value(data).expect("kgen's own data turns into JSON");
        let mut parts = self.parts();
        parts.data = Some((schemas::id::<T>(), value));
        parts.file = file;
    }

    /// Returns whether the caller is the first to end the command: a signal may end it meanwhile.
    pub(super) fn claim(&self) -> bool {
        !std::mem::replace(&mut self.parts().is_ended, true)
    }

    /// Leaves signals to a run, which stores what it has.
    pub(super) fn leave_signals(&self) {
        self.parts().runs = true;
    }

    /// Returns whether a run listens for signals.
    pub(super) fn is_run(&self) -> bool {
        self.parts().runs
    }

    /// Returns the file that the document goes into, if it is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.parts().file.clone()
    }

    /// Returns the document of a command that ends so.
    pub(super) fn document(&self, exit: Exit, error: Option<&CommandError>) -> Document<Value> {
        let parts = self.parts();
        let (schema, data) = parts.data.clone().unzip();
        Document {
            schema: schema.unwrap_or_else(|| self.schema.clone()),
            command: self.command.clone(),
            kgen_version: env!("CARGO_PKG_VERSION"),
            exit_code: exit.code(),
            data,
            warnings: parts.warnings.clone(),
            error: error.map(Failure::of),
        }
    }
}
