//! The course of a measurement: warm-up, chunks, health, the end.

use std::time::Duration;

use crate::{
    Alone, Arm, Bench, Chunk, Comparison, Flag, Measured, Params, Timing, blocks_of,
    comparison::{ERRORS, PRACTICAL, log_ratios},
    measured::add,
    stats::{centre, median},
};

/// Blocks of one chunk, where they take little of the time there is.
pub const BLOCKS_PER_CHUNK: u32 = 8;

/// Share of the time there is that one chunk may take.
const CHUNK_SHARE: f64 = 0.125;

/// The first rest after an unhealthy chunk; each further one is longer.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Growth of rests.
const PAUSE_GROWTH: f64 = 1.5;

/// Unhealthy chunks that are thrown away before the device is taken as it is.
const MAX_DISCARDED: u32 = 5;

/// Difference of clocks between chunks, as a share, that is worth a flag.
const CLOCK_DRIFT: f64 = 0.03;

/// Microseconds below which a time is mostly that of launching: resolving it in full is left to the
/// profiles that are not for ranking.
const SHORT_US: f64 = 20.0;

/// Compares candidate and baseline.
///
/// Blocks are A-B-B-A; which arm is A alternates from chunk to chunk, beginning with one that
/// `seed` chooses. `None` if the bench gave
/// samples that are no times.
///
/// # Errors
///
/// That of the bench.
pub fn compare<B: Bench>(
    bench: &mut B,
    params: &Params,
    seed: u64,
) -> Result<Option<Measured>, B::Error> {
    let mut first = if seed & 1 == 0 { Arm::Baseline } else { Arm::Candidate };
    let mut course = Course::new(bench, params);
    let Some(size) = course.warm_up(|n| abba(n, params.width, first))? else { return Ok(None) };
    let (mut baseline, mut candidate) = (Vec::new(), Vec::new());
    let mut blocks;
    loop {
        let n = n_left(params.max_blocks, count(candidate.len()) / (2 * params.width), size);
        let order = abba(n, params.width, first);
        let Some(chunk) = course.take(&order)? else { return Ok(None) };
        for (arm, sample) in order.iter().zip(chunk.samples_us) {
            match arm {
                Arm::Baseline => baseline.push(sample),
                Arm::Candidate => candidate.push(sample),
            }
        }
        first = first.other();
        blocks = blocks_of(&baseline, &candidate, params.width);
        let Some(ratios) = log_ratios(&blocks) else { return Ok(None) };
        if course.is_over(count(blocks.len()), &ratios, is_decided) {
            break;
        }
    }
    let Course { flags, chunks, discarded, clocks, .. } = course;
    let sm_mhz = median(&clocks);
    let parts = Timing::of(candidate).zip(Timing::of(baseline)).zip(Comparison::of(&blocks));
    Ok(parts.map(|((candidate, baseline), comparison)| Measured {
        candidate,
        baseline,
        comparison,
        flags,
        chunks,
        discarded,
        sm_mhz,
    }))
}

/// Measures the candidate without a baseline, as many samples as [`compare`] takes of it.
///
/// `None` if the bench gave samples that are no times.
///
/// # Errors
///
/// That of the bench.
pub fn alone<B: Bench>(bench: &mut B, params: &Params) -> Result<Option<Alone>, B::Error> {
    let order = |n_blocks: u32| vec![Arm::Candidate; index(2 * n_blocks * params.width)];
    let mut course = Course::new(bench, params);
    let Some(size) = course.warm_up(order)? else { return Ok(None) };
    let mut samples = Vec::new();
    loop {
        let n_blocks = count(samples.len()) / (2 * params.width);
        let order = order(n_left(params.max_blocks, n_blocks, size));
        let Some(chunk) = course.take(&order)? else { return Ok(None) };
        samples.extend(chunk.samples_us);
        let logs: Vec<f64> = samples.iter().map(|sample: &f64| sample.ln()).collect();
        if course.is_over(count(samples.len()) / (2 * params.width), &logs, |_| true) {
            break;
        }
    }
    let Course { flags, chunks, discarded, clocks, .. } = course;
    let sm_mhz = median(&clocks);
    let candidate = Timing::of(samples);
    Ok(candidate.map(|candidate| Alone { candidate, flags, chunks, discarded, sm_mhz }))
}

/// The order of `n_blocks` blocks whose first arm is `first`.
fn abba(n_blocks: u32, width: u32, first: Arm) -> Vec<Arm> {
    let second = first.other();
    let positions = [first, second, second, first];
    let block = positions.into_iter().flat_map(|arm| std::iter::repeat_n(arm, index(width)));
    block.clone().cycle().take(index(4 * width * n_blocks)).collect()
}

fn n_left(max_blocks: u32, n_blocks: u32, size: u32) -> u32 {
    max_blocks.saturating_sub(n_blocks).clamp(1, size)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn index(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

struct Course<'a, B> {
    bench: &'a mut B,
    params: &'a Params,
    elapsed_s: f64,
    pause: Duration,
    /// Clocks of the chunks that count, in MHz.
    clocks: Vec<f64>,
    /// Blocks at which the interval is looked at next.
    next_look: u32,
    /// Median of the last chunk that counts.
    typical_us: f64,
    flags: Vec<Flag>,
    chunks: u32,
    discarded: u32,
}

impl<'a, B: Bench> Course<'a, B> {
    fn new(bench: &'a mut B, params: &'a Params) -> Self {
        Self {
            bench,
            params,
            elapsed_s: 0.0,
            pause: FIRST_PAUSE,
            clocks: Vec::new(),
            next_look: 0,
            typical_us: f64::INFINITY,
            flags: Vec::new(),
            chunks: 0,
            discarded: 0,
        }
    }

    /// Runs chunks that do not count; returns how many blocks a chunk shall have.
    ///
    /// The first is one block, so that a slow kernel costs no more than that.
    fn warm_up(&mut self, order: impl Fn(u32) -> Vec<Arm>) -> Result<Option<u32>, B::Error> {
        let mut size = 1;
        loop {
            let before = self.elapsed_s;
            if self.sample(&order(size))?.is_none() {
                return Ok(None);
            }
            let block_s = (self.elapsed_s - before) / f64::from(size);
            size = self.chunk_size(block_s);
            if self.elapsed_s >= self.params.warm_up_ms * 1e-3 {
                return Ok(Some(size));
            }
        }
    }

    /// The largest chunk of at most 8 blocks that takes a small part of the time there is.
    fn chunk_size(&self, block_s: f64) -> u32 {
        let fits = |n: &u32| f64::from(*n) * block_s <= CHUNK_SHARE * self.params.max_s;
        (1..=BLOCKS_PER_CHUNK).rev().find(fits).unwrap_or(1)
    }

    /// Takes a chunk that counts, after throwing away those of a device that was slowed down.
    fn take(&mut self, order: &[Arm]) -> Result<Option<Chunk>, B::Error> {
        loop {
            let Some(chunk) = self.sample(order)? else { return Ok(None) };
            let health = chunk.health;
            if health.is_throttled() || health.is_slow() {
                if self.discarded < MAX_DISCARDED {
                    self.discarded += 1;
                    // A clock that is low without a reason is that of a device that was idle: it
                    // needs work, not rest.
                    if health.is_throttled() {
                        self.rest();
                    }
                    continue;
                }
                add(&mut self.flags, Flag::Throttled);
            }
            self.note(&chunk);
            return Ok(Some(chunk));
        }
    }

    fn rest(&mut self) {
        self.bench.pause(self.pause);
        self.elapsed_s += self.pause.as_secs_f64();
        self.pause = self.pause.mul_f64(PAUSE_GROWTH);
    }

    /// Keeps the books of a chunk that counts.
    fn note(&mut self, chunk: &Chunk) {
        self.chunks += 1;
        self.typical_us = median(&chunk.samples_us).unwrap_or(self.typical_us);
        if chunk.health.throttle.power_cap {
            add(&mut self.flags, Flag::PowerCapped);
        }
        if let Some(now) = chunk.health.sm_mhz {
            self.clocks.push(now);
            let low = self.clocks.iter().copied().fold(now, f64::min);
            let high = self.clocks.iter().copied().fold(now, f64::max);
            if high > low * (1.0 + CLOCK_DRIFT) {
                add(&mut self.flags, Flag::ClockDrift);
            }
        }
    }

    /// Takes a chunk; `None` if it holds something that is no time.
    fn sample(&mut self, order: &[Arm]) -> Result<Option<Chunk>, B::Error> {
        let chunk = self.bench.chunk(order)?;
        let is_time = |sample: &f64| sample.is_finite() && *sample > 0.0;
        if chunk.samples_us.len() != order.len() || !chunk.samples_us.iter().all(is_time) {
            return Ok(None);
        }
        let device_us: f64 = chunk.samples_us.iter().sum();
        self.elapsed_s += device_us.max(chunk.wall_us) * 1e-6;
        Ok(Some(chunk))
    }

    /// Whether there are enough blocks or no time for more. `logs` are the values of the interval, and
    /// `suffices` says whether an interval as narrow as asked is also where it is of use.
    fn is_over(
        &mut self,
        n_blocks: u32,
        logs: &[f64],
        suffices: impl Fn([f64; 2]) -> bool,
    ) -> bool {
        let is_short = self.typical_us < SHORT_US && n_blocks >= self.params.max_blocks_short;
        if n_blocks >= self.params.max_blocks || is_short {
            return true;
        }
        let is_enough = n_blocks >= self.params.min_blocks;
        if is_enough && n_blocks >= self.next_look {
            // Each look costs time, and is another chance to be misled.
            self.next_look = n_blocks + n_blocks / 8;
            if self.interval_if_narrow(logs).is_some_and(suffices) {
                return true;
            }
        }
        let is_late = self.elapsed_s >= self.params.max_s;
        if is_late && !is_enough {
            add(&mut self.flags, Flag::TimedOut);
        }
        is_late
    }

    /// Returns the interval where it is as narrow as asked.
    fn interval_if_narrow(&self, logs: &[f64]) -> Option<[f64; 2]> {
        let target = self.params.target_half_width?;
        let [low, high] = centre(logs, ERRORS)?.interval;
        ((high - low) / 2.0 <= target).then_some([low, high])
    }
}

/// Whether an interval of the log ratio leaves no doubt: all of it on one side of a threshold. One
/// that does not may be decided by a few blocks more.
fn is_decided([low, high]: [f64; 2]) -> bool {
    let threshold = PRACTICAL.ln_1p();
    low > threshold || high < -threshold || (low >= -threshold && high <= threshold)
}

#[cfg(test)]
mod tests;
