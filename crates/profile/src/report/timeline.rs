//! Activities of GPUs over time: which share is busy, which copies overlap with kernels, which gaps there are.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{Copies, Gap, Kernel, MEMSET, Report, kernels, us};

/// Gaps that a report keeps.
const MAX_GAPS: usize = 10;

/// Shortest gap that counts: launches behind each other have about a microsecond between them.
const MIN_GAP_NS: i64 = 2_000;

/// Anything that a GPU ran, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) device: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) is_kernel: bool,
}

/// A call of the program, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) name: String,
}

/// Activities as they are read.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    activities: Vec<Activity>,
    durations: BTreeMap<String, Vec<i64>>,
    copies: BTreeMap<String, CopySum>,
    pub(crate) calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct CopySum {
    calls: u64,
    ns: i64,
    bytes: Option<u64>,
    pageable: Option<u64>,
}

impl Timeline {
    /// Adds a launch.
    pub(crate) fn kernel(&mut self, name: &str, device: i64, start: i64, end: i64) {
        let end = end.max(start);
        self.durations.entry(name.to_owned()).or_default().push(end - start);
        self.activities.push(Activity { device, start, end, is_kernel: true });
    }

    /// Adds a copy or a memset; `is_pageable` is `None` where the tool does not know it.
    pub(crate) fn copy(
        &mut self,
        direction: &str,
        activity: Activity,
        bytes: Option<u64>,
        is_pageable: Option<bool>,
    ) {
        let sum = self.copies.entry(direction.to_owned()).or_default();
        sum.calls += 1;
        sum.ns += (activity.end - activity.start).max(0);
        if let Some(bytes) = bytes {
            *sum.bytes.get_or_insert(0) += bytes;
            if let Some(is_pageable) = is_pageable {
                *sum.pageable.get_or_insert(0) += if is_pageable { bytes } else { 0 };
            }
        }
        self.activities.push(Activity { end: activity.end.max(activity.start), ..activity });
    }

    /// Returns whether a GPU ran anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.activities.is_empty()
    }

    /// Writes all that follows from the activities into a report.
    pub(crate) fn write_into(self, report: &mut Report) {
        report.kernels = self.kernels();
        report.copies = self.copies();
        let Some(first) = self.activities.iter().map(|a| a.start).min() else { return };
        let last = self.activities.iter().map(|a| a.end).max().unwrap_or(first);
        let span = last - first;
        report.span_us = Some(us(span));
        let devices = self.by_device();
        let busy: Vec<Vec<(i64, i64)>> = devices.values().map(|own| union(own, |_| true)).collect();
        let total: i64 = busy.iter().map(|busy| length(busy)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a machine has few GPUs")]
        let n_devices = devices.len() as f64;
        report.busy_share = (0 < span).then(|| us(total) / (us(span) * n_devices));
        report.overlap_share = overlap(devices.values());
        let names = devices.keys().map(|device| (1 < devices.len()).then_some(*device));
        let mut gaps: Vec<(i64, i64, Option<i64>)> = names
            .zip(&busy)
            .flat_map(|(device, busy)| {
                busy.windows(2).map(move |pair| (pair[0].1, pair[1].0, device))
            })
            .filter(|(start, end, _)| MIN_GAP_NS <= end - start)
            .collect();
        gaps.sort_by_key(|(start, end, _)| (Reverse(end - start), *start));
        gaps.truncate(MAX_GAPS);
        let gap = |(start, end, device)| Gap {
            start_us: us(start - first),
            duration_us: us(end - start),
            api: longest_call(&self.calls, start, end),
            device,
        };
        report.gaps = gaps.into_iter().map(gap).collect();
    }

    fn kernels(&self) -> Vec<Kernel> {
        kernels(self.durations.clone())
    }

    fn copies(&self) -> Vec<Copies> {
        let copies = self.copies.iter().map(|(direction, sum)| Copies {
            direction: direction.clone(),
            calls: sum.calls,
            bytes: sum.bytes,
            pageable_bytes: sum.pageable.filter(|_| direction != MEMSET),
            total_us: us(sum.ns),
            gbps: sum.bytes.filter(|_| 0 < sum.ns).map(|bytes| gbps(bytes, sum.ns)),
        });
        let mut copies: Vec<Copies> = copies.collect();
        copies.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        copies
    }

    fn by_device(&self) -> BTreeMap<i64, Vec<Activity>> {
        let mut devices = BTreeMap::<i64, Vec<Activity>>::new();
        for activity in &self.activities {
            devices.entry(activity.device).or_default().push(*activity);
        }
        devices.values_mut().for_each(|own| own.sort_unstable_by_key(|activity| activity.start));
        devices
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown with three digits")]
fn gbps(bytes: u64, ns: i64) -> f64 {
    bytes as f64 / ns as f64
}

/// Joins the activities that are wanted, which are in order of their starts, into times that do not touch.
fn union(activities: &[Activity], wanted: impl Fn(&Activity) -> bool) -> Vec<(i64, i64)> {
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for activity in activities.iter().filter(|activity| wanted(activity)) {
        match joined.last_mut() {
            Some(last) if activity.start <= last.1 => last.1 = last.1.max(activity.end),
            _ => joined.push((activity.start, activity.end)),
        }
    }
    joined
}

fn length(times: &[(i64, i64)]) -> i64 {
    times.iter().map(|(start, end)| end - start).sum()
}

/// Returns the share of the time of copies and memsets in which a kernel runs; `None` without any.
fn overlap<'a>(devices: impl Iterator<Item = &'a Vec<Activity>>) -> Option<f64> {
    let (mut copied, mut both) = (0, 0);
    for own in devices {
        let copies = union(own, |activity| !activity.is_kernel);
        copied += length(&copies);
        both += common(&copies, &union(own, |activity| activity.is_kernel));
    }
    (0 < copied).then(|| us(both) / us(copied))
}

/// Returns the length that two lists have in common.
fn common(a: &[(i64, i64)], b: &[(i64, i64)]) -> i64 {
    let (mut i, mut j, mut sum) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        sum += (a[i].1.min(b[j].1) - a[i].0.max(b[j].0)).max(0);
        if a[i].1 < b[j].1 { i += 1 } else { j += 1 }
    }
    sum
}

/// Returns the call that takes most of a time; of several, the innermost.
fn longest_call(calls: &[Call], start: i64, end: i64) -> Option<String> {
    let inside = calls.iter().filter_map(|call| {
        let common = call.end.min(end) - call.start.max(start);
        (0 < common).then_some((common, Reverse(call.end - call.start), &call.name))
    });
    inside.max().map(|(_, _, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Tool;

    fn copy(start: i64, end: i64) -> Activity {
        Activity { device: 0, start, end, is_kernel: false }
    }

    fn report(timeline: Timeline) -> Report {
        let mut report = Report::new(Tool::Nsys);
        timeline.write_into(&mut report);
        report
    }

    #[test]
    fn shares_come_from_times_that_are_counted_once() {
        let mut timeline = Timeline::default();
        timeline.kernel("a", 0, 0, 40_000);
        timeline.kernel("b", 0, 20_000, 50_000);
        timeline.copy("host to device", copy(40_000, 60_000), Some(20_000), Some(true));
        timeline.kernel("a", 0, 80_000, 100_000);
        let call = |start, end, name: &str| Call { start, end, name: name.to_owned() };
        timeline.calls = vec![
            call(55_000, 90_000, "outer"),
            call(58_000, 79_000, "cudaStreamSynchronize"),
            call(60_000, 61_000, "short"),
        ];
        let report = report(timeline);
        assert_eq!(report.span_us, Some(100.0));
        assert_eq!(report.busy_share, Some(0.8));
        assert_eq!(report.overlap_share, Some(0.5));
        assert_eq!(report.gaps.len(), 1);
        let gap = &report.gaps[0];
        assert_eq!((gap.start_us, gap.duration_us), (60.0, 20.0));
        assert_eq!(gap.api.as_deref(), Some("outer"));
        assert_eq!(report.kernels[0].name, "a");
        assert_eq!((report.kernels[0].calls, report.kernels[0].median_us), (2, 30.0));
        assert_eq!(report.copies[0].gbps, Some(1.0));
        assert_eq!(report.copies[0].pageable_bytes, Some(20_000));
    }

    #[test]
    fn devices_are_busy_for_themselves() {
        let mut timeline = Timeline::default();
        timeline.kernel("a", 0, 0, 100_000);
        timeline.kernel("a", 1, 0, 10_000);
        timeline.kernel("a", 1, 90_000, 100_000);
        let report = report(timeline);
        assert_eq!(report.busy_share, Some(0.6));
        assert_eq!((report.gaps.len(), report.gaps[0].device), (1, Some(1)));
        assert_eq!((report.overlap_share, &report.gaps[0].api), (None, &None));
    }

    #[test]
    fn nothing_is_not_zero() {
        let report = report(Timeline::default());
        assert_eq!((report.span_us, report.busy_share, report.overlap_share), (None, None, None));
    }
}
