//! A request with its op resolved: the value that every stage of an evaluation takes.

use std::{ops::Deref, sync::Arc};

use kgen_ops::op::{self, OpDef};
use kgen_record::EvalRequest;

use super::{Error, reference_kernel::ReferenceKernels, side::Process};

/// A request whose op was found once.
pub(super) struct Job<'a> {
    pub(super) op: Arc<OpDef>,
    pub(super) request: &'a EvalRequest,
    /// The programs of a reference that is a kernel, by call.
    pub(super) references: Arc<ReferenceKernels>,
    /// The process that a reference in Python runs in.
    pub(super) process: Option<&'a Process<'a>>,
}

impl<'a> Job<'a> {
    /// Finds the op of a request: in the catalogue, or from the definition that comes with it.
    pub(super) fn resolve(request: &'a EvalRequest) -> Result<Self, Error> {
        let op = match &request.definition {
            Some(text) => op::custom(text)?,
            None => Arc::clone(op::find(&request.op)?),
        };
        Ok(Self { op, request, references: Arc::default(), process: None })
    }

    /// Lets a reference in Python be evaluated.
    pub(super) fn with_process(self, process: &'a Process<'a>) -> Self {
        Self { process: Some(process), ..self }
    }
}

impl Deref for Job<'_> {
    type Target = EvalRequest;

    fn deref(&self) -> &EvalRequest {
        self.request
    }
}
