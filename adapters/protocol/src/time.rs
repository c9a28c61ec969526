//! Times by the host's clock, and calls back to back.

use std::time::Instant;

use serde::Serialize;

use crate::{
    library::{Call, Samples},
    refusal::Refusal,
};

/// Seconds of work that a loop has waiting on the device, and at most so many calls.
const QUEUED_S: f64 = 0.05;
const QUEUED_CALLS: f64 = 1000.0;

/// The clock of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The device's, between two events.
    Event,
    /// The host's, around calls that are waited for.
    Host,
}

/// Calls that were made back to back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Repeated {
    pub(crate) calls: u64,
    pub(crate) seconds: f64,
}

/// Times a call by the host's clock, from an idle device to an idle device; `flush` goes before each.
///
/// # Errors
///
/// Those of the functions.
pub fn host_samples<T>(
    call: Call<'_, T>,
    mut flush: impl FnMut() -> Result<(), Refusal>,
    sync: impl Fn() -> Result<(), Refusal>,
    n: usize,
    warm_up: usize,
) -> Result<Samples, Refusal> {
    let mut us = Vec::with_capacity(n);
    for at in 0..warm_up + n {
        flush()?;
        sync()?;
        let start = Instant::now();
        let results = call()?;
        sync()?;
        let spent = start.elapsed();
        drop(results);
        if at >= warm_up {
            us.push(spent.as_secs_f64() * 1e6);
        }
    }
    Ok(Samples { us, clock: Clock::Host })
}

/// Makes a call back to back for so many seconds.
pub(crate) fn repeat(
    call: &mut dyn FnMut() -> Result<(), Refusal>,
    sync: impl Fn() -> Result<(), Refusal>,
    seconds: f64,
) -> Result<Repeated, Refusal> {
    sync()?;
    let start = Instant::now();
    call()?;
    sync()?;
    let once = start.elapsed().as_secs_f64().max(1e-9);
    let mut calls = 1;
    let batch = (QUEUED_S / once).clamp(1.0, QUEUED_CALLS) as u64;
    while start.elapsed().as_secs_f64() < seconds {
        for _ in 0..batch {
            call()?;
        }
        calls += batch;
        sync()?;
    }
    Ok(Repeated { calls, seconds: start.elapsed().as_secs_f64() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_lasts_as_long_as_asked_and_counts_its_calls() {
        let mut n = 0;
        let mut call = || {
            n += 1;
            Ok(())
        };
        let repeated = repeat(&mut call, || Ok(()), 0.02).unwrap();
        assert_eq!(repeated.calls, n);
        assert!(repeated.seconds >= 0.02 && n > 1, "{repeated:?}");
        let samples =
            host_samples::<()>(&mut || Ok(Vec::new()), || Ok(()), || Ok(()), 3, 2).unwrap();
        assert_eq!((samples.us.len(), samples.clock), (3, Clock::Host));
    }
}
