//! Which suite, ops and types a command works on.

use std::{path::Path, sync::Arc};

use kgen_ops::{
    op::{self, OpDef},
    suite::{self, Filter, Loaded, Suite, Unjudged},
};
use kgen_record::{Case, DType};
use kgen_settings::SuiteSettings;
use kgen_store::RunInfo;

use super::{CommandError, exit_codes::Exit, session::plural, ui::Ui};

#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) suite: Suite,
    /// Ops of it, in its order or in the order asked for.
    pub(crate) ops: Vec<Arc<OpDef>>,
    /// Types asked for; empty is all that the suite has.
    pub(crate) dtypes: Vec<DType>,
    /// Ops that were left out since the backend has no kernel for them.
    pub(crate) n_without_kernel: usize,
}

/// Loads the suite, or the op file, and finds the ops in it, by any of their names.
pub(crate) fn select(ui: &Ui, settings: &SuiteSettings) -> Result<Selection, CommandError> {
    let loaded = match &settings.op_file {
        Some(path) => from_op_file(path)?,
        None => load_lenient(&settings.suite)?,
    };
    select_from(ui, settings, loaded)
}

/// The suite that older runs took where nobody chose one.
const OLD_DEFAULT: &str = "smoke";

/// The suite that has every op of the catalogue.
const BROAD: &str = "opinfo";

/// Returns the loaded suite, or the broad one where an older run's lacks an op that it had.
fn broad_enough(
    ui: &Ui,
    asked: &str,
    ops: &[&str],
    loaded: Loaded,
) -> Result<Loaded, CommandError> {
    let lacks = |name: &&&str| loaded.suite.op(name).is_err() && op::find(name).is_ok();
    match ops.iter().find(lacks) {
        Some(name) if asked == OLD_DEFAULT => {
            ui.note(&format!("suite {OLD_DEFAULT} has no `{name}`: the suite is {BROAD}"));
            load_lenient(BROAD)
        }
        _ => Ok(loaded),
    }
}

/// Loads the suite that a run was judged with.
///
/// Runs of kgen 0.1.0 remember the suite that was asked for, not the broad one that took its place.
pub(crate) fn suite_of_run(ui: &Ui, info: &RunInfo) -> Result<Suite, CommandError> {
    let definition = info.definition.as_deref();
    if let Some(text) = definition {
        return Ok(from_definition(&info.suite, text)?.suite);
    }
    let ops: Vec<&str> = info.ops.iter().map(String::as_str).collect();
    Ok(broad_enough(ui, &info.suite, &ops, load_lenient(&info.suite)?)?.suite)
}

/// Lets a replay take the suite of its recording, unless the settings name one.
pub(crate) fn take_recorded(settings: &mut SuiteSettings, recorded: &RunInfo) {
    if settings.suite == suite::DEFAULT
        && settings.op_file.is_none()
        && recorded.definition.is_none()
    {
        settings.suite.clone_from(&recorded.suite);
    }
}

/// Selects from the custom ops that a run remembers, or as [`select`] where it has none.
pub(crate) fn select_again(
    ui: &Ui,
    settings: &SuiteSettings,
    definition: Option<&str>,
) -> Result<Selection, CommandError> {
    match (definition, &settings.op_file) {
        (Some(text), Some(path)) => {
            let loaded = from_definition(&path.display().to_string(), text)?;
            select_from(ui, settings, loaded)
        }
        _ if settings.op_file.is_none() => {
            let ops: Vec<&str> = settings.ops.iter().map(String::as_str).collect();
            let loaded = load_lenient(&settings.suite)?;
            let loaded = broad_enough(ui, &settings.suite, &ops, loaded)?;
            select_from(ui, settings, loaded)
        }
        _ => select(ui, settings),
    }
}

fn select_from(
    ui: &Ui,
    settings: &SuiteSettings,
    loaded: Loaded,
) -> Result<Selection, CommandError> {
    summarise_log(ui, &loaded);
    let skipped = loaded.skipped.clone();
    let suite = if settings.keep_going {
        for error in &loaded.errors {
            ui.warn(&format!("left out: {error}"));
        }
        loaded.suite
    } else {
        let n_errors = loaded.errors.len();
        loaded.strict().map_err(|error| {
            let others = (n_errors > 1).then(|| format!("{} more mistakes follow", n_errors - 1));
            CommandError::from(error).maybe_hint(others).hint("--keep-going works on what is right")
        })?
    };
    let filter =
        Filter { ops: None, dtypes: None, topn: settings.topn, max_bytes: settings.max_bytes };
    let suite = suite.filter(&filter)?;
    let names = if settings.ops.is_empty() { suite.ops() } else { &settings.ops };
    let mut ops: Vec<Arc<OpDef>> = Vec::new();
    for name in names {
        for op in ops_in(&suite, name)? {
            if !ops.iter().any(|known| known.name == op.name) {
                ops.push(Arc::clone(op));
            }
        }
    }
    for op in ops.iter().filter(|op| op.python_reference.is_some()) {
        ui.note(&format!(
            "{}: its reference is the Python code of its file, which PyTorch's process runs in f64",
            op.name
        ));
    }
    for skipped in skipped.iter().filter(|of| ops.iter().any(|op| op.name == of.op)) {
        ui.note(&skipped.to_string());
    }
    let selection = Selection { suite, ops, dtypes: settings.dtypes.clone(), n_without_kernel: 0 };
    // An op that a pattern has found was not asked for by name.
    let by_name = !settings.ops.is_empty() && !settings.ops.iter().any(|name| is_pattern(name));
    selection.with_cases(ui, by_name, settings.max_bytes.is_some())
}

/// Says which calls of a log are no cases, in a line per op.
fn summarise_log(ui: &Ui, loaded: &Loaded) {
    let unjudged: u64 = loaded.unjudged.iter().map(|row| row.calls).sum();
    if loaded.free + unjudged > 0 {
        ui.note(&format!(
            "{} calls are judged, {} are of views, new tensors or random values, {unjudged} are unknown",
            loaded.judged, loaded.free
        ));
    }
    for Unjudged { op, reason, calls, lines } in &loaded.unjudged {
        ui.note(&format!("unknown: {op}, {calls} calls on {}: {reason}", plural(*lines, "line")));
    }
}

impl Selection {
    /// Returns the suite by the name or path that a run remembers: the one that is used.
    pub(crate) fn suite_setting(&self, settings: &SuiteSettings) -> String {
        let named = suite::builtin_names().contains(&settings.suite.as_str());
        if named && settings.op_file.is_none() {
            self.suite.name.clone()
        } else {
            settings.suite.clone()
        }
    }

    /// Returns the types to judge in; `None` is all that the suite has.
    pub(crate) fn dtypes(&self) -> Option<&[DType]> {
        (!self.dtypes.is_empty()).then_some(self.dtypes.as_slice())
    }

    /// Makes sure that ops have cases; one that was not asked for by name is left out.
    fn with_cases(
        mut self,
        ui: &Ui,
        by_name: bool,
        is_limited: bool,
    ) -> Result<Self, CommandError> {
        let mut first = None;
        let mut kept = Vec::with_capacity(self.ops.len());
        for op in &self.ops {
            match self.check(op, is_limited) {
                Ok(()) => kept.push(Arc::clone(op)),
                Err(error) if by_name => return Err(error),
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if kept.is_empty() => return Err(error),
            Some(_) => {
                let n_out = self.ops.len() - kept.len();
                ui.note(&format!("{n_out} ops of the suite have no such cases"));
            }
            None => {}
        }
        self.ops = kept;
        Ok(self)
    }

    /// Makes sure that an op has cases, and not such alone in which a kernel has nothing to do: a limit of
    /// bytes may leave no others.
    fn check(&self, op: &OpDef, is_limited: bool) -> Result<(), CommandError> {
        let has = self.suite.dtypes(&op.name)?;
        let asked = &self.dtypes;
        if asked.is_empty() || has.iter().any(|dtype| asked.contains(dtype)) {
            let is_asked = |case: &Case| asked.is_empty() || asked.contains(&case.dtype);
            let is_judged = |case: &Case| is_asked(case) && !case.is_empty();
            if !is_limited || self.suite.public_cases(&op.name)?.iter().any(is_judged) {
                return Ok(());
            }
            let message =
                format!("the limit of bytes leaves op `{}` no case with elements", op.name);
            return Err(CommandError::usage(message).hint("--max-bytes raises it"));
        }
        let names = |dtypes: &[DType]| {
            dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
        };
        let message = format!(
            "op `{}` has no cases in {} (suite `{}` has {})",
            op.name,
            names(asked),
            self.suite.name,
            names(has)
        );
        Err(CommandError::usage(message))
    }
}

/// Loads a suite by name or path, and suggests a name for a miss.
pub(crate) fn load(name: &str) -> Result<Suite, CommandError> {
    Ok(load_lenient(name)?.strict()?)
}

fn load_lenient(name: &str) -> Result<Loaded, CommandError> {
    suite::load_lenient(name).map_err(|error| {
        let near = match &error {
            suite::Error::Unknown { name, builtin } => {
                kgen_ops::nearest(name, builtin.iter().copied())
            }
            _ => None,
        };
        CommandError::from(error).maybe_hint(near.map(|name| format!("did you mean `{name}`?")))
    })
}

/// Largest op file that is read, in bytes.
const MAX_OP_FILE: u64 = 1 << 20;

/// Reads an op file and makes a suite of it.
fn from_op_file(path: &Path) -> Result<Loaded, CommandError> {
    let failed = |reason: String| {
        CommandError::config(format!("failed to read op file {}: {reason}", path.display()))
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !meta.is_file() {
        return Err(failed("it is not a regular file".to_owned()));
    }
    if meta.len() > MAX_OP_FILE {
        return Err(failed(format!("it is larger than {MAX_OP_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    from_definition(&path.display().to_string(), &text)
}

fn from_definition(origin: &str, text: &str) -> Result<Loaded, CommandError> {
    let op = op::custom(text)
        .map_err(|error| CommandError::config(format!("op file {origin}, {error}")))?;
    Ok(suite::of_op(op, origin)?)
}

/// Finds the op of a name, or the ops that a pattern such as `re*` matches.
fn ops_in<'s>(suite: &'s Suite, name: &str) -> Result<Vec<&'s Arc<OpDef>>, CommandError> {
    if is_pattern(name) {
        matching(name, suite.known_ops(), &format!("suite `{}`", suite.name))
    } else {
        Ok(vec![op_in(suite, name)?])
    }
}

/// Whether a name of an op is a pattern; no op has such a character in its name.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// Finds the ops that a pattern matches by their names and aliases. `of`: where they are.
pub(crate) fn matching<'a>(
    pattern: &str,
    ops: impl Iterator<Item = &'a Arc<OpDef>> + Clone,
    of: &str,
) -> Result<Vec<&'a Arc<OpDef>>, CommandError> {
    let parsed = glob::Pattern::new(pattern)
        .map_err(|error| CommandError::usage(format!("pattern `{pattern}`: {}", error.msg)))?;
    let is_match = |op: &&Arc<OpDef>| {
        [&op.name].into_iter().chain(&op.aliases).any(|name| parsed.matches(name))
    };
    let found: Vec<_> = ops.clone().filter(is_match).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let letters: String = pattern.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    let near = kgen_ops::near(&letters, ops.map(|op| op.name.as_str()), 3);
    let near = near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let near = (!near.is_empty()).then(|| format!("near it: {near}"));
    Err(CommandError::usage(format!("no op of {of} matches `{pattern}`"))
        .maybe_hint(near)
        .hint("`kgen list ops` shows all names"))
}

/// Finds an op of the suite by any of its names.
pub(crate) fn op_in<'s>(suite: &'s Suite, name: &str) -> Result<&'s Arc<OpDef>, CommandError> {
    match suite.op(name) {
        Ok(op) => Ok(op),
        // The catalogue knows better which names are near.
        Err(missing) => {
            op_of_catalogue(name)?;
            Err(missing.into())
        }
    }
}

/// Finds an op of the catalogue by any of its names.
pub(crate) fn op_of_catalogue(name: &str) -> Result<&'static Arc<OpDef>, CommandError> {
    op::find(name).map_err(|error| {
        CommandError::new(Exit::Usage, error).hint("`kgen list ops` shows all names")
    })
}
