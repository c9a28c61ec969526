//! Returns whether a call went out: a call that waits for its turn can be given up for nothing.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use kgen_llm::{CallKey, CallLog, FailureRecord, LogError, ReplyRecord, RequestRecord};

/// A log that remembers whether its call was put on record, which is done right before it is sent.
pub(super) struct SentLog<'a> {
    log: &'a dyn CallLog,
    is_sent: AtomicBool,
}

impl<'a> SentLog<'a> {
    pub(super) const fn new(log: &'a dyn CallLog) -> Self {
        Self { log, is_sent: AtomicBool::new(false) }
    }

    pub(super) fn is_sent(&self) -> bool {
        self.is_sent.load(Ordering::Relaxed)
    }
}

impl CallLog for SentLog<'_> {
    fn request(&self, key: &CallKey, record: &RequestRecord) -> Result<(), LogError> {
        self.is_sent.store(true, Ordering::Relaxed);
        self.log.request(key, record)
    }

    fn reply(&self, key: &CallKey, record: &ReplyRecord) -> Result<(), LogError> {
        self.log.reply(key, record)
    }

    fn failure(&self, key: &CallKey, record: &FailureRecord) -> Result<(), LogError> {
        self.log.failure(key, record)
    }

    fn reply_path(&self, key: &CallKey) -> PathBuf {
        self.log.reply_path(key)
    }

    fn awaited_reply(&self, key: &CallKey) -> Result<Option<String>, LogError> {
        self.log.awaited_reply(key)
    }
}
