//! Suite files.

use serde::Deserialize;
use toml::Value;

use crate::{
    op::{self, CaseDraft, DraftTensor, DraftValue, Kind, Layout, OpDef, Param},
    record::{CaseClass, DType, Family},
};

use super::{
    CaseError, Entry, Error, Suite,
    draw::Draw,
    shape::{Axes, Extent, TensorText, parse_extents, parse_range, parse_tensor},
};

/// The version of the format that this module reads.
const FORMAT: u32 = 1;

/// Keys of a case that are no arguments of the op.
const OWN_KEYS: [&str; 5] = ["class", "families", "dtypes", "draws", "axes"];

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
    ops: Vec<OpTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpTable {
    name: String,
    dtypes: Option<Vec<DType>>,
    cases: Vec<toml::Table>,
}

/// A case before its dtype and its drawn extents are fixed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template {
    class: CaseClass,
    families: Vec<Family>,
    dtypes: Option<Vec<DType>>,
    draws: u32,
    axes: Axes,
    values: Vec<(String, TemplateValue)>,
}

#[derive(Debug, Clone, PartialEq)]
enum TemplateValue {
    Tensor(TensorText),
    Tensors(Vec<Option<TensorText>>),
    Extents(Vec<Extent>),
    Plain(DraftValue),
}

/// Parses a suite file; the cases are not built yet.
pub(super) fn parse(origin: &str, text: &str) -> Result<Suite, Error> {
    let file: SuiteFile = toml::from_str(text)
        .map_err(|source| Error::Toml { file: origin.to_owned(), source: Box::new(source) })?;
    if file.format != FORMAT {
        return Err(Error::Format { file: origin.to_owned(), format: file.format });
    }
    let wrong = |reason: String| Error::Ops { file: origin.to_owned(), reason };
    if file.ops.is_empty() {
        return Err(wrong("it has no ops".to_owned()));
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(file.ops.len());
    for table in file.ops {
        let op = op::find(&table.name)
            .map_err(|source| Error::Op { file: origin.to_owned(), source })?;
        if entries.iter().any(|entry| entry.op.name == op.name) {
            return Err(wrong(format!("op `{}` is there twice", op.name)));
        }
        if table.cases.is_empty() {
            return Err(wrong(format!("op `{}` has no cases", op.name)));
        }
        let dtypes = match table.dtypes.or_else(|| file.dtypes.clone()) {
            Some(dtypes) => dtypes,
            None => op.dtypes.to_vec(),
        };
        if let Some(dtype) = dtypes.iter().find(|dtype| !op.takes(**dtype)) {
            let known: Vec<&str> = op.dtypes.iter().map(|dtype| dtype.name()).collect();
            let reason =
                format!("op `{}` has no dtype {dtype} (it has: {})", op.name, known.join(", "));
            return Err(wrong(reason));
        }
        let mut templates = Vec::with_capacity(table.cases.len());
        for (index, case) in table.cases.iter().enumerate() {
            templates.push(template(op, case).map_err(|source| Error::Case {
                file: origin.to_owned(),
                op: op.name.clone(),
                number: index + 1,
                source: Box::new(source),
            })?);
        }
        entries.push(Entry { op, dtypes, templates });
    }
    let ops = entries.iter().map(|entry| entry.op.name.clone()).collect();
    Ok(Suite {
        name: file.name,
        description: file.description,
        origin: origin.to_owned(),
        ops,
        entries,
    })
}

fn key_error(key: &str, reason: impl Into<String>) -> CaseError {
    CaseError::Key { key: key.to_owned(), reason: reason.into() }
}

fn template(op: &OpDef, table: &toml::Table) -> Result<Template, CaseError> {
    for key in table.keys() {
        if !OWN_KEYS.contains(&key.as_str()) && op.param(key).is_none() {
            let known: Vec<&str> = op.params.iter().map(|param| param.name.as_str()).collect();
            let known = [known, OWN_KEYS.to_vec()].concat().join(", ");
            return Err(key_error(key, format!("unknown key (known: {known})")));
        }
    }
    let axes = axes(table)?;
    let mut values = Vec::new();
    for param in &op.params {
        if let Some(value) = table.get(&param.name) {
            let value = template_value(param, value, &axes)
                .map_err(|reason| key_error(&param.name, reason))?;
            values.push((param.name.clone(), value));
        }
    }
    let families: Option<Vec<Family>> = read(table, "families")?;
    let families = families.unwrap_or_else(|| vec![Family::Normal]);
    let template = Template {
        class: CaseClass::Edge,
        families,
        dtypes: read(table, "dtypes")?,
        draws: read(table, "draws")?.unwrap_or(1),
        axes,
        values,
    };
    if !(1..=MAX_DRAWS).contains(&template.draws) {
        return Err(key_error("draws", format!("must be 1 to {MAX_DRAWS}")));
    }
    let class = class(&template, read(table, "class")?)?;
    Ok(Template { class, ..template })
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
        (Kind::Ints, Value::String(text)) => Ok(TemplateValue::Extents(parse_extents(text, axes)?)),
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

/// Decides what a case is for where the file does not say.
fn class(template: &Template, given: Option<CaseClass>) -> Result<CaseClass, CaseError> {
    let drawn = template.is_drawn();
    match given {
        Some(CaseClass::Drawn) if !drawn => Err(key_error("class", "no extent is a range")),
        Some(CaseClass::Edge | CaseClass::Layout | CaseClass::Values | CaseClass::Realistic)
            if drawn =>
        {
            Err(key_error("class", "a case with ranges is of class `drawn`"))
        }
        Some(class) => Ok(class),
        None if drawn => Ok(CaseClass::Drawn),
        None if template.families.iter().any(|family| *family != Family::Normal) => {
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
    fn is_drawn(&self) -> bool {
        let open =
            |extents: &[Extent]| extents.iter().any(|extent| !matches!(extent, Extent::Fixed(_)));
        self.values.iter().any(|(_, value)| match value {
            TemplateValue::Extents(extents) => open(extents),
            value => value.tensors().any(|tensor| open(&tensor.shape)),
        })
    }

    /// Returns the cases of one dtype: one per family, times the draws; none of a drawn one where
    /// there is no seed.
    pub(super) fn drafts(
        &self,
        op: &OpDef,
        index: usize,
        dtype: DType,
        seed: Option<u64>,
    ) -> Vec<CaseDraft> {
        if self.dtypes.as_ref().is_some_and(|only| !only.contains(&dtype)) {
            return Vec::new();
        }
        let (seed, draws) = match (self.is_drawn(), seed) {
            (true, None) => return Vec::new(),
            (true, Some(seed)) => (seed, self.draws),
            (false, _) => (0, 1),
        };
        let mut drafts = Vec::new();
        for n in 0..draws {
            for &family in &self.families {
                let mut draw = Draw::new(seed, &op.name, index, dtype, n, &self.axes);
                let values =
                    self.values.iter().map(|(name, value)| (name.clone(), value.fixed(&mut draw)));
                let values = values.collect();
                drafts.push(CaseDraft { dtype, class: self.class, family, values });
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
