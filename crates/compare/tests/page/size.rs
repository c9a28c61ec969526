//! Large comparisons: a page of a few megabytes, made at once.

use std::time::{Duration, Instant};

use kgen_compare::{Arm, compare, html};
use serde_json::json;

use crate::{browser::Browser, sample, write};

/// Arms of 10,080 attempts: every op 14 times under other names.
fn arms() -> Vec<Arm> {
    let mut arms = sample::arms();
    for run in arms.iter_mut().flat_map(|arm| &mut arm.runs) {
        let ops = std::mem::take(&mut run.ops);
        run.ops = (0..14)
            .flat_map(|nth| {
                ops.iter().map(move |op| {
                    let mut op = op.clone();
                    op.name = format!("{}_{nth}", op.name);
                    op
                })
            })
            .collect();
    }
    arms
}

#[test]
fn ten_thousand_attempts_are_a_few_megabytes() {
    let arms = arms();
    let attempts = arms.iter().flat_map(|arm| &arm.runs).flat_map(|run| &run.ops);
    assert_eq!(attempts.map(|op| op.attempts.len()).sum::<usize>(), 10_080);
    let comparison = compare(&arms);
    let start = Instant::now();
    let page = html::page(&arms, &comparison);
    let took = start.elapsed();
    println!("{} bytes in {took:?}", page.len());
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(page.contains("id=\"left-out\""), "what is left out is said");
}

#[test]
fn a_large_page_opens_on_a_phone() {
    let page = write("large.html", &arms());
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, 390, "#op-100");
    assert_eq!(browser.eval("document.scrollingElement.scrollWidth"), json!(390));
    assert_eq!(browser.eval("document.querySelector('#op-100').checkVisibility()"), json!(true));
    let dots = browser.eval("document.querySelectorAll('#strip-0 .dot').length");
    assert!(dots.as_u64().unwrap() <= 3 * 240, "{dots}");
    assert!(browser.complaints().is_empty());
}
