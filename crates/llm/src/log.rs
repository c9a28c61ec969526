//! Records of a call. `store` writes these; keys never reach them.

use std::{collections::BTreeMap, path::PathBuf};

use kgen_record::{AttemptId, Spend, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Call, CallKey, Error, Finish, Turn, Usage};

/// Failure of a [`CallLog`] or [`Recording`].
pub type LogError = Box<dyn std::error::Error + Send + Sync>;

/// Takes every call of a run; implemented by the run directory.
pub trait CallLog: Send + Sync {
    /// Stores a request durably; called before anything is sent, and again for the same key when
    /// an interrupted call is made once more.
    ///
    /// # Errors
    ///
    /// When it cannot be stored: the call is then not made.
    fn request(&self, key: &CallKey, record: &RequestRecord) -> Result<(), LogError>;

    /// Stores a reply durably, a refusal or an empty one included: it was paid for.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    fn reply(&self, key: &CallKey, record: &ReplyRecord) -> Result<(), LogError>;

    /// Stores that a call brought no reply. It may be made again, so this must not look like a
    /// reply to whoever resumes the run.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    fn failure(&self, key: &CallKey, record: &FailureRecord) -> Result<(), LogError>;

    /// Returns the place where a person puts the reply text of a `mailbox` call.
    fn reply_path(&self, key: &CallKey) -> PathBuf;

    /// Returns the text a person put there; `None` while there is none.
    ///
    /// # Errors
    ///
    /// When the file exists but cannot be read.
    fn awaited_reply(&self, key: &CallKey) -> Result<Option<String>, LogError>;
}

/// A request as it is about to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    pub key: CallKey,
    pub turn: Turn,
    pub provider: String,
    /// The name of its wire format, or `command`, `mailbox` or `replay`.
    pub kind: String,
    /// Where it goes, without user info and query; `None` where nothing is sent over HTTP.
    pub url: Option<String>,
    /// The model asked for.
    pub model: String,
    /// Names of the headers; their values are not stored.
    pub headers: Vec<String>,
    /// Program and arguments of a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The exact body, or for kinds without HTTP the text that is handed over.
    pub body: String,
    /// [`prompt_hash`] of the system and the user prompt.
    pub prompt_hash: String,
    /// Start of the call, RFC 3339, UTC.
    pub started_at: String,
    /// The charge while nothing is known of the reply: its worst case, with that of
    /// every earlier try that may have been billed.
    pub reserved: Spend,
    /// The prompts for people to read: goes into the `.request.md` file, not into the JSON.
    #[serde(skip)]
    pub markdown: String,
}

/// A reply as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyRecord {
    pub key: CallKey,
    /// The model that answered, by its own name.
    pub model: String,
    pub finish: Finish,
    pub usage: Usage,
    /// The provider's name for the request, from a header.
    pub request_id: Option<String>,
    /// The provider's name for the response, from the body.
    pub response_id: Option<String>,
    /// Wall time from the first send to the last byte, waits and retries included.
    pub seconds: f64,
    pub retries: Vec<RetryEvent>,
    /// Cost of the reply in US dollars; `None` where it is unknown. That of a recorded reply is what it
    /// cost when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Where the price is from: `provider`, `config`, or a table with its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_source: Option<String>,
    pub spend: Spend,
    /// Reasoning that the provider sent apart from the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Set where the reply comes from another run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<super::Replayed>,
    /// Set where the reply was kept from an equal request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<super::Cached>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseRecord>,
    /// The text: goes into the `.reply.md` file, not into the JSON.
    #[serde(skip)]
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResponseRecord {
    /// HTTP status; `None` for the output of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers that name the request and report the limits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The exact body, the events of a stream or a command's output; only keys are masked. Goes into
    /// the `.response.raw` file, not into the JSON.
    #[serde(skip)]
    pub body: Vec<u8>,
}

/// A call that brought no reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureRecord {
    pub key: CallKey,
    /// The error in words.
    pub message: String,
    /// Seconds from the first send.
    pub seconds: f64,
    pub retries: Vec<RetryEvent>,
    pub spend: Spend,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseRecord>,
}

/// One failed try that was followed by another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetryEvent {
    /// Seconds from the first send to the failure.
    pub at_s: f64,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    pub reason: String,
    /// Wait before the next try, in seconds.
    pub wait_s: f64,
    /// Whether the failed try may have been billed.
    pub maybe_billed: bool,
}

impl ReplyRecord {
    /// Passes on a reply that has a text, complete or cut off, and turns any other into its error.
    ///
    /// The same rule holds for live, stored and replayed replies.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], [`Error::Filtered`], [`Error::LengthWithoutText`] or
    /// [`Error::EmptyReply`].
    pub fn usable(self) -> Result<Self, Error> {
        match &self.finish {
            Finish::Refusal { reason } => return Err(Error::Refused { reason: reason.clone() }),
            Finish::ContentFilter => return Err(Error::Filtered),
            Finish::Length if self.text.trim().is_empty() => {
                return Err(Error::LengthWithoutText { reasoning_tokens: self.usage.reasoning });
            }
            Finish::Stop | Finish::Length | Finish::Other { .. } => {}
        }
        if self.text.trim().is_empty() { Err(Error::EmptyReply) } else { Ok(self) }
    }
}

pub trait Recording: Send + Sync {
    /// Returns the reply that an attempt got to a turn; `None` where the recording has none.
    ///
    /// # Errors
    ///
    /// When it exists but cannot be read.
    fn reply(&self, attempt: &AttemptId, turn: Turn) -> Result<Option<RecordedReply>, LogError>;
}

/// A reply of another run with its request.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedReply {
    /// The record, its text filled in.
    pub record: ReplyRecord,
    /// [`RequestRecord::prompt_hash`] of the recorded request; `None` where that is lost.
    pub prompt_hash: Option<String>,
}

/// Returns the SHA-256 of a call's prompts, in hexadecimal.
#[must_use]
pub fn prompt_hash(call: &Call) -> String {
    let mut hasher = Sha256::new();
    hasher.update(call.system.as_bytes());
    // A byte that UTF-8 text cannot hold keeps the two prompts apart.
    hasher.update([0xff]);
    hasher.update(call.prompt.as_bytes());
    hex(&hasher.finalize())
}
