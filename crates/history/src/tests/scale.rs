//! Many results: what is asked often must not read all of them.

use std::time::{Duration, Instant};

use crate::{Options, regress, trend};

#[path = "../../examples/large.rs"]
#[expect(dead_code, reason = "a program of its own, too")]
mod large;

#[test]
fn a_hundred_thousand_results_are_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let history = large::fill(&folder.path().join("history.sqlite"), 100, 1000).unwrap();

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
