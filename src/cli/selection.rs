//! Which suite, ops and types a command works on.

use super::{CommandError, exit_codes::Exit};
use crate::{
    op::{self, OpDef},
    record::DType,
    settings::SuiteSettings,
    suite::{self, Suite},
};

/// What a command works on.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The suite.
    pub(crate) suite: Suite,
    /// Ops of it, in its order or in the order asked for.
    pub(crate) ops: Vec<&'static OpDef>,
    /// Types asked for; empty is all that the suite has.
    pub(crate) dtypes: Vec<DType>,
}

/// Loads the suite and finds the ops in it, by their exact names.
pub(crate) fn select(settings: &SuiteSettings) -> Result<Selection, CommandError> {
    let suite = load(&settings.suite)?;
    let names: Vec<&String> = if settings.ops.is_empty() {
        suite.ops().iter().collect()
    } else {
        settings.ops.iter().collect()
    };
    let mut ops: Vec<&'static OpDef> = Vec::new();
    for name in names {
        let op = find_op(name)?;
        if !ops.iter().any(|known| known.name == op.name) {
            ops.push(op);
        }
    }
    let selection = Selection { suite, ops, dtypes: settings.dtypes.clone() };
    for op in &selection.ops {
        selection.check(op)?;
    }
    Ok(selection)
}

impl Selection {
    /// Returns the types to judge in; `None` is all that the suite has.
    pub(crate) fn dtypes(&self) -> Option<&[DType]> {
        (!self.dtypes.is_empty()).then_some(self.dtypes.as_slice())
    }

    /// Makes sure that an op has cases.
    fn check(&self, op: &OpDef) -> Result<(), CommandError> {
        let has = self.suite.dtypes(&op.name)?;
        let asked = &self.dtypes;
        if asked.is_empty() || has.iter().any(|dtype| asked.contains(dtype)) {
            return Ok(());
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
    suite::load(name).map_err(|error| {
        let near = match &error {
            suite::Error::Unknown { name, builtin } => nearest(name, builtin.iter().copied()),
            _ => None,
        };
        CommandError::from(error).maybe_hint(near.map(|name| format!("did you mean `{name}`?")))
    })
}

/// Finds an op by its exact name or schema.
pub(crate) fn find_op(name: &str) -> Result<&'static OpDef, CommandError> {
    op::find(name).map_err(|error| {
        CommandError::new(Exit::Usage, error).hint("`kgen list ops` shows all names")
    })
}

/// Returns the name that resembles `name` most, if any does.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(known, name), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    // Below this the suggestion is noise.
    (best.0 >= 0.7).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["builtin", "pregenerated", "llm"];
        assert_eq!(nearest("buildin", known), Some("builtin"));
        assert_eq!(nearest("pregen", known), Some("pregenerated"));
        assert_eq!(nearest("xyz", known), None);
    }
}
