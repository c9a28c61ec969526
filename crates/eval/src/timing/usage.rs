//! Memory and energy of an implementation in one case.

use std::time::Instant;

use kgen_device::{BufferId, Device, LaunchError, TimedCall};
use kgen_measure::Flush;
use kgen_record::{Energy, Memory, SideBySide, Usage};

use super::{arm::Sets, bench::Samples};
use crate::session::Session;

/// Calls that are enqueued at once.
const CHUNK: usize = 256;

/// Seconds of calls between two looks at the counter of energy, which moves some ten times a second.
const SLICE_S: f64 = 0.05;

/// Measures what an implementation uses beside time; its clock is that of its samples.
pub(super) fn of(
    device: &mut dyn Device,
    sets: &Sets<'_>,
    wanted: SideBySide,
    sm_mhz: Option<f64>,
) -> Result<Usage, LaunchError> {
    let memory = memory(device, &sets.sessions()[0])?;
    let energy = match wanted.energy_s {
        Some(seconds) => energy(device, sets, seconds)?,
        None => None,
    };
    Ok(Usage { memory, energy, sm_mhz })
}

/// Returns the memory of one call: kgen's own buffers, or those and the library's.
fn memory(device: &dyn Device, session: &Session<'_>) -> Result<Option<Memory>, LaunchError> {
    let bytes =
        |buffers: &[BufferId]| -> u64 { buffers.iter().map(|&id| device.size(id) as u64).sum() };
    let Some(call) = session.call() else {
        let workspace = bytes(session.scratch());
        return Ok(Some(Memory { peak: session.bytes(device), workspace }));
    };
    let counted = call.memory()?;
    let inputs = bytes(session.inputs());
    Ok(counted.map(|(peak, workspace)| Memory { peak: inputs + peak, workspace }))
}

/// Runs calls back to back and divides the energy between two steps of the counter by the calls between
/// them; `None` where the device has no counter, or it did not move.
fn energy(
    device: &mut dyn Device,
    sets: &Sets<'_>,
    seconds: f64,
) -> Result<Option<Energy>, LaunchError> {
    let bare = |call: TimedCall| TimedCall { poison: Vec::new(), ..call };
    let samples = match sets.samples() {
        Samples::Here(calls) => Samples::Here(calls.into_iter().map(bare).collect()),
        elsewhere @ Samples::Elsewhere(_) => elsewhere,
    };
    let began = Instant::now();
    let mut n_calls = 0;
    let mut steps: Vec<(f64, f64, u64)> = Vec::new();
    loop {
        n_calls += slice(device, &samples)?;
        let Some(now) = device.energy_mj() else { return Ok(None) };
        let elapsed = began.elapsed().as_secs_f64();
        if steps.last().is_none_or(|(last, ..)| *last < now) {
            steps.push((now, elapsed, n_calls));
        }
        if elapsed >= seconds {
            break;
        }
    }
    // The first entry is no step: it is where the counter stood.
    let (Some(first), Some(last)) = (steps.get(1), steps.last()) else { return Ok(None) };
    Ok(Energy::of(last.0 - first.0, last.2 - first.2, last.1 - first.1))
}

fn slice(device: &mut dyn Device, samples: &Samples<'_>) -> Result<u64, LaunchError> {
    let calls = match samples {
        Samples::Elsewhere(call) => return call.repeat(device, SLICE_S),
        Samples::Here(calls) => calls,
    };
    let order: Vec<usize> = (0..CHUNK).map(|sample| sample % calls.len()).collect();
    let began = Instant::now();
    let mut n_calls = 0;
    while began.elapsed().as_secs_f64() < SLICE_S {
        device.time(calls, &order, Flush::None)?;
        n_calls += order.len() as u64;
    }
    Ok(n_calls)
}
