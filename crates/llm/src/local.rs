//! Providers that send nothing: replies from a person's files or from another run.

use kgen_record::Spend;
use tokio::time::{Instant, sleep};

use super::{Call, CallLog, Error, Finish, MailboxAccess, Recording, Replayed, ReplyRecord, Usage};

/// Waits for the file with a person's reply.
///
/// A file that is still growing is not taken while there is time left.
pub(super) async fn mailbox(
    access: &MailboxAccess,
    model: &str,
    call: &Call,
    log: &dyn CallLog,
) -> Result<ReplyRecord, Error> {
    let start = Instant::now();
    let mut before = None;
    loop {
        let found = log
            .awaited_reply(&call.key)
            .map_err(|source| Error::Read { key: call.key.clone(), source })?
            .filter(|text| !text.trim().is_empty());
        let waited_enough = access.wait <= start.elapsed();
        match found {
            Some(text) if waited_enough || before.as_ref() == Some(&text) => {
                return Ok(local_record(call, model, text, start));
            }
            Some(text) => before = Some(text),
            None if waited_enough => {
                return Err(Error::AwaitingReply {
                    key: call.key.clone(),
                    path: log.reply_path(&call.key),
                });
            }
            None => {}
        }
        sleep(access.poll).await;
    }
}

/// Returns the record of a reply that came without usage and ids.
pub(super) fn local_record(call: &Call, model: &str, text: String, start: Instant) -> ReplyRecord {
    ReplyRecord {
        key: call.key.clone(),
        model: model.to_owned(),
        finish: Finish::Stop,
        usage: Usage::default(),
        request_id: None,
        response_id: None,
        seconds: start.elapsed().as_secs_f64(),
        retries: Vec::new(),
        cost: None,
        price_source: None,
        spend: Spend::default(),
        reasoning: None,
        replayed: None,
        cached: None,
        response: None,
        text,
    }
}

/// Reads the reply to the same turn of the same attempt in another run.
pub(super) fn replay(
    recording: &dyn Recording,
    call: &Call,
    prompt_hash: &str,
) -> Result<ReplyRecord, Error> {
    let recorded = recording
        .reply(&call.key.attempt, call.turn)
        .map_err(|source| Error::Read { key: call.key.clone(), source })?
        .ok_or_else(|| Error::EndOfRecording { key: call.key.clone() })?;
    let prompt_differs = recorded.prompt_hash.as_deref() != Some(prompt_hash);
    Ok(ReplyRecord {
        key: call.key.clone(),
        seconds: 0.0,
        retries: Vec::new(),
        replayed: Some(Replayed { prompt_differs }),
        // The response is on record in the other run.
        response: None,
        ..recorded.record
    })
}
