//! Suite files.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use toml::{Spanned, Value};

use crate::{
    op::{self, CaseDraft, DraftTensor, DraftValue, Kind, Layout, OpDef, Param},
    record::{CaseClass, DType, InputDistribution},
};

mod grid;

use super::{
    CaseError, Entry, Error, Limits, Suite,
    draw::{Draw, Seed},
    kind,
    memo::Memo,
    shape::{Axes, Extent, TensorText, parse_extents, parse_range, parse_tensor},
};

/// The version of the format that this module reads.
const FORMAT: u32 = 1;

/// Keys of a case that are no arguments of the op.
const OWN_KEYS: [&str; 7] =
    ["class", "distributions", "dtypes", "draws", "axes", "grid", "max_elements"];

/// Largest number of draws per case and dtype.
const MAX_DRAWS: u32 = 16;

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

/// A case before its dtype and its drawn extents are fixed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template {
    /// The line of the file on which the case begins, from 1.
    pub(super) line: usize,
    /// Which case of its op it is, from 1; the points of a grid share a number.
    pub(super) number: usize,
    class: CaseClass,
    distributions: Vec<InputDistribution>,
    /// The only types that it is built for; all of its op's where it does not say.
    pub(super) dtypes: Option<Vec<DType>>,
    draws: u32,
    /// Whether its op shares it with others of its kind, some of which may not take it.
    pub(super) of_kind: bool,
    axes: Axes,
    values: Vec<(String, TemplateValue)>,
    /// Its cases, where they need no seed.
    pub(super) memo: Memo,
}

#[derive(Debug, Clone, PartialEq)]
enum TemplateValue {
    Tensor(TensorText),
    Tensors(Vec<Option<TensorText>>),
    Extents(Vec<Extent>),
    Plain(DraftValue),
}

/// Parses a suite file; the cases are not built yet.
///
/// Returns the suite without its mistakes, and the mistakes.
pub(super) fn parse(origin: &str, text: &str) -> Result<(Suite, Vec<Error>), Error> {
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
    let mut entries: Vec<Entry> = Vec::with_capacity(file.ops.len());
    let mut errors = Vec::new();
    for table in reader.one_op_each(file.ops, &mut errors) {
        match reader.entry(table, &mut errors) {
            Ok(entry) => add_entry(&mut entries, entry),
            Err(error) => errors.push(error),
        }
    }
    let ops = entries.iter().map(|entry| entry.op.name.clone()).collect();
    let suite = Suite {
        name: file.name,
        description: file.description,
        origin: origin.to_owned(),
        ops,
        entries,
        limits: Limits::default(),
        joined: false,
    };
    Ok((suite, errors))
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

/// Adds an entry; cases of an op that is there already join those it has.
pub(super) fn add_entry(entries: &mut Vec<Entry>, entry: Entry) {
    match entries.iter_mut().find(|known| known.op == entry.op) {
        Some(known) => known.templates.extend(entry.templates),
        None => entries.push(entry),
    }
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

    /// Reads an op; mistakes in single cases are added to `errors`.
    fn entry(&self, table: Spanned<OpTable>, errors: &mut Vec<Error>) -> Result<Entry, Error> {
        let file = || self.origin.to_owned();
        let line = self.line(table.span().start);
        let table = table.into_inner();
        let op = self.op(&table, line)?;
        let wrong =
            |reason: String| Error::Entry { file: file(), line, op: op.name.clone(), reason };
        let defined = table.definition.is_some() || table.op_file.is_some();
        if table.cases.is_empty() && !defined {
            return Err(wrong("has no cases".to_owned()));
        }
        let given = table.dtypes.as_deref().or(self.dtypes);
        let dtypes = given.map_or_else(|| op.dtypes.to_vec(), <[DType]>::to_vec);
        if let Some(dtype) = dtypes.iter().find(|dtype| !op.takes(**dtype)) {
            let known: Vec<&str> = op.dtypes.iter().map(|dtype| dtype.name()).collect();
            return Err(wrong(format!("has no dtype {dtype} (it has: {})", known.join(", "))));
        }
        if table.cases.is_empty() {
            let (templates, mistakes) = own_cases(&op, self.origin)?;
            errors.extend(mistakes);
            return Ok(Entry { op, dtypes, templates, fixed: Vec::new() });
        }
        let mut templates = Vec::with_capacity(table.cases.len());
        for (index, case) in table.cases.iter().enumerate() {
            let (line, number) = (self.line(case.span().start), index + 1);
            match template(&op, case.get_ref()) {
                Ok(read) => {
                    let of_kind = table.kind.is_some();
                    let at = |template| Template { line, number, of_kind, ..template };
                    templates.extend(read.into_iter().map(at));
                }
                Err(source) => {
                    let (op, source) = (op.name.clone(), Box::new(source));
                    errors.push(Error::Case { file: file(), line, op, number, source });
                }
            }
        }
        Ok(Entry { op, dtypes, templates, fixed: Vec::new() })
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
                let folder = Path::new(self.origin).parent().unwrap_or(Path::new(""));
                let path = folder.join(file.get_ref());
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

/// Reads the cases that a custom op's definition has.
pub(super) fn own_cases(op: &OpDef, origin: &str) -> Result<(Vec<Template>, Vec<Error>), Error> {
    let wrong = |error: op::CustomError| Error::Entry {
        file: origin.to_owned(),
        line: error.line,
        op: op.name.clone(),
        reason: error.reason,
    };
    let mut templates = Vec::new();
    let mut errors = Vec::new();
    for (index, case) in op::custom_cases(op).map_err(wrong)?.into_iter().enumerate() {
        let (line, number) = (case.line, index + 1);
        let table = toml::from_str(&format!("case = {}", case.text));
        let table = table.map_err(|error| key_error("case", error.message()));
        let read = table.and_then(|table: toml::Table| match table.get("case") {
            Some(Value::Table(case)) => template(op, case),
            _ => Err(key_error("case", "is no table")),
        });
        match read {
            Ok(read) => {
                let at = |template| Template { line, number, ..template };
                templates.extend(read.into_iter().map(at));
            }
            Err(source) => {
                let (file, op, source) = (origin.to_owned(), op.name.clone(), Box::new(source));
                errors.push(Error::Case { file, line, op, number, source });
            }
        }
    }
    Ok((templates, errors))
}

fn key_error(key: &str, reason: impl Into<String>) -> CaseError {
    CaseError::Key { key: key.to_owned(), reason: reason.into() }
}

/// Reads a case; one with a grid is a template per point of it.
fn template(op: &OpDef, table: &toml::Table) -> Result<Vec<Template>, CaseError> {
    for key in table.keys() {
        if !OWN_KEYS.contains(&key.as_str()) && op.param(key).is_none() {
            let known: Vec<&str> = op.params.iter().map(|param| param.name.as_str()).collect();
            let known = [known, OWN_KEYS.to_vec()].concat().join(", ");
            return Err(key_error(key, format!("unknown key (known: {known})")));
        }
    }
    let mut axes = axes(table)?;
    let mut own = table.clone();
    if op.param("grid").is_some() {
        own.remove("grid");
    }
    let grid = grid::read(&own)?;
    grid.name_axes(&mut axes)?;
    let mut values = Vec::new();
    for param in &op.params {
        if let Some(value) = table.get(&param.name) {
            let value = template_value(param, value, &axes)
                .map_err(|reason| key_error(&param.name, reason))?;
            values.push((param.name.clone(), value));
        }
    }
    let distributions: Option<Vec<InputDistribution>> = read(table, "distributions")?;
    let distributions = distributions.unwrap_or_else(|| vec![InputDistribution::Normal]);
    let template = Template {
        line: 0,
        number: 0,
        class: CaseClass::Edge,
        distributions,
        dtypes: read(table, "dtypes")?,
        draws: read(table, "draws")?.unwrap_or(1),
        of_kind: false,
        axes,
        values,
        memo: Memo::default(),
    };
    if !(1..=MAX_DRAWS).contains(&template.draws) {
        return Err(key_error("draws", format!("must be 1 to {MAX_DRAWS}")));
    }
    let given = read(table, "class")?;
    let mut templates = Vec::new();
    for values in grid.points(&template.values)? {
        let template = Template { values, ..template.clone() };
        let class = class(&template, given)?;
        templates.push(Template { class, ..template });
    }
    Ok(templates)
}

/// Reads one of the case's own keys.
fn read<T: serde::de::DeserializeOwned>(
    table: &toml::Table,
    key: &str,
) -> Result<Option<T>, CaseError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let read = value.clone().try_into();
    read.map(Some).map_err(|error: toml::de::Error| key_error(key, error.message()))
}

fn axes(table: &toml::Table) -> Result<Axes, CaseError> {
    let ranges: std::collections::BTreeMap<String, String> =
        read(table, "axes")?.unwrap_or_default();
    let parse = |(name, range): (String, String)| {
        let range = parse_range(&range)
            .map_err(|reason| key_error("axes", format!("axis `{name}`: {reason}")))?;
        Ok((name, range))
    };
    ranges.into_iter().map(parse).collect()
}

fn template_value(param: &Param, value: &Value, axes: &Axes) -> Result<TemplateValue, String> {
    let plain = |value| Ok(TemplateValue::Plain(value));
    match (param.kind, value) {
        (_, Value::String(text)) if text == "None" => plain(DraftValue::None),
        (Kind::Tensor, Value::String(text)) => Ok(TemplateValue::Tensor(parse_tensor(text, axes)?)),
        (Kind::Tensors, Value::Array(list)) => {
            let one = |value: &Value| match value.as_str() {
                Some("None") => Ok(None),
                Some(text) => parse_tensor(text, axes).map(Some),
                None => Err(format!("`{value}` is no shape such as \"[127, 1..64]\"")),
            };
            Ok(TemplateValue::Tensors(list.iter().map(one).collect::<Result<_, _>>()?))
        }
        (Kind::Int | Kind::Ints, Value::String(text)) => {
            Ok(TemplateValue::Extents(parse_extents(text, axes)?))
        }
        (Kind::Floats, Value::Array(list)) => {
            let number = |value: &Value| {
                let number = value.as_float().or_else(|| value.as_integer().map(|int| int as f64));
                number.ok_or_else(|| format!("`{value}` is no number"))
            };
            plain(DraftValue::Floats(list.iter().map(number).collect::<Result<_, _>>()?))
        }
        (_, Value::String(text)) => plain(DraftValue::Str(text.clone())),
        (_, Value::Integer(value)) => plain(DraftValue::Int(*value)),
        (_, Value::Float(value)) => plain(DraftValue::Float(*value)),
        (_, Value::Boolean(value)) => plain(DraftValue::Bool(*value)),
        (_, Value::Array(values)) => {
            let int = |value: &Value| {
                value.as_integer().ok_or_else(|| format!("`{value}` is no integer"))
            };
            plain(DraftValue::Ints(values.iter().map(int).collect::<Result<_, _>>()?))
        }
        (_, Value::Datetime(_) | Value::Table(_)) => {
            Err("must be a shape, a number, a string, true, false or a list".to_owned())
        }
    }
}

/// Chooses the class of a case where the file does not name it.
fn class(template: &Template, given: Option<CaseClass>) -> Result<CaseClass, CaseError> {
    let drawn = template.is_drawn();
    match given {
        Some(CaseClass::Drawn) if !drawn => Err(key_error("class", "no extent is a range")),
        Some(class) if drawn && class != CaseClass::Drawn => {
            Err(key_error("class", "a case with ranges is of class `drawn`"))
        }
        Some(class) => Ok(class),
        None if drawn => Ok(CaseClass::Drawn),
        None if template
            .distributions
            .iter()
            .any(|distribution| *distribution != InputDistribution::Normal) =>
        {
            Ok(CaseClass::Values)
        }
        None => {
            let mut tensors = template.values.iter().flat_map(|(_, value)| value.tensors());
            let strided = tensors.any(|tensor| tensor.layout != Layout::Contiguous);
            Ok(if strided { CaseClass::Layout } else { CaseClass::Edge })
        }
    }
}

impl Template {
    pub(super) fn is_drawn(&self) -> bool {
        let open =
            |extents: &[Extent]| extents.iter().any(|extent| !matches!(extent, Extent::Fixed(_)));
        self.values.iter().any(|(_, value)| match value {
            TemplateValue::Extents(extents) => open(extents),
            value => value.tensors().any(|tensor| open(&tensor.shape)),
        })
    }

    /// Returns the cases of one dtype: one per distribution, times the draws of a drawn one.
    pub(super) fn drafts(
        &self,
        op: &OpDef,
        index: usize,
        dtype: DType,
        seed: Seed,
    ) -> Vec<CaseDraft> {
        if self.dtypes.as_ref().is_some_and(|only| !only.contains(&dtype)) {
            return Vec::new();
        }
        let draws = if self.is_drawn() { self.draws } else { 1 };
        let mut drafts = Vec::new();
        for n in 0..draws {
            let n = n + seed.again * MAX_DRAWS;
            for &distribution in &self.distributions {
                let mut draw = Draw::new(seed.value, &op.name, index, dtype, n, &self.axes);
                let values =
                    self.values.iter().map(|(name, value)| (name.clone(), value.fixed(&mut draw)));
                let values = values.collect();
                drafts.push(CaseDraft { dtype, class: self.class, distribution, values });
            }
        }
        drafts
    }
}

impl TemplateValue {
    /// Returns the tensors that it holds.
    fn tensors(&self) -> impl Iterator<Item = &TensorText> {
        let (one, list): (Option<&TensorText>, &[Option<TensorText>]) = match self {
            Self::Tensor(tensor) => (Some(tensor), &[]),
            Self::Tensors(list) => (None, list),
            Self::Extents(_) | Self::Plain(_) => (None, &[]),
        };
        one.into_iter().chain(list.iter().flatten())
    }

    fn fixed(&self, draw: &mut Draw) -> DraftValue {
        let mut tensor = |text: &TensorText| DraftTensor {
            dtype: text.dtype,
            shape: text.shape.iter().map(|extent| draw.extent(extent)).collect(),
            layout: text.layout,
        };
        match self {
            Self::Tensor(text) => DraftValue::Tensor(tensor(text)),
            Self::Tensors(list) => {
                DraftValue::Tensors(list.iter().map(|one| one.as_ref().map(&mut tensor)).collect())
            }
            Self::Extents(extents) => DraftValue::Ints(
                extents
                    .iter()
                    .map(|extent| i64::try_from(draw.extent(extent)).unwrap_or(i64::MAX))
                    .collect(),
            ),
            Self::Plain(value) => value.clone(),
        }
    }
}
