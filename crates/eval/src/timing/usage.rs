//! Memory and energy of an implementation in one case.

use std::time::Instant;

use kgen_device::{BufferId, Device, GraphId, LaunchError, TimedCall, TimedWork};
use kgen_measure::Flush;
use kgen_record::{Energy, Memory, SideBySide, Usage};

use super::{arm::Sets, bench::Samples};
use crate::{external::BoundCall, session::Session};

/// Calls that are enqueued at once.
const CHUNK: usize = 256;

/// Seconds of calls between two looks at the counter of energy, which moves some ten times a second.
const SLICE_S: f64 = 0.05;

/// Measures memory and energy of an implementation; its clock is that of its samples.
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
    let runner = Runner::new(device, sets)?;
    let steps = steps(device, &runner, seconds);
    runner.close(device);
    let steps = steps?;
    // The first entry is no step: it is where the counter stood.
    let (Some(first), Some(last)) = (steps.get(1), steps.last()) else { return Ok(None) };
    Ok(Energy::of(last.0 - first.0, last.2 - first.2, last.1 - first.1))
}

/// Energy in millijoules, seconds, and calls, since a run began.
type Reading = (f64, f64, u64);

/// Runs calls and reads the counter between slices; returns the readings at which it had moved.
fn steps(
    device: &mut dyn Device,
    runner: &Runner<'_>,
    seconds: f64,
) -> Result<Vec<Reading>, LaunchError> {
    let began = Instant::now();
    let mut n_calls = 0;
    let mut steps: Vec<Reading> = Vec::new();
    loop {
        n_calls += runner.slice(device)?;
        let Some(now) = device.energy_mj() else { return Ok(steps) };
        let elapsed = began.elapsed().as_secs_f64();
        if steps.last().is_none_or(|(last, ..)| *last < now) {
            steps.push((now, elapsed, n_calls));
        }
        if elapsed >= seconds {
            return Ok(steps);
        }
    }
}

/// Calls of a graph, so that the GPU need not wait for the host between them.
const GRAPH_CALLS: usize = 32;

/// Makes calls back to back.
enum Runner<'s> {
    /// On this process' stream: calls without poisoning, or a graph of [`GRAPH_CALLS`] of them.
    Here {
        calls: Vec<TimedCall>,
        graph: Option<GraphId>,
    },
    Elsewhere(&'s dyn BoundCall),
}

impl<'s> Runner<'s> {
    /// Records a graph of the calls, where the device has graphs and takes the calls into one.
    fn new(device: &mut dyn Device, sets: &'s Sets<'_>) -> Result<Self, LaunchError> {
        let calls = match sets.samples() {
            Samples::Elsewhere(call) => return Ok(Self::Elsewhere(call)),
            Samples::Here(calls) => calls,
        };
        let bare = |work| TimedCall { poison: Vec::new(), work };
        let calls: Vec<TimedCall> = calls.into_iter().map(|call| bare(call.work)).collect();
        let graph = match device.record_graph(&calls, GRAPH_CALLS) {
            Err(LaunchError::Kernel { device_lost: false, .. }) => None,
            graph => graph?,
        };
        let calls = graph.map_or(calls, |id| vec![bare(TimedWork::Graph(id))]);
        Ok(Self::Here { calls, graph })
    }

    /// Makes calls for [`SLICE_S`], and returns how many.
    fn slice(&self, device: &mut dyn Device) -> Result<u64, LaunchError> {
        let (calls, graph) = match self {
            Self::Elsewhere(call) => return call.repeat(device, SLICE_S),
            Self::Here { calls, graph } => (calls, graph),
        };
        let per_sample = if graph.is_some() { GRAPH_CALLS } else { 1 };
        let order: Vec<usize> =
            (0..CHUNK / per_sample).map(|sample| sample % calls.len()).collect();
        let began = Instant::now();
        let mut n_calls = 0;
        while began.elapsed().as_secs_f64() < SLICE_S {
            device.time(calls, &order, Flush::None)?;
            n_calls += (order.len() * per_sample) as u64;
        }
        Ok(n_calls)
    }

    fn close(self, device: &mut dyn Device) {
        if let Self::Here { graph: Some(graph), .. } = self {
            device.drop_graph(graph);
        }
    }
}
