//! One `send` for all wire formats over HTTP: timeouts, streaming, retries, provider-wide limits.

mod failure;
mod headers;
mod models;
mod receive;
#[cfg(test)]
mod tests;

use std::pin::pin;

use failure::{Failure, silence};
use futures_util::FutureExt;
use reqwest::{Url, header::HeaderMap};
use tokio::time::{Duration, Instant, sleep, timeout};

use super::{
    Call, Error, HttpAccess, ResponseRecord, RetryEvent,
    budget::Meter,
    gate::{CallPermit, Gate, Need, Sent, TooLongError},
    redact::Redactor,
    retry,
    stop::Stop,
    wire::{self, Built, Completion},
};

/// A provider over HTTP.
#[derive(Debug)]
pub(super) struct Http {
    provider: String,
    model: String,
    access: HttpAccess,
    client: reqwest::Client,
    headers: HeaderMap,
    redactor: Redactor,
}

#[derive(Debug)]
pub(super) struct Received {
    pub(super) completion: Completion,
    pub(super) request_id: Option<String>,
    pub(super) response: ResponseRecord,
}

#[derive(Debug)]
pub(super) struct HttpExchange {
    /// The reply, or why there is none and the response in its place.
    pub(super) result: Result<Received, (Error, Option<ResponseRecord>)>,
    pub(super) retries: Vec<RetryEvent>,
}

impl Http {
    /// Checks an access and sets up the client.
    pub(super) fn new(provider: &str, model: &str, access: HttpAccess) -> Result<Self, Error> {
        let misconfigured =
            |message: String| Error::Config { provider: provider.to_owned(), message };
        let base = &access.base_url;
        let url = Url::parse(base)
            .map_err(|error| misconfigured(format!("the base URL `{base}` is no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            let message = format!("the base URL `{base}` must begin with http:// or https://");
            return Err(misconfigured(message));
        }
        let headers = headers::request(&access).map_err(misconfigured)?;
        let redactor = Redactor::new(access.key.clone());
        // Another client may have chosen before.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder()
            .connect_timeout(access.connect_timeout)
            // A redirected POST would carry the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(Error::Setup)?;
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Ok(Self { provider, model, access, client, headers, redactor })
    }

    pub(super) fn build(&self, call: &Call) -> Built {
        wire::build(&self.access, &self.model, call)
    }

    /// Returns the names of the headers that are sent, sorted.
    pub(super) fn header_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the URL of a path without user info and query.
    pub(super) fn public_url(&self, path: &str) -> String {
        let Ok(mut url) = Url::parse(&self.url(path)) else { return String::new() };
        // Both fail only for URLs that cannot have user info, which then hold none.
        _ = url.set_username("");
        _ = url.set_password(None);
        url.set_query(None);
        self.redactor.clean(url.to_string())
    }

    /// The path goes before the query that a base URL may have.
    fn url(&self, path: &str) -> String {
        let (base, query) = match self.access.base_url.split_once('?') {
            Some((base, query)) => (base, format!("?{query}")),
            None => (self.access.base_url.as_str(), String::new()),
        };
        format!("{}{path}{query}", base.trim_end_matches('/'))
    }

    /// Sends a request until a reply is complete or the retries are used up.
    ///
    /// Waits for the limits of the provider and for room in the budget do not count towards the time
    /// that a call may take: nothing is open then.
    pub(super) async fn send(
        &self,
        call: &Call,
        built: &Built,
        (gate, place, stop): (&Gate, &mut CallPermit<'_>, &Stop),
        need: Need,
        meter: &mut Meter<'_>,
    ) -> HttpExchange {
        let policy = &self.access.retry;
        let start = Instant::now();
        let mut waited = Duration::ZERO;
        let mut retries = Vec::new();
        let mut tries = 0;
        // Tries that did not reach the server, and since when.
        let (mut unreached, mut outage) = (0, None);
        let ended =
            |error, response, retries| HttpExchange { result: Err((error, response)), retries };
        loop {
            let asked = Instant::now();
            let sent = match stop.unless(gate.ready(need)).await {
                Ok(Ok(sent)) => sent,
                Ok(Err(too_long)) => return ended(self.too_long(too_long, None), None, retries),
                Err(stopped) => return ended(stopped, None, retries),
            };
            waited += asked.elapsed();
            let left = policy.total.saturating_sub(start.elapsed().saturating_sub(waited));
            if left.is_zero() {
                let error = self.give_up(failure::out_of_time(policy.total), tries).await;
                meter.failed(false);
                return HttpExchange { result: Err(error), retries };
            }
            let failure = match timeout(left, self.try_once(built, gate)).await {
                Ok(Ok(received)) => {
                    gate.replied(sent, used(&received.completion));
                    return HttpExchange { result: Ok(received), retries };
                }
                Ok(Err(failure)) => *failure,
                Err(_) => silence("no complete reply", policy.total),
            };
            tries += 1;
            meter.failed(failure.maybe_billed);
            if failure.unreached {
                unreached += 1;
            }
            let outage_began = *outage.get_or_insert_with(Instant::now);
            outage = failure.unreached.then_some(outage_began);
            let wait = match failure.wait {
                Some(wait) => retry::spread(wait, &call.key, tries),
                None => retry::backoff(policy, &call.key, tries),
            };
            if failure.retryable
                && let Err(too_long) = gate.check(failure.wait.unwrap_or_default())
            {
                return ended(self.too_long(too_long, failure.status), failure.response, retries);
            }
            pause(gate, sent, &failure, wait);
            let used = start.elapsed().saturating_sub(waited);
            let in_time = used.saturating_add(wait) <= policy.total;
            let is_last = match failure.unreached {
                true => policy.max_outage < outage_began.elapsed() + wait,
                false => policy.max_tries <= tries - unreached,
            };
            if !failure.retryable || is_last || !in_time {
                return HttpExchange { result: Err(self.give_up(failure, tries).await), retries };
            }
            let at_s = start.elapsed().as_secs_f64();
            // On record also where the budget has no room for another try: it names this try's failure.
            retries.push(RetryEvent {
                at_s,
                status: failure.status,
                reason: failure.reason.clone(),
                wait_s: wait.as_secs_f64(),
                maybe_billed: failure.maybe_billed,
            });
            let asked = Instant::now();
            match stop.unless(room_for_another(meter, place)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) | Err(error) => return ended(error, failure.response, retries),
            }
            waited += asked.elapsed();
            tracing::warn!(
                call = %call.key, provider = self.provider, reason = failure.reason,
                wait_s = wait.as_secs_f64(), until = %clock_time(wait), "LLM request is tried again"
            );
            if let Err(stopped) = stop.unless(sleep(wait)).await {
                return ended(stopped, failure.response, retries);
            }
        }
    }

    fn too_long(&self, error: TooLongError, status: Option<u16>) -> Error {
        let TooLongError { wait, max_wait } = error;
        let until = jiff::Timestamp::now().saturating_add(wait).unwrap_or(jiff::Timestamp::MAX);
        Error::RateLimited { provider: self.provider.clone(), status, until, wait, max_wait }
    }

    async fn give_up(&self, failure: Failure, tries: u32) -> (Error, Option<ResponseRecord>) {
        let error = match failure.error {
            Some(Error::UnknownModel { provider, model, message, .. }) => {
                let known = self.models().await.unwrap_or_default();
                Error::UnknownModel { provider, model, message, known }
            }
            Some(error) => error,
            None => Error::Unavailable {
                provider: self.provider.clone(),
                status: failure.status,
                tries,
                message: failure.reason,
            },
        };
        (error, failure.response)
    }
}

/// Waits for room in the budget for another try. A place is not held meanwhile: the calls that have the
/// room may wait for it.
async fn room_for_another(meter: &mut Meter<'_>, place: &mut CallPermit<'_>) -> Result<(), Error> {
    let mut again = pin!(meter.again());
    match again.as_mut().now_or_never() {
        Some(room) => room,
        None => {
            place.leave();
            again.await?;
            place.come_back().await;
            Ok(())
        }
    }
}

/// Returns the time of day after a wait, in UTC.
fn clock_time(wait: Duration) -> String {
    let at = jiff::Timestamp::now().saturating_add(wait).unwrap_or(jiff::Timestamp::MAX);
    at.strftime("%H:%M:%S UTC").to_string()
}

/// Holds all calls of the provider back where it said "too many", this one's retry included.
fn pause(gate: &Gate, sent: Sent, failure: &Failure, wait: Duration) {
    if failure.pause && failure.retryable {
        gate.refused(sent, failure.wait.unwrap_or(wait));
    }
}

/// Returns the tokens that a reply counted, where the provider says so.
fn used(completion: &Completion) -> Option<u64> {
    let (input, output) = completion.usage.input.zip(completion.usage.output)?;
    Some(input.saturating_add(output))
}
