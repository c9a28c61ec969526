//! How the page looks and what its selects do, in Chromium.

use std::path::PathBuf;

use kgen_bench::{Bench, page, plots};
use serde_json::{Value, json};

use crate::{
    browser::{BAD_TEXTS, Browser},
    sample,
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}"))
}

fn write(name: &str, bench: &Bench) -> PathBuf {
    let path = file(name);
    std::fs::write(&path, page(bench)).unwrap();
    path
}

#[test]
fn it_fits_wide_and_narrow_windows_and_asks_for_nothing() {
    let grid = write("grid.html", &sample::grid());
    let pages = [
        grid.clone(),
        write("suite.html", &sample::suite()),
        write("large.html", &crate::page::large()),
        write("hostile.html", &sample::hostile()),
    ];
    let Some(mut browser) = Browser::start() else { return };
    for page in &pages {
        for (width, scheme) in [(1280, "light"), (360, "dark")] {
            browser.prefer(scheme, "screen");
            browser.open(page, width, "");
            browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
            let name = page.display();
            let scroll = browser.eval("document.scrollingElement.scrollWidth");
            assert_eq!(scroll, json!(width), "{name}");
            assert_eq!(browser.eval("window.hit ?? null"), json!(null));
            assert_eq!(browser.complaints(), Vec::<&Value>::new());
            assert_eq!(browser.requests(), [format!("file://{name}")]);
            if *page == grid {
                assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{width}");
            }
        }
    }
}

#[test]
fn drawings_open_by_themselves() {
    let Some(mut browser) = Browser::start() else { return };
    for bench in [sample::grid(), sample::suite()] {
        // One op and type stand for the others.
        let is_opened = |name: &str| !name.contains("layer_norm") && !name.contains("bf16");
        for (name, svg) in plots(&bench).into_iter().filter(|(name, _)| is_opened(name)) {
            let path = file(&name);
            std::fs::write(&path, svg).unwrap();
            browser.open(&path, 1280, "");
            assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{name}");
            let shapes = browser.eval("document.querySelectorAll('svg path, svg rect').length");
            assert!(3 < shapes.as_u64().unwrap(), "{name}");
            assert!(browser.complaints().is_empty(), "{name}: {:?}", browser.complaints());
        }
    }
}

#[test]
fn selects_choose_drawings_and_cells() {
    let page = write("choose.html", &sample::grid());
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, 1280, "");
    let choose = |browser: &mut Browser, section: &str, name: &str, value: &str| {
        let script = format!(
            "(() => {{ const select = document.querySelector('#{section} select[name={name}]');
             select.value = '{value}'; select.dispatchEvent(new Event('change', {{bubbles: true}}));
             return [...document.querySelectorAll('#{section} [data-is]')]
                 .filter(element => element.checkVisibility()).length; }})()"
        );
        browser.eval(&script)
    };
    // Four groups with time over s at d = 4096.
    choose(&mut browser, "lines", "kind", "kind-time");
    assert_eq!(choose(&mut browser, "lines", "along", "along-1"), json!(4));
    let place = "[...document.querySelectorAll('#lines figcaption')]
        .filter(one => one.checkVisibility()).map(one => one.textContent)[0]";
    assert!(browser.eval(place).as_str().unwrap().contains("d = 4096"));
    assert_eq!(choose(&mut browser, "lines", "at2", "at2-768"), json!(4));
    assert!(browser.eval(place).as_str().unwrap().contains("d = 768"));
    assert_eq!(choose(&mut browser, "lines", "op", "op-1"), json!(2));
    assert_eq!(choose(&mut browser, "heat", "impl", "impl-3"), json!(2));
    assert_eq!(choose(&mut browser, "cells", "outcome", "outcome-1"), json!(2));
    assert_eq!(choose(&mut browser, "cells", "outcome", ""), json!(96));
    let count = browser.eval("document.querySelector('#cells output').textContent");
    assert_eq!(count, json!("96 cells"));
    browser.eval("document.querySelectorAll('#cells th button')[7].click()");
    let slowest = "document.querySelector('#cells tbody tr').cells[7].dataset.v";
    let slowest: f64 = browser.eval(slowest).as_str().unwrap().parse().unwrap();
    assert!((slowest - 0.272).abs() < 0.01, "{slowest}");
}
