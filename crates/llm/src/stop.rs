//! A stop from outside: it ends waits, and never an open request.

use tokio_util::sync::CancellationToken;

use super::Error;

/// Ends the waits of a provider's calls once its token is cancelled.
#[derive(Debug, Default)]
pub(super) struct Stop(pub(super) CancellationToken);

impl Stop {
    /// Waits for something that nothing was sent for, or for the stop, which comes first where both are there.
    ///
    /// # Errors
    ///
    /// [`Error::Stopped`].
    pub(super) async fn unless<T>(&self, wait: impl Future<Output = T>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.0.cancelled() => Err(Error::Stopped),
            value = wait => Ok(value),
        }
    }
}
