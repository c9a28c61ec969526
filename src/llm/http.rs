//! One `send` for all wire formats over HTTP: timeouts, streaming, retries, provider-wide pauses.

use std::{error::Error as _, fmt::Write as _, time::Duration};

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::StreamExt;
use reqwest::{
    StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep, timeout};

use super::{
    Call, Error, HttpAccess, RetryEvent, WireKind,
    budget::Meter,
    gate::Gate,
    redact::Redactor,
    retry,
    wire::{self, ApiError, Built, Completion, Step, WireError},
};

/// Largest body that is read, in bytes: far above any reply, far below a machine's memory.
const MAX_BODY: usize = 64 << 20;

/// Tries while the server could not be connected to at all.
const CONNECT_TRIES: u32 = 3;

/// How long the usage is waited for after a streamed reply was complete.
const USAGE_WAIT: Duration = Duration::from_secs(5);

/// A provider over HTTP.
#[derive(Debug)]
pub(super) struct Http {
    provider: String,
    access: HttpAccess,
    client: reqwest::Client,
    headers: HeaderMap,
    redactor: Redactor,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) completion: Completion,
    pub(super) request_id: Option<String>,
}

/// A try that failed.
struct Failure {
    status: Option<u16>,
    reason: String,
    retryable: bool,
    /// Wait that the provider asked for.
    wait: Option<Duration>,
    /// Whether other calls should wait as well.
    pause: bool,
    maybe_billed: bool,
    /// Whether the server was not even reached.
    unreached: bool,
    /// The error if this is the end of it; `None` stands for [`Error::Unavailable`].
    error: Option<Error>,
}

impl Http {
    /// Checks an access and sets up the client.
    pub(super) fn new(provider: &str, access: HttpAccess) -> Result<Self, Error> {
        let misconfigured =
            |message: String| Error::Config { provider: provider.to_owned(), message };
        if access.key_required && access.key.is_none() {
            let variable = access.key_variable.clone().unwrap_or_default();
            return Err(Error::NoKey { provider: provider.to_owned(), variable });
        }
        let base = &access.base_url;
        let url = Url::parse(base)
            .map_err(|error| misconfigured(format!("the base URL `{base}` is no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            let message = format!("the base URL `{base}` must begin with http:// or https://");
            return Err(misconfigured(message));
        }
        let headers = headers(&access).map_err(misconfigured)?;
        let secrets = access.headers.iter().map(|header| header.value.clone());
        let redactor = Redactor::new(access.key.iter().cloned().chain(secrets));
        let client = reqwest::Client::builder()
            .connect_timeout(access.connect_timeout)
            // A redirected POST would carry the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(Error::Setup)?;
        Ok(Self { provider: provider.to_owned(), access, client, headers, redactor })
    }

    pub(super) fn build(&self, model: &str, call: &Call) -> Built {
        wire::build(&self.access, model, call)
    }

    /// Returns the names of the headers that are sent, sorted.
    pub(super) fn header_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the URL of a request without user info and query.
    pub(super) fn public_url(&self, built: &Built) -> String {
        let Ok(mut url) = Url::parse(&self.url(built)) else { return String::new() };
        // Both fail only for URLs that cannot have user info, which then hold none.
        _ = url.set_username("");
        _ = url.set_password(None);
        url.set_query(None);
        self.redactor.clean(url.to_string())
    }

    /// The path goes before the query that a base URL may have.
    fn url(&self, built: &Built) -> String {
        let (base, query) = match self.access.base_url.split_once('?') {
            Some((base, query)) => (base, format!("?{query}")),
            None => (self.access.base_url.as_str(), String::new()),
        };
        format!("{}{}{query}", base.trim_end_matches('/'), built.path)
    }

    /// Sends a request until a reply is complete or the retries are used up. What was tried again
    /// is appended to `retries`.
    pub(super) async fn send(
        &self,
        call: &Call,
        built: &Built,
        gate: &Gate,
        meter: &mut Meter<'_>,
        retries: &mut Vec<RetryEvent>,
    ) -> Result<Received, Error> {
        let policy = &self.access.retry;
        let start = Instant::now();
        let mut tries = 0;
        loop {
            gate.ready().await;
            let left = policy.total.saturating_sub(start.elapsed());
            let failure = match timeout(left, self.try_once(built)).await {
                Ok(Ok(received)) => return Ok(received),
                Ok(Err(failure)) => failure,
                Err(_) => silence("no complete reply", policy.total),
            };
            tries += 1;
            meter.failed(failure.maybe_billed);
            let max_tries = match failure.unreached {
                true => policy.max_tries.min(CONNECT_TRIES),
                false => policy.max_tries,
            };
            let wait = match failure.wait {
                Some(wait) => retry::spread(wait, &call.key, tries),
                None => retry::backoff(policy, &call.key, tries),
            };
            let in_time = start.elapsed().saturating_add(wait) <= policy.total;
            if !failure.retryable || max_tries <= tries || !in_time {
                return Err(self.give_up(failure, tries));
            }
            meter.again().await?;
            if failure.pause {
                gate.pause(failure.wait.unwrap_or(wait));
            }
            tracing::warn!(
                call = %call.key, provider = self.provider, reason = failure.reason,
                wait_s = wait.as_secs_f64(), "LLM request is tried again"
            );
            retries.push(RetryEvent {
                at_s: start.elapsed().as_secs_f64(),
                status: failure.status,
                reason: failure.reason,
                wait_s: wait.as_secs_f64(),
                maybe_billed: failure.maybe_billed,
            });
            sleep(wait).await;
        }
    }

    fn give_up(&self, failure: Failure, tries: u32) -> Error {
        failure.error.unwrap_or_else(|| Error::Unavailable {
            provider: self.provider.clone(),
            status: failure.status,
            tries,
            message: failure.reason,
        })
    }

    async fn try_once(&self, built: &Built) -> Result<Received, Failure> {
        let first_byte = match self.access.stream {
            true => self.access.idle_timeout,
            false => self.access.response_timeout,
        };
        let request = self
            .client
            .post(self.url(built))
            .headers(self.headers.clone())
            .body(built.body.clone())
            .send();
        let response = match timeout(first_byte, request).await {
            Err(_) => return Err(silence("no response", first_byte)),
            Ok(Err(error)) => return Err(self.transport(error, false)),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        let headers = response.headers().clone();
        if status != StatusCode::OK {
            let body = match timeout(self.access.idle_timeout, read_body(response)).await {
                Ok(Ok(body)) => body,
                Ok(Err(_)) | Err(_) => String::new(),
            };
            return Err(self.api_failure(wire::error_body(&body), status.as_u16(), &headers));
        }
        let request_id = ["request-id", "x-request-id"].iter().find_map(|name| {
            let value = headers.get(*name)?.to_str().ok()?;
            Some(self.redactor.clean(value.to_owned()))
        });
        let is_stream = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with("text/event-stream"));
        let completion = if is_stream {
            self.read_stream(response, &headers).await?
        } else {
            self.read_whole(response, &headers).await?
        };
        if !completion.has_choice {
            return Err(Failure {
                maybe_billed: true,
                error: Some(Error::EmptyReply),
                ..Failure::retryable("the response has no choice")
            });
        }
        Ok(Received { completion: self.clean(completion), request_id })
    }

    async fn read_whole(
        &self,
        response: reqwest::Response,
        headers: &HeaderMap,
    ) -> Result<Completion, Failure> {
        let body = match timeout(self.access.response_timeout, read_body(response)).await {
            Err(_) => return Err(silence("no end of the response", self.access.response_timeout)),
            Ok(Err(error)) => return Err(self.transport(error, true)),
            Ok(Ok(body)) => body,
        };
        wire::parse(self.access.kind, &body).map_err(|error| self.wire_failure(error, headers))
    }

    async fn read_stream(
        &self,
        response: reqwest::Response,
        headers: &HeaderMap,
    ) -> Result<Completion, Failure> {
        let mut events = response.bytes_stream().eventsource();
        let mut completion = Completion::default();
        let mut is_complete = false;
        loop {
            let patience = if is_complete {
                self.access.idle_timeout.min(USAGE_WAIT)
            } else {
                self.access.idle_timeout
            };
            let event = match timeout(patience, events.next()).await {
                Ok(Some(Ok(event))) => event,
                // Only the usage can be missing now.
                _ if is_complete => return Ok(completion),
                Err(_) => return Err(silence("the stream went silent", patience)),
                Ok(None) => {
                    return Err(Failure {
                        maybe_billed: true,
                        ..Failure::retryable("the stream ended before the reply was complete")
                    });
                }
                Ok(Some(Err(EventStreamError::Transport(error)))) => {
                    return Err(self.transport(error, true));
                }
                Ok(Some(Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)))) => {
                    let excerpt = "a stream that is no stream of events".to_owned();
                    return Err(self.wire_failure(WireError::Garbage(excerpt), headers));
                }
            };
            if event.data.is_empty() {
                continue;
            }
            match wire::stream_event(self.access.kind, &mut completion, &event.data) {
                Ok(Step::More) => {}
                Ok(Step::Complete) => is_complete = true,
                Ok(Step::End) => return Ok(completion),
                Err(error) => return Err(self.wire_failure(error, headers)),
            }
            if MAX_BODY < completion.text.len() + completion.reasoning.len() {
                let excerpt = "a reply without end".to_owned();
                return Err(self.wire_failure(WireError::Garbage(excerpt), headers));
            }
        }
    }

    /// Judges an error inside a 200.
    fn wire_failure(&self, error: WireError, headers: &HeaderMap) -> Failure {
        match error {
            WireError::Api(error) => {
                let status = error.implied_status();
                Failure { maybe_billed: true, ..self.api_failure(error, status, headers) }
            }
            WireError::Garbage(excerpt) => {
                let excerpt = self.redactor.clean(excerpt);
                Failure {
                    retryable: false,
                    maybe_billed: true,
                    error: Some(Error::Garbage {
                        provider: self.provider.clone(),
                        kind: self.access.kind.name(),
                        excerpt: excerpt.clone(),
                    }),
                    ..Failure::retryable(excerpt)
                }
            }
        }
    }

    fn api_failure(&self, error: ApiError, status: u16, headers: &HeaderMap) -> Failure {
        let spent = status == 402 || error.is_spent(status);
        let message = self.redactor.clean(error.message);
        let provider = self.provider.clone();
        let variable = self.access.key_variable.clone();
        let reason = format!("status {status}: {message}");
        let retryable = !spent && retry::is_retryable(status, headers);
        let end = match status {
            _ if spent => Some(Error::Spent { provider, status, message }),
            401 | 403 => Some(Error::Auth { provider, variable, status, message }),
            _ if retryable => None,
            _ => Some(Error::Rejected { provider, status, message, param: error.param }),
        };
        Failure {
            status: Some(status),
            retryable,
            wait: retry::asked_wait(headers, std::time::SystemTime::now()),
            pause: matches!(status, 429 | 529),
            error: end,
            ..Failure::retryable(reason)
        }
    }

    fn transport(&self, error: reqwest::Error, maybe_billed: bool) -> Failure {
        let unreached = error.is_connect();
        let reason = self.redactor.clean(chain(&error.without_url()));
        Failure { maybe_billed, unreached, ..Failure::retryable(reason) }
    }

    fn clean(&self, completion: Completion) -> Completion {
        let clean = |text| self.redactor.clean(text);
        Completion {
            text: clean(completion.text),
            reasoning: clean(completion.reasoning),
            model: completion.model.map(clean),
            id: completion.id.map(clean),
            ..completion
        }
    }
}

impl Failure {
    fn retryable(reason: impl Into<String>) -> Self {
        Self {
            status: None,
            reason: reason.into(),
            retryable: true,
            wait: None,
            pause: false,
            maybe_billed: false,
            unreached: false,
            error: None,
        }
    }
}

fn silence(what: &str, after: Duration) -> Failure {
    let reason = format!("{what} after {:.1} s", after.as_secs_f64());
    Failure { maybe_billed: true, ..Failure::retryable(reason) }
}

async fn read_body(mut response: reqwest::Response) -> Result<String, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if MAX_BODY < body.len() {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn headers(access: &HttpAccess) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut insert = |name: &str, prefix: &str, value: &SecretString| {
        let name = HeaderName::try_from(name).map_err(|_| format!("`{name}` names no header"))?;
        let mut value = HeaderValue::try_from(format!("{prefix}{}", value.expose_secret()))
            .map_err(|_| format!("the value of header `{name}` holds a character it cannot"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<(), String>(())
    };
    let version = SecretString::from(access.anthropic_version.clone());
    match (access.kind, &access.key) {
        (WireKind::Anthropic, key) => {
            insert("anthropic-version", "", &version)?;
            if let Some(key) = key {
                insert("x-api-key", "", key)?;
            }
        }
        (WireKind::OpenAiChat | WireKind::OpenAiResponses, Some(key)) => {
            insert("authorization", "Bearer ", key)?;
        }
        (WireKind::OpenAiChat | WireKind::OpenAiResponses, None) => {}
    }
    for header in &access.headers {
        insert(&header.name, "", &header.value)?;
    }
    Ok(headers)
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
