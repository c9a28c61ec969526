//! Errors that end an evaluation, or that of a case, early.

use kgen_device::LaunchError;
use kgen_ops::op::InferError;
use kgen_record::{Finding, Verdict};

use super::{Error, builder::EarlyVerdict};

/// A kernel file that becomes no program.
#[derive(Debug)]
pub(super) enum BuildError {
    /// The file is at fault.
    Rejected(Box<EarlyVerdict>),
    /// kgen or its machine failed.
    Machine(Error),
}

impl BuildError {
    /// Returns the failure of kgen, or the error that `rejected` makes of the findings in one line.
    pub(super) fn or_rejected(self, rejected: impl FnOnce(String) -> Error) -> Error {
        match self {
            Self::Rejected(verdict) => rejected(verdict.messages()),
            Self::Machine(error) => error,
        }
    }
}

impl From<EarlyVerdict> for BuildError {
    fn from(verdict: EarlyVerdict) -> Self {
        Self::Rejected(Box::new(verdict))
    }
}

impl From<Error> for BuildError {
    fn from(error: Error) -> Self {
        Self::Machine(error)
    }
}

impl From<InferError> for BuildError {
    fn from(error: InferError) -> Self {
        Self::Machine(error.into())
    }
}

impl From<kgen_compile::Error> for BuildError {
    fn from(error: kgen_compile::Error) -> Self {
        Self::Machine(error.into())
    }
}

/// A launch that failed, or a failure of kgen.
#[derive(Debug)]
pub(super) enum EvalError {
    Launch(LaunchError),
    Machine(Error),
}

impl EvalError {
    /// Returns why a device takes no code, or the failure of kgen or its machine.
    pub(super) fn into_refusal(self) -> Result<(Verdict, Finding), Error> {
        match self {
            Self::Launch(LaunchError::Kernel { verdict, finding, .. }) => Ok((verdict, *finding)),
            Self::Launch(LaunchError::Budget { reason, .. }) => {
                Ok((Verdict::LaunchError, Finding::new(reason)))
            }
            Self::Launch(LaunchError::Machine(error)) => Err(error.into()),
            Self::Machine(error) => Err(error),
        }
    }
}

impl From<LaunchError> for EvalError {
    fn from(error: LaunchError) -> Self {
        Self::Launch(error)
    }
}

impl From<Error> for EvalError {
    fn from(error: Error) -> Self {
        Self::Machine(error)
    }
}
