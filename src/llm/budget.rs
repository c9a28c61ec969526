//! The limit on the number of calls of a run.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::Error;
use crate::record::{Cap, CapKind, CapScope};

/// Counts calls over all ops of a run and stops before the limit is exceeded.
///
/// Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct CallBudget {
    limit: Option<u32>,
    used: Arc<AtomicU32>,
}

impl CallBudget {
    /// Returns a budget of `limit` calls (`None`: no limit), of which `used` are spent.
    #[must_use]
    pub fn new(limit: Option<u32>, used: u32) -> Self {
        Self { limit, used: Arc::new(AtomicU32::new(used)) }
    }

    /// Returns the calls spent.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes one call out of the budget.
    ///
    /// # Errors
    ///
    /// [`Error::Budget`] when none is left.
    pub fn take(&self) -> Result<(), Error> {
        let limit = self.limit.unwrap_or(u32::MAX);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < limit).then_some(used.saturating_add(1))
            })
            .map(|_| ())
            .map_err(|_| Error::Budget {
                cap: Cap { scope: CapScope::Run, kind: CapKind::Calls, limit: limit.into() },
            })
    }
}

#[cfg(test)]
mod tests {
    use super::{CallBudget, Error};

    #[test]
    fn clones_share_one_count_and_stop_at_the_limit() {
        let budget = CallBudget::new(Some(3), 1);
        let other = budget.clone();
        assert!(budget.take().is_ok());
        assert!(other.take().is_ok());
        assert!(matches!(budget.take(), Err(Error::Budget { .. })));
        assert_eq!(other.used(), 3);
    }
}
