//! The books of a run, as a state machine without clocks and tasks.
//!
//! The worst case of a call is reserved before it is sent, and replaced by its cost once
//! that is known. All amounts are integers, so that sums do not depend on the order of calls.

use std::collections::{HashMap, HashSet, VecDeque};

use kgen_record::{Cap, CapKind, CapScope, Caps, OpKey};

use super::BudgetCaps;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    /// Billionths of a US dollar.
    pub(super) nano_usd: u64,
    /// Input and output tokens.
    pub(super) tokens: u64,
    pub(super) calls: u64,
}

impl Amount {
    /// Returns caps in these units; where there is none, the largest number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cap beyond u64 is no cap; none is below 0"
    )]
    pub(super) fn limits(caps: &Caps) -> Self {
        Self {
            nano_usd: caps.usd.map_or(u64::MAX, |usd| (usd * 1e9 + 1e-3).floor() as u64),
            tokens: caps.tokens.unwrap_or(u64::MAX),
            calls: caps.calls.map_or(u64::MAX, u64::from),
        }
    }

    /// Returns which of the limits it exceeds.
    pub(super) fn exceeds(self, limits: Self) -> Option<CapKind> {
        let kinds = [
            (CapKind::Usd, limits.nano_usd, self.nano_usd),
            (CapKind::Tokens, limits.tokens, self.tokens),
            (CapKind::Calls, limits.calls, self.calls),
        ];
        kinds.into_iter().find(|(_, limit, value)| limit < value).map(|(kind, ..)| kind)
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            nano_usd: self.nano_usd.saturating_add(other.nano_usd),
            tokens: self.tokens.saturating_add(other.tokens),
            calls: self.calls.saturating_add(other.calls),
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            nano_usd: self.nano_usd.saturating_sub(other.nano_usd),
            tokens: self.tokens.saturating_sub(other.tokens),
            calls: self.calls.saturating_sub(other.calls),
        }
    }
}

/// Returns dollars in billionths, rounded up: the charge is never less than the spending.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; none < 0")]
pub(super) fn nano_usd(usd: f64) -> u64 {
    // The sum of a few products is off by some bits: those are not a billionth of a dollar more.
    (usd.max(0.0) * 1e9 - 1e-3).ceil() as u64
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Account {
    pub(super) settled: Amount,
    pub(super) reserved: Amount,
}

/// Whether a call may be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fit {
    Now,
    /// Not before open calls of this scope are charged less than their worst case.
    Later(CapScope),
    Never(CapScope, CapKind),
}

/// A call that waits for others to end.
#[derive(Debug)]
struct Waiter<T> {
    ticket: u64,
    op: OpKey,
    worst: Amount,
    whom: T,
}

/// The answer to a waiting call.
#[derive(Debug)]
pub(super) struct Answer<T> {
    pub(super) whom: T,
    pub(super) op: OpKey,
    pub(super) worst: Amount,
    /// The cap that leaves no room for it; `Ok` says that its worst case is reserved.
    pub(super) outcome: Result<(), Cap>,
}

/// The books of a run.
#[derive(Debug)]
pub(super) struct Ledger<T> {
    caps: BudgetCaps,
    run_limits: Amount,
    op_limits: Amount,
    run: Account,
    ops: HashMap<OpKey, Account>,
    waiting: VecDeque<Waiter<T>>,
    next_ticket: u64,
    largest: Amount,
}

impl<T> Ledger<T> {
    pub(super) fn new(caps: BudgetCaps) -> Self {
        Self {
            caps,
            run_limits: Amount::limits(&caps.run),
            op_limits: Amount::limits(&caps.op),
            run: Account::default(),
            ops: HashMap::new(),
            waiting: VecDeque::new(),
            next_ticket: 0,
            largest: Amount::default(),
        }
    }

    pub(super) const fn run(&self) -> &Account {
        &self.run
    }

    pub(super) fn op(&self, op: &OpKey) -> Account {
        self.ops.get(op).copied().unwrap_or_default()
    }

    /// Returns the most that any call was to take.
    pub(super) const fn largest(&self) -> Amount {
        self.largest
    }

    /// Books the spending before.
    pub(super) fn charge(&mut self, op: &OpKey, amount: Amount) {
        self.on_accounts(op, |account| account.settled = account.settled.plus(amount));
    }

    /// Puts a call at the end of the queue; its answer comes out of [`Ledger::pump`].
    pub(super) fn ask(&mut self, op: OpKey, worst: Amount, whom: T) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.largest = Amount {
            nano_usd: self.largest.nano_usd.max(worst.nano_usd),
            tokens: self.largest.tokens.max(worst.tokens),
            calls: self.largest.calls.max(worst.calls),
        };
        self.waiting.push_back(Waiter { ticket, op, worst, whom });
        ticket
    }

    /// Takes a call that waits no longer out of the queue.
    pub(super) fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiter| waiter.ticket != ticket);
    }

    /// Replaces a reservation by the cost of the call.
    pub(super) fn charge_reserved(&mut self, op: &OpKey, worst: Amount, actual: Amount) {
        self.on_accounts(op, |account| {
            account.reserved = account.reserved.minus(worst);
            account.settled = account.settled.plus(actual);
        });
    }

    /// Answers all waiting calls that have an answer now, first come, first served.
    ///
    /// A call that has to wait for room in the run holds back all calls after it, so that many small
    /// ones cannot starve a large one; a call that has to wait for room in its op holds back calls of
    /// that op only.
    pub(super) fn pump(&mut self) -> Vec<Answer<T>> {
        let mut answers = Vec::new();
        let mut run_is_held = false;
        let mut held_ops = HashSet::new();
        for waiter in std::mem::take(&mut self.waiting) {
            let Waiter { op, worst, .. } = &waiter;
            let outcome = match self.fit(op, *worst) {
                Fit::Never(scope, kind) => Err(self.cap(scope, kind)),
                Fit::Now if !run_is_held && !held_ops.contains(op) => {
                    let worst = *worst;
                    self.on_accounts(op, |account| account.reserved = account.reserved.plus(worst));
                    Ok(())
                }
                fit => {
                    run_is_held |= fit == Fit::Later(CapScope::Run);
                    held_ops.insert(waiter.op.clone());
                    self.waiting.push_back(waiter);
                    continue;
                }
            };
            let Waiter { op, worst, whom, .. } = waiter;
            answers.push(Answer { whom, op, worst, outcome });
        }
        answers
    }

    fn fit(&self, op: &OpKey, worst: Amount) -> Fit {
        let scopes = [
            (CapScope::Run, self.run_limits, self.run),
            (CapScope::Op, self.op_limits, self.op(op)),
        ];
        for (scope, limits, account) in &scopes {
            if let Some(kind) = account.settled.plus(worst).exceeds(*limits) {
                return Fit::Never(*scope, kind);
            }
        }
        // The op comes first: a call that waits for its op needs no room in the run yet.
        for (scope, limits, account) in scopes.iter().rev() {
            let with_open = account.settled.plus(account.reserved).plus(worst);
            if with_open.exceeds(*limits).is_some() {
                return Fit::Later(*scope);
            }
        }
        Fit::Now
    }

    /// Returns a cap as the user set it.
    pub(super) fn cap(&self, scope: CapScope, kind: CapKind) -> Cap {
        let caps = match scope {
            CapScope::Run => &self.caps.run,
            CapScope::Op => &self.caps.op,
        };
        Cap { scope, kind, limit: caps.limit(kind).unwrap_or(f64::INFINITY) }
    }

    /// Changes the accounts of the run and of an op alike.
    fn on_accounts(&mut self, op: &OpKey, change: impl Fn(&mut Account)) {
        change(&mut self.run);
        change(self.ops.entry(op.clone()).or_default());
    }
}
