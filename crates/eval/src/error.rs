//! Errors that end the evaluation of a case early.

use kgen_device::LaunchError;

use super::Error;

/// A stop of the candidate or a failure of kgen.
pub(super) enum EvalError {
    LaunchError(LaunchError),
    Error(Error),
}

impl From<LaunchError> for EvalError {
    fn from(stop: LaunchError) -> Self {
        Self::LaunchError(stop)
    }
}

impl From<Error> for EvalError {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}
