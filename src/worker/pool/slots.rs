//! Places for workers: each holds at most one process, and a lease on it is the right to use it.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::sleep,
};

use crate::{
    process::Status,
    worker::{Error, protocol::Role},
};

use super::{config::Launch, link::Worker};

/// A future that ends when a process has.
type Exit = std::pin::Pin<Box<dyn Future<Output = Status> + Send>>;

/// All places of one role.
pub(super) struct Slots {
    permits: Semaphore,
    idle: Mutex<Vec<Slot>>,
    n_live: AtomicUsize,
    lost: Mutex<Option<Error>>,
    exits: Mutex<Vec<(u32, Exit)>>,
}

/// One place.
struct Slot {
    launch: Launch,
    worker: Option<Worker>,
}

/// The right to use one place; comes back when dropped, without its worker if that was taken.
pub(super) struct Lease<'a> {
    slots: &'a Slots,
    slot: Option<Slot>,
    permit: Option<SemaphorePermit<'a>>,
}

impl Slots {
    /// Returns places without processes.
    pub(super) fn new(launches: impl IntoIterator<Item = Launch>) -> Self {
        let idle: Vec<Slot> =
            launches.into_iter().map(|launch| Slot { launch, worker: None }).collect();
        Self {
            permits: Semaphore::new(idle.len()),
            n_live: AtomicUsize::new(idle.len()),
            idle: Mutex::new(idle),
            lost: Mutex::default(),
            exits: Mutex::default(),
        }
    }

    /// Waits for a place; one with a running worker is taken first.
    pub(super) async fn lease(&self) -> Result<Lease<'_>, Error> {
        let Ok(permit) = self.permits.acquire().await else {
            return Err(lock(&self.lost).clone().unwrap_or(Error::ShutDown));
        };
        let mut idle = lock(&self.idle);
        let running = idle.iter().rposition(|slot| slot.worker.is_some());
        let at = running.unwrap_or(idle.len().saturating_sub(1));
        let slot = idle.swap_remove(at);
        Ok(Lease { slots: self, slot: Some(slot), permit: Some(permit) })
    }

    /// Ends all idle workers and waits until every process of this role is gone, leased ones too
    /// if their leases were dropped.
    pub(super) async fn end(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *lock(&self.idle));
        let workers = idle.into_iter().filter_map(|slot| slot.worker);
        join_all(workers.map(Worker::dismiss)).await;
        let exits = std::mem::take(&mut *lock(&self.exits));
        join_all(exits.into_iter().map(|(_, exit)| exit)).await;
    }

    fn watch(&self, worker: &Worker) {
        let child = worker.child();
        let mut exits = lock(&self.exits);
        exits.retain_mut(|(_, exit)| futures_util::FutureExt::now_or_never(exit).is_none());
        exits.push((child.pid(), Box::pin(child.exit())));
    }
}

impl Lease<'_> {
    /// Takes the worker out of the place, started anew if there is none. Whoever drops it instead
    /// of giving it back kills it.
    ///
    /// # Errors
    ///
    /// Those of [`Worker::start`]; a GPU whose worker does not start again is given up.
    pub(super) async fn worker(&mut self) -> Result<Worker, Error> {
        let slot = self.slot.as_mut().expect("a lease holds its place until it is dropped");
        if let Some(worker) = slot.worker.take()
            && worker.is_alive()
        {
            return Ok(worker);
        }
        let (role, device) = (slot.launch.setup.role, slot.launch.setup.device);
        let mut last = Error::ShutDown;
        for wait in &slot.launch.start_waits {
            sleep(*wait).await;
            match Worker::start(&slot.launch).await {
                Ok(worker) => {
                    self.slots.watch(&worker);
                    return Ok(worker);
                }
                Err(error) => {
                    tracing::warn!(%role, %error, "a worker did not start");
                    last = error;
                }
            }
        }
        match role {
            Role::Cpu => Err(last),
            Role::Gpu => Err(self.quarantine(device, &last.to_string())),
        }
    }

    /// Puts the worker back for the next lease.
    pub(super) fn give_back(mut self, worker: Worker) {
        if let Some(slot) = self.slot.as_mut() {
            slot.worker = Some(worker);
        }
    }

    /// Gives the place up for good and returns the error that says so.
    pub(super) fn quarantine(&mut self, device: u32, reason: &str) -> Error {
        let error = Error::Quarantined { device, reason: reason.to_owned() };
        if self.slot.take().is_some() {
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
            if self.slots.n_live.fetch_sub(1, Ordering::AcqRel) == 1 {
                *lock(&self.slots.lost) = Some(error.clone());
                self.slots.permits.close();
            }
        }
        error
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // The place goes back before the permit does, which is dropped after this.
        if let Some(slot) = self.slot.take() {
            lock(&self.slots.idle).push(slot);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
