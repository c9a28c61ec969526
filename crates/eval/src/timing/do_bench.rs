//! Times as Triton's `do_bench` takes them.

use std::time::Instant;

use kgen_device::{Device, LaunchError, TimedCall};
use kgen_measure::{
    Flush, Timing,
    do_bench::{Counts, DoBench, N_ESTIMATE, Summary, summarise},
};

/// Samples that are enqueued at once.
const CHUNK: usize = 128;

/// Times a call as `do_bench` does: an estimate decides how often, a warm-up without flushes, then
/// samples with a flush before each. `None` where the device cannot time.
///
/// `call`: one argument set, the same all the time.
pub(super) fn measure(
    device: &mut dyn Device,
    call: &[TimedCall],
) -> Result<Option<Summary>, LaunchError> {
    let began = Instant::now();
    let n = usize::try_from(N_ESTIMATE).unwrap_or(usize::MAX);
    if device.time(call, &vec![0; n], Flush::Memset)?.is_none() {
        return Ok(None);
    }
    // A flush alone takes longer than that on any GPU.
    let estimate_us = (began.elapsed().as_secs_f64() * 1e6 / f64::from(N_ESTIMATE)).max(1.0);
    let Counts { warm_up, rep } = DoBench::default().counts(estimate_us);
    sample(device, call, warm_up, Flush::None)?;
    let samples = sample(device, call, rep, Flush::Memset)?;
    Ok(Timing::of(samples).as_ref().and_then(summarise))
}

fn sample(
    device: &mut dyn Device,
    call: &[TimedCall],
    n: u32,
    flush: Flush,
) -> Result<Vec<f64>, LaunchError> {
    let mut samples = Vec::new();
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    while samples.len() < n {
        let order = vec![0; CHUNK.min(n - samples.len())];
        let Some(taken) = device.time(call, &order, flush)? else { break };
        samples.extend(taken);
    }
    Ok(samples)
}
