//! Cases as a suite file words them, before their types and drawn extents are fixed.

use toml::Value;

use crate::{
    expr::Symbols,
    op::{CaseDraft, DraftTensor, DraftValue, Kind, Layout, OpDef, Param},
    record::{CaseClass, DType, InputDistribution},
};

mod grid;

use super::{
    CaseError,
    draw::{Draw, Seed},
    memo::Memo,
    shape::{Axes, Extent, TensorText, parse_extents, parse_range, parse_tensor},
};

/// Keys of a case that are no arguments of the op.
const OWN_KEYS: [&str; 7] =
    ["class", "distributions", "dtypes", "draws", "axes", "grid", "max_elements"];

/// Largest number of draws per case and dtype.
const MAX_DRAWS: u32 = 16;

/// A point of a case's grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The arguments by the names of their extents, in TOML: `self = "[b, s, d]", other = "[d]"`.
    pub call: String,
    /// The extents by name.
    pub at: Symbols,
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
    /// Its place, where it is a point of a grid.
    pub(super) place: Option<Place>,
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

pub(super) fn key_error(key: &str, reason: impl Into<String>) -> CaseError {
    CaseError::Key { key: key.to_owned(), reason: reason.into() }
}

/// Makes sure that every key is an argument of the op, or one of a case's own.
fn check_keys(op: &OpDef, table: &toml::Table) -> Result<(), CaseError> {
    for key in table.keys() {
        if !OWN_KEYS.contains(&key.as_str()) && op.param(key).is_none() {
            let known: Vec<&str> = op.params.iter().map(|param| param.name.as_str()).collect();
            let known = [known, OWN_KEYS.to_vec()].concat().join(", ");
            return Err(key_error(key, format!("unknown key (known: {known})")));
        }
    }
    Ok(())
}

/// Reads a case; one with a grid is a template per point of it.
pub(super) fn template(op: &OpDef, table: &toml::Table) -> Result<Vec<Template>, CaseError> {
    check_keys(op, table)?;
    let mut axes = axes(table)?;
    let mut own = table.clone();
    if op.param("grid").is_some() {
        own.remove("grid");
    }
    let grid = grid::read(&own)?;
    grid.name_axes(&mut axes)?;
    let template = read_template(op, table, axes)?;
    if !(1..=MAX_DRAWS).contains(&template.draws) {
        return Err(key_error("draws", format!("must be 1 to {MAX_DRAWS}")));
    }
    let given = read(table, "class")?;
    let mut templates = Vec::new();
    for (at, values) in grid.points(&template.values)? {
        let place = (!at.is_empty()).then(|| Place { call: call(op, table), at });
        let template = Template { values, place, ..template.clone() };
        let class = class(&template, given)?;
        templates.push(Template { class, ..template });
    }
    Ok(templates)
}

/// Words the arguments of a case.
fn call(op: &OpDef, table: &toml::Table) -> String {
    let given = op.params.iter().filter_map(|param| Some((&param.name, table.get(&param.name)?)));
    given.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Reads a case whose extents may be made of `axes`.
fn read_template(op: &OpDef, table: &toml::Table, axes: Axes) -> Result<Template, CaseError> {
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
    Ok(Template {
        line: 0,
        number: 0,
        class: CaseClass::Edge,
        distributions,
        dtypes: read(table, "dtypes")?,
        draws: read(table, "draws")?.unwrap_or(1),
        of_kind: false,
        axes,
        values,
        place: None,
        memo: Memo::default(),
    })
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
    /// Reads arguments whose extents are made of `axes`, which get their values by [`Self::at`].
    pub(super) fn open(op: &OpDef, table: &toml::Table, axes: Axes) -> Result<Self, CaseError> {
        check_keys(op, table)?;
        read_template(op, table, axes)
    }

    /// Returns the template with the extents of a point.
    pub(super) fn at(&self, point: &Symbols) -> Self {
        let values = self.values.iter().map(|(name, value)| (name.clone(), value.at(point)));
        Self { values: values.collect(), memo: Memo::default(), ..self.clone() }
    }

    pub(super) fn of_class(self, class: CaseClass) -> Self {
        Self { class, ..self }
    }

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
    ) -> Result<Vec<CaseDraft>, CaseError> {
        if self.dtypes.as_ref().is_some_and(|only| !only.contains(&dtype)) {
            return Ok(Vec::new());
        }
        let draws = if self.is_drawn() { self.draws } else { 1 };
        let mut drafts = Vec::new();
        for n in 0..draws {
            let n = n + seed.again * MAX_DRAWS;
            for &distribution in &self.distributions {
                let mut draw = Draw::new(seed.value, &op.name, index, dtype, n, &self.axes);
                let values = self.values.iter().map(|(name, value)| {
                    let value = value.fixed(&mut draw).map_err(|reason| key_error(name, reason))?;
                    Ok((name.clone(), value))
                });
                let values = values.collect::<Result<_, CaseError>>()?;
                drafts.push(CaseDraft { dtype, class: self.class, distribution, values });
            }
        }
        Ok(drafts)
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

    fn fixed(&self, draw: &mut Draw) -> Result<DraftValue, String> {
        let mut tensor = |text: &TensorText| -> Result<DraftTensor, String> {
            let shape = text.shape.iter().map(|extent| draw.extent(extent));
            let shape = shape.collect::<Result<_, _>>()?;
            Ok(DraftTensor { dtype: text.dtype, shape, layout: text.layout })
        };
        Ok(match self {
            Self::Tensor(text) => DraftValue::Tensor(tensor(text)?),
            Self::Tensors(list) => {
                let mut one =
                    |text: &Option<TensorText>| text.as_ref().map(&mut tensor).transpose();
                DraftValue::Tensors(list.iter().map(&mut one).collect::<Result<_, _>>()?)
            }
            Self::Extents(extents) => {
                let integers = extents.iter().map(|extent| draw.integer(extent));
                DraftValue::Ints(integers.collect::<Result<_, _>>()?)
            }
            Self::Plain(value) => value.clone(),
        })
    }
}
