//! The device as what the protocol takes samples on.

use std::{
    thread,
    time::{Duration, Instant},
};

use kgen_measure::{Arm, Bench, Chunk, Health};

use crate::{
    device::{BufferId, Device, Stop, TimedOp},
    eval::session::Session,
};

/// One arm: what is poisoned and what is timed.
pub(super) struct ArmCall {
    poison: Vec<(BufferId, u8)>,
    ops: Vec<TimedOp>,
}

impl ArmCall {
    pub(super) fn new(session: &Session<'_>) -> Self {
        let poisoned = session.poisoned().into_iter();
        Self { poison: poisoned.map(|buffer| (buffer, 0xff)).collect(), ops: session.ops() }
    }

    pub(super) fn sample(&self, device: &mut dyn Device) -> Result<f64, Stop> {
        let time = device.time(&self.poison, &self.ops)?;
        Ok(time.expect("the device has timed its floor, so it can time"))
    }
}

/// Both arms on one device.
pub(super) struct OneByOne<'d> {
    pub(super) device: &'d mut dyn Device,
    pub(super) candidate: ArmCall,
    pub(super) baseline: Option<ArmCall>,
}

impl Bench for OneByOne<'_> {
    type Error = Stop;

    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, Stop> {
        let began = Instant::now();
        let mut samples_us = Vec::with_capacity(order.len());
        for arm in order {
            let call = match (arm, &self.baseline) {
                (Arm::Baseline, Some(baseline)) => baseline,
                (Arm::Baseline, None) | (Arm::Candidate, _) => &self.candidate,
            };
            samples_us.push(call.sample(self.device)?);
        }
        let wall_us = began.elapsed().as_secs_f64() * 1e6;
        Ok(Chunk { samples_us, wall_us, health: Health::default() })
    }

    fn pause(&mut self, duration: Duration) {
        thread::sleep(duration);
    }
}
