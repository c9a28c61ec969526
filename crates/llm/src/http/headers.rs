//! Headers of requests, and those of responses that are kept.

use std::collections::BTreeMap;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;

use crate::{HttpAccess, redact::Redactor};

/// Headers that identify a response and report the limits.
const KEPT: [&str; 11] = [
    "request-id",
    "x-request-id",
    "content-type",
    "date",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "openai-version",
    "openai-processing-ms",
    "anthropic-version",
    "server",
];

/// Beginnings of the names of headers about limits.
const KEPT_PREFIXES: [&str; 2] = ["anthropic-ratelimit-", "x-ratelimit-"];

/// Builds the headers of every request.
pub(super) fn request(access: &HttpAccess) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut insert = |name: &str, value: &str| {
        let name = HeaderName::try_from(name).map_err(|_| format!("`{name}` names no header"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of header `{name}` holds a character it cannot"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<(), String>(())
    };
    let key = access.key.as_ref().map(ExposeSecret::expose_secret);
    for (name, value) in access.wire.headers(access, key) {
        insert(name, &value)?;
    }
    Ok(headers)
}

/// Returns the headers of a response that go on record.
pub(super) fn kept(headers: &HeaderMap, redactor: &Redactor) -> BTreeMap<String, String> {
    let is_kept = |name: &str| {
        KEPT.contains(&name) || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let kept = headers.iter().filter(|(name, _)| is_kept(name.as_str()));
    kept.filter_map(|(name, value)| {
        let value = redactor.clean(value.to_str().ok()?.to_owned());
        Some((name.as_str().to_owned(), value))
    })
    .collect()
}
