//! A taker of samples, as the protocol sees it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One of the two implementations that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The baseline.
    Baseline,
    /// The candidate.
    Candidate,
}

impl Arm {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Baseline => Self::Candidate,
            Self::Candidate => Self::Baseline,
        }
    }
}

/// A device on which both arms are ready to run.
pub trait Bench {
    /// Why no samples could be taken.
    type Error;

    /// Takes one sample per entry of `order`, in that order, all enqueued before the first ends
    /// where the device can.
    ///
    /// # Errors
    ///
    /// The failure that ends the comparison.
    fn chunk(&mut self, order: &[Arm]) -> Result<Chunk, Self::Error>;

    /// Lets the device rest.
    fn pause(&mut self, duration: Duration);
}

/// The samples of one chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Device time of each call in microseconds, one per entry of the order asked for.
    pub samples_us: Vec<f64>,
    /// Wall time of the chunk in microseconds, with preparation, flushes and hand-over. Where it
    /// is smaller than the sum of the samples, that sum counts.
    pub wall_us: f64,
    /// The device while they were taken.
    pub health: Health,
}

/// State of the device around a chunk; nothing where it does not say.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Health {
    /// Clock of the multiprocessors in MHz.
    pub sm_mhz: Option<f64>,
    /// The highest clock the device may run at, in MHz.
    pub max_sm_mhz: Option<f64>,
    /// Why the clock was held down.
    pub throttle: Throttle,
}

/// Share of the highest clock below which samples are not those of a working device.
const LEAST_CLOCK: f64 = 0.75;

impl Health {
    /// Whether the device was slowed down for a reason that a rest can end.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        let Throttle { hw_slowdown, hw_thermal, sw_thermal, power_brake, power_cap: _ } =
            self.throttle;
        hw_slowdown || hw_thermal || sw_thermal || power_brake
    }

    /// Whether the clock was below 75 % of the highest.
    ///
    /// Source: the threshold of nvbench.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.sm_mhz.zip(self.max_sm_mhz).is_some_and(|(now, max)| now < LEAST_CLOCK * max)
    }
}

/// Reasons for a lowered clock.
///
/// Source: `nvmlClocksEventReasons` of NVML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "a set of independent reasons, as NVML has it")]
pub struct Throttle {
    /// Hardware slowdown: temperature, power brake or a failing supply.
    pub hw_slowdown: bool,
    /// Hardware slowdown because of temperature.
    pub hw_thermal: bool,
    /// The driver lowers clocks because of temperature.
    pub sw_thermal: bool,
    /// An external signal asks for less power.
    pub power_brake: bool,
    /// The driver keeps the board within its power limit. Common under load, so it is no reason to
    /// throw samples away.
    pub power_cap: bool,
}
