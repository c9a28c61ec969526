//! The page of trends.

use kgen_measure::Mode;

use super::{
    change::{noise, points},
    series,
};
use crate::{Line, Point, trend};

fn line(op: &str, points: Vec<Point>) -> Line {
    Line { series: series(op), gpu: "NVIDIA H200".to_owned(), mode: Mode::Cold, points }
}

fn step(op: &str, factor: f64) -> Line {
    line(op, points((0..40).map(|at| noise(at) * if at < 25 { 20.0 } else { 20.0 * factor })))
}

#[test]
fn the_largest_newest_change_comes_first() {
    let lines = [step("calm", 1.0), step("up", 1.1), step("down", 0.5), line("none", vec![])];
    let page = trend::page(&lines);
    assert!(page.contains("<title>3 series, 2 changed</title>"), "{page}");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
    let rows = ["down", "up", "calm"].map(|op| place(&format!("<tr data-op=\"{op}\"")));
    assert!(rows.is_sorted(), "{rows:?}");
    assert_eq!(page.matches("class=\"change\"").count(), 2);
    assert!(page.contains("1.10") && page.contains("data-change=\"faster\""));
    assert!(!page.contains("data-op=\"none\""));
    let choices: Vec<&str> = page.split("<select name=\"").skip(1).collect();
    let names: Vec<_> = choices.iter().filter_map(|choice| choice.split('"').next()).collect();
    assert_eq!(names, ["op", "change"], "one value is no choice");
    assert!(trend::page(&[]).contains("No times on record"));
}

#[test]
fn texts_of_others_are_escaped() {
    let mut hostile = step("<script>alert(1)</script>", 1.0);
    hostile.series.args = "\u{202e}\0\"'&".to_owned();
    let page = trend::page(&[hostile]);
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains(['\0', '\u{202e}']));
}

#[test]
fn pages_stay_small_and_name_what_they_leave_out() {
    let times = || points((0..300).map(|at| 20.0 * noise(at)));
    let lines: Vec<Line> = (0..4000).map(|at| line(&format!("op_{at}"), times())).collect();
    let small = trend::page(&lines[..1000]);
    assert!(small.len() < 3_000_000, "{} bytes", small.len());
    assert!(!small.contains("Not drawn"));
    let page = trend::page(&lines);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("<li>op_1500 f32 input = [16, 1024] builtin</li>"));
    assert!(page.contains("And 500 more."));
}
