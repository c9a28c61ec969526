//! The one way to call a model.

use serde_json::Value;
use tokio::time::Instant;

use super::{
    Access, Budget, Call, CallLog, Error, FailureRecord, Finish, ProviderConfig, Reply,
    ReplyRecord, RequestRecord, RetryEvent, Worst, budget::Meter, command::command, gate::Gate,
    http::Http, local, log::prompt_hash,
};
use crate::record::Spend;

/// A provider that takes calls; share it between tasks.
#[derive(Debug)]
pub struct Client {
    config: ProviderConfig,
    http: Option<Http>,
    gate: Gate,
    budget: Budget,
}

impl Client {
    /// Sets up a provider; `budget` is that of the whole run.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`], [`Error::Config`] or [`Error::Setup`].
    pub fn new(config: ProviderConfig, budget: Budget) -> Result<Self, Error> {
        let http = match &config.access {
            Access::Http(access) => Some(Http::new(&config.name, (**access).clone())?),
            Access::Command(_) | Access::Mailbox(_) | Access::Replay(_) => None,
        };
        let gate = Gate::new(config.max_concurrency);
        Ok(Self { config, http, gate, budget })
    }

    /// Returns the provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.config.name
    }

    /// Returns the model asked for.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.config.model
    }

    /// Returns the wire kind as stored.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.config.access {
            Access::Http(access) => access.kind.name(),
            Access::Command(_) => "command",
            Access::Mailbox(_) => "mailbox",
            Access::Replay(_) => "replay",
        }
    }

    /// Makes one call: puts the request on record, sends it, puts the reply on record.
    ///
    /// A call is charged to the budget, and so is every earlier try that may have been billed. A reply
    /// without a usable text is on record too when its error is returned.
    ///
    /// # Errors
    ///
    /// Every [`Error`]; its [`Error::scope`] says whether other calls can succeed.
    pub async fn complete(&self, call: &Call, log: &dyn CallLog) -> Result<Reply, Error> {
        let _permit = self.gate.enter().await;
        let op = &call.key.attempt.op;
        let mut meter = Meter::open(&self.budget, op, self.worst(call)).await?;
        let record = match (&self.config.access, &self.http) {
            (Access::Http(_), Some(http)) => {
                Box::pin(self.over_http(http, call, log, meter)).await?
            }
            (Access::Command(access), _) => {
                meter.record(log, self.local_request(call))?;
                let start = Instant::now();
                let (name, model) = (&self.config.name, self.model_or_kind());
                match command(name, access, model, call).await {
                    Ok(record) => priced(record, meter),
                    Err(error) => {
                        // A program that did not start has asked nobody.
                        meter.failed(!matches!(error, Error::Config { .. }));
                        log_failure(log, call, &error, start, Vec::new(), meter);
                        return Err(error);
                    }
                }
            }
            (Access::Mailbox(access), _) => {
                meter.record(log, self.local_request(call))?;
                let record = local::mailbox(access, self.model_or_kind(), call, log).await?;
                priced(record, meter)
            }
            (Access::Replay(recording), _) => {
                let request = self.local_request(call);
                // Nothing is put on record for a call that the recording does not have.
                let record = local::replay(recording.as_ref(), call, &request.prompt_hash)?;
                meter.record(log, request)?;
                let spend = meter.settle(&record.usage, record.seconds).spend;
                ReplyRecord { spend, ..record }
            }
            (Access::Http(_), None) => unreachable!("`new` sets up the client of an HTTP access"),
        };
        log.reply(&call.key, &record)
            .map_err(|source| Error::Log { key: call.key.clone(), source })?;
        record.to_reply().usable()
    }

    async fn over_http(
        &self,
        http: &Http,
        call: &Call,
        log: &dyn CallLog,
        mut meter: Meter<'_>,
    ) -> Result<ReplyRecord, Error> {
        let built = http.build(&self.config.model, call);
        let request = RequestRecord {
            url: Some(http.public_url(&built)),
            headers: http.header_names(),
            body: built.body.clone(),
            ..self.local_request(call)
        };
        meter.record(log, request)?;
        let start = Instant::now();
        let mut retries = Vec::new();
        let received = http.send(call, &built, &self.gate, &mut meter, &mut retries).await;
        let received = match received {
            Ok(received) => received,
            Err(error) => {
                log_failure(log, call, &error, start, retries, meter);
                return Err(error);
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let completion = received.completion;
        let record = ReplyRecord {
            key: call.key.clone(),
            model: completion.model.unwrap_or_else(|| self.config.model.clone()),
            finish: completion.finish.unwrap_or(Finish::Stop),
            usage: completion.usage,
            request_id: received.request_id,
            response_id: completion.id,
            seconds,
            retries,
            cost: None,
            price_source: None,
            spend: Spend::default(),
            reasoning: Some(completion.reasoning).filter(|text| !text.is_empty()),
            replayed: None,
            text: completion.text,
        };
        Ok(priced(record, meter))
    }

    /// Returns what a call may take at most.
    ///
    /// A token is two bytes of text or more, also in code full of signs, so that half the bytes are
    /// above every tokenizer's count.
    fn worst(&self, call: &Call) -> Worst {
        let bytes = call.system.len() + call.prompt.len();
        let limit = match &self.config.access {
            Access::Http(access) => access.extra_body.get(&access.max_tokens_field),
            Access::Command(_) | Access::Mailbox(_) | Access::Replay(_) => None,
        };
        Worst {
            input_tokens: bytes.div_ceil(2) as u64,
            output_tokens: limit.and_then(Value::as_u64).unwrap_or(call.max_tokens.into()),
        }
    }

    fn model_or_kind(&self) -> &str {
        if self.config.model.is_empty() { self.kind() } else { &self.config.model }
    }

    /// Returns the record of a request that is not sent over HTTP.
    fn local_request(&self, call: &Call) -> RequestRecord {
        let markdown = markdown(call);
        RequestRecord {
            key: call.key.clone(),
            turn: call.turn,
            provider: self.config.name.clone(),
            kind: self.kind().to_owned(),
            url: None,
            model: self.model_or_kind().to_owned(),
            headers: Vec::new(),
            body: markdown.clone(),
            prompt_hash: prompt_hash(call),
            started_at: jiff::Timestamp::now().to_string(),
            reserved: Spend::default(),
            markdown,
        }
    }
}

/// Settles a call by its reply and notes what it took.
fn priced(record: ReplyRecord, meter: Meter<'_>) -> ReplyRecord {
    let settled = meter.settle(&record.usage, record.seconds);
    let (cost, price_source) = (settled.cost, settled.price_source);
    ReplyRecord { cost, price_source, spend: settled.spend, ..record }
}

/// Puts a call without a reply on record; that this fails must not hide why the call did.
fn log_failure(
    log: &dyn CallLog,
    call: &Call,
    error: &Error,
    start: Instant,
    retries: Vec<RetryEvent>,
    meter: Meter<'_>,
) {
    let key = call.key.clone();
    let seconds = start.elapsed().as_secs_f64();
    let spend = meter.fail(seconds);
    let record = FailureRecord { key, message: error.to_string(), seconds, retries, spend };
    if let Err(log_error) = log.failure(&call.key, &record) {
        tracing::warn!(call = %call.key, %log_error, "failed to record a failed call");
    }
}

/// Returns both prompts as one text for people.
fn markdown(call: &Call) -> String {
    if call.system.is_empty() {
        return call.prompt.clone();
    }
    format!("# System\n\n{}\n\n# Prompt\n\n{}\n", call.system.trim_end(), call.prompt.trim_end())
}
