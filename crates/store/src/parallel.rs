//! Doing the same for many things on all cores.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Threads at most: what is done so waits for a disk as often as for a core.
const MAX_THREADS: usize = 8;

/// Items that are worth a thread.
const MIN_ITEMS: usize = 16;

/// Returns what comes of each item, in their order.
pub fn in_parallel<T: Sync, U: Send>(items: &[T], each: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let n_cores = thread::available_parallelism().map_or(1, NonZero::get);
    let n_threads = n_cores.min(MAX_THREADS).min(items.len() / MIN_ITEMS);
    if n_threads < 2 {
        return items.iter().map(each).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, each(item)));
        }
    };
    let mut done: Vec<(usize, U)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Vec<_>>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_and_the_order_stays() {
        for n_items in [0, 1, 15, 16, 1000] {
            let items: Vec<usize> = (0..n_items).collect();
            let n_done = AtomicUsize::new(0);
            let results = in_parallel(&items, |item| {
                n_done.fetch_add(1, Ordering::Relaxed);
                item * 2
            });
            assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
            assert_eq!(n_done.into_inner(), n_items);
        }
    }
}
