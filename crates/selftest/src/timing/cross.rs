//! Other clocks on the same machine code: that of a Python process, Triton's harness, a profiler.

use std::time::Duration;

use kgen_baseline::side::{Client, Cubin, CubinArg, CubinLaunch, Flush, Sampling};
use kgen_device::{KernelArg, Launch, SharedBuffer};
use kgen_measure::Profile;

use super::{GpuLab, Lab, Setting, TimingCheck, Work, clock::Line};
use crate::Error;

/// Samples that the Python process takes of each work.
const N_SAMPLES: u32 = 100;

/// Samples that it throws away first.
const N_WARM_UP: u32 = 20;

/// Bytes of the flush, as kgen's own.
const FLUSH_BYTES: u64 = 256 << 20;

/// Time that the process has for one work.
const LIMIT: Duration = Duration::from_secs(60);

/// The check against the profiler.
pub(super) const NSIGHT: &str = "Nsight Compute";

/// Works whose times other clocks measure too: an empty one first, then 6 µs to 10 ms on an H200, all
/// of them limited by something else.
pub const LADDER: [Work; 10] = [
    Work::Spin(0),
    Work::Relu(1 << 20),
    Work::Relu(4 << 20),
    Work::Relu(16 << 20),
    Work::Total(64 << 20),
    Work::Gather(16 << 20),
    Work::Transpose(8192),
    Work::Relu(256 << 20),
    Work::Chain(14_000),
    Work::Chain(140_000),
];

/// Times the ladder after flushes that leave nothing to write back, as the profiler's do; in
/// microseconds.
///
/// # Errors
///
/// When the GPU cannot be used, or gives no times.
pub fn climb(lab: &mut dyn Lab) -> Result<Vec<f64>, Error> {
    let params = Profile::Standard.params();
    let time = |work: &Work| Ok(lab.alone(*work, Setting::CLEAN, &params)?.median_us);
    LADDER.iter().map(time).collect()
}

/// Compares kgen's times of the ladder with those of a Python process, on the same machine code,
/// memory and flush, and with those of Triton's harness there.
///
/// # Errors
///
/// When the GPU cannot be used. A measurement that the process lacks is a row.
pub fn python(lab: &mut GpuLab<'_>, client: &mut Client) -> Result<Vec<TimingCheck>, Error> {
    const CLOCK: &str = "clock of Python";
    const TRITON: &str = "Triton's do_bench";
    let mut rows = Vec::new();
    for work in &LADDER {
        let sampling = Sampling {
            samples: N_SAMPLES,
            warm_up: N_WARM_UP,
            flush: Flush::Memset { bytes: FLUSH_BYTES },
        };
        let asked = lab.beside(*work, Setting::DIRTY, |code, launch, shared| {
            let call = Cubin::new(code, vec![there(launch, shared)]);
            (client.time_cubin(&call, sampling, LIMIT), client.do_bench_cubin(&call, LIMIT))
        })?;
        let Some((ours, (samples, bench))) = asked else {
            rows.push(TimingCheck::not_measured(
                CLOCK,
                work.to_string(),
                "memory cannot be shared",
            ));
            break;
        };
        rows.push(match samples.map(kgen_measure::Timing::of) {
            Ok(Some(theirs)) => agrees(CLOCK, *work, ours, theirs.median_us, 0.02, 0.5),
            Ok(None) => TimingCheck::not_measured(CLOCK, work.to_string(), "no samples"),
            Err(error) => TimingCheck::not_measured(CLOCK, work.to_string(), error.to_string()),
        });
        match bench {
            // Its clock runs while a short kernel is being launched.
            Ok(theirs) if theirs.median_us < 50.0 => {}
            Ok(theirs) => rows.push(agrees(TRITON, *work, ours, theirs.median_us, 0.03, 0.0)),
            Err(error) => {
                if !rows.iter().any(|row| row.check == TRITON) {
                    rows.push(TimingCheck::not_measured(
                        TRITON,
                        work.to_string(),
                        error.to_string(),
                    ));
                }
            }
        }
    }
    Ok(rows)
}

/// The launch in the words of the other process.
fn there(launch: &Launch, shared: &[(kgen_device::BufferId, SharedBuffer)]) -> CubinLaunch {
    let arg = |arg: &KernelArg| match arg {
        KernelArg::Pointer { buffer, byte_offset } => {
            let found = shared.iter().find(|(id, _)| id == buffer);
            let (_, place) = found.expect("all buffers of the work are shared");
            CubinArg::pointer(&place.handle, place.byte_offset.wrapping_add_signed(*byte_offset))
        }
        KernelArg::TensorMap { .. } => unreachable!("the work reads through pointers"),
        KernelArg::Null => CubinArg::value(&[0; 8]),
        KernelArg::Bytes(bytes) => CubinArg::value(bytes),
    };
    CubinLaunch {
        kernel: launch.kernel.clone(),
        grid: launch.grid,
        block: launch.block,
        smem: launch.smem,
        args: launch.args.iter().map(arg).collect(),
    }
}

/// Compares two times of one work.
fn agrees(
    check: &'static str,
    work: Work,
    ours: f64,
    theirs: f64,
    share: f64,
    least_us: f64,
) -> TimingCheck {
    let passed = (ours - theirs).abs() <= (share * theirs).max(least_us);
    let percent = 100.0 * share;
    let asked = if least_us > 0.0 {
        format!("within {percent:.0} % or {least_us} us")
    } else {
        format!("within {percent:.0} %")
    };
    TimingCheck::judged(check, work.to_string(), passed)
        .found(format!("{ours:.2} us, there {theirs:.2} us"))
        .asked(asked)
        .value("ours_us", ours)
        .value("theirs_us", theirs)
}

/// Compares kgen's times of the ladder with a profiler's durations, in microseconds.
///
/// The offset between the two is that of the empty work: what kgen's events hold beside the kernel.
pub(super) fn profiler(ours: &[f64], theirs: &[f64]) -> Vec<TimingCheck> {
    const CHECK: &str = NSIGHT;
    let (Some(our_floor), Some(their_floor)) = (ours.first(), theirs.first()) else {
        return Vec::new();
    };
    let offset = our_floor - their_floor;
    let points: Vec<(f64, f64)> =
        theirs.iter().copied().zip(ours.iter().copied()).skip(1).collect();
    let mut rows = Vec::new();
    if let Some(line) = Line::fit(&points) {
        let row = TimingCheck::judged(CHECK, "all of the ladder", (line.slope - 1.0).abs() <= 0.02)
            .found(format!(
                "slope {:.4}, intercept {:.2} us; an empty kernel {offset:+.2} us",
                line.slope, line.intercept
            ))
            .asked("slope 1 +- 0.02")
            .value("slope", line.slope)
            .value("intercept_us", line.intercept)
            .value("offset_us", offset);
        rows.push(row);
    }
    for (work, (theirs, ours)) in LADDER.iter().skip(1).zip(points) {
        let passed = (ours - offset - theirs).abs() <= (0.03 * theirs).max(1.0);
        rows.push(
            TimingCheck::judged(CHECK, work.to_string(), passed)
                .found(format!("{ours:.2} - {offset:.2} us, there {theirs:.2} us"))
                .asked("within 3 % or 1 us")
                .value("ours_us", ours)
                .value("theirs_us", theirs),
        );
    }
    rows
}
