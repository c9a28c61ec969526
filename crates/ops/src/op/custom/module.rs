//! The PyTorch module that a definition was imported from.

use toml::{Spanned, de::DeValue};

use crate::expr::Expr;

use super::{
    CustomError,
    file::{Reader, Section},
};

/// A PyTorch module: its text, and how the op's tensors belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorchModule {
    /// The text of the file that defines it, with `get_inputs` and `get_init_inputs`.
    pub source: String,
    /// The name of the file, for people.
    pub file: String,
    /// The class.
    pub class: String,
    /// The version of PyTorch that it was imported with.
    pub torch: String,
    /// Whether it is in training mode, as modules are when made.
    pub train: bool,
    /// Whether the result does not depend on the inputs.
    pub degenerate: bool,
    /// The Python expression of the arguments, where it is a function and no class.
    pub inputs: Option<String>,
    /// The tensors of the op.
    pub tensors: Vec<(String, ModuleTensor)>,
    /// Whether it keeps values that it draws itself: others than those that a kernel is given.
    pub draws: bool,
    /// Module-level integers of the file for each case: the first are the original ones.
    pub variants: Vec<Vec<(String, i64)>>,
    /// The same for the drawn case: numbers, and expressions of extents.
    pub drawn: Vec<(String, Expr)>,
    /// The extents of each tensor.
    pub extents: Vec<Vec<Expr>>,
}

/// The part that a tensor of the op has in its module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModuleTensor {
    /// An argument of `forward`.
    Input,
    /// A parameter or a buffer, with its path.
    Path(String),
    /// A value that the code makes.
    Constant,
}

/// Reads the section `module`; the tensors are filled in by the caller.
pub(super) fn read(
    reader: &Reader<'_>,
    section: &Section<'_, '_>,
) -> Result<TorchModule, CustomError> {
    section.only(&[
        "source",
        "file",
        "class",
        "inputs",
        "torch",
        "train",
        "degenerate",
        "sha256",
        "variants",
        "drawn",
    ])?;
    let text = |key: &'static str, what: &str| -> Result<String, CustomError> {
        Ok(reader.string(section.need(key, what)?.1)?.to_owned())
    };
    let truth = |key: &'static str, default: bool| match section
        .get(key)
        .map(|(at, value)| (at, value.get_ref()))
    {
        None => Ok(default),
        Some((_, DeValue::Boolean(value))) => Ok(*value),
        Some((at, _)) => Err(reader.wrong(at, format!("`{key}` is true or false"))),
    };
    let variants = match section.get("variants") {
        None => Vec::new(),
        Some((at, value)) => variants(reader, at, value)?,
    };
    let drawn = match section.get("drawn") {
        None => Vec::new(),
        Some((at, value)) => drawn(reader, at, value)?,
    };
    Ok(TorchModule {
        source: text("source", "the text of the file")?,
        file: text("file", "the name of the file")?,
        class: text("class", "the name of the class")?,
        torch: text("torch", "the version of PyTorch")?,
        train: truth("train", true)?,
        degenerate: truth("degenerate", false)?,
        inputs: match section.get("inputs") {
            Some((_, value)) => Some(reader.string(value)?.to_owned()),
            None => None,
        },
        tensors: Vec::new(),
        draws: false,
        variants,
        drawn,
        extents: Vec::new(),
    })
}

fn drawn(
    reader: &Reader<'_>,
    at: usize,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<(String, Expr)>, CustomError> {
    let wrong = || reader.wrong(at, "`drawn` is a table such as { batch_size = \"b\", width = 3 }");
    let DeValue::Table(table) = value.get_ref() else { return Err(wrong()) };
    let constant = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) => Expr::parse(text),
        DeValue::Integer(_) => reader.raw(value).replace('_', "").parse().ok().map(Expr::Number),
        _ => None,
    };
    let constants = table.iter().map(|(key, value)| {
        Ok((key.get_ref().clone().into_owned(), constant(value).ok_or_else(wrong)?))
    });
    constants.collect()
}

fn variants(
    reader: &Reader<'_>,
    at: usize,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<Vec<(String, i64)>>, CustomError> {
    let wrong = || reader.wrong(at, "`variants` is a list of tables such as { batch_size = 2 }");
    let DeValue::Array(items) = value.get_ref() else { return Err(wrong()) };
    let constant = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Integer(_) => reader.raw(value).replace('_', "").parse().ok(),
        _ => None,
    };
    let one = |item: &Spanned<DeValue<'_>>| {
        let DeValue::Table(table) = item.get_ref() else { return Err(wrong()) };
        let constants = table.iter().map(|(key, value)| {
            Ok((key.get_ref().clone().into_owned(), constant(value).ok_or_else(wrong)?))
        });
        constants.collect()
    };
    items.iter().map(one).collect()
}
