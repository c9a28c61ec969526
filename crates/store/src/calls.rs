//! Calls of an LLM on record, and read back: for a resumed run, and for a replay.

use std::path::PathBuf;

use kgen_llm::{
    CallKey, CallLog, FailureRecord, Finish, LogError, RecordedReply, Recording, ReplyRecord,
    RequestRecord, Turn, Usage,
};
use kgen_record::{AttemptId, Evaluation, Spend};

use super::{
    CallFile, Error, Run, RunStore,
    run::{read_bytes, read_json, read_text},
    scan,
    spend::is_free,
};

impl CallLog for RunStore {
    fn request(&self, key: &CallKey, record: &RequestRecord) -> Result<(), LogError> {
        if !matches!(record.kind.as_str(), "mailbox" | "replay") {
            self.reserve(key)?;
        }
        Ok(self.write_request(&key.attempt, key.call, record, &record.markdown)?)
    }

    fn reply(&self, key: &CallKey, record: &ReplyRecord) -> Result<(), LogError> {
        Ok(self.write_reply(key, record)?)
    }

    fn failure(&self, key: &CallKey, record: &FailureRecord) -> Result<(), LogError> {
        self.write_response(key, record.response.as_ref())?;
        Ok(self.write_failure(&key.attempt, key.call, record)?)
    }

    fn reply_path(&self, key: &CallKey) -> PathBuf {
        self.run().call_path(&key.attempt, key.call, CallFile::ReplyText)
    }

    fn awaited_reply(&self, key: &CallKey) -> Result<Option<String>, LogError> {
        Ok(read_text(&self.reply_path(key))?)
    }
}

impl Run {
    /// Returns a stored request; `None` where the call was not made.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn request(&self, attempt: &AttemptId, call: u32) -> Result<Option<RequestRecord>, Error> {
        read_json(&self.call_path(attempt, call, CallFile::Request))
    }

    /// Returns the response for a call, byte for byte; `None` where nothing is stored.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn response(&self, attempt: &AttemptId, call: u32) -> Result<Option<Vec<u8>>, Error> {
        read_bytes(&self.call_path(attempt, call, CallFile::Response))
    }

    /// Returns why a call ended without a reply; `None` where it did not.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn failure(&self, attempt: &AttemptId, call: u32) -> Result<Option<FailureRecord>, Error> {
        read_json(&self.call_path(attempt, call, CallFile::Failure))
    }

    /// Returns a stored reply with its text; `None` where there is none.
    ///
    /// A text alone is a reply of which nothing else is known: the process ended before it wrote
    /// the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn reply(&self, attempt: &AttemptId, call: u32) -> Result<Option<ReplyRecord>, Error> {
        let Some(text) = read_text(&self.call_path(attempt, call, CallFile::ReplyText))? else {
            return Ok(None);
        };
        if let Some(record) = read_json(&self.call_path(attempt, call, CallFile::Reply))? {
            return Ok(Some(ReplyRecord { text, ..record }));
        }
        let request = self.request(attempt, call)?;
        let unknown = u32::from(request.as_ref().is_some_and(|request| !is_free(request)));
        let spend = Spend { calls: 1, unreported: unknown, unpriced: unknown, ..Spend::default() };
        Ok(Some(ReplyRecord {
            key: CallKey { attempt: attempt.clone(), call },
            model: request.map_or_else(String::new, |request| request.model),
            finish: Finish::Other { name: "unknown".to_owned() },
            usage: Usage::default(),
            request_id: None,
            response_id: None,
            seconds: 0.0,
            retries: Vec::new(),
            cost: None,
            price_source: None,
            spend,
            reasoning: None,
            replayed: None,
            cached: None,
            response: None,
            text,
        }))
    }
}

/// Another run, read for the answers there.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    run: Run,
}

impl RecordedRun {
    /// Takes a run as a recording.
    #[must_use]
    pub fn new(run: Run) -> Self {
        Self { run }
    }

    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the evaluation that was recorded for an attempt.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] or [`Error::Damaged`].
    pub fn evaluation(&self, attempt: &AttemptId) -> Result<Option<Evaluation>, Error> {
        self.run.evaluation(attempt)
    }
}

impl Recording for RecordedRun {
    /// An attempt has one reply to a turn: the numbers of calls do not count, for there some may
    /// have been lost, or made for a turn that is not asked for here.
    fn reply(&self, attempt: &AttemptId, turn: Turn) -> Result<Option<RecordedReply>, LogError> {
        let calls = scan::calls(&self.run, attempt)?;
        for (&call, _) in calls.iter().filter(|(_, state)| state.has_reply()) {
            let request = self.run.request(attempt, call)?;
            if request.as_ref().map_or(Turn::Code, |request| request.turn) != turn {
                continue;
            }
            let Some(record) = self.run.reply(attempt, call)? else { continue };
            let prompt_hash = request.map(|request| request.prompt_hash);
            return Ok(Some(RecordedReply { record, prompt_hash }));
        }
        Ok(None)
    }
}
