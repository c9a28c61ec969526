//! Suite files.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use toml::{Spanned, Value};

use crate::{
    op::{self, OpDef},
    record::DType,
};

use super::{
    CaseError, Entry, Error, Limits, SkippedType, Suite, kind,
    template::{Template, key_error, template},
};

/// The version of the format that this module reads.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    format: u32,
    name: String,
    #[serde(default)]
    description: String,
    dtypes: Option<Vec<DType>>,
    ops: Vec<Spanned<OpTable>>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpTable {
    /// May be left out where the op is defined here, or `names` or `kind` is given.
    #[serde(default)]
    name: String,
    /// Ops that share the cases.
    #[serde(default)]
    names: Vec<String>,
    /// The kind of the elementwise ops that share the cases: all that no table of the file names.
    kind: Option<String>,
    /// The definition of an op that is not of the catalogue.
    definition: Option<Spanned<String>>,
    /// The file of such a definition, relative to the suite's.
    op_file: Option<Spanned<PathBuf>>,
    dtypes: Option<Vec<DType>>,
    #[serde(default)]
    cases: Vec<Spanned<toml::Table>>,
}

/// A suite without the mistakes of its file; its cases are not built yet.
pub(super) struct Parsed {
    pub(super) suite: Suite,
    pub(super) remarks: Remarks,
}

/// Remarks on a file that leave the rest of it as it is.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// The mistakes.
    pub(super) errors: Vec<Error>,
    /// Element types that ops lack.
    pub(super) skipped: Vec<SkippedType>,
}

/// Parses a suite file.
pub(super) fn parse(origin: &str, text: &str) -> Result<Parsed, Error> {
    let file: SuiteFile = toml::from_str(text)
        .map_err(|source| Error::Toml { file: origin.to_owned(), source: Box::new(source) })?;
    if file.format != FORMAT {
        return Err(Error::Format { file: origin.to_owned(), format: file.format });
    }
    if file.ops.is_empty() {
        let reason = "it has no ops".to_owned();
        return Err(Error::Ops { file: origin.to_owned(), reason });
    }
    let newlines = text.match_indices('\n').map(|(at, _)| at).collect();
    let reader = Reader { origin, newlines, dtypes: file.dtypes.as_deref() };
    let mut entries: Vec<(usize, Entry)> = Vec::with_capacity(file.ops.len());
    let mut remarks = Remarks::default();
    for table in reader.one_op_each(file.ops, &mut remarks.errors) {
        let line = reader.line(table.span().start);
        let added = reader
            .entry(table, &mut remarks)
            .and_then(|entry| reader.add(&mut entries, line, entry));
        remarks.errors.extend(added.err());
    }
    let entries: Vec<Entry> = entries.into_iter().map(|(_, entry)| entry).collect();
    let ops = entries.iter().map(|entry| entry.op.name.clone()).collect();
    let suite = Suite {
        name: file.name,
        description: file.description,
        origin: origin.to_owned(),
        ops,
        entries,
        limits: Limits::default(),
    };
    Ok(Parsed { suite, remarks })
}

/// Returns a table per op that one names; of a kind that may be none.
fn each_named(table: Spanned<OpTable>) -> Vec<Spanned<OpTable>> {
    let span = table.span();
    let mut table = table.into_inner();
    let names = std::mem::take(&mut table.names);
    if names.is_empty() && table.kind.is_none() {
        return vec![Spanned::new(span, table)];
    }
    let one = |name: String| Spanned::new(span.clone(), OpTable { name, ..table.clone() });
    names.into_iter().map(one).collect()
}

/// Reads the ops of one file.
struct Reader<'a> {
    origin: &'a str,
    /// Where the lines of the file end.
    newlines: Vec<usize>,
    dtypes: Option<&'a [DType]>,
}

impl Reader<'_> {
    /// Splits tables of several ops that share cases.
    fn one_op_each(
        &self,
        mut tables: Vec<Spanned<OpTable>>,
        errors: &mut Vec<Error>,
    ) -> Vec<Spanned<OpTable>> {
        let named = |table: &Spanned<OpTable>| {
            [&[table.get_ref().name.clone()], table.get_ref().names.as_slice()].concat()
        };
        let named: HashSet<String> = tables.iter().flat_map(named).collect();
        for table in &mut tables {
            let line = self.line(table.span().start);
            let table = table.get_mut();
            let Some(kind) = &table.kind else { continue };
            match kind::ops(kind) {
                Some(ops) => {
                    table.names =
                        ops.filter(|op| !named.contains(*op)).map(str::to_owned).collect();
                }
                None => errors.push(Error::Entry {
                    file: self.origin.to_owned(),
                    line,
                    op: kind.clone(),
                    reason: format!("is no kind of ops (known: {})", kind::names().join(", ")),
                }),
            }
        }
        tables.into_iter().flat_map(each_named).collect()
    }

    fn line(&self, at: usize) -> usize {
        self.newlines.partition_point(|&end| end < at) + 1
    }

    /// Reads a table; mistakes in single cases are remarks.
    fn entry(&self, table: Spanned<OpTable>, remarks: &mut Remarks) -> Result<Entry, Error> {
        let line = self.line(table.span().start);
        let table = table.into_inner();
        let op = self.op(&table, line)?;
        let of_kind = table.kind.is_some();
        let mut cases = Cases::new(&op, self.origin, of_kind);
        let defined = table.definition.is_some() || table.op_file.is_some();
        if table.cases.is_empty() && !defined {
            return Err(cases.wrong(line, "has no cases"));
        }
        let dtypes = match table.dtypes.as_deref().or(self.dtypes) {
            Some(given) => cases.types(line, given, remarks)?,
            None => op.dtypes.clone(),
        };
        let templates = if table.cases.is_empty() {
            let file = table.op_file.as_ref().map(|file| self.beside(file.get_ref()));
            let file = file.map_or(self.origin.to_owned(), |file| file.display().to_string());
            own_cases(&op, &file, remarks)?
        } else {
            for (index, case) in table.cases.iter().enumerate() {
                let line = self.line(case.span().start);
                cases.add(line, index + 1, template(&op, case.get_ref()), remarks);
            }
            cases.finish(line)?
        };
        Ok(Entry { op, dtypes, templates, fixed: Vec::new(), joined: false })
    }

    /// Adds a table's op; where it is there already, its cases join those that it has.
    fn add(
        &self,
        entries: &mut Vec<(usize, Entry)>,
        line: usize,
        entry: Entry,
    ) -> Result<(), Error> {
        if entry.dtypes.is_empty() || entry.templates.is_empty() {
            return Ok(());
        }
        let same_name = entries.iter_mut().find(|(_, known)| known.op.name == entry.op.name);
        match same_name {
            Some((_, known)) if known.op == entry.op => known.join(entry),
            Some((first, _)) => {
                return Err(Error::Entry {
                    file: self.origin.to_owned(),
                    line,
                    op: entry.op.name.clone(),
                    reason: format!("is another than the op of that name on line {first}"),
                });
            }
            None => entries.push((line, entry)),
        }
        Ok(())
    }

    /// Returns the path of a file that the suite names.
    fn beside(&self, file: &Path) -> PathBuf {
        Path::new(self.origin).parent().unwrap_or(Path::new("")).join(file)
    }
}

impl Reader<'_> {
    /// Finds the op of an entry, or defines it.
    fn op(&self, table: &OpTable, line: usize) -> Result<Arc<OpDef>, Error> {
        let wrong = |line: usize, reason: String| {
            let op = table.name.clone();
            Error::Entry { file: self.origin.to_owned(), line, op, reason }
        };
        let (op, line) = match (&table.definition, &table.op_file) {
            (None, None) => {
                let found = op::find(&table.name);
                let file = || self.origin.to_owned();
                return found.cloned().map_err(|source| Error::Op { file: file(), line, source });
            }
            (Some(_), Some(_)) => {
                return Err(wrong(line, "has both `definition` and `op_file`".to_owned()));
            }
            (Some(text), None) => {
                let line = self.line(text.span().start);
                let op = op::custom(text.get_ref());
                (op.map_err(|error| wrong(line, format!("is not defined well: {error}")))?, line)
            }
            (None, Some(file)) => {
                let line = self.line(file.span().start);
                let path = self.beside(file.get_ref());
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    wrong(line, format!("cannot be read from {}: {error}", path.display()))
                })?;
                let op = op::custom(&text);
                let at = |error| format!("is not defined well: {}: {error}", path.display());
                (op.map_err(|error| wrong(line, at(error)))?, line)
            }
        };
        if table.name.is_empty() || table.name == op.name {
            return Ok(op);
        }
        Err(wrong(line, format!("is called `{}` by its definition", op.name)))
    }
}

/// Reads the cases that a custom op's definition has; mistakes in single ones are remarks.
pub(super) fn own_cases(
    op: &OpDef,
    origin: &str,
    remarks: &mut Remarks,
) -> Result<Vec<Template>, Error> {
    let mut cases = Cases::new(op, origin, false);
    let texts = op::custom_cases(op).map_err(|error| cases.wrong(error.line, error.reason))?;
    let first = texts.first().map_or(1, |case| case.line);
    for (index, case) in texts.into_iter().enumerate() {
        let table = toml::from_str(&format!("case = {}", case.text));
        let table = table.map_err(|error| key_error("case", error.message()));
        let read = table.and_then(|table: toml::Table| match table.get("case") {
            Some(Value::Table(case)) => template(op, case),
            _ => Err(key_error("case", "is no table")),
        });
        cases.add(case.line, index + 1, read, remarks);
    }
    cases.finish(first)
}

/// The cases of a table or of a definition.
struct Cases<'a> {
    op: &'a OpDef,
    file: &'a str,
    /// Whether the op shares them with others of its kind, some of which may not take them.
    of_kind: bool,
    templates: Vec<Template>,
    has_errors: bool,
    /// Types of cases that the op lacks.
    lacking: Vec<DType>,
}

impl<'a> Cases<'a> {
    const fn new(op: &'a OpDef, file: &'a str, of_kind: bool) -> Self {
        Self { op, file, of_kind, templates: Vec::new(), has_errors: false, lacking: Vec::new() }
    }

    fn wrong(&self, line: usize, reason: impl Into<String>) -> Error {
        let (file, op) = (self.file.to_owned(), self.op.name.clone());
        Error::Entry { file, line, op, reason: reason.into() }
    }

    /// Returns those of the given types that the op has; another is a remark, none an error.
    fn types(
        &self,
        line: usize,
        given: &[DType],
        remarks: &mut Remarks,
    ) -> Result<Vec<DType>, Error> {
        let has: Vec<DType> = given.iter().copied().filter(|dtype| self.op.takes(*dtype)).collect();
        if has.is_empty() && !self.of_kind {
            return Err(self.no_type(line, given));
        }
        self.skip(line, given, remarks);
        Ok(has)
    }

    /// Notes the given types that the op lacks.
    fn skip(&self, line: usize, given: &[DType], remarks: &mut Remarks) {
        for &dtype in given.iter().filter(|dtype| !self.of_kind && !self.op.takes(**dtype)) {
            remarks.skipped.push(SkippedType {
                file: self.file.to_owned(),
                line,
                op: self.op.name.clone(),
                dtype,
                known: self.op.dtypes.clone(),
            });
        }
    }

    fn no_type(&self, line: usize, given: &[DType]) -> Error {
        let known = names(&self.op.dtypes);
        match given {
            [] => self.wrong(line, format!("is given no dtype (it has: {known})")),
            given => self.wrong(line, format!("has no dtype {} (it has: {known})", names(given))),
        }
    }

    /// Adds a case in those of its types that the op has; one without is left out.
    fn add(
        &mut self,
        line: usize,
        number: usize,
        read: Result<Vec<Template>, CaseError>,
        remarks: &mut Remarks,
    ) {
        let read = match read {
            Ok(read) => read,
            Err(source) => {
                self.has_errors = true;
                let (file, op) = (self.file.to_owned(), self.op.name.clone());
                let source = Box::new(source);
                remarks.errors.push(Error::Case { file, line, op, number, source });
                return;
            }
        };
        if let Some(given) = read.first().and_then(|template| template.dtypes.as_deref()) {
            self.skip(line, given, remarks);
            if !given.iter().any(|dtype| self.op.takes(*dtype)) {
                self.lacking.extend_from_slice(given);
                return;
            }
        }
        for mut template in read {
            (template.line, template.number) = (line, number);
            template.of_kind = self.of_kind;
            self.templates.push(template);
        }
    }

    /// Returns the cases, where there are some or their mistakes are known.
    fn finish(self, line: usize) -> Result<Vec<Template>, Error> {
        if self.templates.is_empty() && !self.has_errors && !self.of_kind {
            return Err(self.no_type(line, &self.lacking));
        }
        Ok(self.templates)
    }
}

/// Spells element types.
pub(super) fn names(dtypes: &[DType]) -> String {
    dtypes.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ")
}
