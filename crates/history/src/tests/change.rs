//! Lines and their change points.

use kgen_measure::Mode;

use super::{add, bench, fixture, now, timed};
use crate::{ChangePoint, Point, change_points};

/// A point per time, one a day.
pub(super) fn points(times: impl IntoIterator<Item = f64>) -> Vec<Point> {
    let point = |(at, median_us): (usize, f64)| {
        let at = i64::try_from(at).unwrap();
        let created = now().checked_add(jiff::SignedDuration::from_hours(24 * at)).unwrap();
        Point { entry: at + 1, created, median_us }
    };
    times.into_iter().enumerate().map(point).collect()
}

/// Noise of half a per cent to both sides, without chance.
pub(super) fn noise(at: usize) -> f64 {
    1.0 + 0.01 * (((at * 37) % 101) as f64 / 100.0 - 0.5)
}

fn places(times: impl IntoIterator<Item = f64>) -> Vec<usize> {
    change_points(&points(times)).iter().map(|change| change.at).collect()
}

#[test]
fn a_step_is_found_with_its_size() {
    let points = points((0..60).map(|at| noise(at) * if at < 35 { 20.0 } else { 22.0 }));
    let found = change_points(&points);
    let [ChangePoint { at: 35, entry: 36, before_us, after_us, ratio, p }] = found[..] else {
        panic!("{found:?}")
    };
    assert!((before_us - 20.0).abs() < 0.1 && (after_us - 22.0).abs() < 0.1, "{found:?}");
    assert!((ratio - 1.1).abs() < 0.005 && p <= 0.01, "{found:?}");
}

#[test]
fn changes_that_do_not_matter_are_left_out() {
    assert!(places((0..60).map(|at| noise(at) * if at < 35 { 20.0 } else { 20.3 })).is_empty());
    // Of a stair of three steps of 1.2 %, no step matters, but one of the whole does.
    let stair = (0..80).map(|at| noise(at) * 1.012f64.powf((at / 20) as f64));
    assert_eq!(places(stair).len(), 1);
    assert!(places((0..60).map(noise)).is_empty());
    assert!(places(std::iter::repeat_n(20.0, 60)).is_empty());
    assert!(places([20.0, 25.0]).is_empty() && places([]).is_empty());
}

#[test]
fn gpus_and_modes_are_lines_of_their_own() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    add(history, &bench(2, vec![timed("relu", &[2.0]), timed("gelu", &[5.0])]), None);
    add(history, &bench(1, vec![timed("relu", &[1.0])]), None);
    let mut elsewhere = bench(3, vec![timed("relu", &[7.0])]);
    elsewhere.fingerprint.as_mut().unwrap().gpu_uuid = Some("GPU-2".to_owned());
    add(history, &elsewhere, None);
    let mut hot = bench(4, vec![timed("relu", &[0.5])]);
    hot.results[0].timing.as_mut().unwrap().0 = Mode::Hot;
    add(history, &hot, None);
    let [gelu_and_relu, relu] =
        [1, 2].map(|number: i64| history.find(&number.to_string()).unwrap());
    let of_pair = history.lines_of([&relu, &relu]).unwrap();
    assert!(of_pair.iter().all(|line| line.series.op == "relu" && line.gpu == "NVIDIA H200"));
    // Both of its modes, and nothing of another GPU.
    assert_eq!(of_pair.iter().map(|line| line.points.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(history.lines_of([&relu, &gelu_and_relu]).unwrap().len(), 3);
    let lines = history.lines().unwrap();
    let found: Vec<_> = lines
        .iter()
        .map(|line| {
            let points: Vec<_> =
                line.points.iter().map(|point| (point.entry, point.median_us)).collect();
            (&*line.series.op, line.mode, points)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("gelu", Mode::Cold, vec![(1, 5.0)]),
            ("relu", Mode::Cold, vec![(2, 1.0), (1, 2.0)]),
            ("relu", Mode::Cold, vec![(3, 7.0)]),
            ("relu", Mode::Hot, vec![(4, 0.5)]),
        ]
    );
}
