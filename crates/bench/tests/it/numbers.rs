//! Rows, CSV, documents and summaries.

use kgen_measure::TimeVerdict;
use schemars::schema_for;

use crate::sample::{self, HOSTILE};
use kgen_bench::{Bench, Document, Outcome, Row, csv, rows, summary};

fn close(found: Option<f64>, wanted: f64) -> bool {
    found.is_some_and(|found| (found / wanted - 1.0).abs() < 1e-4)
}

fn row(bench: &Bench, of: &[&str]) -> Row {
    let is = |row: &&Row| of == [&row.op, &row.dtype, &row.case, &row.implementation];
    rows(bench).iter().find(is).unwrap().clone()
}

#[test]
fn a_timed_cell_has_all_its_numbers() {
    let row = row(&sample::grid(), &["gelu", "f32", "b16_d4096_s256", "torch_compile"]);
    // 16 * 256 * 4096 elements of f32, read and written: 134.2 MB.
    let bytes = 134_217_728.0;
    let us = (bytes / 2e6 + 4.0) / 1.4096;
    assert!(close(row.time_ms, us / 1e3) && close(row.inference_speed, 1e6 / us), "{row:?}");
    assert!(close(row.throughput_gbps, bytes / us / 1e3));
    assert!(close(row.gflops, 2.5 * bytes / us / 1e3));
    assert!(close(row.gpu_efficiency, 100.0 * (bytes / 3e6 + 2.0) / us));
    assert!(close(row.memory_mb, 64.5) && close(row.workspace_mb, 1.0));
    assert!(close(row.energy_mj, 12.5) && close(row.power_w, 350.0));
    assert!(close(row.sm_mhz, 1755.0) && row.n_samples == Some(40));
    assert!(close(row.speedup, 1.4096) && close(row.speedup_low, 1.4096 * 0.995));
    assert_eq!(row.speedup_verdict, Some(TimeVerdict::Faster));
    assert!(row.time_low_ms <= row.time_ms && row.time_ms <= row.time_high_ms);
    assert!(row.q1_ms < row.q3_ms && row.flags.is_empty() && row.reason.is_none());
    assert_eq!(row.axes["s"], 256);
}

#[test]
fn cells_without_a_time_have_a_reason_and_no_number() {
    let bench = sample::grid();
    for (of, outcome, reason) in [
        (["layer_norm", "f32", "b16_d768_s512", "builtin"], "wrong_output", "output 0 differs"),
        (["gelu", "f32", "b16_d768_s1024", "builtin"], "passed", "the GPU was in use"),
        (["gelu", "bf16", "b16_d768_s256", "jax"], "not_offered", "no bfloat16"),
        (["gelu", "f32", "b16_d768_s1024", "jax"], "not_run", "--max-time"),
    ] {
        let row = row(&bench, &of);
        assert_eq!(row.outcome, outcome);
        assert!(row.reason.as_ref().unwrap().contains(reason), "{row:?}");
        let members = serde_json::to_value(&row).unwrap();
        let names: Vec<_> = members.as_object().unwrap().keys().cloned().collect();
        let kept = ["op", "dtype", "case", "args", "axes", "implementation", "outcome", "reason"];
        assert_eq!(names[..8], kept);
        assert_eq!(names[8..], ["flags"]);
    }
}

#[test]
fn a_time_of_zero_and_an_op_without_arithmetic_have_no_rate() {
    let mut bench = sample::suite();
    let copy = row(&bench, &["copy", "f16", "case_0", "builtin"]);
    assert!(copy.gflops.is_none() && copy.gpu_efficiency.is_none());
    assert!(copy.throughput_gbps.is_some());
    let timing = bench.cells[0].timing.as_mut().unwrap();
    timing.time.median_us = 0.0;
    let row = &rows(&bench)[0];
    assert_eq!((row.inference_speed, row.throughput_gbps, row.gflops), (None, None, None));
    assert!(row.gpu_efficiency.is_none() && row.time_ms == Some(0.0));
}

#[test]
fn csv_has_a_column_per_axis() {
    let mut bench = sample::grid_of(&[16], &[256, 1024], &[768]);
    bench.cells.retain(|cell| cell.op == "gelu");
    insta::assert_snapshot!(csv(&bench));
}

#[test]
fn csv_has_every_member_of_a_row() {
    let schema = schema_for!(Row);
    let members = schema.as_value()["properties"].as_object().unwrap();
    let text = csv(&sample::suite());
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let members: Vec<&str> =
        members.keys().map(String::as_str).filter(|name| *name != "axes").collect();
    assert_eq!(columns, members);
    assert!(!csv(&sample::empty(&[], &[])).contains("0,"));
}

#[test]
fn csv_quotes_commas_quotes_and_line_ends() {
    let mut bench = sample::grid_of(&[1], &[1], &[1]);
    bench.cells.truncate(1);
    bench.cells[0].op = "a \"b\", c\r\nd".to_owned();
    let text = csv(&bench);
    assert!(
        text.contains("\n\"a \"\"b\"\", c\r\nd\",f32,b1_d1_s1,\"input=f32[1, 1, 1]\",1,1,1,aten,")
    );
    assert!(text.ends_with('\n'));
}

#[test]
fn a_document_has_rows_and_summaries_and_comes_back() {
    let bench = sample::hostile();
    let document = Document::new(&bench);
    let text = serde_json::to_string(&document).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
    let members = serde_json::to_value(&document).unwrap();
    let names: Vec<_> = members.as_object().unwrap().keys().cloned().collect();
    let wanted = ["id", "format", "device", "axes", "implementations", "results", "summary"];
    assert_eq!(names, wanted);
    assert_eq!(document.results.len(), bench.cells.len());
    assert!(document.results[0].op.ends_with(HOSTILE));
}

#[test]
fn counts_and_means_per_implementation() {
    let mut bench = sample::grid();
    let [aten, compile, builtin, jax] = &summary(&bench)[..] else { panic!("four") };
    assert_eq!((aten.passed, aten.n_speedups, aten.speedup_geomean), (24, 0, None));
    assert_eq!((compile.faster, compile.n_speedups, compile.n_overhead_dominated), (24, 20, 4));
    // Of 20 cells 8 have d = 768 and 12 have d = 4096.
    let mean = (1.0768f64.powi(8) * 1.4096f64.powi(12)).powf(1.0 / 20.0);
    assert!(close(compile.speedup_geomean, mean));
    assert_eq!((builtin.passed, builtin.wrong), (22, 2));
    assert_eq!((jax.passed, jax.not_offered, jax.not_run, jax.same), (8, 12, 4, 8));
    let all = |one: &kgen_bench::ImplementationSummary| {
        one.passed + one.wrong + one.not_offered + one.not_run
    };
    assert!(summary(&bench).iter().all(|one| all(one) == 24));
    for cell in &mut bench.cells {
        cell.outcome = Outcome::NotRun { reason: String::new() };
        cell.timing = None;
    }
    assert!(summary(&bench).iter().all(|one| one.not_run == 24 && one.speedup_geomean.is_none()));
    assert!(summary(&sample::empty(&[], &[])).is_empty());
}
