//! The device as the `Bench` of the protocol.

use std::{
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use kgen_device::{Device, GraphId, LaunchError, TimedCall, TimedWork};
use kgen_measure::{Arm, Bench, Chunk, Flush};
use kgen_record::Verdict;

use super::EvalError;
use crate::external::BoundCall;

/// Why a comparison ended without a result.
pub(super) enum BenchError {
    /// The device or the candidate failed.
    Eval(EvalError),
    Baseline(Refused),
}

/// A baseline that cannot be timed.
pub(super) struct Refused {
    /// `None` where it is not the baseline's fault.
    pub(super) verdict: Option<Verdict>,
    pub(super) reason: String,
}

impl Refused {
    pub(super) fn judged(verdict: Verdict, reason: impl Into<String>) -> BenchError {
        BenchError::Baseline(Self { verdict: Some(verdict), reason: reason.into() })
    }

    /// Returns a reason that says nothing about the baseline.
    pub(super) fn not_timed(reason: impl Into<String>) -> BenchError {
        BenchError::Baseline(Self { verdict: None, reason: reason.into() })
    }
}

impl From<EvalError> for BenchError {
    fn from(error: EvalError) -> Self {
        Self::Eval(error)
    }
}

impl From<LaunchError> for BenchError {
    fn from(error: LaunchError) -> Self {
        Self::Eval(error.into())
    }
}

/// Where the samples of an arm come from.
pub(super) enum Samples<'s> {
    /// This process: one call per argument set.
    Here(Vec<TimedCall>),
    /// A call that is not made on kgen's stream.
    Elsewhere(&'s dyn BoundCall),
}

impl Samples<'_> {
    /// Samples per position of a block: more than one where the GPU is handed from one process to
    /// another, which costs a sample each time.
    pub(super) const fn width(&self) -> u32 {
        match self {
            Self::Here(_) => 1,
            Self::Elsewhere(_) => 4,
        }
    }
}

/// Samples that are thrown away after the GPU was handed over.
const N_AFTER_HAND_OVER: usize = 1;

/// Single calls between two events.
pub(super) struct Calls<'d> {
    device: &'d mut dyn Device,
    /// The argument sets of the candidate, then those of the baseline, as far as they are timed here.
    calls: Vec<TimedCall>,
    candidate: ArmRunner<'d>,
    baseline: ArmRunner<'d>,
    flush: Flush,
}

/// Where an arm is timed.
enum ArmRunner<'s> {
    /// In these calls; so many samples were taken.
    Here {
        calls: Range<usize>,
        taken: usize,
    },
    Elsewhere(&'s dyn BoundCall),
}

impl<'d> Calls<'d> {
    /// Without a baseline, `baseline` has no calls.
    pub(super) fn new(
        device: &'d mut dyn Device,
        candidate: Samples<'d>,
        baseline: Samples<'d>,
        flush: Flush,
    ) -> Self {
        let mut calls = Vec::new();
        let mut place = |samples: Samples<'d>| match samples {
            Samples::Here(more) => {
                let first = calls.len();
                calls.extend(more);
                ArmRunner::Here { calls: first..calls.len(), taken: 0 }
            }
            Samples::Elsewhere(call) => ArmRunner::Elsewhere(call),
        };
        let (candidate, baseline) = (place(candidate), place(baseline));
        Self { device, calls, candidate, baseline, flush }
    }

    const fn place(&mut self, arm: Arm) -> &mut ArmRunner<'d> {
        match arm {
            Arm::Candidate => &mut self.candidate,
            Arm::Baseline => &mut self.baseline,
        }
    }

    /// Takes samples of arms that are timed here, their argument sets in turn.
    fn here(&mut self, order: &[Arm]) -> Result<Vec<f64>, LaunchError> {
        let mut indices = Vec::with_capacity(order.len());
        for &arm in order {
            if let ArmRunner::Here { calls, taken } = self.place(arm) {
                indices.push(calls.start + *taken % calls.len().max(1));
                *taken += 1;
            }
        }
        let samples = self.device.time(&self.calls, &indices, self.flush)?;
        Ok(samples.expect("the device has timed its floor, so it can time"))
    }

    /// Takes samples of one arm, after another process has had the GPU or before it has it.
    fn run(&mut self, arm: Arm, n: usize) -> Result<Vec<f64>, BenchError> {
        let call = match self.place(arm) {
            ArmRunner::Here { .. } => {
                let mut samples = self.here(&vec![arm; N_AFTER_HAND_OVER + n])?;
                return Ok(samples.split_off(N_AFTER_HAND_OVER));
            }
            ArmRunner::Elsewhere(call) => *call,
        };
        match call.sample(self.device, n, self.flush) {
            Err(LaunchError::Kernel { verdict, finding, .. }) if arm == Arm::Baseline => {
                Err(Refused::judged(verdict, finding.message))
            }
            samples => Ok(samples?),
        }
    }
}

impl Bench for Calls<'_> {
    type Error = BenchError;

    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, BenchError> {
        let began = Instant::now();
        let here = |place: &ArmRunner<'_>| matches!(place, ArmRunner::Here { .. });
        let samples_us = if here(&self.candidate) && here(&self.baseline) {
            self.here(order)?
        } else {
            let mut samples = Vec::with_capacity(order.len());
            for run in order.chunk_by(|a, b| a == b) {
                samples.extend(self.run(run[0], run.len())?);
            }
            samples
        };
        let wall_us = began.elapsed().as_secs_f64() * 1e6;
        Ok(Chunk { samples_us, wall_us, health: self.device.health() })
    }

    fn pause(&mut self, duration: Duration) {
        thread::sleep(duration);
    }
}

/// Calls back to back inside graphs. A sample is the difference between a graph of 2 n calls and
/// one of n, over n: the cost of the replay itself cancels.
pub(super) struct Graphs<'d> {
    device: &'d mut dyn Device,
    /// Of the candidate: n calls, 2 n calls; then the same of the baseline.
    calls: Vec<TimedCall>,
    graphs: Vec<GraphId>,
    n: usize,
}

impl<'d> Graphs<'d> {
    /// Records the graphs; `None` where the device has none.
    ///
    /// `arms`: the candidate's argument sets, then the baseline's.
    pub(super) fn record(
        device: &'d mut dyn Device,
        arms: &[&[TimedCall]],
        n: usize,
    ) -> Result<Option<Self>, LaunchError> {
        let mut graphs = Self { device, calls: Vec::new(), graphs: Vec::new(), n };
        for calls in arms {
            for n in [n, 2 * n] {
                let graph = match graphs.device.record_graph(calls, n) {
                    Ok(Some(graph)) => graph,
                    Ok(None) => return Ok(None),
                    Err(error) => {
                        graphs.close();
                        return Err(error);
                    }
                };
                graphs.graphs.push(graph);
                let poison = calls.iter().flat_map(|call| call.poison.clone()).collect();
                graphs.calls.push(TimedCall { poison, work: TimedWork::Graph(graph) });
            }
        }
        Ok(Some(graphs))
    }

    /// Forgets the graphs.
    pub(super) fn close(&mut self) {
        for graph in self.graphs.drain(..) {
            self.device.drop_graph(graph);
        }
    }
}

impl Bench for Graphs<'_> {
    type Error = BenchError;

    #[expect(clippy::cast_precision_loss, reason = "a graph has few calls")]
    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, BenchError> {
        let began = Instant::now();
        let pair = |arm: &Arm| match arm {
            Arm::Candidate => [0, 1],
            Arm::Baseline => [2, 3],
        };
        let order: Vec<usize> = order.iter().flat_map(pair).collect();
        let taken = self.device.time(&self.calls, &order, Flush::None)?;
        let taken = taken.expect("the device has timed its floor, so it can time");
        let per_call = |pair: &[f64]| (pair[1] - pair[0]) / self.n as f64;
        let samples_us = taken.chunks_exact(2).map(per_call).collect();
        let wall_us = began.elapsed().as_secs_f64() * 1e6;
        Ok(Chunk { samples_us, wall_us, health: self.device.health() })
    }

    fn pause(&mut self, duration: Duration) {
        thread::sleep(duration);
    }
}
