//! Places for workers: each holds at most one process, and a lease on it is the right to use it.
//!
//! A GPU is a place with a worker and, where requests needed them, processes beside it: whoever holds
//! the lease is the only one that uses the GPU.

use std::sync::Mutex;

use futures_util::future::join_all;
use kgen_process::{Child, Status};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::sleep,
};

use super::{
    config::Launch,
    link::Worker,
    lock,
    notice::Notices,
    side::{CPU, Sidecars},
};
use crate::{Error, protocol::Role};

/// A future that ends when a process has.
type Exit = std::pin::Pin<Box<dyn Future<Output = Status> + Send>>;

/// All places of one role.
pub(super) struct Slots {
    permits: Semaphore,
    idle: Mutex<Vec<Slot>>,
    n_places: usize,
    /// Places that were not given up.
    n_live: Mutex<usize>,
    lost: Mutex<Option<Error>>,
    exits: Mutex<Vec<(u32, Exit)>>,
    notices: Notices,
}

/// One place.
struct Slot {
    launch: Launch,
    worker: Option<Worker>,
    sidecars: Sidecars,
}

/// The right to use one place; comes back when dropped, without its worker if that was taken.
pub(super) struct Lease<'a> {
    slots: &'a Slots,
    slot: Option<Slot>,
    permit: Option<SemaphorePermit<'a>>,
}

impl Slots {
    /// Returns places, some with their workers already.
    pub(super) fn new(
        places: impl IntoIterator<Item = (Launch, Option<Worker>)>,
        notices: Notices,
    ) -> Self {
        let slot = |(launch, worker): (Launch, _)| {
            let sidecars = Sidecars::in_place(launch.place.clone());
            Slot { launch, worker, sidecars }
        };
        let idle: Vec<Slot> = places.into_iter().map(slot).collect();
        Self {
            permits: Semaphore::new(idle.len()),
            n_places: idle.len(),
            n_live: Mutex::new(idle.len()),
            idle: Mutex::new(idle),
            lost: Mutex::default(),
            exits: Mutex::default(),
            notices,
        }
    }

    /// Returns how many places there were from the start.
    pub(super) const fn len(&self) -> usize {
        self.n_places
    }

    /// Returns whether any place is left.
    pub(super) fn is_live(&self) -> bool {
        *lock(&self.n_live) > 0
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
        join_all(idle.into_iter().map(Slot::end)).await;
        let exits = std::mem::take(&mut *lock(&self.exits));
        join_all(exits.into_iter().map(|(_, exit)| exit)).await;
    }

    fn watch(&self, child: &Child) {
        let mut exits = lock(&self.exits);
        exits.retain_mut(|(_, exit)| futures_util::FutureExt::now_or_never(exit).is_none());
        exits.push((child.pid(), Box::pin(child.exit())));
    }
}

impl Slot {
    async fn end(self) {
        let Self { worker, mut sidecars, .. } = self;
        let worker = async {
            if let Some(worker) = worker
                && let Err(error) = worker.shut_down().await
            {
                tracing::warn!(%error, "a worker did not end");
            }
        };
        tokio::join!(worker, sidecars.end());
    }
}

impl<'a> Lease<'a> {
    /// Returns a function that has the end of a process waited for when the pool is shut down.
    pub(super) fn watcher(&self) -> impl Fn(&Child) + use<'a> {
        let slots = self.slots;
        move |child| slots.watch(child)
    }
}

impl Lease<'_> {
    /// Takes the worker out of the place, started anew if there is none. Whoever drops it instead
    /// of putting it back kills it.
    ///
    /// # Errors
    ///
    /// Those of [`Worker::start`]; a GPU whose worker does not start again is given up.
    pub(super) async fn worker(&mut self) -> Result<Worker, Error> {
        let slot = self.slot.as_mut().ok_or(Error::ShutDown)?;
        if let Some(worker) = slot.worker.take()
            && worker.is_alive()
        {
            return Ok(worker);
        }
        slot.launch.setup.side_pids = slot.sidecars.pids();
        let role = slot.launch.setup.role;
        let mut last = Error::ShutDown;
        for wait in &slot.launch.start_waits {
            sleep(*wait).await;
            match Worker::start(&slot.launch).await {
                Ok(worker) => {
                    self.slots.watch(worker.child());
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
            Role::Gpu => Err(self.quarantine(&last.to_string())),
        }
    }

    /// Puts the worker back for the next lease.
    pub(super) fn put_back(&mut self, worker: Worker) {
        if let Some(slot) = self.slot.as_mut() {
            slot.worker = Some(worker);
        }
    }

    /// Returns the processes of the place, and their device as PyTorch calls it.
    pub(super) fn sidecars(&mut self) -> Option<(&mut Sidecars, String)> {
        let slot = self.slot.as_mut()?;
        let device = match slot.launch.setup.role {
            Role::Cpu => CPU.to_owned(),
            Role::Gpu => format!("cuda:{}", slot.launch.setup.device),
        };
        Some((&mut slot.sidecars, device))
    }

    /// Has the next cpu worker of this place speak with a Python process; returns whether the last one
    /// could not.
    pub(super) fn admit_python(&mut self) -> bool {
        let Some(setup) = self.slot.as_mut().map(|slot| &mut slot.launch.setup) else {
            return false;
        };
        match (setup.role, &mut setup.sandbox) {
            (Role::Cpu, Some(walls)) => !std::mem::replace(&mut walls.python, true),
            (Role::Cpu | Role::Gpu, _) => false,
        }
    }

    /// Returns the numbers of the place's processes beside its worker.
    pub(super) fn side_pids(&self) -> Vec<u32> {
        self.slot.as_ref().map(|slot| slot.sidecars.pids()).unwrap_or_default()
    }

    /// Returns the error of a process that does not die; a GPU that it holds is given up.
    pub(super) fn end_failed(&mut self, error: Error) -> Error {
        match self.slot.as_ref().map(|slot| slot.launch.setup.role) {
            Some(Role::Gpu) => self.quarantine(&error.to_string()),
            Some(Role::Cpu) | None => error,
        }
    }

    /// Gives the place up for good and returns the error that says so.
    pub(super) fn quarantine(&mut self, reason: &str) -> Error {
        let Some(slot) = self.slot.take() else { return Error::ShutDown };
        let device = slot.launch.setup.device;
        let error = Error::Quarantined { device, reason: reason.to_owned() };
        self.slots.notices.warn(error.to_string());
        if let Some(permit) = self.permit.take() {
            permit.forget();
        }
        let mut n_live = lock(&self.slots.n_live);
        *n_live -= 1;
        if *n_live == 0 {
            *lock(&self.slots.lost) = Some(error.clone());
            self.slots.permits.close();
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
