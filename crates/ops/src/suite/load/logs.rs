//! Suites of logs: one, or all of a folder.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    call::CallError,
    log::{self, Call},
    op::OpDef,
    record::{Case, CaseClass, DType},
};

use super::{Entry, Error, Limits, Loaded, Suite, finish, logged, read};

/// Names of the files of a folder that are read.
const EXTENSIONS: [&str; 2] = ["txt", "log"];

/// Calls of a log that kgen cannot judge, though they violate no schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// The op with namespace and overload: `aten._fft_c2c.default`.
    pub op: String,
    /// Why: there is no such op, or it is not computed for such arguments.
    pub reason: String,
    /// How often the log has them.
    pub calls: u64,
    /// On how many lines.
    pub lines: usize,
}

/// Makes a case of every different call of a log.
pub(super) fn from_log(origin: &str, text: &str) -> Result<Loaded, Error> {
    let mut logs = Logs::default();
    logs.add(origin, text);
    let stem = Path::new(origin).file_stem().and_then(|stem| stem.to_str());
    logs.finish(stem.unwrap_or(origin), "Calls of a log.", origin)
}

/// Makes a case of every different call of the logs in a folder and those below it.
pub(super) fn from_folder(folder: &Path) -> Result<Loaded, Error> {
    let mut paths = Vec::new();
    find(folder, &mut paths)?;
    let origin = folder.display().to_string();
    if paths.is_empty() {
        let reason = "the folder has no logs, which are files *.txt or *.log".to_owned();
        return Err(Error::Ops { file: origin, reason });
    }
    let mut logs = Logs::default();
    for path in &paths {
        logs.add(&path.display().to_string(), &read(path)?);
    }
    let name = folder.canonicalize().ok();
    let name = name.as_deref().unwrap_or(folder).file_name().and_then(|name| name.to_str());
    logs.finish(name.unwrap_or(&origin), &format!("Calls of {} logs.", paths.len()), &origin)
}

/// Lists the logs of a folder and of those below it by name; hidden ones, and links to folders, which may
/// lead back, are left out.
fn find(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::Read { path: folder.to_owned(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in
        entries.iter().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
    {
        let path = entry.path();
        let is_log = path.extension().is_some_and(|extension| {
            EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known))
        });
        if entry.file_type().map_err(failed)?.is_dir() {
            find(&path, paths)?;
        } else if is_log && path.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

/// Logs that become one suite.
#[derive(Default)]
struct Logs {
    entries: Entries,
    errors: Vec<Error>,
    judged: u64,
    free: u64,
    unjudged: BTreeMap<(String, String), (u64, usize)>,
}

impl Logs {
    fn add(&mut self, file: &str, text: &str) {
        let none = |reason: &str| Error::Ops { file: file.to_owned(), reason: reason.to_owned() };
        if text.trim().is_empty() {
            self.errors.push(none("the file is empty"));
            return;
        }
        let read = log::parse(text);
        if read.calls.is_empty() {
            let first = read.errors.into_iter().next();
            self.errors.push(first.map_or_else(
                || none("it has no calls"),
                |source| Error::NoLog { file: file.to_owned(), source },
            ));
            return;
        }
        let of_line =
            |source: log::LogError| (source.line, Error::Log { file: file.to_owned(), source });
        let mut errors: Vec<(usize, Error)> = read.errors.into_iter().map(of_line).collect();
        for call in read.calls.iter().filter(|call| call.count > 0) {
            match self.entries.add(call, None, true) {
                Ok(()) => self.judged += call.count,
                Err(CallError::Free(_)) => self.free += call.count,
                Err(error) => match error.lack() {
                    Some(reason) => {
                        let key = (call.full_name(), reason);
                        let (calls, lines) = self.unjudged.entry(key).or_default();
                        *calls = calls.saturating_add(call.count);
                        *lines += 1;
                    }
                    None => errors.push((call.line, Error::of_call(file, call, error))),
                },
            }
        }
        errors.sort_by_key(|(line, _)| *line);
        self.errors.extend(errors.into_iter().map(|(_, error)| error));
    }

    fn finish(self, name: &str, description: &str, origin: &str) -> Result<Loaded, Error> {
        let row = |((op, reason), (calls, lines))| Unjudged { op, reason, calls, lines };
        let mut unjudged: Vec<Unjudged> = self.unjudged.into_iter().map(row).collect();
        unjudged.sort_by_key(|row| std::cmp::Reverse(row.calls));
        if self.errors.is_empty() && self.entries.ops.is_empty() {
            let ops: Vec<String> =
                unjudged.iter().map(|row| format!("`{}`: {}", row.op, row.reason)).collect();
            let reason = format!(
                "none of its calls can be judged: {} are of views, of new tensors or of random values{}{}",
                self.free,
                if ops.is_empty() { "" } else { "; " },
                ops.join("; ")
            );
            return Err(Error::Ops { file: origin.to_owned(), reason });
        }
        let loaded = finish(self.entries.suite(name, description, origin), self.errors)?;
        Ok(Loaded { judged: self.judged, free: self.free, unjudged, ..loaded })
    }
}

/// The cases of calls, by op, in the order in which the ops came.
#[derive(Default)]
pub(super) struct Entries {
    ops: Vec<(Arc<OpDef>, Vec<Case>)>,
    places: HashMap<String, usize>,
    /// Op and case of each call.
    calls: HashMap<String, (usize, usize)>,
    /// Op and case of what each case computes: different calls may mean the same.
    cases: HashMap<String, (usize, usize)>,
}

impl Entries {
    /// Adds the case of a call unless it is there already. Where calls are `counted`, the case has the sum.
    pub(super) fn add(
        &mut self,
        call: &Call,
        class: Option<CaseClass>,
        counted: bool,
    ) -> Result<(), CallError> {
        let once = format!("{:?}", (&call.op, &call.overload, &call.args, &call.kwargs));
        let (op, index) = match self.calls.get(&once) {
            Some(&place) => place,
            None => {
                let (op, case) = logged::case_of(call, class)?;
                let place = self.place(op, case);
                self.calls.insert(once, place);
                place
            }
        };
        if counted {
            let count = &mut self.ops[op].1[index].count;
            *count = Some(count.unwrap_or(0).saturating_add(call.count));
        }
        Ok(())
    }

    /// Returns the place of a case, which is made where it is not there.
    fn place(&mut self, op: &Arc<OpDef>, case: Case) -> (usize, usize) {
        let number = *self.places.entry(op.name.clone()).or_insert_with(|| {
            self.ops.push((Arc::clone(op), Vec::new()));
            self.ops.len() - 1
        });
        let meaning = format!("{number} {:?}", Case { id: String::new(), ..case.clone() });
        let cases = &mut self.ops[number].1;
        *self.cases.entry(meaning).or_insert_with(|| {
            cases.push(case);
            (number, cases.len() - 1)
        })
    }

    pub(super) fn suite(self, name: &str, description: &str, origin: &str) -> Suite {
        let entry = |(op, fixed): (Arc<OpDef>, Vec<Case>)| {
            let mut dtypes: Vec<DType> = Vec::new();
            for case in &fixed {
                if !dtypes.contains(&case.dtype) {
                    dtypes.push(case.dtype);
                }
            }
            Entry { op, dtypes, templates: Vec::new(), fixed, joined: false }
        };
        let entries: Vec<Entry> = self.ops.into_iter().map(entry).collect();
        Suite {
            name: name.to_owned(),
            description: description.to_owned(),
            origin: origin.to_owned(),
            ops: entries.iter().map(|entry| entry.op.name.clone()).collect(),
            entries,
            limits: Limits::default(),
        }
    }
}
