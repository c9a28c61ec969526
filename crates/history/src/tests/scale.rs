//! Many results: what is asked often must not read all of them.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::{add, bench, fixture, timed};
use crate::{Options, regress, trend};

/// Copies of the first entry, a day apart, whose medians differ a little, and from the middle on by a tenth
/// in every tenth series.
const COPIES: &str = "
INSERT INTO entries SELECT NULL, 'copy_' || value, kind, NULL, created + 86400000 * value, added, device,
    fingerprint, n_results, digest FROM entries, numbers WHERE number = 1;
INSERT INTO results SELECT NULL, value + 1, series, outcome, reason, mode,
    median_us * (1 + 0.01 * ((value * 37 + series * 11) % 101) / 101.0)
        * (CASE WHEN ?1 < 2 * value AND series % 10 = 0 THEN 1.1 ELSE 1 END),
    q1_us, q3_us, low_us, high_us, n_samples, source_hash FROM numbers, results WHERE entry = 1;
INSERT INTO samples SELECT results.id, samples.samples FROM results
    JOIN results AS first ON first.entry = 1 AND first.series = results.series
    JOIN samples ON samples.result = first.id WHERE 1 < results.entry;
";

#[test]
fn a_hundred_thousand_results_are_read_at_once() {
    // Ten times as many take 0.1 s to compare and 1.3 s to draw, optimised.
    let n_entries = 100;
    let mut fixture = fixture();
    let samples: Vec<f64> = (0..60).map(|at| 20.0 + f64::from(at * 7 % 20) / 100.0).collect();
    let results = (0..1000).map(|op| timed(&format!("op_{op}"), &samples)).collect();
    add(&mut fixture.history, &bench(1, results), None);
    let connection = Connection::open(&fixture.path).unwrap();
    connection.execute_batch("CREATE TEMP TABLE numbers (value INTEGER)").unwrap();
    let numbers = "INSERT INTO numbers WITH RECURSIVE n (v) AS \
                   (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v + 1 < ?1) SELECT v FROM n";
    connection.execute(numbers, [n_entries]).unwrap();
    connection.execute_batch(&COPIES.replace("?1", &n_entries.to_string())).unwrap();
    let history = &fixture.history;

    let start = Instant::now();
    let new = history.find("latest").unwrap();
    let old = history.against("last", &new).unwrap();
    let pair = [old, new].map(|entry| history.recorded(&entry).unwrap());
    let report = regress(&pair[0], &pair[1], &Options::default());
    assert_eq!(report.count("same"), 1000);
    let lines = history.lines().unwrap();
    let page = trend::page(&lines);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(page.contains("<title>1000 series, 100 changed</title>"), "{}", &page[..400]);
}
