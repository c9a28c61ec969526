//! Waiting for the disk without holding up other tasks.
//!
//! A request is on disk before it is sent, so hundreds of tasks wait for the disk at once. The
//! runtime has few threads: one that waits hands its other tasks to another one. So each task that
//! waits, for the disk or for its turn there, holds a thread of the runtime's pool, and the calls
//! in flight bound their number ([decision 027](../../docs/decisions/027-throughput.md)).

use std::sync::{Condvar, Mutex, PoisonError};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Flushes under way at the same time. It bounds the requests to the disk at once, not the threads:
/// those that wait for a place sleep.
const MAX_FLUSHES: usize = 32;

static PLACES: ThreadSemaphore = ThreadSemaphore::new(MAX_FLUSHES);

/// Runs work that waits for the disk.
pub(super) fn wait_for_disk<T>(work: impl FnOnce() -> T) -> T {
    let is_shared = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if !is_shared {
        return work();
    }
    block_in_place(|| {
        let _place = PLACES.take();
        work()
    })
}

struct ThreadSemaphore {
    n_free: Mutex<usize>,
    freed: Condvar,
}

struct ThreadPermit<'a>(&'a ThreadSemaphore);

impl ThreadSemaphore {
    const fn new(n_free: usize) -> Self {
        Self { n_free: Mutex::new(n_free), freed: Condvar::new() }
    }

    fn take(&self) -> ThreadPermit<'_> {
        let n_free = self.n_free.lock().unwrap_or_else(PoisonError::into_inner);
        let none_free = |n_free: &mut usize| *n_free == 0;
        let waited = self.freed.wait_while(n_free, none_free);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        ThreadPermit(self)
    }
}

impl Drop for ThreadPermit<'_> {
    fn drop(&mut self) {
        *self.0.n_free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc, Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use super::*;

    #[test]
    fn other_tasks_go_on_while_many_wait() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.unwrap();
        // The one thread of the runtime waits for the last task: only other tasks can end it.
        let all_there = Arc::new(Barrier::new(3));
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let all_there = Arc::clone(&all_there);
                runtime.spawn(async move { wait_for_disk(|| all_there.wait().is_leader()) })
            })
            .collect();
        let n_leaders = tasks.into_iter().map(|task| runtime.block_on(task).unwrap());
        assert_eq!(n_leaders.filter(|is_leader| *is_leader).count(), 1);
    }

    #[test]
    fn no_more_wait_at_once_than_there_are_places() {
        let places = ThreadSemaphore::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _place = places.take();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
        assert_eq!(*places.n_free.lock().unwrap(), 2);
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_does_it_itself() {
        assert_eq!(wait_for_disk(|| 7), 7);
    }
}
