//! The one way to call a model.

use kgen_record::Spend;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Access, Budget, CacheAccess, CachedRequest, Call, CallLog, CommandAccess, Error, FailureRecord,
    Finish, MailboxAccess, ProviderConfig, Recording, ReplyRecord, RequestRecord, ResponseRecord,
    RetryEvent, Worst,
    budget::Meter,
    check,
    command::{self, Prepared},
    gate::{CallPermit, Gate, Need, Sent},
    http::Http,
    local,
    log::prompt_hash,
    stop::Stop,
    wire::{self, Built},
};

/// A provider that takes calls; share it between tasks.
#[derive(Debug)]
pub struct Client {
    config: ProviderConfig,
    http: Option<Http>,
    gate: Gate,
    budget: Budget,
    stop: Stop,
}

/// A request by the way that it goes.
enum Outgoing<'a> {
    Http(&'a Http, Built),
    Command(&'a CommandAccess, Prepared),
    Mailbox(&'a MailboxAccess),
    Replay(&'a dyn Recording),
}

impl Client {
    /// Sets up a provider; `budget` is that of the whole run.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] or [`Error::Setup`].
    pub fn new(config: ProviderConfig, budget: Budget) -> Result<Self, Error> {
        let http = match &config.access {
            Access::Http(access) => {
                Some(Http::new(&config.name, &config.model, (**access).clone())?)
            }
            Access::Command(_) | Access::Mailbox(_) | Access::Replay(_) => None,
        };
        let gate = Gate::new(config.limits);
        Ok(Self { config, http, gate, budget, stop: Stop::default() })
    }

    /// Lets a token end the waits of calls: for their turn, for limits and between tries. An open request
    /// is not given up by it.
    #[must_use]
    pub fn stopped_by(self, token: CancellationToken) -> Self {
        Self { stop: Stop(token), ..self }
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
            Access::Http(access) => access.wire.name(),
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
    pub async fn complete(&self, call: &Call, log: &dyn CallLog) -> Result<ReplyRecord, Error> {
        check::context_window(&self.config, call)?;
        let op = &call.key.attempt.op;
        // A kept reply costs nothing, but the work after it takes time.
        self.budget.check(op)?;
        let (mut request, outgoing) = self.request(call)?;
        let kept = self.kept_request(call, &request);
        let log_error = |source| Error::Log { key: call.key.clone(), source };
        if let Some((cache, key)) = &kept
            && let Some(record) = cache.take(call, key)?
        {
            // Nothing is sent and nothing charged.
            log.request(&call.key, &request).map_err(log_error)?;
            log.reply(&call.key, &record).map_err(log_error)?;
            return record.usable();
        }
        // Room first: a call that waits for it, maybe for its own op's, must keep no place from others.
        let room = Meter::open(&self.budget, op, self.worst(call));
        let mut meter = self.stop.unless(room).await??;
        let mut place = self.stop.unless(self.gate.enter()).await?;
        self.budget.check(op)?;
        request.started_at = jiff::Timestamp::now().to_string();
        let record = match outgoing {
            Outgoing::Http(http, built) => {
                meter.record(log, request)?;
                Box::pin(self.over_http(http, &built, call, log, meter, &mut place)).await?
            }
            Outgoing::Command(access, prepared) => {
                // A call that waits for this is not on record: it can still be given up for nothing.
                let ready = self.stop.unless(self.gate.ready(self.need(call))).await?;
                let sent = ready.expect("limits are reported in headers alone");
                meter.record(log, request)?;
                self.by_command(access, &prepared, call, log, meter, sent).await?
            }
            Outgoing::Mailbox(access) => {
                meter.record(log, request)?;
                let record = local::mailbox(access, self.model_or_kind(), call, log).await?;
                priced(record, meter)
            }
            Outgoing::Replay(recording) => {
                // Nothing is put on record for a call that the recording does not have.
                let record = local::replay(recording, call, &request.prompt_hash)?;
                meter.record(log, request)?;
                let spend = meter.charge(&record.usage, record.seconds).spend;
                ReplyRecord { spend, ..record }
            }
        };
        // The next call need not wait until our disk has this reply.
        drop(place);
        log.reply(&call.key, &record).map_err(log_error)?;
        let record = record.usable()?;
        // A refusal that is kept would be served for ever.
        if let Some((cache, key)) = &kept {
            cache.keep(key, &record);
        }
        Ok(record)
    }

    /// Returns the record of a call's request, and what is needed to send it.
    fn request(&self, call: &Call) -> Result<(RequestRecord, Outgoing<'_>), Error> {
        let local = self.local_request(call);
        Ok(match &self.config.access {
            Access::Http(_) => {
                let http = self.http.as_ref().expect("`new` sets it up for an HTTP access");
                let built = http.build(call);
                let request = RequestRecord {
                    url: Some(http.public_url(built.path)),
                    headers: http.header_names(),
                    body: built.body.clone(),
                    ..local
                };
                (request, Outgoing::Http(http, built))
            }
            Access::Command(access) => {
                let prepared = command::prepare(access, &self.config.model, call);
                let prepared = prepared.ok_or_else(|| Error::Config {
                    provider: self.config.name.clone(),
                    message: "no program is configured".to_owned(),
                })?;
                let (command, body) = (prepared.argv.clone(), prepared.stdin.clone());
                let request = RequestRecord { command, body, ..local };
                (request, Outgoing::Command(access, prepared))
            }
            Access::Mailbox(access) => (local, Outgoing::Mailbox(access)),
            Access::Replay(recording) => (local, Outgoing::Replay(recording.as_ref())),
        })
    }

    /// Returns the parts that decide the reply of a call, where replies are kept or taken.
    fn kept_request(
        &self,
        call: &Call,
        request: &RequestRecord,
    ) -> Option<(&CacheAccess, CachedRequest)> {
        let cache = self.config.cache.as_ref()?;
        let body = match &self.config.access {
            Access::Http(_) => request.body.clone(),
            Access::Command(_) => {
                json!({"argv": request.command, "stdin": request.body}).to_string()
            }
            Access::Mailbox(_) | Access::Replay(_) => return None,
        };
        let url = request.url.as_deref().unwrap_or_default();
        Some((cache, CachedRequest::new(self.kind(), url, call, cache.seed, &body)))
    }

    async fn over_http(
        &self,
        http: &Http,
        built: &Built,
        call: &Call,
        log: &dyn CallLog,
        mut meter: Meter<'_>,
        place: &mut CallPermit<'_>,
    ) -> Result<ReplyRecord, Error> {
        let start = Instant::now();
        let outcome = http
            .send(call, built, (&self.gate, place, &self.stop), self.need(call), &mut meter)
            .await;
        let retries = outcome.retries;
        let received = match outcome.result {
            Ok(received) => received,
            Err((error, response)) => {
                // An answer without a text is an answer: a replay or a resumed run is to find it.
                let finish = match error {
                    Error::EmptyReply => Finish::Stop,
                    Error::Filtered => Finish::ContentFilter,
                    error => {
                        log_failure(log, call, &error, start, retries, response, meter);
                        return Err(error);
                    }
                };
                let record = local::local_record(call, &self.config.model, String::new(), start);
                let spend = meter.fail(record.seconds);
                return Ok(ReplyRecord { finish, spend, retries, response, ..record });
            }
        };
        let completion = received.completion;
        self.compare_input(call, completion.usage.input);
        let (thoughts, text) = wire::split_thoughts(&completion.text);
        let mut reasoning = completion.reasoning;
        reasoning.push_str(thoughts.unwrap_or_default());
        let record = ReplyRecord {
            model: completion.model.unwrap_or_else(|| self.config.model.clone()),
            finish: completion.finish.unwrap_or(Finish::Stop),
            usage: completion.usage,
            request_id: received.request_id,
            response_id: completion.id,
            retries,
            reasoning: Some(reasoning).filter(|text| !text.is_empty()),
            response: Some(received.response),
            ..local::local_record(call, &self.config.model, text.to_owned(), start)
        };
        Ok(priced(record, meter))
    }

    /// Runs a command for a call. One that fails is not run again: its effects are unknown, and it has
    /// tried again by itself where its own provider failed.
    async fn by_command(
        &self,
        access: &CommandAccess,
        prepared: &Prepared,
        call: &Call,
        log: &dyn CallLog,
        mut meter: Meter<'_>,
        sent: Sent,
    ) -> Result<ReplyRecord, Error> {
        let start = Instant::now();
        let (answer, response) = command::run(&self.config.name, access, prepared).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // A program that did not start has asked nobody.
                meter.failed(!matches!(error, Error::Config { .. }));
                log_failure(log, call, &error, start, Vec::new(), response, meter);
                return Err(error);
            }
        };
        self.gate.replied(sent, answer.usage.input.zip(answer.usage.output).map(|(i, o)| i + o));
        let (thoughts, text) = wire::split_thoughts(&answer.text);
        let record = ReplyRecord {
            usage: answer.usage,
            reasoning: thoughts.map(str::to_owned).filter(|text| !text.is_empty()),
            response,
            ..local::local_record(call, self.model_or_kind(), text.to_owned(), start)
        };
        Ok(priced(record, meter))
    }

    /// Returns the expected use of a call, for the limits per minute.
    fn need(&self, call: &Call) -> Need {
        let output = check::output_limit(&self.config, call);
        Need { input: check::estimate(call), output }
    }

    /// Warns where the provider counted far fewer tokens than were sent: some servers cut prompts that
    /// are too long for them and say nothing.
    fn compare_input(&self, call: &Call, counted: Option<u64>) {
        let estimate = check::estimate(call);
        if let Some(counted) = counted.filter(|counted| 1_000 < estimate && *counted < estimate / 5)
        {
            tracing::warn!(
                call = %call.key, counted, estimate, provider = self.config.name,
                "the provider counted far fewer input tokens than were sent: it may have cut the prompt \
                 (Ollama: set OLLAMA_CONTEXT_LENGTH)"
            );
        }
    }

    /// Returns the worst case of a call.
    ///
    /// Tokenizers make more than two bytes of most text and less of signs, which the estimate counts
    /// one by one: the larger of both is above their count.
    fn worst(&self, call: &Call) -> Worst {
        let bytes = call.system.len() + call.prompt.len();
        Worst {
            input_tokens: check::estimate(call).max(bytes.div_ceil(2) as u64),
            output_tokens: check::output_limit(&self.config, call),
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
            command: Vec::new(),
            body: markdown.clone(),
            prompt_hash: prompt_hash(call),
            started_at: jiff::Timestamp::now().to_string(),
            reserved: Spend::default(),
            markdown,
        }
    }
}

/// Charges a call by its reply and notes its cost.
fn priced(record: ReplyRecord, meter: Meter<'_>) -> ReplyRecord {
    let settled = meter.charge(&record.usage, record.seconds);
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
    response: Option<ResponseRecord>,
    meter: Meter<'_>,
) {
    let key = call.key.clone();
    let seconds = start.elapsed().as_secs_f64();
    let spend = meter.fail(seconds);
    let message = error.to_string();
    let record = FailureRecord { key, message, seconds, retries, spend, response };
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
