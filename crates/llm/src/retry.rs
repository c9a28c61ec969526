//! When a failed request is tried again, and after how long. Pure functions.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, SystemTime},
};

use reqwest::header::HeaderMap;

use super::{CallKey, RetryPolicy};

/// Returns whether a response with this status may be asked for again.
///
/// The provider's own `x-should-retry` comes first, as in Anthropic's SDK.
pub(super) fn is_retryable(status: u16, headers: &HeaderMap) -> bool {
    match header(headers, "x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        Some(_) | None => matches!(status, 408 | 409 | 425 | 429 | 500..),
    }
}

/// Returns the wait that the provider asks for, `retry-after-ms` before `retry-after`, the latter
/// as seconds or as an HTTP date.
pub(super) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if let Some(ms) = header(headers, "retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1e3).ok();
    }
    let text = header(headers, "retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Returns the wait after the given number of failed tries where the provider names none:
/// doubling from the base, capped, less up to a quarter, so that calls that failed together do not
/// come back together. The share depends on the call and the try alone.
pub(super) fn backoff(policy: &RetryPolicy, key: &CallKey, tries: u32) -> Duration {
    let doubled = policy.base_wait.saturating_mul(1 << tries.saturating_sub(1).min(16));
    doubled.min(policy.max_backoff).mul_f64(1.0 - 0.25 * share(key, tries))
}

/// Adds up to a quarter to a wait that the provider asked for.
pub(super) fn spread(wait: Duration, key: &CallKey, tries: u32) -> Duration {
    wait + wait.min(Duration::from_secs(8)).mul_f64(0.25 * share(key, tries))
}

/// Returns a number in `[0, 1)` that differs between calls and tries.
fn share(key: &CallKey, tries: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (key, tries).hash(&mut hasher);
    let bits = u16::try_from(hasher.finish() >> 48).expect("16 bits are left");
    f64::from(bits) / 65_536.0
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{asked_wait, backoff, is_retryable};
    use crate::{CallKey, RetryPolicy};
    use kgen_record::{AttemptId, OpKey};

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
            })
            .collect()
    }

    #[test]
    fn the_provider_decides_before_the_status_does() {
        for (status, pairs, expected) in [
            (429, &[][..], true),
            (529, &[], true),
            (500, &[], true),
            (408, &[], true),
            (409, &[], true),
            (400, &[], false),
            (401, &[], false),
            (404, &[], false),
            (429, &[("x-should-retry", "false")], false),
            (400, &[("x-should-retry", "true")], true),
        ] {
            assert_eq!(is_retryable(status, &headers(pairs)), expected, "{status} {pairs:?}");
        }
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (pairs, expected_ms) in [
            (&[("retry-after", "2")][..], Some(2_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after-ms", "40"), ("retry-after", "9")], Some(40)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:39 GMT")], Some(2_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            let expected = expected_ms.map(Duration::from_millis);
            assert_eq!(asked_wait(&headers(pairs), now), expected, "{pairs:?}");
        }
    }

    #[test]
    fn backoff_doubles_up_to_its_cap_with_a_quarter_of_spread() {
        let policy = RetryPolicy::default();
        let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
        let key = CallKey { attempt, call: 1 };
        for (tries, full_ms) in [(1, 500), (2, 1_000), (3, 2_000), (9, 30_000), (400, 30_000)] {
            let wait = backoff(&policy, &key, tries);
            let full = Duration::from_millis(full_ms);
            assert!(full.mul_f64(0.75) <= wait && wait <= full, "{tries}: {wait:?}");
        }
    }
}
