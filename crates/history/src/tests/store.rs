//! Adding, finding, reading and removing.

use kgen_bench::{Axis, Bench, Cell, CellTiming, Outcome};
use kgen_measure::{Mode, Timing};

use super::{add, bench, fixture, now, series, timed, untimed};
use crate::{Added, Error, NewEntry, PASSED};

#[test]
fn whether_a_tag_is_free_is_known_before_anything_is_added() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    let entry = add(history, &bench(1, vec![timed("relu", &[2.0])]), Some("a"));
    let before = std::fs::read(&fixture.path).unwrap();
    assert!(matches!(history.check("other", Some("a")), Err(Error::TagTaken { number: 1, .. })));
    assert!(matches!(history.check("other", Some("latest")), Err(Error::BadTag { .. })));
    history.check(&entry.source, Some("a")).unwrap();
    history.check("other", Some("b")).unwrap();
    history.check("other", None).unwrap();
    assert_eq!(std::fs::read(&fixture.path).unwrap(), before);
}

#[test]
fn what_is_added_is_read_back() {
    let mut fixture = fixture();
    let mut results =
        vec![timed("relu", &[2.0, 1.0, 4.0, 3.0]), untimed("mm", "not_run", "too large")];
    results[0].source_hash = Some("abc".to_owned());
    let added = add(&mut fixture.history, &bench(1, results), Some("v1"));
    assert_eq!((added.number, added.n_results), (1, 2));
    assert_eq!(added.created.to_string(), "2027-01-01T10:15:00Z");
    assert_eq!((added.added, added.tag.as_deref()), (now(), Some("v1")));

    let recorded = fixture.history.recorded(&added).unwrap();
    let [(relu, samples), (mm, none)] = &*recorded.results else { panic!("{recorded:?}") };
    assert_eq!((relu.series.clone(), &*relu.outcome), (series("relu"), PASSED));
    assert_eq!(
        (samples.as_slice(), none.as_slice()),
        ([2.0, 1.0, 4.0, 3.0].as_slice(), [].as_slice())
    );
    let time = relu.time.unwrap();
    assert_eq!((time.mode, time.n_samples, time.interval_us), (Mode::Cold, 4, None));
    assert!((time.median_us - 2.5).abs() < 1e-12 && (time.q1_us - 1.75).abs() < 1e-12);
    assert_eq!(relu.source_hash.as_deref(), Some("abc"));
    assert_eq!((&*mm.outcome, mm.reason.as_deref(), mm.time), ("not_run", Some("too large"), None));
    let without: Vec<_> = recorded.results.iter().map(|(result, _)| result.clone()).collect();
    assert_eq!(fixture.history.results(1).unwrap(), without);
}

#[test]
fn adding_again_is_no_change() {
    let mut fixture = fixture();
    let entry = bench(1, vec![timed("relu", &[1.0, 2.0])]);
    let first = add(&mut fixture.history, &entry, None);
    let before = std::fs::read(&fixture.path).unwrap();
    let again = fixture.history.add(&entry, None, "2028-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert_eq!(again, Added::Known(first));
    assert_eq!(std::fs::read(&fixture.path).unwrap(), before);
    // A tag can be given later; one that is there stays.
    for tag in ["v1", "v2"] {
        let again = fixture.history.add(&entry, Some(tag), now()).unwrap();
        assert_eq!(again.entry().tag.as_deref(), Some("v1"));
    }
}

#[test]
fn a_bench_that_went_on_is_updated_in_its_place() {
    let mut fixture = fixture();
    let first = add(&mut fixture.history, &bench(1, vec![timed("relu", &[1.0])]), Some("v1"));
    let longer = bench(1, vec![timed("relu", &[1.0]), timed("gelu", &[2.0])]);
    let added = fixture.history.add(&longer, None, now()).unwrap();
    let Added::Updated(entry) = added else { panic!("{added:?}") };
    assert_eq!(
        (entry.number, entry.tag.as_deref(), entry.n_results),
        (first.number, Some("v1"), 2)
    );
    assert_eq!(fixture.history.entries().unwrap().len(), 1);
    assert_eq!(fixture.history.results(entry.number).unwrap().len(), 2);
}

#[test]
fn of_equal_series_the_first_with_a_time_counts() {
    let mut fixture = fixture();
    let twice = vec![
        untimed("relu", "not_run", "out of time"),
        timed("relu", &[3.0]),
        timed("relu", &[4.0]),
    ];
    let entry = add(&mut fixture.history, &bench(1, twice), None);
    let results = fixture.history.results(entry.number).unwrap();
    assert_eq!((results.len(), entry.n_results), (1, 1));
    assert!((results[0].time.unwrap().median_us - 3.0).abs() < 1e-12);
}

#[test]
fn entries_are_newest_first_and_have_several_names() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    for (day, tag) in [(2, Some("v1")), (3, None), (1, Some("old"))] {
        add(history, &bench(day, vec![timed("relu", &[1.0])]), tag);
    }
    let numbers: Vec<i64> = history.entries().unwrap().iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [2, 1, 3]);
    for (selector, number) in
        [("1", 1), ("v1", 1), ("old", 3), ("latest", 2), ("bench_20270103_101500", 2)]
    {
        assert_eq!(history.find(selector).unwrap().number, number, "{selector}");
    }
    let error = history.find("bench_20270103_1015").unwrap_err();
    let Error::NoEntry { nearest, .. } = &error else { panic!("{error:?}") };
    assert_eq!((nearest.len(), &*nearest[0]), (3, "bench_20270103_101500"));
    let text = history.find("v2").unwrap_err().to_string();
    assert_eq!(text, "no entry `v2` in the history, did you mean `v1`?");
    assert_eq!(history.find("9").unwrap_err().to_string(), "no entry `9` in the history");
}

#[test]
fn last_is_the_newest_older_entry_of_the_gpu_with_cases_in_common() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    let relu = || vec![timed("relu", &[1.0])];
    let elsewhere = |mut entry: NewEntry| {
        entry.fingerprint.as_mut().unwrap().gpu_uuid = Some("GPU-2".to_owned());
        entry
    };
    add(history, &bench(1, relu()), None);
    add(history, &elsewhere(bench(2, relu())), None);
    add(history, &bench(3, vec![timed("gelu", &[1.0]), untimed("relu", "not_run", "late")]), None);
    let new = add(history, &bench(4, relu()), None);
    add(history, &bench(5, relu()), None);
    assert_eq!(history.against("last", &new).unwrap().number, 1);
    assert_eq!(history.against("5", &new).unwrap().number, 5);
    let oldest = history.find("1").unwrap();
    let error = history.against("last", &oldest).unwrap_err();
    assert!(matches!(error, Error::NoneBefore { number: 1, .. }), "{error:?}");
}

#[test]
fn tags_are_unique_and_no_other_name() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    add(history, &bench(1, vec![]), Some("v1"));
    let error = history.add(&bench(2, vec![]), Some("v1"), now()).unwrap_err();
    assert_eq!(error.to_string(), "entry 1 (bench_20270101_101500) has the tag `v1`");
    assert_eq!(history.entries().unwrap().len(), 1);
    for tag in ["", "12", "latest", "last", "a b", "a\n"] {
        let error = history.tag(1, Some(tag)).unwrap_err();
        assert!(matches!(error, Error::BadTag { .. }), "{tag:?}: {error:?}");
    }
    history.tag(1, None).unwrap();
    add(history, &bench(2, vec![]), Some("v1"));
    assert!(matches!(history.tag(1, Some("v1")), Err(Error::TagTaken { number: 2, .. })));
    assert!(matches!(history.tag(7, Some("v7")), Err(Error::NoEntry { .. })));
}

#[test]
fn removing_leaves_nothing_and_numbers_are_not_used_again() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    add(history, &bench(1, vec![timed("relu", &[1.0])]), Some("v1"));
    add(history, &bench(2, vec![timed("gelu", &[1.0])]), None);
    history.remove(2).unwrap();
    assert!(matches!(history.remove(2), Err(Error::NoEntry { .. })));
    assert_eq!(history.series().unwrap(), [(1, series("relu"))]);
    assert_eq!(add(history, &bench(2, vec![]), None).number, 3);
    history.remove(1).unwrap();
    assert_eq!(history.recorded(&history.find("3").unwrap()).unwrap().results, []);
    assert_eq!(history.series().unwrap(), []);
}

#[test]
fn a_time_that_is_none_is_refused() {
    let mut fixture = fixture();
    let entry = NewEntry { created: "yesterday".to_owned(), ..bench(1, vec![]) };
    let error = fixture.history.add(&entry, None, now()).unwrap_err();
    assert!(error.to_string().starts_with("`yesterday`, the time of bench_"), "{error}");
}

#[test]
fn a_bench_becomes_an_entry() {
    let cell = |outcome: Outcome, time: Option<f64>| Cell {
        op: "relu".to_owned(),
        dtype: "bf16".to_owned(),
        case: "b16".to_owned(),
        args: "input = [16]".to_owned(),
        axes: [("b".to_owned(), 16)].into(),
        call: None,
        implementation: "aten".to_owned(),
        outcome,
        timing: time.map(|time| {
            Box::new(CellTiming {
                time: Timing::of(vec![time]).unwrap(),
                mode: Mode::Graph,
                comparison: None,
                bytes: 1.0,
                flops: 1.0,
                roofline: None,
                usage: kgen_bench::Usage::default(),
                overhead_dominated: false,
                flags: Vec::new(),
            })
        }),
        note: None,
    };
    let wrong =
        Outcome::Failed { verdict: "wrong_output".to_owned(), finding: "1 of 16".to_owned() };
    let bench = Bench {
        format: kgen_bench::FORMAT,
        id: "bench_1".to_owned(),
        created: "2027-01-01T10:15:00+02:00".to_owned(),
        fingerprint: None,
        device: "emulated H200".to_owned(),
        axes: vec![Axis { name: "b".to_owned(), values: vec![16] }],
        implementations: vec!["aten".to_owned()],
        cells: vec![cell(Outcome::Passed, Some(5.0)), cell(wrong, None)],
    };
    let entry = NewEntry::from(&bench);
    assert_eq!(entry.results[0].series.dtype, "bf16");
    assert_eq!(entry.results[0].timing.as_ref().map(|(mode, _)| *mode), Some(Mode::Graph));
    assert_eq!(entry.results[1].outcome, "wrong_output");
    assert_eq!(entry.results[1].reason.as_deref(), Some("1 of 16"));
    let stored = add(&mut fixture().history, &entry, None);
    assert_eq!(stored.created.to_string(), "2027-01-01T08:15:00Z");
}
