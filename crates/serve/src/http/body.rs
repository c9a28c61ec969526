//! Bodies: limited in size and in time, and read into typed requests.

use std::time::Duration;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, header},
};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::{Instant, timeout_at};

use super::Limits;
use crate::{ApiError, ErrorKind};

/// Reads a JSON body.
pub(super) async fn json<T: DeserializeOwned>(
    request: Request,
    limits: Limits,
) -> Result<T, ApiError> {
    if !is_json(request.headers()) {
        let text = "the body has to be application/json";
        return Err(ApiError::new(ErrorKind::UnsupportedMediaType, text));
    }
    let bytes = read(request, limits).await?;
    parse(&bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next()).map(str::trim);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

async fn read(request: Request, limits: Limits) -> Result<Vec<u8>, ApiError> {
    let too_large = || {
        let text = format!("a body has at most {} bytes", limits.max_body);
        ApiError::new(ErrorKind::BodyTooLarge, text)
    };
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limits.max_body) {
        return Err(too_large());
    }
    let late = |_| ApiError::new(ErrorKind::RequestTimeout, "the body took too long");
    let end = Instant::now() + limits.request;
    let mut body: Body = request.into_body();
    let mut bytes = Vec::with_capacity(announced.unwrap_or_default());
    while let Some(frame) = next_frame(&mut body, end, limits.pause).await.map_err(late)? {
        let cut = |_| ApiError::new(ErrorKind::MalformedJson, "the body was cut off");
        if let Ok(data) = frame.map_err(cut)?.into_data() {
            if bytes.len() + data.len() > limits.max_body {
                return Err(too_large());
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

type Frame = Result<hyper::body::Frame<hyper::body::Bytes>, axum::Error>;

async fn next_frame(
    body: &mut Body,
    end: Instant,
    pause: Duration,
) -> Result<Option<Frame>, tokio::time::error::Elapsed> {
    timeout_at(end.min(Instant::now() + pause), body.frame()).await
}

/// Reads a request, and names the member that is wrong.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let malformed = |error: String| ApiError::new(ErrorKind::MalformedJson, error);
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(error.to_string()))?;
    // A wrong member is found before the end of the text, which may be no JSON.
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        return Err(malformed(error.to_string()));
    }
    let mut input = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut input).map_err(|error| {
        let path = error.path().to_string();
        refusal(error.inner(), path)
    })
}

fn refusal(error: &serde_json::Error, path: String) -> ApiError {
    let text = error.to_string();
    // The place in the text says less than the member.
    let text = text.split(" at line ").next().unwrap_or(&text);
    let refusal = ApiError::new(ErrorKind::InvalidRequest, text);
    let parent = path.trim_start_matches('.');
    match named(text) {
        None if parent.is_empty() => refusal,
        None => refusal.field(parent),
        // Whether the path ends at the member or above it depends on the message.
        Some(member) if parent.is_empty() || parent.ends_with(&member) => {
            refusal.field(if parent.is_empty() { member } else { parent.to_owned() })
        }
        Some(member) => refusal.field(format!("{parent}.{member}")),
    }
}

/// Returns the member that a message of serde quotes.
fn named(text: &str) -> Option<String> {
    let of = ["unknown field `", "missing field `", "duplicate field `"];
    let rest = of.iter().find_map(|start| text.strip_prefix(start))?;
    Some(rest.split('`').next()?.to_owned())
}
