//! The page of one run.

use std::path::PathBuf;

use kgen_compare::{Arm, Op, TimedBaseline, TimedCase, html};
use kgen_measure::{
    Comparison, Timing,
    roofline::{Limit, Roofline},
};
use serde_json::json;

use crate::{
    browser::{BAD_TEXTS, Browser},
    hostile,
    look::TOO_WIDE,
    sample::{self, Numbers},
};

/// A run of 24 ops with times and samples, worked on at two times a day apart.
fn arm() -> Arm {
    let mut arm = sample::arms().swap_remove(2);
    arm.runs.truncate(1);
    let mut numbers = Numbers(7);
    for (nth, op) in arm.runs[0].ops.iter_mut().enumerate() {
        let mut at = 86_400.0 * f64::from(u8::from(nth % 2 == 0));
        for attempt in &mut op.attempts {
            let took = 20.0 + 60.0 * numbers.next();
            attempt.time = Some([at, at + took]);
            at += took;
        }
        if op.solved {
            op.timed = ["f32", "bf16"].map(|dtype| case(dtype, op, &mut numbers)).into();
        }
    }
    arm
}

fn case(dtype: &str, op: &Op, numbers: &mut Numbers) -> TimedCase {
    let speedup = op.speedups[0].all;
    let (us, bytes) = (20.0 + 100.0 * numbers.next(), 1e8);
    let is_compute = op.name.contains("mm");
    let flops = if is_compute { 4e9 } else { 3e7 };
    let mut samples = |us: f64| {
        let samples = (0..200).map(|_| us * (1.0 + 0.05 * numbers.next()));
        Timing::of(samples.collect()).unwrap()
    };
    let baseline = |name: &str, timing: Timing| TimedBaseline {
        name: name.to_owned(),
        comparison: Comparison::of(&[[timing.median_us, us, us, timing.median_us]; 24]),
        timing: Some(timing),
        overhead_dominated: false,
    };
    TimedCase {
        args: format!("self={dtype}[4096,4096]"),
        bytes,
        flops,
        roofline: Some(Roofline {
            floor_us: if is_compute { 12.0 } else { 15.0 },
            limit: if is_compute { Limit::Compute } else { Limit::Memory },
            impossible_us: None,
        }),
        kernel: samples(us),
        baselines: ["aten", "torch_compile"]
            .map(|name| baseline(name, samples(us * speedup)))
            .into(),
    }
}

fn write(name: &str, arm: &Arm) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, html::run_page(arm)).unwrap();
    path
}

#[test]
fn it_fits_wide_and_narrow_windows_and_asks_for_nothing() {
    let page = write("run.html", &arm());
    let Some(mut browser) = Browser::start() else { return };
    for (width, scheme) in [(1280, "light"), (390, "dark"), (320, "light")] {
        browser.prefer(scheme, "screen");
        browser.open(&page, width, "");
        let scroll_width = "document.scrollingElement.scrollWidth";
        assert_eq!(browser.eval(scroll_width), json!(width));
        assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{width}");
        browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
        assert_eq!(browser.eval(scroll_width), json!(width), "with everything open");
        assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{width}, with everything open");
        assert_eq!(browser.eval(TOO_WIDE), json!([]), "{width}");
        assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
        assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
    }
}

#[test]
fn everything_that_was_measured_is_drawn() {
    let arm = arm();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&write("drawn.html", &arm), 390, "#op-0");
    let ops = &arm.runs[0].ops;
    let n_solved = ops.iter().filter(|op| op.solved).count();
    let n_attempts: usize = ops.iter().map(|op| op.attempts.len()).sum();
    let counted = browser.eval(
        "['#speedup-0 .bar', '#speedup-1 .bar', '#speedup-0 .op, #speedup-0 .name', '#roof-0 .dot',
          '#roof-0 .roof', '#attempts-0 .attempt', '#attempts-0 .best', '#attempts-0 .one',
          'details.samples figure', 'details.texts', 'pre.diff', 'pre.source', 'pre.feedback']
            .map(part => document.querySelectorAll(part).length)",
    );
    let n_ops = ops.len();
    // Two roofs: of the memory and of the arithmetic; the pause of a day is cut out; every first attempt
    // has no parent to differ from.
    let wanted = [
        n_solved,
        n_solved,
        n_ops,
        2 * n_solved,
        2,
        n_attempts,
        n_ops,
        1,
        2 * n_solved,
        n_attempts,
        n_attempts - n_ops,
        n_attempts,
        n_attempts,
    ];
    assert_eq!(counted, json!(wanted));
    assert_eq!(browser.eval("document.querySelector('#op-0').checkVisibility()"), json!(true));
    // The numbers of a bar are those of the op.
    let best = ops.iter().filter(|op| op.solved).map(|op| &op.speedups[0]);
    let best = best.max_by(|a, b| a.all.total_cmp(&b.all)).unwrap();
    let first = browser.eval("document.querySelector('#speedup-0 .tick.end').textContent");
    let shown = format!("{:.2}×", best.long.unwrap());
    assert!(first.as_str().unwrap().starts_with(&shown), "{first} is not {shown}");
}

#[test]
fn without_times_it_says_so_and_has_the_attempts() {
    let mut arm = arm();
    let run = &mut arm.runs[0];
    run.emulated = true;
    run.baselines.clear();
    for op in &mut run.ops {
        op.gpu = None;
        op.speedups.clear();
        op.timed.clear();
        op.attempts.iter_mut().for_each(|attempt| attempt.speedups.clear());
    }
    run.ops[0] = Op { name: "unreached".to_owned(), ..Op::default() };
    let page = html::run_page(&arm);
    for said in [
        "Not measured: the emulator gives no times.",
        "not reached",
        "wrong_output",
        "pre class=\"diff\"",
    ] {
        assert!(page.contains(said), "{said}");
    }
    for absent in ["NaN", "inf×", "id=\"roofline\"", "class=\"bar"] {
        assert!(!page.contains(absent), "{absent}");
    }
    let Some(mut browser) = Browser::start() else { return };
    for width in [1280, 390] {
        browser.open(&write("run-emulator.html", &arm), width, "");
        assert_eq!(browser.eval("document.scrollingElement.scrollWidth"), json!(width));
        assert_eq!(browser.eval(BAD_TEXTS), json!([]));
        assert!(browser.complaints().is_empty());
    }
}

#[test]
fn nothing_hostile_gets_through() {
    let mut arms = [arm()];
    hostile::poison(&mut arms);
    hostile::check(&html::run_page(&arms[0]));
    let page = write("run-hostile.html", &arms[0]);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, 390, "");
    browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
    assert_eq!(browser.eval("window.hit ?? null"), json!(null));
    assert_eq!(browser.eval("document.images.length + document.scripts.length"), json!(1));
    assert_eq!(browser.eval("document.scrollingElement.scrollWidth"), json!(390));
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
}

#[test]
fn a_run_of_many_attempts_is_a_few_megabytes() {
    let mut arm = arm();
    let ops = std::mem::take(&mut arm.runs[0].ops);
    arm.runs[0].ops = (0..16)
        .flat_map(|nth| {
            ops.iter().map(move |op| Op { name: format!("{}_{nth}", op.name), ..op.clone() })
        })
        .collect();
    let page = html::run_page(&arm);
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    assert!(page.contains("id=\"left-out\"") && page.contains("Drawn are 100 ops of 384"));
}
