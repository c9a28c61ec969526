//! The one way to call a model.

use tokio::time::Instant;

use super::{
    Access, Call, CallBudget, CallLog, Error, FailureRecord, Finish, ProviderConfig, Reply,
    ReplyRecord, RequestRecord, RetryEvent, command::command, gate::Gate, http::Http, local,
    log::prompt_hash,
};

/// A provider that takes calls; share it between tasks.
#[derive(Debug)]
pub struct Client {
    config: ProviderConfig,
    http: Option<Http>,
    gate: Gate,
    budget: CallBudget,
}

impl Client {
    /// Sets up a provider; `budget` counts the calls of the whole run.
    ///
    /// # Errors
    ///
    /// [`Error::NoKey`], [`Error::Config`] or [`Error::Setup`].
    pub fn new(config: ProviderConfig, budget: CallBudget) -> Result<Self, Error> {
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
    /// A call takes one from the budget, and one more for every retry of a try that may have been
    /// billed. A reply without a usable text is on record too when its error is returned.
    ///
    /// # Errors
    ///
    /// Every [`Error`]; its [`Error::scope`] says whether other calls can succeed.
    pub async fn complete(&self, call: &Call, log: &dyn CallLog) -> Result<Reply, Error> {
        let _permit = self.gate.enter().await;
        self.budget.take()?;
        let record = match (&self.config.access, &self.http) {
            (Access::Http(_), Some(http)) => Box::pin(self.over_http(http, call, log)).await?,
            (Access::Command(access), _) => {
                log_request(log, &self.local_request(call))?;
                let start = Instant::now();
                let (name, model) = (&self.config.name, self.model_or_kind());
                let outcome = command(name, access, model, call).await;
                outcome.inspect_err(|error| log_failure(log, call, error, start, Vec::new()))?
            }
            (Access::Mailbox(access), _) => {
                log_request(log, &self.local_request(call))?;
                local::mailbox(access, self.model_or_kind(), call, log).await?
            }
            (Access::Replay(recording), _) => {
                let request = self.local_request(call);
                // Nothing is put on record for a call that the recording does not have.
                let record = local::replay(recording.as_ref(), call, &request.prompt_hash)?;
                log_request(log, &request)?;
                record
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
    ) -> Result<ReplyRecord, Error> {
        let built = http.build(&self.config.model, call);
        log_request(
            log,
            &RequestRecord {
                url: Some(http.public_url(&built)),
                headers: http.header_names(),
                body: built.body.clone(),
                ..self.local_request(call)
            },
        )?;
        let start = Instant::now();
        let mut retries = Vec::new();
        let received = http.send(call, &built, &self.gate, &self.budget, &mut retries).await;
        let received = match received {
            Ok(received) => received,
            Err(error) => {
                log_failure(log, call, &error, start, retries);
                return Err(error);
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let completion = received.completion;
        Ok(ReplyRecord {
            key: call.key.clone(),
            model: completion.model.unwrap_or_else(|| self.config.model.clone()),
            finish: completion.finish.unwrap_or(Finish::Stop),
            usage: completion.usage,
            request_id: received.request_id,
            response_id: completion.id,
            seconds,
            retries,
            reasoning: Some(completion.reasoning).filter(|text| !text.is_empty()),
            replayed: None,
            text: completion.text,
        })
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
            markdown,
        }
    }
}

fn log_request(log: &dyn CallLog, record: &RequestRecord) -> Result<(), Error> {
    log.request(&record.key, record)
        .map_err(|source| Error::Log { key: record.key.clone(), source })
}

/// Puts a call without a reply on record; that this fails must not hide why the call did.
fn log_failure(
    log: &dyn CallLog,
    call: &Call,
    error: &Error,
    start: Instant,
    retries: Vec<RetryEvent>,
) {
    let key = call.key.clone();
    let seconds = start.elapsed().as_secs_f64();
    let record = FailureRecord { key, message: error.to_string(), seconds, retries };
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
