//! Finds suites by name or path and checks them.

#[cfg(test)]
mod forms;
mod logs;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use crate::{
    log::{self, Call},
    op::{self, OpDef},
    record::{CaseClass, DType},
};

use super::{
    Entry, Error, SkippedType, Suite,
    file::{self, Parsed, Remarks},
    filter::Limits,
    logged, union,
};
use logs::{Entries, from_folder, from_log};

pub use logs::Unjudged;

/// The suites that are part of the binary.
const BUILTIN: [(&str, Builtin); 5] = [
    (DEFAULT, Builtin::Joined(DEFAULT_DESCRIPTION, &["smoke", "opinfo"])),
    ("smoke", Builtin::File(include_str!("../../../../suites/smoke.toml"))),
    ("opinfo", Builtin::Parts(OPINFO_DESCRIPTION, &OPINFO)),
    (
        "huggingface",
        Builtin::Models {
            real: include_str!("../../../../suites/huggingface/real.log"),
            small: include_str!("../../../../suites/huggingface/small.log"),
        },
    ),
    ("sweep", Builtin::File(include_str!("../../../../suites/sweep.toml"))),
];

/// The suite that is taken where nobody chooses one.
pub const DEFAULT: &str = "smoke+opinfo";

/// Purpose of the default suite.
const DEFAULT_DESCRIPTION: &str = "The ops of smoke, and any other that is named, each with its \
    cases of smoke and of opinfo.";

/// Purpose of the suite `opinfo`.
const OPINFO_DESCRIPTION: &str = "Correctness of every op in breadth: shapes, layouts, options, \
    element types, unusual values, sizes beyond blocks and grids; realistic ones to time.";

/// The files of the suite `opinfo`: one per table of the catalogue, which say in which types an op is
/// judged, then those of wide integers, of special values by rows, of long
/// extents and of larger sizes.
const OPINFO: [(&str, &str); 16] = [
    ("suites/opinfo/pointwise.toml", include_str!("../../../../suites/opinfo/pointwise.toml")),
    ("suites/opinfo/fold.toml", include_str!("../../../../suites/opinfo/fold.toml")),
    ("suites/opinfo/dense.toml", include_str!("../../../../suites/opinfo/dense.toml")),
    ("suites/opinfo/place.toml", include_str!("../../../../suites/opinfo/place.toml")),
    ("suites/opinfo/backward.toml", include_str!("../../../../suites/opinfo/backward.toml")),
    ("suites/opinfo/serving.toml", include_str!("../../../../suites/opinfo/serving.toml")),
    ("suites/opinfo/integers.toml", include_str!("../../../../suites/opinfo/integers.toml")),
    ("suites/opinfo/recurrent.toml", include_str!("../../../../suites/opinfo/recurrent.toml")),
    ("suites/opinfo/rows.toml", include_str!("../../../../suites/opinfo/rows.toml")),
    ("suites/opinfo/extents.toml", include_str!("../../../../suites/opinfo/extents.toml")),
    (
        "suites/opinfo/extents_movement.toml",
        include_str!("../../../../suites/opinfo/extents_movement.toml"),
    ),
    (
        "suites/opinfo/extents_rows.toml",
        include_str!("../../../../suites/opinfo/extents_rows.toml"),
    ),
    ("suites/opinfo/options.toml", include_str!("../../../../suites/opinfo/options.toml")),
    ("suites/opinfo/sizes.toml", include_str!("../../../../suites/opinfo/sizes.toml")),
    ("suites/opinfo/realistic.toml", include_str!("../../../../suites/opinfo/realistic.toml")),
    ("suites/opinfo/huge.toml", include_str!("../../../../suites/opinfo/huge.toml")),
];

/// Where a built-in suite comes from.
#[derive(Debug, Clone, Copy)]
enum Builtin {
    /// The text of a suite file.
    File(&'static str),
    /// A description, and the paths and texts of files that each hold some of the ops.
    Parts(&'static str, &'static [(&'static str, &'static str)]),
    /// The calls of models: logs of real and of small sizes.
    Models { real: &'static str, small: &'static str },
    /// A description, and the names of the suites that are joined.
    Joined(&'static str, &'static [&'static str]),
}

/// Seed that the drawn cases are tried with when a suite is loaded.
const TRIAL_SEED: u64 = 0;

/// Element types that the small calls of models are tried with.
const SMALL_DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// A suite without the mistakes of its file, and those.
#[derive(Debug)]
pub struct Loaded {
    /// The right part.
    pub suite: Suite,
    /// The mistakes, in the order of the file: each names file, op and reason and, where there is
    /// one, the line.
    pub errors: Vec<Error>,
    /// Element types that the file names for ops that lack them.
    pub skipped: Vec<SkippedType>,
    /// Calls of a log that are cases of the suite.
    pub judged: u64,
    /// Calls of a log of which there is nothing to judge: views, new tensors, random values.
    pub free: u64,
    /// Calls of a log that kgen cannot judge, by op: the most frequent ones first.
    pub unjudged: Vec<Unjudged>,
}

impl Loaded {
    /// Returns a suite that is no log.
    const fn of(suite: Suite, errors: Vec<Error>) -> Self {
        Self { suite, errors, skipped: Vec::new(), judged: 0, free: 0, unjudged: Vec::new() }
    }

    /// Returns the suite if nothing is wrong, else the first mistake.
    ///
    /// # Errors
    ///
    /// The first of [`Loaded::errors`].
    pub fn strict(self) -> Result<Suite, Error> {
        match self.errors.into_iter().next() {
            None => Ok(self.suite),
            Some(error) => Err(error),
        }
    }
}

/// Returns the names of the built-in suites.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    BUILTIN.iter().map(|(name, _)| *name).collect()
}

/// Loads a built-in suite by name, or by path a suite file, a log, or a folder of logs.
///
/// # Errors
///
/// [`Error`], which names the file and, where it can, line, op, case and key.
pub fn load(name_or_path: &str) -> Result<Suite, Error> {
    load_lenient(name_or_path)?.strict()
}

/// Loads a suite without its mistakes.
///
/// # Errors
///
/// [`Error`] where nothing is left: there is no such suite, the file cannot be read, is neither
/// TOML nor a log, or holds nothing that is right.
pub fn load_lenient(name_or_path: &str) -> Result<Loaded, Error> {
    match BUILTIN.iter().find(|(name, _)| *name == name_or_path) {
        Some((name, Builtin::File(text))) => return from_file(name, text),
        Some((name, Builtin::Parts(description, files))) => {
            return from_parts(name, description, files);
        }
        Some((name, Builtin::Models { real, small })) => return Ok(from_models(name, real, small)),
        Some((name, Builtin::Joined(description, parts))) => {
            let parts = parts.iter().map(|part| load(part)).collect::<Result<_, _>>()?;
            let suite = union::join(name, description, parts);
            return Ok(Loaded::of(suite, Vec::new()));
        }
        None => {}
    }
    let path = Path::new(name_or_path);
    let is_path = path.extension().is_some() || path.components().count() > 1 || path.exists();
    if !is_path {
        return Err(Error::Unknown { name: name_or_path.to_owned(), builtin: builtin_names() });
    }
    if path.is_dir() {
        return from_folder(path);
    }
    let text = read(path)?;
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        from_file(name_or_path, &text)
    } else {
        from_log(name_or_path, &text)
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// Parses a suite file and builds every case once.
pub(super) fn from_file(origin: &str, text: &str) -> Result<Loaded, Error> {
    let Parsed { suite, remarks } = file::parse(origin, text)?;
    tried(suite, remarks)
}

/// Makes the suite of a custom op from the cases of its definition.
///
/// `origin`: the file that errors name.
///
/// # Errors
///
/// [`Error`] where no case is right.
pub fn of_op(op: Arc<OpDef>, origin: &str) -> Result<Loaded, Error> {
    let mut remarks = Remarks::default();
    let templates = file::own_cases(&op, origin, &mut remarks)?;
    let suite = Suite {
        name: op.name.clone(),
        description: "The cases of its definition.".to_owned(),
        origin: origin.to_owned(),
        ops: vec![op.name.clone()],
        entries: vec![Entry {
            dtypes: op.dtypes.clone(),
            op,
            templates,
            fixed: Vec::new(),
            joined: false,
        }],
        limits: Limits::default(),
    };
    tried(suite, remarks)
}

/// Builds every case once and leaves out those that make no call.
fn tried(mut suite: Suite, remarks: Remarks) -> Result<Loaded, Error> {
    let Remarks { mut errors, skipped } = remarks;
    for index in 0..suite.entries.len() {
        let templates = std::mem::take(&mut suite.entries[index].templates);
        let op = suite.ops[index].clone();
        let mut kept = Vec::with_capacity(templates.len());
        for template in templates {
            suite.entries[index].templates = vec![template.clone()];
            match suite.cases(&op, None, TRIAL_SEED) {
                Ok(_) => kept.push(template),
                Err(error) => errors.push(error),
            }
        }
        suite.entries[index].templates = kept;
    }
    suite.entries.retain(|entry| !entry.templates.is_empty());
    Ok(Loaded { skipped, ..finish(suite, errors)? })
}

/// Merges suite files of the binary; the first that names an op says in which types it is judged.
///
/// Their cases, over ten thousand, are not built for a trial: a test does that.
fn from_parts(name: &str, description: &str, files: &[(&str, &str)]) -> Result<Loaded, Error> {
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for (path, text) in files {
        let Parsed { suite: part, remarks } = file::parse(path, text)?;
        errors.extend(remarks.errors);
        // A case that is there twice is a mistake of these files, which a test finds.
        entries.extend(part.entries.into_iter().map(|entry| Entry { joined: false, ..entry }));
    }
    let entries = union::by_op(entries, |known, entry| known.templates.extend(entry.templates));
    let suite = Suite {
        name: name.to_owned(),
        description: description.to_owned(),
        origin: name.to_owned(),
        ops: Vec::new(),
        entries,
        limits: Limits::default(),
    };
    finish(suite, errors)
}

/// Makes a case of every call of models whose op is known; the small ones in several types.
fn from_models(name: &str, real: &str, small: &str) -> Loaded {
    let mut entries = Entries::default();
    let mut errors = Vec::new();
    for call in log::parse(real).calls.iter().filter(|call| op::find(&call.name()).is_ok()) {
        let added = entries.add(call, Some(CaseClass::Realistic), false);
        errors.extend(added.err().map(|error| Error::of_call(name, call, error)));
    }
    for call in log::parse(small).calls {
        let Ok(op) = op::find(&call.name()) else { continue };
        for dtype in
            SMALL_DTYPES.into_iter().filter(|dtype| op.takes(*dtype) || *dtype == DType::F32)
        {
            let call = in_dtype(&call, dtype);
            let added = entries.add(&call, Some(CaseClass::Edge), false);
            errors.extend(added.err().map(|error| Error::of_call(name, &call, error)));
        }
    }
    let description = "The calls of popular models, from their public configuration.";
    Loaded::of(entries.suite(name, description, name), errors)
}

/// Returns a call with floating-point tensors of another type.
fn in_dtype(call: &Call, dtype: DType) -> Call {
    let mut call = call.clone();
    call.args.iter_mut().for_each(|value| logged::set_float(value, dtype));
    call
}

fn finish(mut suite: Suite, mut errors: Vec<Error>) -> Result<Loaded, Error> {
    suite.ops = suite.entries.iter().map(|entry| entry.op.name.clone()).collect();
    if !suite.entries.is_empty() {
        return Ok(Loaded::of(suite, errors));
    }
    let reason = "it has no calls".to_owned();
    Err(if errors.is_empty() {
        Error::Ops { file: suite.origin, reason }
    } else {
        errors.swap_remove(0)
    })
}
