//! The budget of a run: limits, reservations and charges.
//!
//! Before a call is sent its worst case is reserved; afterwards its cost takes the place of that.
//! A call that finds too much reserved waits for others to end: a cap is reached only when the sum
//! that is charged leaves no room for one worst case. Amounts are charged as integers in [`ledger`].

mod clock;
mod ledger;
mod meter;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use kgen_record::{Cap, CapKind, CapScope, Caps, OpKey, Spend};
use tokio::{sync::oneshot, time::timeout};

use self::{
    clock::Clock,
    ledger::{Amount, Ledger, nano_usd},
};
use super::{Error, Usage, price::Pricer};

pub(super) use self::meter::Meter;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Worst {
    /// Input tokens, by an estimate that is too high.
    pub input_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
}

/// The caps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetCaps {
    /// Of the run as a whole.
    pub run: Caps,
    /// Of every op by itself.
    pub op: Caps,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Charged {
    /// US dollars; worst cases of lost calls included.
    pub usd: f64,
    /// Input and output tokens.
    pub tokens: u64,
    pub calls: u64,
    /// Seconds of wall time.
    pub seconds: f64,
}

/// Why a budget cannot work.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// A cap in dollars, and calls whose price nobody knows.
    #[error("a cap of {cap} needs the price of {}, which is not known", what(model, provider))]
    Unpriced {
        cap: Cap,
        /// The model asked for; may be empty.
        model: String,
        provider: String,
    },
    /// A cap that not one call fits under.
    #[error("a cap of {cap} leaves no room for a single call: {detail}")]
    NoCallFits { cap: Cap, detail: String },
    /// A cap, and replies without a limit.
    #[error("a cap of {cap} needs a limit for replies: `drop` leaves theirs out of every request")]
    Unlimited {
        cap: Cap,
        /// The model asked for.
        model: String,
    },
    /// A price that is none.
    #[error("the price of `{model}` is wrong: {name} = {value}, and not a number of at least 0")]
    BadPrice { model: String, name: &'static str, value: f64 },
}

fn what(model: &str, provider: &str) -> String {
    match model {
        "" => format!("a call of `{provider}`"),
        model => format!("`{model}` at `{provider}`"),
    }
}

/// A budget; clones share it.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Shared>);

type Whom = oneshot::Sender<Result<Grant, Cap>>;

#[derive(Debug)]
struct Shared {
    ledger: Mutex<Ledger<Whom>>,
    clock: Clock,
    pricer: Pricer,
    caps: BudgetCaps,
}

impl Default for Budget {
    /// Returns a budget without caps for calls that cost nothing.
    fn default() -> Self {
        Self::unchecked(BudgetCaps::default(), Pricer::free())
    }
}

impl Budget {
    /// Returns a budget of which nothing is spent.
    ///
    /// `output_tokens` is the limit of every reply (`None`: without limit), so that a cap that is too
    /// low for any call is found before the first one.
    ///
    /// # Errors
    ///
    /// [`BudgetError::Unlimited`], [`BudgetError::Unpriced`] or [`BudgetError::NoCallFits`].
    pub fn new(
        caps: BudgetCaps,
        pricer: Pricer,
        output_tokens: Option<u64>,
    ) -> Result<Self, BudgetError> {
        let budget = Self::unchecked(caps, pricer);
        if let (None, Some(cap)) = (output_tokens, budget.cap_on_use()) {
            let model = budget.0.pricer.names().0.to_owned();
            return Err(BudgetError::Unlimited { cap, model });
        }
        budget.check_caps(Worst { input_tokens: 0, output_tokens: output_tokens.unwrap_or(0) })?;
        Ok(budget)
    }

    /// Returns a cap that worst cases count against, where calls have some.
    fn cap_on_use(&self) -> Option<Cap> {
        let scopes = [(CapScope::Run, &self.0.caps.run), (CapScope::Op, &self.0.caps.op)];
        let of_use = scopes.into_iter().find_map(|(scope, caps)| {
            let kinds = [CapKind::Usd, CapKind::Tokens];
            let kind = kinds.into_iter().find(|kind| caps.limit(*kind).is_some())?;
            Some(self.ledger().cap(scope, kind))
        });
        of_use.filter(|_| self.0.pricer.may_cost())
    }

    fn unchecked(caps: BudgetCaps, pricer: Pricer) -> Self {
        let ledger = Mutex::new(Ledger::new(caps));
        Self(Arc::new(Shared { ledger, clock: Clock::default(), pricer, caps }))
    }

    fn check_caps(&self, least: Worst) -> Result<(), BudgetError> {
        let pricer = &self.0.pricer;
        if !pricer.may_cost() {
            return Ok(());
        }
        let scopes = [(CapScope::Run, &self.0.caps.run), (CapScope::Op, &self.0.caps.op)];
        for (scope, caps) in scopes {
            let cap = |kind| self.ledger().cap(scope, kind);
            if let Some(usd) = caps.usd {
                let Some(worst) = pricer.worst(least) else {
                    let (model, provider) = pricer.names();
                    return Err(BudgetError::Unpriced {
                        cap: cap(CapKind::Usd),
                        model: model.to_owned(),
                        provider: provider.to_owned(),
                    });
                };
                if usd < worst {
                    let detail = format!(
                        "a reply of {} tokens of `{}` costs up to ${worst:.4}, and its prompt comes on \
                         top; a lower llm.max_tokens makes calls cheaper",
                        least.output_tokens,
                        pricer.names().0
                    );
                    return Err(BudgetError::NoCallFits { cap: cap(CapKind::Usd), detail });
                }
            }
            if let Some(tokens) = caps.tokens
                && tokens <= least.output_tokens
            {
                let detail = format!(
                    "a reply may have {} tokens (llm.max_tokens), and its prompt comes on top",
                    least.output_tokens
                );
                return Err(BudgetError::NoCallFits { cap: cap(CapKind::Tokens), detail });
            }
        }
        Ok(())
    }

    /// Books the cost of an op before this process; calls that had no price then are charged at
    /// the price they have now.
    pub fn charge(&self, op: &OpKey, spend: &Spend) {
        let usd = match spend.unpriced {
            0 => spend.charged_usd(),
            _ => self.0.pricer.reprice(spend).unwrap_or(0.0).max(spend.charged_usd()),
        };
        self.ledger().charge(op, Amount { nano_usd: nano_usd(usd), ..amount(spend) });
    }

    /// Books the wall time that earlier processes worked on the run.
    pub fn charge_seconds(&self, seconds: f64) {
        self.0.clock.charge_run(seconds);
    }

    /// Books the wall time that earlier processes worked on an op.
    pub fn charge_op_seconds(&self, op: &OpKey, seconds: f64) {
        self.0.clock.charge_op(op, seconds);
    }

    /// Reserves the worst case of a call, waiting for open calls where they hold the room that it
    /// needs.
    ///
    /// Dropping the future takes the call out of the queue.
    ///
    /// # Errors
    ///
    /// [`Error::Budget`] once a cap leaves no room for the call.
    pub async fn reserve(&self, op: &OpKey, worst: Worst) -> Result<Reservation, Error> {
        self.check(op)?;
        let (sender, receiver) = oneshot::channel();
        let amount = amount(&self.worst_spend(worst));
        let ticket = self.ledger().ask(op.clone(), amount, sender);
        let _leaves_the_queue = Leave { budget: self, ticket };
        self.pump();
        let answer = match self.time_left(op) {
            None => receiver.await,
            Some((left, scope)) => match timeout(left, receiver).await {
                Ok(answer) => answer,
                Err(_) => {
                    let cap = self.ledger().cap(scope, CapKind::Seconds);
                    return Err(Error::Budget { cap });
                }
            },
        };
        let grant = answer.expect("a waiting call is answered before it leaves the queue");
        let grant = grant.map_err(|cap| Error::Budget { cap })?;
        Ok(Reservation { grant: Some(grant), worst })
    }

    /// Returns whether an op may begin something that takes time.
    ///
    /// The first question about an op starts its clock.
    ///
    /// # Errors
    ///
    /// [`Error::Budget`] where a cap on wall time is reached.
    pub fn check(&self, op: &OpKey) -> Result<(), Error> {
        match self.time_left(op) {
            Some((left, scope)) if left.is_zero() => {
                Err(Error::Budget { cap: self.ledger().cap(scope, CapKind::Seconds) })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the wall time that is left, and the scope of the cap that limits it; `None` where no
    /// cap does.
    fn time_left(&self, op: &OpKey) -> Option<(Duration, CapScope)> {
        let caps = &self.0.caps;
        let of_op = self.0.clock.op(op);
        let left = |cap: f64, used: f64| {
            Duration::try_from_secs_f64((cap - used).max(0.0)).unwrap_or(Duration::MAX)
        };
        let run = caps.run.seconds.map(|cap| (left(cap, self.0.clock.run()), CapScope::Run));
        let op = caps.op.seconds.map(|cap| (left(cap, of_op), CapScope::Op));
        run.into_iter().chain(op).min_by_key(|(left, _)| *left)
    }

    /// Returns the charge of the run.
    #[must_use]
    pub fn charged(&self) -> Charged {
        let settled = self.ledger().run().settled;
        Charged { seconds: self.0.clock.run(), ..charged(settled) }
    }

    #[must_use]
    pub fn charged_to(&self, op: &OpKey) -> Charged {
        let settled = self.ledger().op(op).settled;
        Charged { seconds: self.0.clock.op(op), ..charged(settled) }
    }

    /// Returns the largest worst case that was asked for; no seconds.
    #[must_use]
    pub fn largest(&self) -> Charged {
        charged(self.ledger().largest())
    }

    /// Returns the prices of calls.
    #[must_use]
    pub fn pricer(&self) -> &Pricer {
        &self.0.pricer
    }

    /// Returns the record of a call whose outcome is unknown: its worst case.
    #[must_use]
    pub fn worst_spend(&self, worst: Worst) -> Spend {
        let mut spend = Spend { calls: 1, ..Spend::default() };
        if self.0.pricer.may_cost() {
            spend.assumed_tokens = worst.input_tokens.saturating_add(worst.output_tokens);
            match self.0.pricer.worst(worst) {
                Some(usd) => spend.assumed_usd = usd,
                None => spend.unpriced = 1,
            }
        }
        spend
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger<Whom>> {
        self.0.ledger.lock().expect("no code panics while holding it")
    }

    /// Answers the calls that can be answered. A grant that nobody takes any more comes back here.
    fn pump(&self) {
        let answers = self.ledger().pump();
        for answer in answers {
            let budget = self.clone();
            let (op, worst) = (answer.op, answer.worst);
            let grant = answer.outcome.map(|()| Grant { budget, op, worst, is_open: true });
            // Its `Drop` takes the lock, which is free by now.
            drop(answer.whom.send(grant));
        }
    }

    fn charge_reserved(&self, op: &OpKey, worst: Amount, actual: Amount) {
        self.ledger().charge_reserved(op, worst, actual);
        self.pump();
    }
}

fn amount(spend: &Spend) -> Amount {
    Amount {
        nano_usd: nano_usd(spend.charged_usd()),
        tokens: spend.charged_tokens(),
        calls: spend.calls.into(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "dollars are shown with a few digits")]
fn charged(amount: Amount) -> Charged {
    let Amount { nano_usd, tokens, calls } = amount;
    Charged { usd: nano_usd as f64 / 1e9, tokens, calls, seconds: 0.0 }
}

/// Takes a call out of the queue when nobody waits for it any more.
struct Leave<'a> {
    budget: &'a Budget,
    ticket: u64,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.budget.ledger().leave(self.ticket);
        // It may have held others back.
        self.budget.pump();
    }
}

/// Room in the ledger; given back when it is dropped.
#[derive(Debug)]
struct Grant {
    budget: Budget,
    op: OpKey,
    worst: Amount,
    is_open: bool,
}

impl Grant {
    fn close(&mut self, actual: Amount) {
        if std::mem::take(&mut self.is_open) {
            self.budget.charge_reserved(&self.op, self.worst, actual);
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.close(Amount::default());
    }
}

/// The worst case of a call that is about to be sent.
///
/// Dropped without a word it stays charged: the provider may have billed it.
#[derive(Debug)]
#[must_use = "a dropped reservation is charged at its worst case"]
pub struct Reservation {
    grant: Option<Grant>,
    worst: Worst,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallCharge {
    pub spend: Spend,
    /// Cost in US dollars; `None` where it is unknown.
    pub cost: Option<f64>,
    /// Where the price is from.
    pub price_source: Option<String>,
}

impl Reservation {
    /// Charges a call by the usage in its reply. Numbers that the reply lacks are charged at their
    /// worst case.
    #[must_use]
    pub fn charge(mut self, usage: &Usage, seconds: f64) -> CallCharge {
        let pricer = &self.grant().budget.0.pricer;
        let mut spend = Spend { calls: 1, seconds, ..Spend::default() };
        let mut priced = None;
        if pricer.may_cost() {
            let missing = |reported: Option<u64>, worst| if reported.is_none() { worst } else { 0 };
            spend.input_tokens = usage.input.unwrap_or(0);
            spend.output_tokens = usage.output.unwrap_or(0);
            spend.cache_read_tokens = usage.cache_read.unwrap_or(0);
            spend.cache_write_tokens = usage.cache_write.unwrap_or(0);
            spend.reasoning_tokens = usage.reasoning.unwrap_or(0);
            spend.unreported = u32::from(usage.input.is_none() || usage.output.is_none());
            spend.assumed_tokens = missing(usage.input, self.worst.input_tokens)
                + missing(usage.output, self.worst.output_tokens);
            priced = pricer.cost(usage);
            match (&priced, pricer.cost_at_most(usage, self.worst)) {
                (Some(priced), _) => spend.usd = priced.usd,
                (None, Some(at_most)) => spend.assumed_usd = at_most,
                (None, None) => spend.unpriced = 1,
            }
        }
        self.close(&spend);
        CallCharge {
            spend,
            cost: priced.as_ref().map(|priced| priced.usd),
            price_source: priced.map(|priced| priced.source),
        }
    }

    /// Charges a call that brought no reply and may have been billed: at its worst case.
    #[must_use]
    pub fn lose(mut self, seconds: f64) -> Spend {
        let worst = self.grant().budget.worst_spend(self.worst);
        let spend = Spend { lost_calls: 1, seconds, ..worst };
        self.close(&spend);
        spend
    }

    /// Charges a call that the provider turned down: it counts and costs nothing.
    #[must_use]
    pub fn refuse(mut self, seconds: f64) -> Spend {
        let spend = Spend { calls: 1, seconds, ..Spend::default() };
        self.close(&spend);
        spend
    }

    /// Gives the room back: nothing was sent.
    pub fn release(mut self) {
        drop(self.grant.take());
    }

    /// Returns the spend on record while the call is open.
    #[must_use]
    pub fn worst_spend(&self) -> Spend {
        self.grant().budget.worst_spend(self.worst)
    }

    fn grant(&self) -> &Grant {
        self.grant.as_ref().expect("it is taken by the methods that take `self`")
    }

    fn close(&mut self, spend: &Spend) {
        if let Some(mut grant) = self.grant.take() {
            grant.close(amount(spend));
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(mut grant) = self.grant.take() {
            let worst = grant.worst;
            grant.close(worst);
        }
    }
}
