//! Work shared by threads where there is much of it.

use std::num::NonZero;

/// Elements from which on threads are worth their start.
const FROM: usize = 1 << 18;

/// Fills a slice: `fill` gets the index of the first element of its share and the share.
///
/// Shares begin at multiples of `unit` (the length of a row).
pub(super) fn fill(all: &mut [f64], unit: usize, fill: impl Fn(usize, &mut [f64]) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    if all.len() < FROM || threads == 1 {
        fill(0, all);
        return;
    }
    let unit = unit.max(1);
    let share = (all.len() / unit).div_ceil(threads).max(1) * unit;
    std::thread::scope(|scope| {
        for (number, part) in all.chunks_mut(share).enumerate() {
            let fill = &fill;
            scope.spawn(move || fill(number * share, part));
        }
    });
}
