//! Verdicts on cases made by hand.

use kgen_measure::{Comparison, Mode, TimeVerdict};

use super::{add, bench, fixture, series, timed, untimed};
use crate::{NewEntry, NewResult, Options, Report, Verdict, paired, regress};

/// Samples around a time, of a spread of 1 %.
fn around(time: f64) -> Vec<f64> {
    (0..60).map(|at| time * (1.0 + 0.001 * f64::from(at * 7 % 20 - 10))).collect()
}

/// Compares two entries with the default options.
fn compared(old: &NewEntry, new: &NewEntry) -> Report {
    let mut fixture = fixture();
    let entries = [old, new].map(|entry| add(&mut fixture.history, entry, None));
    let [old, new] = entries.map(|entry| fixture.history.recorded(&entry).unwrap());
    regress(&old, &new, &Options::default())
}

fn verdicts(report: &Report) -> Vec<(&str, &str)> {
    report.rows.iter().map(|row| (&*row.series.op, row.verdict.name())).collect()
}

#[test]
fn every_case_has_its_verdict() {
    let cases = |factors: [f64; 4], more: [NewResult; 2]| {
        let ops = ["slow", "fast", "same", "little"];
        let timed = ops.iter().zip(factors).map(|(op, factor)| timed(op, &around(10.0 * factor)));
        timed.chain(more).collect()
    };
    let old = cases([1.0; 4], [timed("gone", &around(3.0)), timed("wrong", &around(3.0))]);
    let new = [timed("new", &around(4.0)), untimed("wrong", "wrong_output", "3 of 16 elements")];
    let report = compared(&bench(1, old), &bench(2, cases([1.1, 0.9, 1.0, 1.015], new)));
    assert_eq!(
        verdicts(&report),
        [
            ("slow", "slower"),
            ("fast", "faster"),
            ("same", "same"),
            ("little", "same"),
            ("new", "new"),
            ("wrong", "wrong"),
            ("gone", "gone"),
        ]
    );
    let slow = report.rows[0].ratio.unwrap();
    assert!((slow.value - 1.1).abs() < 1e-3 && slow.low < 1.1 && 1.1 < slow.high, "{slow:?}");
    // Of four cases that were compared.
    assert!((slow.p_adjusted / slow.p - 4.0).abs() < 1e-9, "{slow:?}");
    assert_eq!((report.rows[4].old_us, report.rows[6].new_us), (None, None));
    let Verdict::Wrong { why } = &report.rows[5].verdict else { panic!("{report:?}") };
    assert_eq!(why, "new: wrong output, 3 of 16 elements");
    assert_eq!((report.count("slower"), report.count("same")), (1, 2));
}

#[test]
fn entries_that_were_not_measured_alike_are_not_compared() {
    let old = bench(1, vec![timed("relu", &around(10.0))]);
    let why = |change: &dyn Fn(&mut NewEntry)| {
        let mut new = bench(2, vec![timed("relu", &around(20.0))]);
        change(&mut new);
        match compared(&old, &new).rows.remove(0).verdict {
            Verdict::NotComparable { why } => why,
            verdict => verdict.name().to_owned(),
        }
    };
    assert_eq!(why(&|_| {}), "slower");
    assert_eq!(why(&|new| new.fingerprint = None), "the GPU is not on record");
    let facts = |change: &'static dyn Fn(&mut kgen_measure::Fingerprint)| {
        why(&|new| change(new.fingerprint.as_mut().unwrap()))
    };
    assert_eq!(facts(&|gpu| gpu.gpu_uuid = Some("GPU-2".to_owned())), "GPU GPU-1, now GPU-2");
    assert_eq!(
        facts(&|gpu| {
            gpu.name = Some("NVIDIA H100".to_owned());
            gpu.gpu_uuid = Some("GPU-2".to_owned());
        }),
        "GPU NVIDIA H200, now NVIDIA H100"
    );
    assert_eq!(
        facts(&|gpu| {
            gpu.driver = Some("590.1".to_owned());
            gpu.power_limit_w = Some(600.0);
        }),
        "driver 580.159.04, now 590.1; power limit 700 W, now 600 W"
    );
    assert_eq!(facts(&|gpu| gpu.clocks_locked = Some(true)), "clocks not locked, now locked");
    // Readings of one limit, and what is not known.
    assert_eq!(facts(&|gpu| gpu.power_limit_w = Some(700.2)), "slower");
    assert_eq!(facts(&|gpu| gpu.driver = None), "slower");
    let hot = |new: &mut NewEntry| new.results[0].timing.as_mut().unwrap().0 = Mode::Hot;
    assert_eq!(why(&hot), "timing mode cold, now hot");
}

/// As if the new one took `ratio` times as long.
fn comparison(ratio: f64, half_width: f64, p: f64) -> Comparison {
    let ci = [1.0 / (ratio * (1.0 + half_width)), (1.0 + half_width) / ratio];
    Comparison { speedup: 1.0 / ratio, ci, p, verdict: TimeVerdict::of(ci, p), n_blocks: 48 }
}

#[test]
fn what_is_measured_again_decides() {
    let case = series("relu");
    let options = Options::default();
    for (ratio, half_width, p, name) in [
        (1.03, 0.005, 1e-6, "slower"),
        (1.10, 0.005, 1e-6, "slower"),
        // The interval does not reach the smallest effect that matters.
        (1.012, 0.005, 1e-6, "same"),
        // It does, but no difference of practice is sure.
        (1.009, 0.015, 1e-6, "same"),
        (1.03, 0.005, 0.02, "same"),
        (0.97, 0.005, 1e-6, "faster"),
        (1.0, 0.005, 0.5, "same"),
    ] {
        let row = paired(&case, &comparison(ratio, half_width, p), [10.0, 10.0 * ratio], &options);
        assert_eq!(row.verdict.name(), name, "{ratio} ± {half_width}, p = {p}");
    }
    // A user who cares for less is shown less.
    let fine = Options { min_effect: 0.002, ..options };
    let row = paired(&case, &comparison(1.006, 0.003, 1e-6), [10.0, 10.06], &fine);
    assert_eq!(row.verdict, Verdict::Slower);

    let entry = |day, factor: f64| {
        let ops = ["relu", "gelu"];
        bench(day, ops.iter().map(|op| timed(op, &around(10.0 * factor))).collect())
    };
    let mut report = compared(&entry(1, 1.0), &entry(2, 1.1));
    assert_eq!(report.count("slower"), 2);
    let row = paired(&case, &comparison(1.0, 0.005, 0.5), [11.0, 11.0], &options);
    report.replace(vec![row], &options);
    assert_eq!(verdicts(&report), [("relu", "same"), ("gelu", "slower")]);
    assert_eq!(report.rows[0].old_us, Some(11.0));
}

#[test]
fn recorded_samples_never_decide_below_what_sessions_differ_by() {
    let mut fixture = fixture();
    let entries = [10.0, 10.09].map(|time| bench(1, vec![timed("relu", &around(time))]));
    let [old, new] = entries.map(|entry| {
        let source = format!("bench_{}", entry.results[0].timing.as_ref().unwrap().1.median_us);
        let entry = add(&mut fixture.history, &NewEntry { source, ..entry }, None);
        fixture.history.recorded(&entry).unwrap()
    });
    let report = regress(&old, &new, &Options { min_effect: 0.0, alpha: 0.01 });
    assert!(report.rows[0].ratio.unwrap().p_adjusted < 0.01, "{report:?}");
    assert_eq!(report.count("same"), 1);
}
