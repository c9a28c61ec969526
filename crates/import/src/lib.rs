//! Traces of PyTorch modules become definitions of ops: text that needs no PyTorch afterwards.
//!
//! `python/importer` traces a module for several sets of its constants ([`Trace`]). [`import`] binds
//! every call to an op of the catalogue as calls of a log are bound, rewrites views as shape arithmetic,
//! and finds extents that the variants have in common: an integer that differs between variants is a
//! symbol, or an expression of symbols that gives its value in each. Symbols that may change alone are drawn
//! anew for every evaluation, in one case of the definition.

mod bind;
mod check;
mod draw;
pub mod flashinfer;
mod name;
mod symbols;
mod trace;
pub mod tracer;
mod view;
mod write;

use std::sync::Arc;

use kgen_ops::{
    op::{self, CaseDraft, DraftTensor, DraftValue, Layout, OpDef, build_case},
    record::{Case, CaseClass, DType, InputDistribution},
};

use bind::Graph;
use symbols::Symbols;

pub use check::{CheckError, check, responds};
pub use name::spelled;
pub use trace::{Role, Trace, Variant};

/// A module that makes no definition.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// A call of the graph that no op of the catalogue computes.
    #[error("`{target}`: {reason}")]
    Call {
        /// The call, as PyTorch names it: `aten.lstm.input`.
        target: String,
        /// The line of the module's file, where it is known.
        line: Option<u32>,
        /// Why.
        reason: String,
    },
    /// A tensor whose values nothing in the format describes.
    #[error("tensor `{name}`: {reason}")]
    Tensor {
        /// Its path in the module, or its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A definition or a workload of FlashInfer-Bench that does not fit the format.
    #[error("{0}")]
    FlashInfer(String),
    /// Variants whose graphs differ.
    #[error("the graphs of two variants differ: {0}")]
    Variants(String),
    /// The text of the definition is none: a mistake of the importer.
    #[error("the definition cannot be read back: {0}")]
    Definition(#[from] op::CustomError),
    /// A variant is no call of the definition.
    #[error(transparent)]
    Case(#[from] op::BuildError),
}

/// A traced module as an op.
#[derive(Debug)]
pub struct Imported {
    /// The text of the definition.
    pub text: String,
    /// The op.
    pub op: Arc<OpDef>,
    /// The case of each variant.
    pub cases: Vec<Case>,
    /// The extents that are drawn.
    pub drawn: Vec<String>,
}

impl Trace {
    /// Leaves out drawn versions whose graph is another one: where an extent is 1, a call may be none.
    pub fn leave_out_others(&mut self) {
        let Some(Ok(first)) = self.variants.first().map(bind::bind) else { return };
        self.variants.retain(|variant| {
            let alike = || bind::bind(variant).is_ok_and(|graph| symbols::alike(&first, &graph));
            variant.role != Role::Drawn || alike()
        });
    }
}

/// Returns the definition of a traced module as an op of a name.
///
/// # Errors
///
/// [`ImportError`] where a call, a tensor or a variant does not fit.
pub fn import(trace: &Trace, name: &str) -> Result<Imported, ImportError> {
    let graphs: Vec<_> = trace.variants.iter().map(bind::bind).collect::<Result<_, _>>()?;
    if graphs.is_empty() {
        return Err(ImportError::Variants("there is none".to_owned()));
    }
    let mut symbols = symbols::find(trace, &graphs)?;
    let written = write::write(trace, name, &graphs, &symbols)?;
    // A simpler expression may have come after a scalar was made.
    let mut written = match symbols.drop_unused(&written.text()) {
        true => write::write(trace, name, &graphs, &symbols)?,
        false => written,
    };
    let mut op = op::custom(&written.text())?;
    let drawn = draw::find(&written.head, &draw::Versions::new(trace, &graphs, &symbols));
    if !drawn.ranges.is_empty() {
        written.head.push_str(&drawn.constants());
        written.cases.push_str(&drawn.case());
        op = op::custom(&written.text())?;
    }
    let cases = (0..graphs.len()).map(|variant| case(&op, &graphs[variant], &symbols, variant));
    let cases = cases.collect::<Result<_, _>>()?;
    let drawn = drawn.ranges.into_iter().map(|range| range.name).collect();
    Ok(Imported { text: written.text(), op, cases, drawn })
}

fn case(op: &OpDef, graph: &Graph, symbols: &Symbols, variant: usize) -> Result<Case, ImportError> {
    let tensors = graph.tensors.iter().map(|tensor| {
        let dtype = bind::dtype(tensor.dtype);
        let draft = DraftTensor { dtype, shape: tensor.shape.clone(), layout: Layout::Contiguous };
        (name::name(&tensor.name), DraftValue::Tensor(draft))
    });
    let integers = symbols.integers.iter();
    let integers = integers.map(|of| (of.name.clone(), DraftValue::Int(of.values[variant])));
    let floats = symbols.floats.iter();
    let floats = floats.map(|(name, of)| (name.clone(), DraftValue::Float(of[variant])));
    let draft = CaseDraft {
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        values: tensors.chain(integers).chain(floats).collect(),
    };
    Ok(build_case(op, &draft)?)
}

impl Imported {
    /// Notes in the definition that the result does not depend on the inputs.
    pub fn mark_degenerate(&mut self) {
        self.text = self.text.replacen("\n[module]\n", "\n[module]\ndegenerate = true\n", 1);
    }
}

/// Returns the text of a suite file with the ops of files beside it.
#[must_use]
pub fn suite(name: &str, description: &str, ops: &[String]) -> String {
    let description = write::quoted(description);
    let head = format!("format = 1\nname = \"{name}\"\ndescription = {description}\n");
    ops.iter().fold(head, |text, op| format!("{text}\n[[ops]]\nop_file = \"{op}.toml\"\n"))
}
