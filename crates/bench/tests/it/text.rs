//! The table of a terminal.

use console::measure_text_width;

use crate::sample;
use kgen_bench::table;

fn widest(text: &str) -> usize {
    text.lines().map(measure_text_width).max().unwrap()
}

#[test]
fn four_implementations_fit_into_80_columns() {
    let text = table(&sample::grid(), 80, false);
    assert!(widest(&text) <= 80, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_wide_table_has_a_row_per_cell() {
    let mut bench = sample::grid_of(&[16], &[256, 1024], &[768]);
    bench.cells.retain(|cell| cell.op == "gelu");
    insta::assert_snapshot!(table(&bench, 80, true));
}

#[test]
fn cases_of_a_suite_are_named() {
    let text = table(&sample::suite(), 80, false);
    assert!(widest(&text) <= 80, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn hostile_text_stays_in_its_line_and_narrow_screens_are_kept() {
    for width in [80, 200] {
        let text = table(&sample::hostile(), width, false);
        assert!(widest(&text) <= width, "{width}:\n{text}");
        for mark in ['\u{1b}', '\u{202e}', '\r', '\t'] {
            assert!(!text.contains(mark), "{mark:?}");
        }
    }
}

#[test]
fn nothing_finished_is_no_table_of_zeros() {
    let text = table(&sample::empty(&[("b", &[16])], &["aten"]), 80, false);
    assert!(text.starts_with("bench_20261127_101500 on NVIDIA H100 80GB HBM3 (b = 16)\n"));
}
