//! Ops that a user defines in a file: named tensors with symbolic shapes, scalars, cases, and a
//! reference that is a graph of catalogue ops or a plain kernel.
//!
//! The format is documented at the head of `examples/fused_bias_gelu_residual.toml`. [`custom`]
//! turns the text of such a file into an [`OpDef`] like those of the catalogue: everything that
//! takes an op takes it. A definition travels as its text, so that a worker or a resumed run needs
//! no file.

mod definition;
mod dims;
mod engine;
mod file;
mod graph;
mod kernel;
mod parse;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use crate::record::DType;

use super::{Engine, OpDef, OpFamily, catalogue};
use definition::Reference;
use engine::GraphEngine;
use kernel::KernelEngine;

pub use definition::CaseText;
pub use kernel::{KernelEvaluator, ReferenceKernel};

/// A definition that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct CustomError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The mistake.
    pub reason: String,
}

impl CustomError {
    /// Complains about a place in a text; `at` counts bytes.
    pub(crate) fn at(text: &str, at: usize, reason: impl Into<String>) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            reason: reason.into(),
        }
    }
}

/// The ops that were defined in this process, by their texts.
///
/// They are never dropped: an op is `'static` like those of the catalogue, and a process sees a
/// handful of texts.
static DEFINED: LazyLock<Mutex<HashMap<String, &'static OpDef>>> = LazyLock::new(Mutex::default);

/// Returns the op that a text defines; the same text gives the same op.
///
/// # Errors
///
/// [`CustomError`] with line, column and reason.
pub fn custom(text: &str) -> Result<&'static OpDef, CustomError> {
    let mut defined = DEFINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&op) = defined.get(text) {
        return Ok(op);
    }
    let op: &'static OpDef = Box::leak(Box::new(build(text)?));
    defined.insert(text.to_owned(), op);
    Ok(op)
}

/// Returns the cases of a custom op as a suite file words them; none for an op of the catalogue.
///
/// # Errors
///
/// [`CustomError`] where a case does not fit the definition.
pub fn custom_cases(op: &OpDef) -> Result<Vec<CaseText>, CustomError> {
    match &op.definition {
        Some(text) => file::read(text)?.case_texts(text),
        None => Ok(Vec::new()),
    }
}

fn build(text: &str) -> Result<OpDef, CustomError> {
    let definition = file::read(text)?;
    if catalogue::lookup(&definition.name).is_some() {
        let reason = format!("`{}` is the name of an op of the catalogue", definition.name);
        return Err(CustomError::at(text, definition.name_at, reason));
    }
    // A case that cannot be worded is a mistake of the file, found before any is used.
    definition.case_texts(text)?;
    let dtypes: &'static [DType] = Box::leak(definition.dtypes.clone().into_boxed_slice());
    let (engine, kernel): (Box<dyn Engine>, _) = match &definition.reference {
        Reference::Graph(graph) => (Box::new(GraphEngine::new(&definition, graph.clone())), None),
        Reference::Cuda(source) => {
            let kernel: &'static ReferenceKernel =
                Box::leak(Box::new(ReferenceKernel::new(&definition, source.clone())));
            (Box::new(KernelEngine::new(&definition, kernel)), Some(kernel))
        }
    };
    Ok(OpDef {
        name: definition.name.clone(),
        schema: format!("custom.{}", definition.name),
        aliases: Vec::new(),
        signature: definition.signature(),
        semantics: definition.described(),
        outputs: definition.outputs.iter().map(|output| output.what.clone()).collect(),
        returns_list: false,
        params: definition.params(),
        dtypes,
        family: OpFamily::General,
        engine,
        exact: false,
        signed_zero: false,
        ulps: None,
        slack: Vec::new(),
        definition: Some(text.to_owned()),
        reference_kernel: kernel,
    })
}
