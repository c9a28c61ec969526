//! Equal kernels of an op are judged once.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use kgen_kernel::normalised;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// Hash of a kernel file without comments and blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(source: &str) -> Self {
        Self(Sha256::digest(normalised(source)).into())
    }
}

#[derive(Debug, Default)]
pub(super) struct DuplicateRegistry {
    known: Mutex<HashMap<Fingerprint, Entry>>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    number: u32,
    is_finished: bool,
}

/// Who judges a kernel.
pub(super) enum DuplicateCheck<'a> {
    /// The attempt itself; others with the same kernel wait until this is done or dropped.
    Original(Claim<'a>),
    /// This finished attempt was judged for the same kernel.
    DuplicateOf(u32),
}

/// An attempt's right to judge a kernel.
pub(super) struct Claim<'a> {
    originals: &'a DuplicateRegistry,
    fingerprint: Fingerprint,
    number: u32,
}

impl DuplicateRegistry {
    /// Takes the kernels of attempts that are finished, and of those that have an evaluation but
    /// no record yet: that evaluation is theirs, so whoever has the same kernel waits for them.
    pub(super) fn new(kernels: BTreeMap<u32, (Fingerprint, bool)>) -> Self {
        let originals = Self::default();
        for finished in [true, false] {
            for (number, (fingerprint, is_finished)) in &kernels {
                if *is_finished == finished {
                    let entry = Entry { number: *number, is_finished: finished };
                    originals.lock().entry(*fingerprint).or_insert(entry);
                }
            }
        }
        originals
    }

    /// Watches over the evaluation that an attempt may have: others wait for it only while it is
    /// at work.
    pub(super) const fn owner(&self, number: u32) -> Owner<'_> {
        Owner { originals: self, number }
    }

    /// Says who judges a kernel; waits for another attempt that is at it.
    pub(super) async fn claim(&self, fingerprint: Fingerprint, number: u32) -> DuplicateCheck<'_> {
        let mut changes = self.changed.subscribe();
        loop {
            changes.mark_unchanged();
            match self.enter(fingerprint, number) {
                entry if entry.number == number => {
                    return DuplicateCheck::Original(Claim {
                        originals: self,
                        fingerprint,
                        number,
                    });
                }
                Entry { number, is_finished: true } => return DuplicateCheck::DuplicateOf(number),
                Entry { is_finished: false, .. } => {}
            }
            changes.changed().await.expect("`self` keeps the channel open");
        }
    }

    fn enter(&self, fingerprint: Fingerprint, number: u32) -> Entry {
        *self.lock().entry(fingerprint).or_insert(Entry { number, is_finished: false })
    }

    /// Forgets an attempt that has not finished.
    fn give_up(&self, number: u32) {
        self.lock().retain(|_, entry| entry.number != number || entry.is_finished);
        self.changed.send_replace(());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Fingerprint, Entry>> {
        // The data behind the lock is whole between any two statements.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    /// Notifies the others that the evaluation is stored.
    pub(super) fn finish(self) {
        let entry = Entry { number: self.number, is_finished: true };
        self.originals.lock().insert(self.fingerprint, entry);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // Where it came to nothing, the next may try.
        self.originals.give_up(self.number);
    }
}

/// An attempt at work; dropped, nobody waits for it any more.
pub(super) struct Owner<'a> {
    originals: &'a DuplicateRegistry,
    number: u32,
}

impl Drop for Owner<'_> {
    fn drop(&mut self) {
        self.originals.give_up(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_an_evaluation_whose_attempt_ended_before_it_claimed_it() {
        let kernel = Fingerprint::of("k");
        let originals = DuplicateRegistry::new(BTreeMap::from([(1, (kernel, false))]));
        let owner = originals.owner(1);
        let mut waiting = Box::pin(originals.claim(kernel, 2));
        assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err());
        drop(owner);
        let judged = timeout(Duration::from_secs(1), waiting).await.expect("it still waits");
        let DuplicateCheck::Original(claim) = judged else { panic!("nobody judged it") };
        claim.finish();
        assert!(matches!(originals.claim(kernel, 3).await, DuplicateCheck::DuplicateOf(2)));
    }
}
