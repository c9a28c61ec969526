//! One try: a request out, a whole or a streamed response in, with its bytes kept.

use std::{
    future::ready,
    time::{Duration, SystemTime},
};

use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap},
};
use tokio::time::timeout;

use super::{
    Http, Received,
    failure::{Failure, silence},
    headers,
};
use crate::{
    Error, ResponseRecord,
    gate::Gate,
    rate,
    wire::{self, Built, Completion, Step, WireError},
};

/// Largest body that is read, in bytes: far above any reply, far below a machine's memory.
const MAX_BODY: usize = 64 << 20;

/// How long the usage is waited for after a streamed reply was complete.
const USAGE_WAIT: Duration = Duration::from_secs(5);

impl Http {
    /// Sends a request once.
    pub(super) async fn try_once(
        &self,
        built: &Built,
        gate: &Gate,
    ) -> Result<Received, Box<Failure>> {
        let first_byte = match self.access.stream {
            true => self.access.idle_timeout,
            false => self.access.response_timeout,
        };
        let request = self
            .client
            .post(self.url(built.path))
            .headers(self.headers.clone())
            .body(built.body.clone())
            .send();
        let response = match timeout(first_byte, request).await {
            Err(_) => return Err(Box::new(silence("no response", first_byte))),
            Ok(Err(error)) => return Err(Box::new(self.transport(error, false))),
            Ok(Ok(response)) => response,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        gate.learn(rate::quotas(&headers, SystemTime::now()));
        let mut body = Vec::new();
        let completion = self.read(response, &headers, &mut body).await;
        let response = ResponseRecord {
            status: Some(status.as_u16()),
            headers: headers::kept(&headers, &self.redactor),
            body: self.redactor.clean_bytes(body),
        };
        match completion {
            Ok(completion) => {
                let ids = ["request-id", "x-request-id"];
                let request_id = ids.iter().find_map(|id| response.headers.get(*id)).cloned();
                Ok(Received { completion: self.clean(completion), request_id, response })
            }
            Err(failure) => Err(Box::new(Failure { response: Some(response), ..failure })),
        }
    }

    async fn read(
        &self,
        response: Response,
        headers: &HeaderMap,
        body: &mut Vec<u8>,
    ) -> Result<Completion, Failure> {
        let status = response.status();
        if status != StatusCode::OK {
            // The readable part of an error is better than nothing.
            drop(timeout(self.access.idle_timeout, read_body(response, body)).await);
            return Err(self.refused(status, headers, &String::from_utf8_lossy(body)));
        }
        let is_stream = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with("text/event-stream"));
        let completion = match is_stream {
            true => self.read_stream(response, headers, body).await?,
            false => self.read_whole(response, headers, body).await?,
        };
        if completion.has_choice {
            return Ok(completion);
        }
        Err(Failure {
            maybe_billed: true,
            error: Some(Error::EmptyReply),
            ..Failure::retryable("the response has no choice")
        })
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> Failure {
        let status = status.as_u16();
        match wire::error_body(body) {
            // No API, but a web server that does not know the path, or sends elsewhere.
            None if matches!(status, 201..=399 | 404 | 405) => {
                let excerpt = wire::excerpt(body);
                let retryable = status < 300;
                let failure = self.foreign(status, &format!("status {status}: {excerpt}"), None);
                Failure { retryable, ..failure }
            }
            error => self.api_failure(error.unwrap_or_else(|| wire::plain(body)), status, headers),
        }
    }

    async fn read_whole(
        &self,
        response: Response,
        headers: &HeaderMap,
        body: &mut Vec<u8>,
    ) -> Result<Completion, Failure> {
        match timeout(self.access.response_timeout, read_body(response, body)).await {
            Err(_) => return Err(silence("no end of the response", self.access.response_timeout)),
            Ok(Err(error)) => return Err(self.transport(error, true)),
            Ok(Ok(())) => {}
        }
        wire::parse(self.access.wire, &String::from_utf8_lossy(body))
            .map_err(|error| self.wire_failure(error, headers))
    }

    async fn read_stream(
        &self,
        response: Response,
        headers: &HeaderMap,
        body: &mut Vec<u8>,
    ) -> Result<Completion, Failure> {
        // The parser begins anew with every chunk, so it is given those that end a line with all before
        // them: a line of 20 MB that comes in small pieces would take it minutes.
        let mut lines = Vec::new();
        let chunks = response.bytes_stream().try_filter_map(|chunk| {
            // Cut off rather than without end: a longer body is given up below.
            if body.len() <= MAX_BODY {
                body.extend_from_slice(&chunk);
            }
            lines.extend_from_slice(&chunk);
            let ends = chunk.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
            ready(Ok((ends || MAX_BODY < lines.len()).then(|| std::mem::take(&mut lines))))
        });
        let mut events = chunks.eventsource();
        let mut completion = Completion::default();
        let mut is_complete = false;
        let mut n_bytes = 0;
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
                    let error = WireError::garbage("a stream that is no stream of events");
                    return Err(self.wire_failure(error, headers));
                }
            };
            if event.data.is_empty() {
                continue;
            }
            n_bytes += event.data.len();
            match wire::stream_event(self.access.wire, &mut completion, &event.data) {
                Ok(Step::More) => {}
                Ok(Step::Complete) => is_complete = true,
                Ok(Step::End) => return Ok(completion),
                Err(error) => return Err(self.wire_failure(error, headers)),
            }
            if MAX_BODY < n_bytes {
                let error = WireError::garbage("a reply without end");
                return Err(self.wire_failure(error, headers));
            }
        }
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

async fn read_body(mut response: Response, body: &mut Vec<u8>) -> Result<(), reqwest::Error> {
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if MAX_BODY < body.len() {
            break;
        }
    }
    Ok(())
}
