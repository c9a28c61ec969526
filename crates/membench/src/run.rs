//! The tests in order: sizes, samples, and what is left out.

use std::time::Duration;

use kgen_device::{AllocationTime, Allocator};

use crate::{Error, Kind, LeftOut, Row, Test, size_text};

/// Microseconds that a sample is to take at least; calls that take less are put together.
const LEAST_SAMPLE_US: f64 = 50.0;

/// Calls of a sample at most.
const MOST_CALLS: usize = 32;

/// Microseconds that the samples of one size are to take together.
const TIME_US: f64 = 100_000.0;

const LEAST_SAMPLES: usize = 3;
const MOST_SAMPLES: usize = 25;

/// Size that access patterns are timed at, in bytes: several times an L2 cache.
const PATTERN_BYTES: u64 = 256 << 20;

/// Time that the allocations of one size take at most, more or less.
const ALLOCATION_TIME: Duration = Duration::from_millis(50);

/// The tests and sizes that are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub tests: Vec<Test>,
    /// In bytes, ascending, each a multiple of 128.
    pub sizes: Vec<u64>,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub test: Test,
    /// Bytes of each buffer.
    pub bytes: u64,
    /// The number that a pattern varies; of `p2p` 0 for the way there and 1 for the way back.
    pub parameter: u32,
}

/// Rows, and the tests that have none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    pub rows: Vec<Row>,
    pub left_out: Vec<LeftOut>,
}

/// Something that has memory.
pub trait Lab {
    /// Gives a test its memory, for cases of up to so many bytes; takes that of the test before.
    ///
    /// # Errors
    ///
    /// [`Error::NoRoom`] where there is too little memory, [`Error::NotHere`] where the test cannot be done at
    /// any size.
    fn open(&mut self, test: Test, bytes: u64) -> Result<(), Error>;

    /// Times batches of `n_calls` calls of a case of the open test; returns the microseconds per call (of
    /// `latency`: per load) of `n_samples` batches.
    ///
    /// # Errors
    ///
    /// When the GPU cannot be used.
    fn time(&mut self, case: Case, n_calls: usize, n_samples: usize) -> Result<Vec<f64>, Error>;

    /// Returns the names of both ways of the open `p2p`.
    fn directions(&self) -> [String; 2];

    /// Times allocating and freeing while no test is open.
    ///
    /// # Errors
    ///
    /// As [`Lab::open`].
    fn allocations(
        &mut self,
        allocator: Allocator,
        bytes: u64,
        n_samples: usize,
        limit: Duration,
    ) -> Result<Vec<AllocationTime>, Error>;

    /// Frees all memory.
    fn close(&mut self);
}

/// Runs the tests of a plan, except those of other programs; `progress` hears of each before it begins.
///
/// # Errors
///
/// When the GPU cannot be used.
pub fn run(
    lab: &mut dyn Lab,
    plan: &Plan,
    progress: &mut dyn FnMut(&str),
) -> Result<Measured, Error> {
    let mut measured = Measured::default();
    let wanted = |test: &&Test| plan.tests.contains(test);
    for &test in Test::ALL.iter().filter(wanted) {
        match test.kind() {
            Kind::Transfer | Kind::Kernel => sized(lab, plan, test, progress, &mut measured)?,
            Kind::Pattern => pattern(lab, plan, test, progress, &mut measured)?,
            Kind::Allocation | Kind::Tool => {}
        }
    }
    lab.close();
    allocations(lab, plan, progress, &mut measured)?;
    Ok(measured)
}

impl Measured {
    pub(crate) fn leave_out(
        &mut self,
        test: Test,
        parameter: Option<&str>,
        bytes: Option<u64>,
        reason: String,
    ) {
        let (test, parameter) = (test.name().to_owned(), parameter.map(str::to_owned));
        self.left_out.push(LeftOut { test, parameter, bytes, reason });
    }

    fn add(&mut self, case: Case, parameter: Option<String>, samples_us: Vec<f64>) {
        let traffic = case.test.traffic(case.bytes, case.parameter);
        self.rows.extend(Row::of(case.test, parameter, case.bytes, traffic, samples_us));
    }

    /// Opens a test for the largest of some sizes that there is memory for; returns how many of them fit.
    fn open(&mut self, lab: &mut dyn Lab, test: Test, sizes: &[u64]) -> Result<usize, Error> {
        for n_fit in (1..=sizes.len()).rev() {
            let bytes = sizes[n_fit - 1];
            match lab.open(test, bytes) {
                Ok(()) => return Ok(n_fit),
                Err(Error::NoRoom(reason)) => self.leave_out(test, None, Some(bytes), reason),
                Err(Error::NotHere(reason)) => {
                    self.leave_out(test, None, None, reason);
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(0)
    }
}

/// Times a test over the sizes.
fn sized(
    lab: &mut dyn Lab,
    plan: &Plan,
    test: Test,
    progress: &mut dyn FnMut(&str),
    measured: &mut Measured,
) -> Result<(), Error> {
    progress(test.name());
    let n_fit = measured.open(lab, test, &plan.sizes)?;
    let directions = (test == Test::P2p && n_fit > 0).then(|| lab.directions());
    for (parameter, direction) in (0..).zip(match directions {
        Some(both) => both.map(Some).to_vec(),
        None => vec![None],
    }) {
        for &bytes in &plan.sizes[..n_fit] {
            progress(&format!("{test} {}", size_text(bytes)));
            let case = Case { test, bytes, parameter };
            let samples = sampled(lab, case)?;
            measured.add(case, direction.clone(), samples);
        }
    }
    Ok(())
}

/// Times a test over its parameters.
fn pattern(
    lab: &mut dyn Lab,
    plan: &Plan,
    test: Test,
    progress: &mut dyn FnMut(&str),
    measured: &mut Measured,
) -> Result<(), Error> {
    progress(test.name());
    let largest = plan.sizes.iter().copied().filter(|size| *size <= PATTERN_BYTES).max();
    let sizes: Vec<u64> = largest.or(plan.sizes.first().copied()).into_iter().collect();
    if measured.open(lab, test, &sizes)? == 0 {
        return Ok(());
    }
    for parameter in test.parameters() {
        let case = Case { test, bytes: sizes[0], parameter };
        let samples = sampled(lab, case)?;
        measured.add(case, Some(parameter.to_string()), samples);
    }
    Ok(())
}

/// Times the driver's allocators over the sizes.
fn allocations(
    lab: &mut dyn Lab,
    plan: &Plan,
    progress: &mut dyn FnMut(&str),
    measured: &mut Measured,
) -> Result<(), Error> {
    if !plan.has_allocations() {
        return Ok(());
    }
    for allocator in [Allocator::Plain, Allocator::Pool] {
        let name = match allocator {
            Allocator::Plain => "cuMemAlloc",
            Allocator::Pool => "cuMemAllocAsync",
        };
        for &bytes in &plan.sizes {
            progress(&format!("{name} {}", size_text(bytes)));
            match lab.allocations(allocator, bytes, MOST_SAMPLES, ALLOCATION_TIME) {
                Ok(times) => measured.rows.extend(plan.allocation_rows(name, bytes, &times)),
                Err(Error::NoRoom(reason)) => {
                    measured.leave_out(Test::Alloc, Some(name), Some(bytes), reason);
                }
                Err(Error::NotHere(reason)) => {
                    measured.leave_out(Test::Alloc, Some(name), None, reason);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

impl Plan {
    /// Returns whether allocating or freeing is to be timed.
    #[must_use]
    pub fn has_allocations(&self) -> bool {
        self.tests.iter().any(|test| test.kind() == Kind::Allocation)
    }

    /// Returns the rows of an allocator at a size, as far as they are asked for.
    pub(crate) fn allocation_rows(
        &self,
        allocator: &str,
        bytes: u64,
        times: &[AllocationTime],
    ) -> Vec<Row> {
        let row = |test: Test, us: fn(&AllocationTime) -> f64| {
            let samples = times.iter().map(us).collect();
            let row = Row::of(test, Some(allocator.to_owned()), bytes, None, samples);
            row.filter(|_| self.tests.contains(&test))
        };
        let rows = [row(Test::Alloc, |time| time.alloc_us), row(Test::Free, |time| time.free_us)];
        rows.into_iter().flatten().collect()
    }
}

/// Times a case as often as its time allows.
fn sampled(lab: &mut dyn Lab, case: Case) -> Result<Vec<f64>, Error> {
    let first = lab.time(case, 1, 1)?;
    let once = first.iter().copied().fold(0.0, f64::max);
    if once >= TIME_US {
        // So long a call has no warm-up that could be seen in it.
        let more = lab.time(case, 1, LEAST_SAMPLES - 1)?;
        return Ok([first, more].concat());
    }
    let again = lab.time(case, 1, 2)?.into_iter().fold(once, f64::min);
    let (n_calls, n_samples) = counts(again);
    lab.time(case, n_calls, n_samples)
}

/// Returns the calls of a sample and the samples, for calls of so many microseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cut to the range of the integer, and then to the limits"
)]
fn counts(call_us: f64) -> (usize, usize) {
    let call_us = call_us.max(0.1);
    let n_calls = ((LEAST_SAMPLE_US / call_us).ceil() as usize).clamp(1, MOST_CALLS);
    let n_samples = (TIME_US / (call_us * n_calls as f64)) as usize;
    (n_calls, n_samples.clamp(LEAST_SAMPLES, MOST_SAMPLES))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU that takes 10 ns per byte, with room for `room` bytes and nobody beside it.
    struct Simulated {
        room: u64,
        calls: Vec<(Case, usize, usize)>,
    }

    impl Lab for Simulated {
        fn open(&mut self, test: Test, bytes: u64) -> Result<(), Error> {
            if test == Test::P2p {
                return Err(Error::NotHere("there is one GPU".to_owned()));
            }
            if bytes * test.n_buffers() as u64 > self.room {
                return Err(Error::NoRoom("full".to_owned()));
            }
            Ok(())
        }

        fn time(
            &mut self,
            case: Case,
            n_calls: usize,
            n_samples: usize,
        ) -> Result<Vec<f64>, Error> {
            self.calls.push((case, n_calls, n_samples));
            Ok(vec![case.bytes as f64 / 100.0; n_samples])
        }

        fn directions(&self) -> [String; 2] {
            ["0->1".to_owned(), "1->0".to_owned()]
        }

        fn allocations(
            &mut self,
            allocator: Allocator,
            bytes: u64,
            _n_samples: usize,
            _limit: Duration,
        ) -> Result<Vec<AllocationTime>, Error> {
            match allocator {
                Allocator::Pool => Err(Error::NotHere("no pools".to_owned())),
                Allocator::Plain if bytes > self.room => Err(Error::NoRoom("full".to_owned())),
                Allocator::Plain => Ok(vec![AllocationTime { alloc_us: 2.0, free_us: 3.0 }]),
            }
        }

        fn close(&mut self) {}
    }

    fn measured(tests: &[Test], sizes: &[u64], room: u64) -> (Measured, Simulated) {
        let mut lab = Simulated { room, calls: Vec::new() };
        let plan = Plan { tests: tests.to_vec(), sizes: sizes.to_vec() };
        (run(&mut lab, &plan, &mut |_| {}).unwrap(), lab)
    }

    #[test]
    fn sizes_without_room_are_left_out_by_name() {
        let (found, _) = measured(&[Test::Triad, Test::P2p], &[1024, 2048, 4096], 6144);
        let left_out: Vec<String> = found.left_out.iter().map(LeftOut::text).collect();
        assert_eq!(left_out, ["p2p: there is one GPU", "triad 4KiB: full"]);
        let sizes: Vec<_> = found.rows.iter().map(|row| row.bytes.unwrap()).collect();
        assert_eq!(sizes, [1024, 2048]);
        // Three buffers of 1024 bytes in 10.24 us.
        assert!((found.rows[0].gbps.unwrap() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn short_calls_are_put_together_and_long_ones_are_few() {
        assert_eq!(counts(2.0), (25, MOST_SAMPLES));
        assert_eq!(counts(0.01), (MOST_CALLS, MOST_SAMPLES));
        assert_eq!(counts(20_000.0), (1, 5));
        assert_eq!(counts(90_000.0), (1, LEAST_SAMPLES));
        let (found, lab) = measured(&[Test::Read], &[16 << 20], u64::MAX);
        let counts: Vec<_> =
            lab.calls.iter().map(|(_, calls, samples)| (*calls, *samples)).collect();
        assert_eq!(counts, [(1, 1), (1, 2)]);
        assert_eq!(found.rows[0].n_samples, Some(3));
    }

    #[test]
    fn patterns_are_timed_at_one_size() {
        let (found, _) =
            measured(&[Test::Vector, Test::Stride], &[128, 256 << 20, 512 << 20], 1 << 30);
        assert_eq!(found.rows.len(), 32 + 3);
        assert!(found.rows.iter().all(|row| row.bytes == Some(256 << 20)));
        let last = found.rows.last().unwrap();
        assert_eq!((last.test.as_str(), last.parameter.as_deref()), ("vector", Some("16")));
    }

    #[test]
    fn only_the_asked_half_of_an_allocation_has_rows() {
        let (found, _) = measured(&[Test::Free], &[128, 256], 128);
        let rows: Vec<_> = found.rows.iter().map(|row| (row.test.as_str(), row.time_us)).collect();
        assert_eq!(rows, [("free", Some(3.0))]);
        let left_out: Vec<String> = found.left_out.iter().map(LeftOut::text).collect();
        assert_eq!(left_out, ["alloc cuMemAlloc 256B: full", "alloc cuMemAllocAsync: no pools"]);
    }
}
