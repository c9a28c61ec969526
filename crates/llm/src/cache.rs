//! Replies kept from one run for equal requests of another.
//!
//! A reply is kept under the hash of the parts that decide it: wire kind, address, the request without the parts that only
//! says how it is sent, the sample (calls that ask the same on purpose differ in it) and the run's seed.

use std::{fmt, sync::Arc};

use kgen_record::{Spend, hex};
use kgen_settings::LlmCache;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Cached, Call, Error, LogError, ReplyRecord, ResponseRecord, wire::excerpt};

/// Fields of a request that say how it is sent, cached or billed, and not its content.
const RUNTIME_FIELDS: [&str; 7] = [
    "stream",
    "stream_options",
    "metadata",
    "user",
    "store",
    "prompt_cache_key",
    "prompt_cache_options",
];

/// Kept requests that a new one is compared with to name the differences.
const COMPARED: usize = 500;

/// Where kept replies are; the user's cache folder is one.
pub trait ReplyCache: Send + Sync {
    /// Returns the reply that is kept under a key.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    fn get(&self, key: &str) -> Result<Option<CachedReply>, LogError>;

    /// Keeps a reply in place of one that is kept under the same key.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn put(&self, reply: &CachedReply) -> Result<(), LogError>;

    /// Returns the requests of the replies that were kept last, newest first.
    ///
    /// # Errors
    ///
    /// When they cannot be listed.
    fn recent(&self, limit: usize) -> Result<Vec<CachedRequest>, LogError>;

    /// Returns where they are, for messages.
    fn place(&self) -> String;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CachedRequest {
    pub kind: String,
    /// Address without user info and query; empty for commands.
    pub url: String,
    /// [`Call::sample`].
    pub sample: u32,
    /// The run's seed, where it was set.
    pub seed: Option<u64>,
    /// The request without the fields that say how it is sent.
    pub body: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CachedReply {
    /// [`CachedRequest::key`].
    pub key: String,
    pub request: CachedRequest,
    /// When it was kept, RFC 3339, UTC.
    pub kept_at: String,
    /// The record of the call that it came by.
    pub record: ReplyRecord,
    pub text: String,
    pub response: Option<String>,
}

#[derive(Clone)]
pub struct CacheAccess {
    /// Whether they are taken and whether they are kept.
    pub mode: LlmCache,
    pub replies: Arc<dyn ReplyCache>,
    /// The run's seed: runs that differ in it ask for replies of their own.
    pub seed: Option<u64>,
}

impl fmt::Debug for CacheAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CacheAccess({:?}, {})", self.mode, self.replies.place())
    }
}

impl CachedRequest {
    /// Takes the parts that decide the reply out of a request: its body where it is JSON, else its text.
    #[must_use]
    pub fn new(kind: &str, url: &str, call: &Call, seed: Option<u64>, body: &str) -> Self {
        let body = serde_json::from_str(body).unwrap_or_else(|_| body.into());
        Self {
            kind: kind.to_owned(),
            url: url.to_owned(),
            sample: call.sample,
            seed,
            body: canonical(body),
        }
    }

    /// Returns the SHA-256 that its reply is kept under, in hexadecimal.
    #[must_use]
    pub fn key(&self) -> String {
        let text = json!([self.kind, self.url, self.sample, self.seed, self.body]).to_string();
        hex(&Sha256::digest(text))
    }
}

/// Sorts fields and leaves out those that do not decide the reply.
fn canonical(body: Value) -> Value {
    let Value::Object(body) = body else { return body };
    let mut fields: Vec<_> =
        body.into_iter().filter(|(name, _)| !RUNTIME_FIELDS.contains(&name.as_str())).collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields.into_iter().map(|(name, value)| (name, unmarked(value))).collect()
}

/// Takes out marks for the provider's cache, and the list that a single marked text needs.
fn unmarked(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.into_iter().filter(|(name, _)| name != "cache_control").collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields
                .into_iter()
                .map(|(name, value)| (name, unmarked(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().map(unmarked).collect();
            match items.as_slice() {
                [Value::Object(block)]
                    if block.len() == 2 && block.get("type") == Some(&"text".into()) =>
                {
                    block.get("text").cloned().unwrap_or_default()
                }
                _ => items.into(),
            }
        }
        other => other,
    }
}

impl CacheAccess {
    /// Returns the kept reply of a request as this call's; `None` where it is to be asked for.
    ///
    /// # Errors
    ///
    /// [`Error::NotCached`] or [`Error::Read`], both only where nothing may be sent.
    pub(super) fn take(
        &self,
        call: &Call,
        request: &CachedRequest,
    ) -> Result<Option<ReplyRecord>, Error> {
        let only = match self.mode {
            LlmCache::Off | LlmCache::Record => return Ok(None),
            LlmCache::Auto => false,
            LlmCache::Only => true,
        };
        match self.replies.get(&request.key()) {
            Ok(Some(kept)) => Ok(Some(kept.into_record(call))),
            Ok(None) if only => {
                let nearest = self.nearest(request);
                Err(Error::NotCached { key: call.key.clone(), nearest })
            }
            Ok(None) => Ok(None),
            Err(source) if only => Err(Error::Read { key: call.key.clone(), source }),
            Err(error) => {
                tracing::warn!(call = %call.key, %error, "a kept reply is damaged: it is asked for again");
                Ok(None)
            }
        }
    }

    /// Keeps a reply; that this fails is no reason to lose it.
    pub(super) fn keep(&self, request: &CachedRequest, record: &ReplyRecord) {
        if !matches!(self.mode, LlmCache::Record | LlmCache::Auto) {
            return;
        }
        let body = record.response.as_ref().map(|response| response.body.clone());
        let kept = CachedReply {
            key: request.key(),
            request: request.clone(),
            kept_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            record: record.clone(),
            text: record.text.clone(),
            response: body.and_then(|body| String::from_utf8(body).ok()),
        };
        if let Err(error) = self.replies.put(&kept) {
            tracing::warn!(call = %record.key, %error, "failed to keep a reply for other runs");
        }
    }

    /// Says how the most similar kept request differs.
    fn nearest(&self, asked: &CachedRequest) -> String {
        let recent = self.replies.recent(COMPARED).unwrap_or_default();
        let nearest =
            recent.iter().map(|kept| differences(asked, kept)).min_by_key(|differences| {
                differences.iter().map(|difference| difference.weight).sum::<usize>()
            });
        let Some(mut differences) = nearest else {
            return format!("nothing is kept in {}", self.replies.place());
        };
        differences.sort_by_key(|difference| difference.weight);
        let words: Vec<_> = differences.iter().take(3).map(|one| one.words.as_str()).collect();
        let more = match differences.len().saturating_sub(words.len()) {
            0 => String::new(),
            n => format!(", and in {n} more"),
        };
        format!("the nearest one that is differs in {}{more}", words.join("; "))
    }
}

impl CachedReply {
    fn into_record(self, call: &Call) -> ReplyRecord {
        let then = self.record;
        let response = then.response.map(|response| ResponseRecord {
            body: self.response.unwrap_or_default().into_bytes(),
            ..response
        });
        ReplyRecord {
            key: call.key.clone(),
            // `cost` stays its cost then; now it is charged nothing.
            cached: Some(Cached { kept_at: self.kept_at, seconds: then.seconds }),
            spend: Spend::default(),
            seconds: 0.0,
            retries: Vec::new(),
            response,
            text: self.text,
            ..then
        }
    }
}

/// One difference between two requests.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Difference {
    words: String,
    /// How much it is: bytes of text that differ, or its stand-in.
    weight: usize,
}

fn differences(asked: &CachedRequest, kept: &CachedRequest) -> Vec<Difference> {
    // Fields other than the prompt keep two requests apart more than any change of words.
    const OTHER: usize = 1 << 20;
    let mut found = Vec::new();
    let mut note = |name: &str, asked: String, kept: String| {
        if asked != kept {
            let words = format!("{name} ({kept} there, {asked} here)");
            found.push(Difference { words, weight: OTHER });
        }
    };
    let seed = |seed: Option<u64>| seed.map_or_else(|| "none".to_owned(), |seed| seed.to_string());
    note("kind", asked.kind.clone(), kept.kind.clone());
    note("base URL", asked.url.clone(), kept.url.clone());
    note("sample", asked.sample.to_string(), kept.sample.to_string());
    note("seed", seed(asked.seed), seed(kept.seed));
    compare("", &asked.body, &kept.body, &mut found);
    found
}

fn compare(path: &str, asked: &Value, kept: &Value, found: &mut Vec<Difference>) {
    match (asked, kept) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            for name in names {
                let [a, b] = [a, b].map(|side| side.get(name).unwrap_or(&Value::Null));
                compare(&format!("{path}/{name}"), a, b, found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}/{index}"), a, b, found);
            }
        }
        (Value::String(a), Value::String(b)) => found.extend(compare_texts(path, a, b)),
        (a, b) if a != b => {
            let (a, b) = (excerpt(&a.to_string()), excerpt(&b.to_string()));
            found.push(Difference {
                words: format!("`{path}` ({b} there, {a} here)"),
                weight: 1 << 16,
            });
        }
        _ => {}
    }
}

fn compare_texts(path: &str, asked: &str, kept: &str) -> Option<Difference> {
    if asked == kept {
        return None;
    }
    let same = |(a, b): &(u8, u8)| a == b;
    let begin = asked.bytes().zip(kept.bytes()).take_while(same).count();
    let end = asked.bytes().rev().zip(kept.bytes().rev()).take_while(same).count();
    let longer = asked.len().max(kept.len());
    let weight = longer - (begin + end).min(longer - 1);
    let line = asked.bytes().take(begin).filter(|byte| *byte == b'\n').count();
    let shown = |text: &str| {
        text.lines().nth(line).map_or_else(
            || "the end".to_owned(),
            |line| format!("`{}`", line.trim().chars().take(60).collect::<String>()),
        )
    };
    let (asked, kept) = (shown(asked), shown(kept));
    let words = format!("`{path}` line {} ({kept} there, {asked} here)", line + 1);
    Some(Difference { words, weight })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallKey, Turn};
    use kgen_record::{AttemptId, OpKey};

    fn request(sample: u32, seed: Option<u64>, body: &Value) -> CachedRequest {
        let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
        let call = Call {
            key: CallKey { attempt, call: 1 },
            system: String::new(),
            prompt: String::new(),
            max_tokens: 1,
            turn: Turn::Code,
            sample,
            temperature: None,
        };
        CachedRequest::new("anthropic", "http://x/v1", &call, seed, &body.to_string())
    }

    #[test]
    fn what_only_says_how_a_request_is_sent_does_not_change_its_key() {
        let plain =
            json!({"model": "m", "system": "s", "messages": [{"role": "user", "content": "p"}]});
        let key = request(1, None, &plain).key();
        let sent = json!({"stream": true, "metadata": {"user_id": "u"}, "prompt_cache_key": "k",
            "messages": [{"content": "p", "role": "user"}], "model": "m",
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]});
        assert_eq!(request(1, None, &sent).key(), key);
        for (sample, seed, field, value) in [
            (2, None, "model", json!("m")),
            (1, Some(0), "model", json!("m")),
            (1, None, "model", json!("n")),
            (1, None, "max_tokens", json!(5)),
        ] {
            let mut body = plain.clone();
            body[field] = value;
            assert_ne!(request(sample, seed, &body).key(), key, "{field} {sample} {seed:?}");
        }
    }

    #[test]
    fn the_difference_is_named_by_place_and_line() {
        let body = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
        let asked = request(1, None, &body("one\ntwo\nthree"));
        let words = |kept: &CachedRequest| -> Vec<String> {
            differences(&asked, kept).into_iter().map(|one| one.words).collect()
        };
        assert_eq!(
            words(&request(1, None, &body("one\n2\nthree"))),
            ["`/messages/0/content` line 2 (`2` there, `two` here)"]
        );
        assert_eq!(
            words(&request(3, None, &body("one\ntwo\nthree"))),
            ["sample (3 there, 1 here)"]
        );
        assert!(words(&asked).is_empty());
    }
}
