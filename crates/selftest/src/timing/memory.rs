//! The cache is flushed, and bandwidths are possible ones.

use kgen_measure::{Flush, Profile};
use kgen_record::Target;

use super::{Lab, Setting, TimingCheck, Work};
use crate::Error;

/// Bytes that the bandwidth checks move: far more than any L2.
const BYTES: u64 = 4 << 30;

/// Bandwidths as shares of the data sheet's that a working GPU and a working clock give.
const SHARES: [f64; 2] = [0.75, 1.02];

/// Times a working set of a quarter of L2 after a flush by writing, one by reading, and none.
pub(super) fn flush(lab: &mut dyn Lab, target: &Target) -> Result<Vec<TimingCheck>, Error> {
    const CHECK: &str = "L2 flush";
    // A quarter of L2, half of it read and half written, in floats.
    let work = Work::Relu((target.l2_bytes / 32).next_multiple_of(4));
    let params = Profile::Standard.params();
    let mut times = |flush| {
        let timing = lab.alone(work, Setting { flush, held: false }, &params)?;
        Ok::<_, Error>(timing.median_us)
    };
    let (written, read, none) = (times(Flush::Memset)?, times(Flush::Read)?, times(Flush::None)?);
    let works = TimingCheck::judged(CHECK, format!("{work}, a quarter of L2"), read > 1.05 * none)
        .found(format!("cold {read:.2} us, hot {none:.2} us"))
        .asked("cold > 1.05 hot")
        .value("cold_us", read)
        .value("hot_us", none);
    let dirty = |what: String, written: f64, read: f64| {
        TimingCheck::informational(CHECK, what)
            .found(format!("written {written:.2} us, read {read:.2} us: {:+.2} us", written - read))
            .value("write_flush_us", written)
            .value("read_flush_us", read)
    };
    let mut rows =
        vec![works, dirty(format!("{work}, flushed by writing or reading"), written, read)];
    // Lines that a flush by writing leaves in L2 have to be written back by whoever needs the room.
    let large = Work::Total(64 << 20);
    let mut times = |setting| Ok::<_, Error>(lab.alone(large, setting, &params)?.median_us);
    let (written, read) = (times(Setting::DIRTY)?, times(Setting::CLEAN)?);
    rows.push(dirty(format!("{large}, flushed by writing or reading"), written, read));
    Ok(rows)
}

/// Compares bandwidths with the data sheet.
pub(super) fn bandwidth(lab: &mut dyn Lab, target: &Target) -> Result<Vec<TimingCheck>, Error> {
    const CHECK: &str = "bandwidth";
    let floats = BYTES / 4;
    let params = Profile::Standard.params();
    let mut rows = Vec::new();
    for (what, work) in [("copy", Work::Relu(floats / 2)), ("read", Work::Total(floats))] {
        let median_us = lab.alone(work, Setting::CLEAN, &params)?.median_us;
        let rate = BYTES as f64 / median_us * 1e6;
        let what = format!("{what} of 4 GiB");
        let found = format!("{:.0} GB/s", rate / 1e9);
        let row = match target.peak_bandwidth {
            None => TimingCheck::informational(CHECK, what).found(found),
            Some(peak) => {
                let share = rate / peak;
                let [low, high] = SHARES;
                TimingCheck::judged(CHECK, what, (low..=high).contains(&share))
                    .found(format!("{found}, {:.1} % of the data sheet", 100.0 * share))
                    .asked("75 to 102 %")
                    .value("data_sheet_percent", 100.0 * share)
            }
        };
        rows.push(row.value("gb_per_s", rate / 1e9));
    }
    Ok(rows)
}
