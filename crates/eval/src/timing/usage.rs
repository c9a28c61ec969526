//! Memory and energy of an implementation in one case.

use std::time::Instant;

use kgen_device::{BufferId, Device, GraphId, LaunchError, TimedCall, TimedWork};
use kgen_measure::Flush;
use kgen_record::{Energy, Memory, SideBySide, Usage};

use super::{arm::Sets, bench::Samples};
use crate::session::Session;

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
    let bare = |call: TimedCall| TimedCall { poison: Vec::new(), ..call };
    let samples = sets.samples();
    let here = match &samples {
        Samples::Here(_) => {
            let calls = sets.calls().into_iter().map(bare).collect();
            Some(Here::new(device, calls)?)
        }
        Samples::Elsewhere(_) => None,
    };
    let began = Instant::now();
    let mut n_calls = 0;
    let mut steps: Vec<(f64, f64, u64)> = Vec::new();
    let mut ended = Ok(());
    while ended.is_ok() {
        let slice = match (&here, &samples) {
            (Some(here), _) => here.run(device),
            (None, Samples::Elsewhere(call)) => call.repeat(device, SLICE_S),
            (None, Samples::Here(_)) => unreachable!("calls of this process were taken above"),
        };
        ended = slice.map(|n| n_calls += n);
        let Some(now) = device.energy_mj() else { break };
        let elapsed = began.elapsed().as_secs_f64();
        if steps.last().is_none_or(|(last, ..)| *last < now) {
            steps.push((now, elapsed, n_calls));
        }
        if elapsed >= seconds {
            break;
        }
    }
    if let Some(graph) = here.and_then(|here| here.graph) {
        device.drop_graph(graph);
    }
    ended?;
    // The first entry is no step: it is where the counter stood.
    let (Some(first), Some(last)) = (steps.get(1), steps.last()) else { return Ok(None) };
    Ok(Energy::of(last.0 - first.0, last.2 - first.2, last.1 - first.1))
}

/// Calls of a graph, so that the GPU need not wait for the host between them.
const GRAPH_CALLS: usize = 32;

/// Calls back to back on this process' stream.
struct Here {
    calls: Vec<TimedCall>,
    /// Calls of each of them.
    per_sample: usize,
    graph: Option<GraphId>,
}

impl Here {
    /// Records a graph of the calls, where the device has graphs and takes the calls into one.
    fn new(device: &mut dyn Device, calls: Vec<TimedCall>) -> Result<Self, LaunchError> {
        let graph = match device.record_graph(&calls, GRAPH_CALLS) {
            Err(LaunchError::Kernel { device_lost: false, .. }) => None,
            graph => graph?,
        };
        Ok(match graph {
            None => Self { calls, per_sample: 1, graph },
            Some(id) => {
                let work = TimedWork::Graph(id);
                let calls = vec![TimedCall { poison: Vec::new(), work }];
                Self { calls, per_sample: GRAPH_CALLS, graph }
            }
        })
    }

    fn run(&self, device: &mut dyn Device) -> Result<u64, LaunchError> {
        let n = CHUNK / self.per_sample;
        let order: Vec<usize> = (0..n).map(|sample| sample % self.calls.len()).collect();
        let began = Instant::now();
        let mut n_calls = 0;
        while began.elapsed().as_secs_f64() < SLICE_S {
            device.time(&self.calls, &order, Flush::None)?;
            n_calls += (n * self.per_sample) as u64;
        }
        Ok(n_calls)
    }
}
