//! The books of a run, as a state machine without clocks and tasks.
//!
//! The worst case of a call is reserved before it is sent, and replaced by its cost once
//! that is known. All amounts are integers, so that sums do not depend on the order of calls.

use std::collections::{HashMap, HashSet, VecDeque};

use kgen_record::{Cap, CapKind, CapScope, Caps, OpKey};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    /// Billionths of a US dollar.
    pub(super) nano_usd: u64,
    /// Input and output tokens.
    pub(super) tokens: u64,
    pub(super) calls: u64,
}

impl Amount {
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

/// Caps in the units of an [`Amount`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Limits {
    nano_usd: Option<u64>,
    tokens: Option<u64>,
    calls: Option<u64>,
}

impl Limits {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cap beyond u64 is no cap; none is below 0"
    )]
    pub(super) fn new(caps: &Caps) -> Self {
        Self {
            nano_usd: caps.usd.map(|usd| (usd * 1e9 + 1e-3).floor() as u64),
            tokens: caps.tokens,
            calls: caps.calls.map(u64::from),
        }
    }

    const fn is_none(&self) -> bool {
        self.nano_usd.is_none() && self.tokens.is_none() && self.calls.is_none()
    }

    /// Returns which limit the amount exceeds.
    pub(super) fn exceeded(&self, amount: &Amount) -> Option<CapKind> {
        let over = |limit: Option<u64>, value: u64| limit.is_some_and(|limit| limit < value);
        if over(self.nano_usd, amount.nano_usd) {
            Some(CapKind::Usd)
        } else if over(self.tokens, amount.tokens) {
            Some(CapKind::Tokens)
        } else if over(self.calls, amount.calls) {
            Some(CapKind::Calls)
        } else {
            None
        }
    }
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
    run_caps: Caps,
    op_caps: Caps,
    run_limits: Limits,
    op_limits: Limits,
    run: Account,
    ops: HashMap<OpKey, Account>,
    waiting: VecDeque<Waiter<T>>,
    next_ticket: u64,
    largest: Amount,
}

impl<T> Ledger<T> {
    pub(super) fn new(run_caps: Caps, op_caps: Caps) -> Self {
        Self {
            run_limits: Limits::new(&run_caps),
            op_limits: Limits::new(&op_caps),
            run_caps,
            op_caps,
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
        self.run.settled = self.run.settled.plus(amount);
        let account = self.account(op);
        account.settled = account.settled.plus(amount);
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
        self.run.reserved = self.run.reserved.minus(worst);
        self.run.settled = self.run.settled.plus(actual);
        let account = self.account(op);
        account.reserved = account.reserved.minus(worst);
        account.settled = account.settled.plus(actual);
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
                    self.reserve(&waiter.op, waiter.worst);
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

    fn reserve(&mut self, op: &OpKey, worst: Amount) {
        self.run.reserved = self.run.reserved.plus(worst);
        let account = self.account(op);
        account.reserved = account.reserved.plus(worst);
    }

    fn fit(&self, op: &OpKey, worst: Amount) -> Fit {
        if self.run_limits.is_none() && self.op_limits.is_none() {
            return Fit::Now;
        }
        let scopes = [
            (CapScope::Run, &self.run_limits, self.run),
            (CapScope::Op, &self.op_limits, self.op(op)),
        ];
        for (scope, limits, account) in &scopes {
            if let Some(kind) = limits.exceeded(&account.settled.plus(worst)) {
                return Fit::Never(*scope, kind);
            }
        }
        // The op comes first: a call that waits for its op needs no room in the run yet.
        for (scope, limits, account) in scopes.iter().rev() {
            let with_open = account.settled.plus(account.reserved).plus(worst);
            if limits.exceeded(&with_open).is_some() {
                return Fit::Later(*scope);
            }
        }
        Fit::Now
    }

    /// Returns a cap as the user set it.
    pub(super) fn cap(&self, scope: CapScope, kind: CapKind) -> Cap {
        let caps = match scope {
            CapScope::Run => &self.run_caps,
            CapScope::Op => &self.op_caps,
        };
        Cap { scope, kind, limit: caps.limit(kind).unwrap_or(f64::INFINITY) }
    }

    fn account(&mut self, op: &OpKey) -> &mut Account {
        self.ops.entry(op.clone()).or_default()
    }
}
