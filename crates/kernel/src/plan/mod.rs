//! The launch plan: a small subset of Python that turns shapes and device facts into launches.
//!
//! # The language
//!
//! Statements: `name = expr`, `a, b = expr`, `x += expr` (and the other operators), `if`/`elif`/
//! `else`, `for name in range(..)` or over a tuple, `pass`, calls; one per line, or separated by
//! `;`. Expressions: checked 64-bit integers, floats, bools, strings (`==`, `!=` and `in` only),
//! None, tuples and lists as literals, `+ - * // % << >> & | ^`, comparisons (chained too, `is`,
//! `in`), `and`/`or`/`not`, `a if c else b`, indexing, attributes of tensors, and calls of
//! [`Builtin`]s. Semantics are Python's, so the text of a plan is valid Python: with the builtins
//! defined as functions it runs unchanged there (when all its lines are indented, after
//! `textwrap.dedent`). The reverse does not hold: `/`, `**`, functions, `while`, slices,
//! comprehensions, f-strings, unpacking and attribute writes are refused, each with a hint.
//!
//! No value can grow, nothing loops for ever: a plan has 100,000 steps. It sees shapes, strides,
//! dtypes, alignment, scalars and the device, never data.
//!
//! # Limits
//!
//! At most 4,096 launches and library steps, 256 scratch buffers of together 8 GiB, 64 KiB of plan; scratch, bytes that fills
//! and copies write, and threads are bounded by the size of the case. A launch whose grid has a 0 is
//! dropped, and a tensor without elements has a map for none but such. A plan must launch or fill something unless its outputs have no elements.

mod amount;
mod ast;
mod buffer;
mod builtin;
mod call;
mod convolution;
mod env;
mod eval;
mod expression;
mod launch;
mod lexer;
mod library;
mod math;
mod names;
mod operator;
mod parser;
mod tensor_map;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

use kgen_record::{Finding, LibraryUse, ResolvedPlan};

use super::file::{KernelFile, line_of};

pub use builtin::{Builtin, BuiltinSpec};
pub use env::Env;
pub use names::{plan_name, plan_names, type_macros};

/// Most bytes of a plan.
const MAX_PLAN_BYTES: usize = 64 << 10;

/// Why a plan gave no launches.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchPlanError {
    /// The plan is wrong.
    #[error(transparent)]
    Error(#[from] PlanError),
    /// A `require` declined the case.
    #[error("line {line}: the plan declines this case: {condition}")]
    Declined {
        /// Line of the `require` in the kernel file.
        line: u32,
        /// Its message, or else the text of its condition.
        condition: String,
    },
}

/// An error of a plan with its place in the kernel file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}:{column}: {message}{}", hint_suffix(.hint.as_deref()))]
pub struct PlanError {
    /// Line in the kernel file, from 1.
    pub line: u32,
    /// Column in that line, in characters from 1.
    pub column: u32,
    /// The mistake.
    pub message: String,
    /// The way out.
    pub hint: Option<String>,
}

fn hint_suffix(hint: Option<&str>) -> String {
    hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
}

impl PlanError {
    /// Returns the error as a finding with the line's text.
    #[must_use]
    pub fn finding(&self, file: &KernelFile) -> Finding {
        Finding {
            message: self.message.clone(),
            span: Some(file.span(self.line, self.column)),
            hint: self.hint.clone(),
            fault: None,
        }
    }
}

/// Evaluates the plan of a kernel file for one case.
///
/// `chosen` holds values for `param` axes; the others take their first value. Entries that the plan
/// never asks for are ignored, as an axis may exist for some cases only.
///
/// # Errors
///
/// [`LaunchPlanError::Error`] where the plan is wrong, [`LaunchPlanError::Declined`] where a `require` fails.
pub fn resolve(
    file: &KernelFile,
    env: &Env,
    chosen: &BTreeMap<String, i64>,
) -> Result<ResolvedPlan, LaunchPlanError> {
    let text = file.text();
    let into_error = |error: eval::PlanEvalError| match error {
        eval::PlanEvalError::Problem(problem) => LaunchPlanError::Error(problem.locate(text)),
        eval::PlanEvalError::Declined { offset, condition } => {
            LaunchPlanError::Declined { line: line_of(text, offset), condition }
        }
    };
    let range = file.plan_range();
    if range.len() > MAX_PLAN_BYTES {
        let message = format!("the plan is longer than {MAX_PLAN_BYTES} bytes");
        return Err(into_error(Problem::new(range.start, message).into()));
    }
    let tokens =
        lexer::tokens(text, range.clone()).map_err(|problem| into_error(problem.into()))?;
    let body = parser::parse(text, &tokens).map_err(|problem| into_error(problem.into()))?;
    eval::run(text, range.start, &body, env, chosen).map_err(into_error)
}

/// Returns the lines of a plan's `launch` calls in the kernel file, whether or not a case makes them.
#[must_use]
pub fn launch_lines(file: &KernelFile) -> Vec<u32> {
    let mut lines = lines_of(file, &|builtin| builtin == Builtin::Launch);
    lines.dedup();
    lines
}

/// Returns whether a plan calls libraries, whether or not a case does.
#[must_use]
pub fn library_use(file: &KernelFile) -> LibraryUse {
    match lines_of(file, &Builtin::is_library).first() {
        Some(_) => LibraryUse::WithLibrary,
        None => LibraryUse::DeviceOnly,
    }
}

/// Returns the line of each call of some builtins.
fn lines_of(file: &KernelFile, wanted: &dyn Fn(Builtin) -> bool) -> Vec<u32> {
    let text = file.text();
    let Ok(tokens) = lexer::tokens(text, file.plan_range()) else { return Vec::new() };
    let calls = tokens.windows(2).filter(|pair| {
        let is_name = pair[0].kind == lexer::Kind::Name;
        is_name
            && Builtin::find(&text[pair[0].start..pair[0].end]).is_some_and(wanted)
            && pair[1].kind == lexer::Kind::Op("(")
    });
    calls.map(|pair| line_of(text, pair[0].start)).collect()
}

/// An error with its byte offset in the kernel file.
#[derive(Debug)]
struct Problem {
    offset: usize,
    message: String,
    hint: Option<String>,
}

impl Problem {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Suggests a near name, or says something else where there is none.
    fn hint_or(self, near: Option<&str>, otherwise: &str) -> Self {
        match near {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self.hint(otherwise),
        }
    }

    fn locate(self, text: &str) -> PlanError {
        let offset = self.offset.min(text.len());
        let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let column = text[start..offset].chars().count() + 1;
        PlanError {
            line: line_of(text, offset),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            message: self.message,
            hint: self.hint,
        }
    }
}
