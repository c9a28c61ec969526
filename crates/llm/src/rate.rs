//! Rate limits in a provider's headers. Pure functions.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

use kgen_settings::keys;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    /// The limit itself, where the provider says so.
    pub(super) limit: Option<u64>,
    pub(super) remaining: u64,
    /// Time until all of it is there again; `None` where the provider does not say.
    pub(super) reset: Option<Duration>,
}

/// The rest of a provider's limits; `None` is "not reported".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Quotas {
    pub(super) requests: Option<Quota>,
    /// Tokens, whatever the provider counts as such.
    pub(super) tokens: Option<Quota>,
    pub(super) input: Option<Quota>,
    pub(super) output: Option<Quota>,
}

/// Reads the limits out of a response's headers, Anthropic's and OpenAI's names alike.
pub(super) fn quotas(headers: &HeaderMap, now: SystemTime) -> Quotas {
    let anthropic =
        |what: &str| quota(headers, now, |field| format!("anthropic-ratelimit-{what}-{field}"));
    let openai = |what: &str| quota(headers, now, |field| format!("x-ratelimit-{field}-{what}"));
    Quotas {
        requests: anthropic("requests").or_else(|| openai("requests")),
        tokens: anthropic("tokens").or_else(|| openai("tokens")),
        input: anthropic("input-tokens"),
        output: anthropic("output-tokens"),
    }
}

fn quota(headers: &HeaderMap, now: SystemTime, name: impl Fn(&str) -> String) -> Option<Quota> {
    let text = |field| headers.get(name(field)).and_then(|value| value.to_str().ok());
    let count = |field| text(field).and_then(|text| text.trim().parse().ok());
    Some(Quota {
        limit: count("limit"),
        remaining: count("remaining")?,
        reset: text("reset").and_then(|text| until(text.trim(), now)),
    })
}

/// Reads the time until a limit is reset: RFC 3339, a duration such as `6m0s` or `20ms`, seconds,
/// or seconds or milliseconds since 1970.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let since_epoch = |epoch: Duration| {
        let reset = SystemTime::UNIX_EPOCH.checked_add(epoch)?;
        Some(reset.duration_since(now).unwrap_or_default())
    };
    if let Ok(number) = text.parse::<f64>() {
        // No limit lasts for thirty years, and no clock stands before 2001.
        let seconds = if number > 1e12 { number / 1e3 } else { number };
        let value = Duration::try_from_secs_f64(seconds).ok()?;
        return if number > 1e9 { since_epoch(value) } else { Some(value) };
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return since_epoch(Duration::try_from_secs_f64(time.as_duration().as_secs_f64()).ok()?);
    }
    keys::duration(text)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn both_families_of_names_are_read() {
        // 1994-11-06T08:49:37Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let read = quotas(
            &headers(&[
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "1994-11-06T08:49:47Z"),
                ("anthropic-ratelimit-input-tokens-remaining", "40000"),
            ]),
            now,
        );
        let seconds = |s| Some(Duration::from_secs(s));
        let requests = Quota { limit: Some(50), remaining: 0, reset: seconds(10) };
        assert_eq!(read.requests, Some(requests));
        assert_eq!(read.input, Some(Quota { limit: None, remaining: 40_000, reset: None }));
        assert_eq!((read.tokens, read.output), (None, None));

        let read = quotas(
            &headers(&[
                ("x-ratelimit-limit-tokens", "30000"),
                ("x-ratelimit-remaining-tokens", "29000"),
                ("x-ratelimit-reset-tokens", "6m0s"),
                ("x-ratelimit-remaining-requests", "many"),
            ]),
            now,
        );
        let tokens = Quota { limit: Some(30_000), remaining: 29_000, reset: seconds(360) };
        assert_eq!((read.tokens, read.requests), (Some(tokens), None));
    }

    #[test]
    fn a_reset_is_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (text, expected_ms) in [
            ("6m0s", Some(360_000)),
            ("1s", Some(1_000)),
            ("20ms", Some(20)),
            ("2m59.56s", Some(179_560)),
            ("1h2m3s", Some(3_723_000)),
            ("12", Some(12_000)),
            ("1700000005", Some(5_000)),
            ("1700000005000", Some(5_000)),
            ("2023-11-14T22:13:30Z", Some(10_000)),
            ("2020-01-01T00:00:00Z", Some(0)),
            ("-1", None),
            ("soon", None),
            ("5 parsecs", None),
            ("", None),
        ] {
            let expected = expected_ms.map(Duration::from_millis);
            assert_eq!(until(text, now), expected, "{text}");
        }
    }
}
