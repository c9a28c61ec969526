//! One line of the page.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Passed,
    /// Not as it should be.
    Failed,
    /// Measured, and nothing was asked of it.
    Informational,
    /// Not measured, with the reason.
    NotMeasured(String),
}

/// A check or a part of one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimingCheck {
    pub check: &'static str,
    /// The measured quantity.
    pub what: String,
    /// The value.
    pub found: String,
    /// The demanded value; empty where nothing is asked.
    pub asked: String,
    /// Whether it is.
    pub outcome: CheckStatus,
    /// The value, as numbers by their names.
    pub values: BTreeMap<&'static str, f64>,
}

impl TimingCheck {
    /// A row that is judged.
    #[must_use]
    pub fn judged(check: &'static str, what: impl Into<String>, passed: bool) -> Self {
        let outcome = if passed { CheckStatus::Passed } else { CheckStatus::Failed };
        Self::new(check, what, outcome)
    }

    /// A row of which nothing is asked.
    pub(super) fn informational(check: &'static str, what: impl Into<String>) -> Self {
        Self::new(check, what, CheckStatus::Informational)
    }

    /// A row that could not be measured.
    #[must_use]
    pub fn not_measured(
        check: &'static str,
        what: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self::new(check, what, CheckStatus::NotMeasured(reason.into()))
    }

    /// The judge's answer to a kernel that must be refused.
    ///
    /// Without the emulator one may pass: its outputs were right then, those of timed launches too,
    /// so that what it meant to leave out it did not.
    #[must_use]
    pub fn refused(check: &'static str, judged: &judge::ControlResult, screened: bool) -> Self {
        let what = &judged.item.mechanism;
        let reason: String = judged.reason.chars().take(60).collect();
        if !screened && judged.verdict.is_pass() {
            let what = format!("{what}, without the emulator");
            return Self::informational(check, what).found("passed: it computed everything");
        }
        let how = if screened { "" } else { ", without the emulator" };
        Self::judged(check, format!("{what}{how}"), judged.end == judge::End::Right)
            .found(format!("{}: {reason}", judged.verdict))
            .asked("refused")
    }

    fn new(check: &'static str, what: impl Into<String>, outcome: CheckStatus) -> Self {
        Self {
            check,
            what: what.into(),
            found: String::new(),
            asked: String::new(),
            outcome,
            values: BTreeMap::new(),
        }
    }

    /// Says what was found.
    #[must_use]
    pub fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into();
        self
    }

    /// Says what it must be.
    #[must_use]
    pub fn asked(mut self, asked: impl Into<String>) -> Self {
        self.asked = asked.into();
        self
    }

    pub(super) fn value(mut self, name: &'static str, value: f64) -> Self {
        self.values.insert(name, value);
        self
    }
}
