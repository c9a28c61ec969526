//! The books of one call over all its tries.

use kgen_record::{OpKey, Spend};

use super::{Budget, CallCharge, Reservation, Worst};
use crate::{CallLog, Error, RequestRecord, Usage};

/// Keeps the books of one call: the reservation for its open try, and the worst cases that earlier tries are
/// charged.
///
/// The worst case of an open call is part of its request on record, which is renewed before every further
/// try: a request without a reply is charged with that.
pub(crate) struct Meter<'a> {
    budget: &'a Budget,
    op: OpKey,
    worst: Worst,
    open: Option<Reservation>,
    /// Tries that failed and may have been billed.
    lost: Spend,
    /// Whether the last failure may have been billed.
    maybe_billed: bool,
    on_record: Option<(&'a dyn CallLog, RequestRecord)>,
}

impl<'a> Meter<'a> {
    /// Reserves the worst case of a call's first try.
    pub(crate) async fn open(budget: &'a Budget, op: &OpKey, worst: Worst) -> Result<Self, Error> {
        let open = Some(budget.reserve(op, worst).await?);
        let (lost, maybe_billed) = (Spend::default(), false);
        Ok(Self { budget, op: op.clone(), worst, open, lost, maybe_billed, on_record: None })
    }

    /// Puts the request on record with its worst case; nothing may be sent before.
    pub(crate) fn record(
        &mut self,
        log: &'a dyn CallLog,
        mut request: RequestRecord,
    ) -> Result<(), Error> {
        let open = self.open.as_ref().map(Reservation::worst_spend);
        request.reserved = [self.lost].into_iter().chain(open).sum();
        log.request(&request.key, &request)
            .map_err(|source| Error::Log { key: request.key.clone(), source })?;
        self.on_record = Some((log, request));
        Ok(())
    }

    /// Notes that a try failed.
    pub(crate) fn failed(&mut self, maybe_billed: bool) {
        self.maybe_billed = maybe_billed;
    }

    /// Makes room for another try: one that may have been billed stays charged beside it.
    pub(crate) async fn again(&mut self) -> Result<(), Error> {
        if !self.maybe_billed {
            return Ok(());
        }
        self.maybe_billed = false;
        if let Some(open) = self.open.take() {
            self.lost += open.lose(0.0);
        }
        self.open = Some(self.budget.reserve(&self.op, self.worst).await?);
        match self.on_record.take() {
            Some((log, request)) => self.record(log, request),
            None => Ok(()),
        }
    }

    /// Charges the call by its reply.
    pub(crate) fn charge(mut self, usage: &Usage, seconds: f64) -> CallCharge {
        let open = self.open.take();
        let mut settled = open.map_or_else(CallCharge::default, |open| open.charge(usage, seconds));
        settled.spend += self.lost;
        settled
    }

    /// Charges a call that brought no reply.
    pub(crate) fn fail(mut self, seconds: f64) -> Spend {
        let mut spend = match (self.open.take(), self.maybe_billed) {
            (Some(open), true) => open.lose(seconds),
            (Some(open), false) => open.refuse(seconds),
            (None, _) => Spend { seconds, ..Spend::default() },
        };
        spend += self.lost;
        spend
    }
}

impl Drop for Meter<'_> {
    /// Gives back the reservation where nothing was put on record, and so nothing sent. A call that
    /// was dropped later stays charged.
    fn drop(&mut self) {
        if let (None, Some(open)) = (&self.on_record, self.open.take()) {
            open.release();
        }
    }
}
