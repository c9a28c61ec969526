//! What ends the work on a case early.

use crate::device::Stop;

use super::Error;

/// A stop of the candidate or a failure of kgen.
pub(super) enum Trouble {
    Stop(Stop),
    Error(Error),
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}
