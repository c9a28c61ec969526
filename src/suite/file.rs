//! Suite files.

use serde::Deserialize;
use toml::Value;

use crate::{
    op::{self, CaseDraft, DraftValue, Layout, OpDef, ParamKind},
    record::{CaseClass, DType, Family},
};

use super::{
    CaseError, Entry, Error, Suite,
    draw::Draw,
    shape::{Axes, Extent, parse_extents, parse_range, parse_tensor},
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
    #[serde(default = "default_dtypes")]
    dtypes: Vec<DType>,
    ops: Vec<OpTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpTable {
    name: String,
    dtypes: Option<Vec<DType>>,
    cases: Vec<toml::Table>,
}

fn default_dtypes() -> Vec<DType> {
    vec![DType::F32, DType::F16, DType::BF16]
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
    Tensor { shape: Vec<Extent>, layout: Layout },
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
        let dtypes = table.dtypes.unwrap_or_else(|| file.dtypes.clone());
        if let Some(dtype) = dtypes.iter().find(|dtype| !dtype.is_float()) {
            return Err(wrong(format!("op `{}`: dtype {dtype} is no float type", op.name)));
        }
        let mut templates = Vec::with_capacity(table.cases.len());
        for (index, case) in table.cases.iter().enumerate() {
            templates.push(template(op, case).map_err(|source| Error::Case {
                file: origin.to_owned(),
                op: op.name.to_owned(),
                number: index + 1,
                source: Box::new(source),
            })?);
        }
        entries.push(Entry { op, dtypes, templates });
    }
    let ops = entries.iter().map(|entry| entry.op.name.to_owned()).collect();
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
            let known: Vec<&str> = op.params.iter().map(|param| param.name).collect();
            let known = [known, OWN_KEYS.to_vec()].concat().join(", ");
            return Err(key_error(key, format!("unknown key (known: {known})")));
        }
    }
    let axes = axes(table)?;
    let mut values = Vec::new();
    for param in op.params {
        if let Some(value) = table.get(param.name) {
            let value = template_value(&param.kind, value, &axes)
                .map_err(|reason| key_error(param.name, reason))?;
            values.push((param.name.to_owned(), value));
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

fn template_value(kind: &ParamKind, value: &Value, axes: &Axes) -> Result<TemplateValue, String> {
    Ok(match (kind, value) {
        (ParamKind::Tensor { .. }, Value::String(text)) => {
            let (shape, layout) = parse_tensor(text, axes)?;
            TemplateValue::Tensor { shape, layout }
        }
        (ParamKind::Ints(_), Value::String(text)) => {
            TemplateValue::Extents(parse_extents(text, axes)?)
        }
        (_, Value::String(text)) => TemplateValue::Plain(DraftValue::Str(text.clone())),
        (_, Value::Integer(value)) => TemplateValue::Plain(DraftValue::Int(*value)),
        (_, Value::Float(value)) => TemplateValue::Plain(DraftValue::Float(*value)),
        (_, Value::Boolean(value)) => TemplateValue::Plain(DraftValue::Bool(*value)),
        (_, Value::Array(values)) => {
            let values = values
                .iter()
                .map(|value| value.as_integer().ok_or_else(|| format!("`{value}` is no integer")));
            TemplateValue::Plain(DraftValue::Ints(values.collect::<Result<_, _>>()?))
        }
        (_, Value::Datetime(_) | Value::Table(_)) => {
            return Err("must be a shape, a number, a string, true, false or a list".to_owned());
        }
    })
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
            let strided = template.values.iter().any(|(_, value)| match value {
                TemplateValue::Tensor { layout, .. } => *layout != Layout::Contiguous,
                TemplateValue::Extents(_) | TemplateValue::Plain(_) => false,
            });
            Ok(if strided { CaseClass::Layout } else { CaseClass::Edge })
        }
    }
}

impl Template {
    fn is_drawn(&self) -> bool {
        let extents = self.values.iter().flat_map(|(_, value)| match value {
            TemplateValue::Tensor { shape, .. } => shape.as_slice(),
            TemplateValue::Extents(extents) => extents,
            TemplateValue::Plain(_) => &[],
        });
        extents.into_iter().any(|extent| !matches!(extent, Extent::Fixed(_)))
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
                let mut draw = Draw::new(seed, op.name, index, dtype, n, &self.axes);
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
    fn fixed(&self, draw: &mut Draw) -> DraftValue {
        match self {
            Self::Tensor { shape, layout } => DraftValue::Tensor {
                shape: shape.iter().map(|extent| draw.extent(extent)).collect(),
                layout: *layout,
            },
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
