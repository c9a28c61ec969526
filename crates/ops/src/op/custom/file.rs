//! Reads the file of a custom op.

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    expr::{Expr, Symbols, is_name},
    op::Role,
    record::{ArgValue, DType, dtype::UnknownDTypeError},
};

use super::{
    CustomError,
    definition::{CaseDecl, CaseKey, Definition, OutputDecl, Reference, TensorDecl},
    dims::Shape,
    evaluated::PythonReference,
    init::{self, Init},
    module::{self, ModuleTensor, TorchModule},
    parse,
};

/// The version of the format that this module reads.
const FORMAT: &str = "1";

/// Element types of an op that names none.
const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// The role of a tensor whose values follow no distribution; it is no argument of a module.
const CONSTANT: &str = "constant";

/// The function that Python code of a reference defines.
const PYTHON_FUNCTION: &str = "reference";

type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

/// Reads a definition.
pub(super) fn read(text: &str) -> Result<Definition, CustomError> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        CustomError::at(text, at, error.message())
    })?;
    let reader = Reader { text };
    let root = Section { reader, at: 0, name: "", table: table.get_ref() };
    root.only(&[
        "format",
        "name",
        "semantics",
        "dtypes",
        "tensors",
        "scalars",
        "outputs",
        "reference",
        "module",
        "cases",
    ])?;
    let (format_at, format) = root.need("format", "the number 1")?;
    if reader.raw(format) != FORMAT {
        return Err(reader.wrong(format_at, "this kgen reads format = 1"));
    }
    let (_, name) = root.need("name", "a name")?;
    let name_at = name.span().start;
    let name = reader.string(name)?;
    if !is_name(name) {
        return Err(reader.wrong(name_at, format!("`{name}` cannot name an op")));
    }
    let semantics = match root.get("semantics") {
        Some((_, value)) => reader.string(value)?.trim().to_owned(),
        None => {
            return Err(root.missing("semantics", "what the op computes, for people and models"));
        }
    };
    let dtypes = match root.get("dtypes") {
        Some((_, value)) => reader.dtypes(value)?,
        None => DTYPES.to_vec(),
    };
    let tensors = reader.tensors(&root)?;
    let scalars = reader.scalars(&root, &tensors)?;
    let module = match root.section("module")? {
        Some(section) => {
            let draws = tensors.iter().any(|tensor| {
                let is_random = tensor.init.as_ref().is_some_and(Init::is_random);
                tensor.is_parameter && tensor.path.is_none() && is_random
            });
            let parts = tensors.iter().map(|tensor| {
                let part = match &tensor.path {
                    Some(path) => ModuleTensor::Path(path.clone()),
                    None if tensor.is_parameter => ModuleTensor::Constant,
                    None => ModuleTensor::Input,
                };
                (tensor.name.clone(), part)
            });
            let extents = tensors.iter().map(|tensor| tensor.shape.dims.clone()).collect();
            let tensors = parts.collect();
            Some(TorchModule { tensors, draws, extents, ..module::read(&reader, &section)? })
        }
        None => None,
    };
    let mut definition = Definition {
        name: name.to_owned(),
        name_at,
        semantics,
        dtypes,
        tensors,
        scalars,
        outputs: reader.outputs(&root)?,
        reference: Reference::Cuda { source: String::new(), accumulation: None },
        cases: reader.cases(&root)?,
        module,
    };
    reader.reference(&root, &mut definition)?;
    Ok(definition)
}

/// A table with its place.
pub(super) struct Section<'a, 'i> {
    reader: Reader<'a>,
    at: usize,
    name: &'a str,
    table: &'a DeTable<'i>,
}

impl<'a, 'i> Section<'a, 'i> {
    /// Returns the keys in the order of the file.
    fn entries(&self) -> Vec<Entry<'a, 'i>> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    pub(super) fn get(&self, name: &str) -> Option<(usize, &'a Spanned<DeValue<'i>>)> {
        let found = self.table.iter().find(|(key, _)| key.get_ref() == name)?;
        Some((found.0.span().start, found.1))
    }

    fn missing(&self, key: &str, what: &str) -> CustomError {
        let place = if self.name.is_empty() { String::new() } else { format!("{}.", self.name) };
        self.reader.wrong(self.at, format!("`{place}{key}` is missing: {what}"))
    }

    pub(super) fn need(
        &self,
        key: &str,
        what: &str,
    ) -> Result<(usize, &'a Spanned<DeValue<'i>>), CustomError> {
        self.get(key).ok_or_else(|| self.missing(key, what))
    }

    pub(super) fn only(&self, known: &[&str]) -> Result<(), CustomError> {
        for (key, _) in self.entries() {
            if !known.contains(&key.get_ref().as_ref()) {
                let reason =
                    format!("unknown key `{}` (known: {})", key.get_ref(), known.join(", "));
                return Err(self.reader.wrong(key.span().start, reason));
            }
        }
        Ok(())
    }

    /// Returns a table in it; one that is not there has no keys.
    fn section(&self, name: &'static str) -> Result<Option<Self>, CustomError> {
        let Some((at, value)) = self.get(name) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(table) => Ok(Some(Self { reader: self.reader, at, name, table })),
            _ => Err(self.reader.wrong(at, format!("`{name}` is a table"))),
        }
    }
}

/// The text that values are read from.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn wrong(&self, at: usize, reason: impl Into<String>) -> CustomError {
        CustomError::at(self.text, at, reason)
    }

    /// Returns a value as it stands in the file.
    pub(super) fn raw(&self, value: &Spanned<DeValue<'_>>) -> &'a str {
        self.text.get(value.span()).unwrap_or_default()
    }

    pub(super) fn string<'v>(
        &self,
        value: &'v Spanned<DeValue<'_>>,
    ) -> Result<&'v str, CustomError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref()),
            other => {
                let reason = format!("expected a string, found {}", other.type_str());
                Err(self.wrong(value.span().start, reason))
            }
        }
    }

    fn shape(&self, value: &Spanned<DeValue<'_>>) -> Result<Shape, CustomError> {
        let text = self.string(value)?;
        Shape::parse(text).map_err(|reason| self.wrong(value.span().start, reason))
    }

    fn dtypes(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<DType>, CustomError> {
        let DeValue::Array(items) = value.get_ref() else {
            return Err(self.wrong(value.span().start, "`dtypes` is a list such as [\"f32\"]"));
        };
        if items.is_empty() {
            return Err(self.wrong(value.span().start, "`dtypes` names no type"));
        }
        let one = |item: &Spanned<DeValue<'_>>| {
            let parsed = self.string(item)?.parse();
            parsed.map_err(|error: UnknownDTypeError| {
                self.wrong(item.span().start, error.to_string())
            })
        };
        items.iter().map(one).collect()
    }

    fn tensors(&self, root: &Section<'a, '_>) -> Result<Vec<TensorDecl>, CustomError> {
        let what = "the op's inputs, such as `x = \"[b, s, d]\"`";
        let section = root.section("tensors")?.ok_or_else(|| root.missing("tensors", what))?;
        let mut tensors: Vec<TensorDecl> = Vec::new();
        for (key, value) in section.entries() {
            let name = self.name(key)?;
            let first = tensors.is_empty();
            tensors.push(self.tensor(name, value, first)?);
        }
        if tensors.is_empty() {
            return Err(self.wrong(section.at, format!("no tensor is given: {what}")));
        }
        Ok(tensors)
    }

    /// Reads a name of a tensor or scalar.
    fn name(&self, key: &Spanned<DeString<'_>>) -> Result<String, CustomError> {
        let name: &str = key.get_ref().as_ref();
        let digits = |rest: &str| rest.chars().all(|c| c.is_ascii_digit());
        let reserved = name.strip_prefix("out").is_some_and(digits);
        if is_name(name) && !reserved {
            return Ok(name.to_owned());
        }
        Err(self.wrong(key.span().start, format!("`{name}` cannot name an argument")))
    }

    fn tensor(
        &self,
        name: String,
        value: &Spanned<DeValue<'_>>,
        first: bool,
    ) -> Result<TensorDecl, CustomError> {
        let plain = if first { Role::Main } else { Role::Second };
        let DeValue::Table(table) = value.get_ref() else {
            let shape = self.shape(value)?;
            let role = if shape.dtype == Some(DType::Bool) { Role::Mask } else { plain };
            return Ok(TensorDecl {
                name,
                shape,
                role,
                init: None,
                is_parameter: false,
                path: None,
                bound: None,
            });
        };
        let section = Section { reader: *self, at: value.span().start, name: "", table };
        section.only(&["shape", "role", "init", "path", "bound"])?;
        let shape = self.shape(section.need("shape", "such as \"[b, s, d]\"")?.1)?;
        let bound = match section.get("bound") {
            None => None,
            Some((at, value)) => Some(self.bound(at, value)?),
        };
        let role = section.get("role").map(|(_, value)| self.string(value)).transpose()?;
        let path = section.get("path").map(|(_, value)| self.string(value)).transpose()?;
        let is_parameter = path.is_some() || role == Some(CONSTANT);
        let init = section.get("init").map(|(_, value)| self.init(value)).transpose()?;
        if is_parameter && init.is_none() {
            return Err(self.wrong(section.at, "a parameter needs `init`: how its values are made"));
        }
        let role = match section.get("role") {
            None if is_parameter => Role::Second,
            None => plain,
            Some(_) if is_parameter => Role::Second,
            Some((_, value)) => self.role(value)?,
        };
        if role == Role::Index && bound.is_none() {
            let reason = "an index needs `bound`: an extent or a number that it stays below";
            return Err(self.wrong(section.at, reason));
        }
        let path = path.map(str::to_owned);
        Ok(TensorDecl { name, shape, role, init, is_parameter, path, bound })
    }

    fn init(&self, value: &Spanned<DeValue<'_>>) -> Result<Init, CustomError> {
        let text = self.string(value)?;
        Init::parse(text).ok_or_else(|| {
            let reason = format!("`{text}` is none of {}", init::FORMS);
            self.wrong(value.span().start, reason)
        })
    }

    fn bound(&self, at: usize, value: &Spanned<DeValue<'_>>) -> Result<Expr, CustomError> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            _ => self.raw(value),
        };
        let shape = Shape::parse(&format!("[{text}]")).ok();
        let dim = shape.and_then(|shape| shape.dims.into_iter().next());
        dim.ok_or_else(|| self.wrong(at, format!("`{text}` is no extent")))
    }

    fn role(&self, value: &Spanned<DeValue<'_>>) -> Result<Role, CustomError> {
        let roles = [
            ("main", Role::Main),
            ("second", Role::Second),
            ("gain", Role::Gain),
            ("bias", Role::Bias),
            ("positive", Role::Positive),
            ("probabilities", Role::Simplex),
            ("sign", Role::Sign),
            ("index", Role::Index),
            ("mask", Role::Mask),
            ("unit", Role::Between(0.0, 1.0)),
        ];
        let name = self.string(value)?;
        let found = roles.iter().find(|(known, _)| *known == name);
        found.map(|(_, role)| *role).ok_or_else(|| {
            let known: Vec<&str> = roles.iter().map(|(name, _)| *name).collect();
            let reason = format!("unknown role `{name}` (known: {}, {CONSTANT})", known.join(", "));
            self.wrong(value.span().start, reason)
        })
    }

    fn scalars(
        &self,
        root: &Section<'a, '_>,
        tensors: &[TensorDecl],
    ) -> Result<Vec<(String, ArgValue)>, CustomError> {
        let Some(section) = root.section("scalars")? else { return Ok(Vec::new()) };
        let mut scalars = Vec::new();
        for (key, value) in section.entries() {
            let name = self.name(key)?;
            let value = self.scalar(value)?;
            let is_integer = matches!(value, ArgValue::Int(_));
            let taken = |tensor: &TensorDecl| {
                let in_shape = tensor.shape.names().any(|symbol| symbol == name);
                tensor.name == name || (in_shape && !is_integer)
            };
            if tensors.iter().any(taken) {
                let reason = format!("`{name}` is a tensor or an extent already");
                return Err(self.wrong(key.span().start, reason));
            }
            scalars.push((name, value));
        }
        Ok(scalars)
    }

    fn scalar(&self, value: &Spanned<DeValue<'_>>) -> Result<ArgValue, CustomError> {
        let at = value.span().start;
        let wrong = || self.wrong(at, "a scalar is a number, a string, true, false or a list");
        let number = |value: &Spanned<DeValue<'_>>| self.raw(value).replace('_', "");
        match value.get_ref() {
            DeValue::String(text) => Ok(ArgValue::Str(text.clone().into_owned())),
            DeValue::Boolean(value) => Ok(ArgValue::Bool(*value)),
            DeValue::Integer(_) => number(value).parse().map(ArgValue::Int).map_err(|_| wrong()),
            DeValue::Float(_) => number(value).parse().map(ArgValue::Float).map_err(|_| wrong()),
            DeValue::Array(items) => {
                let ints = items.iter().map(|item| number(item).parse::<i64>().ok());
                if let Some(ints) = ints.collect::<Option<Vec<_>>>() {
                    return Ok(ArgValue::Ints(ints));
                }
                let floats = items.iter().map(|item| number(item).parse::<f64>().ok());
                floats.collect::<Option<Vec<_>>>().map(ArgValue::Floats).ok_or_else(wrong)
            }
            DeValue::Datetime(_) | DeValue::Table(_) => Err(wrong()),
        }
    }

    fn outputs(&self, root: &Section<'a, '_>) -> Result<Vec<OutputDecl>, CustomError> {
        let Some(section) = root.section("outputs")? else {
            let what = "the result".to_owned();
            return Ok(vec![OutputDecl { name: "out".to_owned(), what, shape: None }]);
        };
        let entries = section.entries();
        let mut outputs = Vec::new();
        for (index, (key, value)) in entries.iter().enumerate() {
            let wanted = if entries.len() == 1 { "out".to_owned() } else { format!("out{index}") };
            let name: &str = key.get_ref().as_ref();
            if name != wanted {
                let reason = format!("this output is called `{wanted}`, not `{name}`");
                return Err(self.wrong(key.span().start, reason));
            }
            outputs.push(self.output(wanted, value)?);
        }
        if outputs.is_empty() {
            return Err(self.wrong(section.at, "no output is given"));
        }
        Ok(outputs)
    }

    fn output(
        &self,
        name: String,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<OutputDecl, CustomError> {
        if let DeValue::Table(table) = value.get_ref() {
            let section = Section { reader: *self, at: value.span().start, name: "", table };
            section.only(&["shape", "text"])?;
            let shape = section.get("shape").map(|(_, value)| self.shape(value)).transpose()?;
            let what = match section.get("text") {
                Some((_, value)) => self.string(value)?.to_owned(),
                None => "the result".to_owned(),
            };
            return Ok(OutputDecl { name, what, shape });
        }
        let text = self.string(value)?;
        if text.trim_end().ends_with(']') {
            let shape = Some(self.shape(value)?);
            return Ok(OutputDecl { name, what: "the result".to_owned(), shape });
        }
        Ok(OutputDecl { name, what: text.to_owned(), shape: None })
    }

    fn cases(&self, root: &Section<'a, '_>) -> Result<Vec<CaseDecl>, CustomError> {
        let what = "what the op is tried on, at least one table with its extents";
        let (at, value) = root.need("cases", what)?;
        let DeValue::Array(items) = value.get_ref() else {
            return Err(self.wrong(at, format!("`cases` is a list of tables: {what}")));
        };
        if items.is_empty() {
            return Err(self.wrong(at, format!("there is no case: {what}")));
        }
        items.iter().map(|item| self.case(item)).collect()
    }

    fn case(&self, item: &Spanned<DeValue<'_>>) -> Result<CaseDecl, CustomError> {
        let at = item.span().start;
        let DeValue::Table(table) = item.get_ref() else {
            return Err(self.wrong(at, "a case is a table such as { b = 2, d = 64 }"));
        };
        let section = Section { reader: *self, at, name: "cases", table };
        let keys = section.entries().into_iter().map(|(key, value)| CaseKey {
            name: key.get_ref().clone().into_owned(),
            at: key.span().start,
            text: self.raw(value).to_owned(),
            string: match value.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            },
        });
        Ok(CaseDecl { at, keys: keys.collect() })
    }

    fn reference(
        &self,
        root: &Section<'a, '_>,
        definition: &mut Definition,
    ) -> Result<(), CustomError> {
        let what = "`graph`, a composition of catalogue ops, `cuda`, a plain kernel file, `python`, a \
                    function, or `module = true`, the imported module";
        let section = root.section("reference")?.ok_or_else(|| root.missing("reference", what))?;
        section.only(&["graph", "cuda", "accumulation", "python", "module"])?;
        let mut entries = section.entries();
        entries.retain(|(key, _)| key.get_ref() != "accumulation");
        let [(key, value)] = entries.as_slice() else {
            let reason = match entries.is_empty() {
                true => format!("the reference is empty: {what}"),
                false => format!("a reference is one of {what}"),
            };
            return Err(self.wrong(section.at, reason));
        };
        let at = key.span().start;
        definition.reference = match key.get_ref().as_ref() {
            "graph" => {
                let graph = parse::graph(self.string(value)?, definition);
                Reference::Graph(graph.map_err(|error| self.inside(value, error))?)
            }
            "cuda" => Reference::Cuda {
                source: self.string(value)?.to_owned(),
                accumulation: self.accumulation(&section, definition)?,
            },
            "python" => Reference::Python(self.python(value)?),
            _ if !matches!(value.get_ref(), DeValue::Boolean(true)) => {
                return Err(self.wrong(at, "`module` is true, or left out"));
            }
            _ if definition.module.is_none() => {
                return Err(self.wrong(at, "the file has no section `module`"));
            }
            _ => Reference::Python(PythonReference::Module),
        };
        if let (Some((at, _)), false) =
            (section.get("accumulation"), matches!(definition.reference, Reference::Cuda { .. }))
        {
            return Err(self.wrong(at, "`accumulation` belongs to a kernel, which says no length"));
        }
        let bare = definition.outputs.iter().find(|output| output.shape.is_none());
        match (&definition.reference, bare) {
            (Reference::Cuda { .. } | Reference::Python(_), Some(OutputDecl { name, .. })) => {
                let reason =
                    format!("without a graph it needs `outputs.{name} = \"[..]\"`, its shape");
                Err(self.wrong(at, reason))
            }
            _ => Ok(()),
        }
    }

    /// Reads the number of terms of a sum.
    fn accumulation(
        &self,
        section: &Section<'_, '_>,
        definition: &Definition,
    ) -> Result<Option<Expr>, CustomError> {
        let Some((at, value)) = section.get("accumulation") else { return Ok(None) };
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            _ => self.raw(value),
        };
        let wrong = |reason: String| Err(self.wrong(at, reason));
        let Some(terms) = Expr::parse(text) else {
            return wrong(format!("`{text}` is no number of terms such as \"k\" or \"c*h*w\""));
        };
        let known = definition.integers();
        if let Some(name) = terms.names().into_iter().find(|name| !known.contains(name)) {
            return wrong(format!("unknown name `{name}` (known here: {})", known.join(", ")));
        }
        if terms.names().is_empty() && terms.value(&Symbols::new()).is_none_or(|terms| terms < 1) {
            return wrong(format!("a sum has at least one term, not {text}"));
        }
        Ok(Some(terms))
    }

    fn python(&self, value: &Spanned<DeValue<'_>>) -> Result<PythonReference, CustomError> {
        let text = self.string(value)?;
        if !text.contains(PYTHON_FUNCTION) {
            let reason = format!("the text defines no `{PYTHON_FUNCTION}`");
            return Err(self.wrong(value.span().start, reason));
        }
        Ok(PythonReference::Text(text.to_owned()))
    }

    /// Moves an error of a text within a value to its place in the file.
    fn inside(&self, value: &Spanned<DeValue<'_>>, error: CustomError) -> CustomError {
        let raw = self.raw(value);
        let multiline = raw.starts_with("\"\"\"") || raw.starts_with("'''");
        let begin = CustomError::at(self.text, value.span().start, "");
        // A newline right behind the quotes is no part of the text.
        let skipped = usize::from(multiline && raw[3..].trim_start_matches('\r').starts_with('\n'));
        let quotes = if multiline { 3 } else { 1 };
        let on_first = error.line == 1 && skipped == 0;
        CustomError {
            line: begin.line + skipped + error.line - 1,
            column: if on_first { begin.column + quotes + error.column - 1 } else { error.column },
            reason: error.reason,
        }
    }
}
