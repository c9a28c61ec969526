//! The page of a report in a real headless Chromium.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../compare/tests/page/browser.rs"]
mod browser;

use std::path::PathBuf;

use browser::{BAD_TEXTS, Browser};
use kgen_membench::{LeftOut, Measured, Report, Row, Test, page};
use kgen_record::Target;
use serde_json::{Value, json};

/// All tests of all kinds over the sizes of a real run, on a GPU whose name is markup.
fn report() -> Report {
    let row = |test, parameter: Option<&str>, bytes, traffic, us: f64| {
        let samples = vec![us * 0.9, us, us * 1.1];
        Row::of(test, parameter.map(str::to_owned), bytes, traffic, samples).unwrap()
    };
    let mut rows = Vec::new();
    for bytes in (12..34).map(|log| 1_u64 << log) {
        let us = |gbps: f64| 2.0 + bytes as f64 / (gbps * 1e3);
        for (test, gbps) in
            [(Test::H2dPinned, 55.0), (Test::H2dPageable, 11.0), (Test::D2hPinned, 54.0)]
        {
            rows.push(row(test, None, bytes, Some(bytes), us(gbps)));
        }
        rows.push(row(Test::P2p, Some("cuda:0->cuda:1"), bytes, Some(bytes), us(380.0)));
        for (test, gbps) in [(Test::Copy, 3900.0), (Test::Triad, 4100.0), (Test::Read, 4300.0)] {
            rows.push(row(test, None, bytes, Some(2 * bytes), us(gbps)));
        }
        rows.push(row(Test::Latency, None, bytes, None, 0.3 + bytes as f64 / 2e10));
        for allocator in ["cuMemAlloc", "cuMemAllocAsync", "PyTorch"] {
            rows.push(row(Test::Alloc, Some(allocator), bytes, None, 90.0 + us(1e3)));
        }
    }
    for stride in ["1", "2", "4", "8", "16", "32"] {
        let us = 70.0 * stride.parse::<f64>().unwrap();
        rows.push(row(Test::Stride, Some(stride), 1 << 28, Some(1 << 28), us));
    }
    let reason = "the GPU has <b>20.1GiB</b> free".to_owned();
    let test = "triad".to_owned();
    let left_out = vec![LeftOut { test, parameter: None, bytes: Some(8 << 30), reason }];
    let target = Target { name: "GPU <script>hit = 1</script>".to_owned(), ..Target::h100_class() };
    Report::new(&target, Some(1.6), Measured { rows, left_out })
}

#[test]
fn it_fits_wide_and_narrow_windows_and_sorts() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("memory.html");
    std::fs::write(&path, page(&report())).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    for (width, scheme) in [(1280, "light"), (360, "dark")] {
        browser.prefer(scheme, "screen");
        browser.open(&path, width, "");
        let scroll = browser.eval("document.scrollingElement.scrollWidth");
        assert_eq!(scroll, json!(width));
        assert_eq!(browser.eval("window.hit ?? null"), json!(null));
        assert_eq!(browser.complaints(), Vec::<&Value>::new());
        assert_eq!(browser.requests(), [format!("file://{}", path.display())]);
        assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{width}");
        assert_eq!(browser.eval("document.querySelectorAll('figure svg').length"), json!(5));
        let marks = "[...document.querySelectorAll('.keys svg')].map(one => one.clientWidth)
            .filter(width => width < 1 || 20 < width)";
        assert_eq!(browser.eval(marks), json!([]));
    }
    browser.eval("document.querySelectorAll('#rows th button')[5].click()");
    let fastest = "Number(document.querySelector('#rows tbody tr').cells[5].dataset.v) > 3000";
    assert_eq!(browser.eval(fastest), json!(true));
}
