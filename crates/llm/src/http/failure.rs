//! Classification of a failed try: wait and try again, stop the run, or give up this call.

use std::{error::Error as _, fmt::Write as _, time::Duration};

use reqwest::header::HeaderMap;

use super::Http;
use crate::{
    Error, ResponseRecord, retry,
    wire::{ApiError, WireError},
};

/// A try that failed.
pub(super) struct Failure {
    pub(super) status: Option<u16>,
    pub(super) reason: String,
    pub(super) retryable: bool,
    /// Wait that the provider asked for.
    pub(super) wait: Option<Duration>,
    /// Whether other calls should wait as well.
    pub(super) pause: bool,
    pub(super) maybe_billed: bool,
    /// Whether the server was not reached, or a gateway did not reach it: it may be starting.
    pub(super) unreached: bool,
    /// The error if this is the end of it; `None` stands for [`Error::Unavailable`].
    pub(super) error: Option<Error>,
    pub(super) response: Option<ResponseRecord>,
}

impl Failure {
    pub(super) fn retryable(reason: impl Into<String>) -> Self {
        Self {
            status: None,
            reason: reason.into(),
            retryable: true,
            wait: None,
            pause: false,
            maybe_billed: false,
            unreached: false,
            error: None,
            response: None,
        }
    }
}

/// Silence is taken for a reply that was made and lost.
pub(super) fn silence(what: &str, after: Duration) -> Failure {
    let reason = format!("{what} after {:.1} s", after.as_secs_f64());
    Failure { maybe_billed: true, ..Failure::retryable(reason) }
}

/// A try that there is no time for: it is not sent.
pub(super) fn out_of_time(total: Duration) -> Failure {
    let reason = format!("nothing is left of llm.total_timeout_s = {}", total.as_secs_f64());
    Failure { retryable: false, ..Failure::retryable(reason) }
}

impl Http {
    /// Judges an error inside a 200.
    pub(super) fn wire_failure(&self, error: WireError, headers: &HeaderMap) -> Failure {
        match error {
            WireError::Api(error) => {
                let status = error.implied_status();
                Failure { maybe_billed: true, ..self.api_failure(error, status, headers) }
            }
            WireError::Foreign { excerpt, speaks } => {
                let own = self.access.wire.name();
                let speaks = speaks.filter(|kind| *kind != own);
                let failure = self.foreign(200, &excerpt, speaks);
                // Proxies and login pages of networks put their own pages in the place of replies.
                Failure { maybe_billed: true, retryable: speaks.is_none(), ..failure }
            }
        }
    }

    /// Judges an answer that is not of the provider's wire format.
    pub(super) fn foreign(
        &self,
        status: u16,
        excerpt: &str,
        speaks: Option<&'static str>,
    ) -> Failure {
        let excerpt = self.redactor.clean(excerpt.to_owned());
        Failure {
            retryable: false,
            error: Some(Error::Garbage {
                provider: self.provider.clone(),
                kind: self.access.wire.name(),
                status,
                excerpt: excerpt.clone(),
                speaks,
                url: self.public_url(""),
            }),
            ..Failure::retryable(excerpt)
        }
    }

    /// Judges an error that the provider reports.
    pub(super) fn api_failure(&self, error: ApiError, status: u16, headers: &HeaderMap) -> Failure {
        let spent = status == 402 || error.is_spent(status);
        let message = self.redactor.clean(error.message.clone());
        let provider = self.provider.clone();
        let variable = self.access.key_variable.clone();
        let reason = format!("status {status}: {message}");
        let filtered = !spent && error.is_filtered(status);
        let retryable = !spent && !filtered && retry::is_retryable(status, headers);
        let end = match status {
            _ if spent => Some(Error::Spent { provider, status, message }),
            _ if filtered => Some(Error::Filtered),
            401 | 403 => Some(Error::Auth { provider, variable, status, message }),
            _ if retryable => None,
            _ if error.is_too_long(status) => Some(Error::PromptTooLong { provider, message }),
            _ if error.is_unknown_model(status) => {
                let (model, known) = (self.model.clone(), Vec::new());
                Some(Error::UnknownModel { provider, model, message, known })
            }
            _ => Some(Error::Rejected { provider, status, message, param: error.param }),
        };
        Failure {
            status: Some(status),
            retryable,
            wait: retry::asked_wait(headers, std::time::SystemTime::now()),
            pause: matches!(status, 429 | 529),
            unreached: matches!(status, 502..=504),
            error: end,
            ..Failure::retryable(reason)
        }
    }

    pub(super) fn transport(&self, error: reqwest::Error, maybe_billed: bool) -> Failure {
        let unreached = error.is_connect();
        let reason = self.redactor.clean(chain(&error.without_url()));
        Failure { maybe_billed, unreached, ..Failure::retryable(reason) }
    }
}

/// Writes an error and its sources in one line.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        write!(text, ": {error}").expect("writing to a string cannot fail");
        source = error.source();
    }
    text
}
