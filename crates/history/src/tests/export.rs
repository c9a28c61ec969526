//! Rows of all results.

use super::{add, bench, fixture, timed, untimed};
use crate::ExportRow;

#[test]
fn rows_hold_all_results_oldest_first() {
    let mut fixture = fixture();
    let history = &mut fixture.history;
    add(history, &bench(2, vec![timed("relu", &[2000.0; 20])]), Some("v1"));
    add(history, &bench(1, vec![timed("relu", &[1.5]), untimed("mm", "not_run", "late")]), None);
    let rows: Vec<ExportRow> = history.export().unwrap().collect::<Result<_, _>>().unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.fields().join("|")).collect();
    let before = "|NVIDIA H200|GPU-1|580.159.04";
    let args = "f32|f32[4]/normal|input = [16, 1024]|builtin";
    assert_eq!(
        lines,
        [
            format!(
                "2||bench_20270101_101500|2027-01-01T10:15:00Z{before}|relu|{args}|passed||cold\
                 |0.0015|||0.0015|0.0015|1|"
            ),
            format!(
                "2||bench_20270101_101500|2027-01-01T10:15:00Z{before}|mm|{args}|not_run|late|||||||\
                 |"
            ),
            format!(
                "1|v1|bench_20270102_101500|2027-01-02T10:15:00Z{before}|relu|{args}|passed||cold\
                 |2|2|2|2|2|20|"
            ),
        ]
    );
    let json = serde_json::to_value(&rows[1]).unwrap();
    let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ExportRow::COLUMNS);
    assert!(json["time_ms"].is_null());
}
