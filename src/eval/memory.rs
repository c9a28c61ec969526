//! Whether a case fits into the memory of a device.

use crate::device::Device;

/// Bytes that are left to the driver, to kernels' stacks and to the flushing of the cache.
const RESERVE: u64 = 1 << 30;

/// Bytes below which nobody asks: any GPU has as many.
const SMALL: u64 = 64 << 20;

/// Returns why a case that needs so many bytes cannot run now.
pub(super) fn lacking(device: &mut dyn Device, need: u64) -> Option<String> {
    if need < SMALL {
        return None;
    }
    let free = device.free_bytes()?.saturating_sub(RESERVE);
    (need > free).then(|| format!("needs {:.1} GB, {:.1} free", gigabytes(need), gigabytes(free)))
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
