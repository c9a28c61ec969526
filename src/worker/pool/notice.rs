//! What people should hear of workers while a run goes on.

use std::{fmt, sync::Arc};

/// Something worth a line that is no failure of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something to know.
    Note(String),
    /// Something that is not as it was asked for: a GPU given up, a Python process that died.
    Warning(String),
}

/// Takes notices; the log has them too, below the level that is shown by default.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Notices {
    /// Returns notices that go to `hear`.
    pub fn new(hear: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    pub(super) fn note(&self, text: String) {
        tracing::info!("{text}");
        (self.0)(&Notice::Note(text));
    }

    pub(super) fn warn(&self, text: String) {
        tracing::info!("{text}");
        (self.0)(&Notice::Warning(text));
    }
}

impl Default for Notices {
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}
