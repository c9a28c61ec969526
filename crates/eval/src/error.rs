//! Errors that end an evaluation, or that of a case, early.

use kgen_device::LaunchError;
use kgen_record::{Finding, Verdict};

use super::{Error, builder::EarlyVerdict};

/// A stop by the candidate, or a failure of kgen or its machine.
#[derive(Debug)]
pub(super) enum StepError<T> {
    Stopped(T),
    Machine(Error),
}

/// A kernel file that becomes no program.
pub(super) type BuildError = StepError<Box<EarlyVerdict>>;

/// A launch that failed.
pub(super) type EvalError = StepError<LaunchError>;

impl BuildError {
    /// Returns the failure of kgen, or the error that `rejected` makes of the findings in one line.
    pub(super) fn or_rejected(self, rejected: impl FnOnce(String) -> Error) -> Error {
        match self {
            Self::Stopped(verdict) => rejected(verdict.messages()),
            Self::Machine(error) => error,
        }
    }
}

impl EvalError {
    /// Returns why a device takes no code, or the failure of kgen or its machine.
    pub(super) fn into_refusal(self) -> Result<(Verdict, Finding), Error> {
        match self {
            Self::Stopped(LaunchError::Kernel { verdict, finding, .. }) => Ok((verdict, *finding)),
            Self::Stopped(LaunchError::Budget { reason, .. }) => {
                Ok((Verdict::LaunchError, Finding::new(reason)))
            }
            Self::Stopped(LaunchError::Machine(error)) => Err(error.into()),
            Self::Machine(error) => Err(error),
        }
    }
}

impl From<EarlyVerdict> for BuildError {
    fn from(verdict: EarlyVerdict) -> Self {
        Self::Stopped(Box::new(verdict))
    }
}

impl From<LaunchError> for EvalError {
    fn from(error: LaunchError) -> Self {
        Self::Stopped(error)
    }
}

impl<T, E: Into<Error>> From<E> for StepError<T> {
    fn from(error: E) -> Self {
        Self::Machine(error.into())
    }
}
