//! Notices about workers, for people, while a run goes on.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

/// Something worth a line that is no failure of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// Something to know.
    Note(String),
    /// Something that is not as it was asked for: a GPU given up, a Python process that died.
    Warning(String),
}

/// Takes notices; the log has them too, below the level that is shown by default.
#[derive(Clone)]
pub struct Notices {
    hear: Arc<dyn Fn(&Notice) + Send + Sync>,
    noted: Arc<Mutex<BTreeSet<String>>>,
}

impl Notices {
    /// Returns notices that go to `hear`.
    pub fn new(hear: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self { hear: Arc::new(hear), noted: Arc::default() }
    }

    /// Passes a note on the first time that it comes: workers that share a GPU find the same.
    pub(super) fn note(&self, text: String) {
        tracing::info!("{text}");
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.insert(text.clone()) {
            (self.hear)(&Notice::Note(text));
        }
    }

    /// Passes a notice of another machine on.
    pub(super) fn pass_on(&self, notice: Notice) {
        match notice {
            Notice::Note(text) => self.note(text),
            Notice::Warning(text) => self.warn(text),
        }
    }

    pub(super) fn warn(&self, text: String) {
        tracing::info!("{text}");
        (self.hear)(&Notice::Warning(text));
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::Notices;

    #[test]
    fn a_note_comes_once_and_a_warning_each_time() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        let notices = Notices::new(move |notice| sink.lock().unwrap().push(notice.clone()));
        for _ in 0..2 {
            notices.clone().note("torch 2.11".to_owned());
            notices.warn("it died".to_owned());
        }
        let heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 3, "{heard:?}");
    }
}
