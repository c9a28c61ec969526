//! Ops that a user defines in a file: named tensors with symbolic shapes, scalars, cases, and a
//! reference that is a graph of catalogue ops, a plain kernel or Python code.
//!
//! The format is documented at the head of `examples/fused_bias_gelu_residual.toml`. [`custom`]
//! turns the text of such a file into an [`OpDef`] like those of the catalogue: everything that
//! takes an op takes it. A definition travels as its text, so that a worker or a resumed run needs
//! no file.

mod definition;
mod dims;
mod engine;
mod evaluated;
mod file;
mod graph;
mod init;
mod least;
mod module;
mod parse;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::expr::Expr;

use super::{Engine, OpDef, OpFamily, catalogue};
use definition::Reference;
use engine::{Declared, GraphEngine};
use evaluated::EvaluatedEngine;

pub use definition::CaseText;
pub use evaluated::{Evaluator, PythonReference, Quantity, ReferenceEvaluator, ReferenceKernel};
pub use module::{ModuleTensor, TorchModule};

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

/// Returns the op that a text defines.
///
/// # Errors
///
/// [`CustomError`] with line, column and reason.
pub fn custom(text: &str) -> Result<Arc<OpDef>, CustomError> {
    build(text).map(Arc::new)
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

/// Returns the extents of each tensor of a custom op as its file words them: numbers, names of extents, and
/// expressions of both, which are Python's too. None for an op of the catalogue.
///
/// # Errors
///
/// [`CustomError`] where the definition cannot be read.
pub fn custom_extents(op: &OpDef) -> Result<Vec<Vec<String>>, CustomError> {
    let Some(text) = &op.definition else { return Ok(Vec::new()) };
    let spelled = |dims: &[Expr]| dims.iter().map(Expr::to_string).collect();
    Ok(file::read(text)?.tensors.iter().map(|tensor| spelled(&tensor.shape.dims)).collect())
}

fn build(text: &str) -> Result<OpDef, CustomError> {
    let definition = file::read(text)?;
    if !catalogue::lookup(&definition.name).is_empty() {
        let reason = format!("`{}` is the name of an op of the catalogue", definition.name);
        return Err(CustomError::at(text, definition.name_at, reason));
    }
    // A case that cannot be worded is a mistake of the file, found before any is used.
    definition.case_texts(text)?;
    let mut node_families = Vec::new();
    let elsewhere = |measures, accumulation| -> Box<dyn Engine> {
        Box::new(EvaluatedEngine { declared: Declared::new(&definition), measures, accumulation })
    };
    let (mut kernel, mut python) = (None, None);
    let engine = match &definition.reference {
        Reference::Graph(graph) => {
            node_families = graph.families();
            Box::new(GraphEngine::new(&definition, graph.clone()))
        }
        Reference::Cuda { source, accumulation } => {
            kernel = Some(ReferenceKernel::new(&definition, source.clone()));
            elsewhere(false, accumulation.clone())
        }
        Reference::Python(reference) => {
            python = Some(reference.clone());
            elsewhere(true, None)
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
        dtypes: definition.dtypes,
        family: OpFamily::General,
        node_families,
        engine,
        exact: false,
        signed_zero: false,
        ulps: None,
        slack: Vec::new(),
        module: definition.module.clone(),
        definition: Some(text.to_owned()),
        reference_kernel: kernel,
        python_reference: python,
    })
}
