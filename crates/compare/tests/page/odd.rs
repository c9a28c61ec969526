//! Comparisons that are not as one draws them: without times, without prices, of one op, of many arms,
//! of nothing.

use kgen_compare::{Arm, Spend, compare, html};
use serde_json::json;

use crate::{
    browser::{BAD_TEXTS, Browser},
    sample, write,
};

/// Opens the page of some arms in a narrow and a wide window and looks for faults.
/// Returns the text of the page.
fn looked_at(browser: &mut Browser, name: &str, arms: &[Arm]) -> String {
    let page = write(name, arms);
    for width in [1280, 390] {
        browser.open(&page, width, "");
        browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
        assert_eq!(browser.eval("document.scrollingElement.scrollWidth"), json!(width), "{name}");
        assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{name}, {width}");
        assert!(browser.complaints().is_empty(), "{name}: {:?}", browser.complaints());
    }
    let text = browser.eval("document.body.innerText").as_str().unwrap().to_owned();
    for wrong in ["NaN", "inf", "undefined", "-0.0"] {
        let found = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.');
        assert!(found.into_iter().all(|word| word != wrong), "{name}: {wrong} in {text}");
    }
    text
}

/// Makes arms as the emulator leaves them, with calls whose price nobody knows.
fn on_the_emulator(mut arms: Vec<Arm>) -> Vec<Arm> {
    for run in arms.iter_mut().flat_map(|arm| &mut arm.runs) {
        run.emulated = true;
        run.baselines.clear();
        for op in &mut run.ops {
            op.gpu = None;
            op.speedups.clear();
            for attempt in &mut op.attempts {
                attempt.speedups.clear();
                attempt.spend = Spend { calls: 1, unpriced: 1, ..Spend::default() };
            }
        }
    }
    arms
}

#[test]
fn without_times_and_prices_that_is_said() {
    let Some(mut browser) = Browser::start() else { return };
    let arms = on_the_emulator(sample::arms());
    let text = looked_at(&mut browser, "emulator.html", &arms);
    for said in ["emulator only", "not measured", "unpriced", "calls have no known price"] {
        assert!(text.contains(said), "{said:?} is not in {text:.3000}");
    }
    assert!(!text.contains("Faster than"), "{text:.3000}");
    assert_eq!(browser.eval("document.querySelectorAll('.dot').length"), json!(0));
}

#[test]
fn how_numbers_came_about_stands_beside_them() {
    let Some(mut browser) = Browser::start() else { return };
    let mut arms = sample::arms();
    for (nth, arm) in arms.iter_mut().enumerate() {
        for op in arm.runs.iter_mut().flat_map(|run| &mut run.ops) {
            for attempt in &mut op.attempts {
                attempt.replayed = nth == 0;
                attempt.reused_evaluation = nth == 0;
                attempt.cached = nth == 1;
            }
            op.confirmed &= nth != 2;
        }
    }
    browser.open(&write("marks.html", &arms), 1280, "");
    let tags = "[...document.querySelectorAll('TABLE tbody tr')].map(row =>
        [...row.querySelectorAll('.tag')].map(tag => tag.textContent))";
    let overall = browser.eval(&tags.replace("TABLE", "#overall table.sortable"));
    let n_solved = compare(&arms).arms[2].n_solved;
    let unconfirmed = if n_solved == 48 {
        "not confirmed".into()
    } else {
        format!("{n_solved} of 48 not confirmed")
    };
    assert_eq!(overall, json!([["replayed", "evaluations reused"], ["cached"], [unconfirmed]]));
    let attempts = browser.eval(&tags.replace("TABLE", "#op-0 table"));
    let has = |word: &str| attempts.to_string().matches(&format!("\"{word}\"")).count();
    assert_eq!([has("replayed"), has("evaluation reused"), has("cached")], [10, 10, 10]);
}

#[test]
fn few_of_anything_are_shown_without_intervals() {
    let Some(mut browser) = Browser::start() else { return };
    let mut arms = sample::arms();
    arms.truncate(1);
    arms[0].runs.truncate(1);
    arms[0].runs[0].ops.truncate(1);
    let op = &mut arms[0].runs[0].ops[0];
    let number = op.attempts.iter().find(|attempt| attempt.passed).unwrap().number;
    op.attempts.retain(|attempt| attempt.number == number);
    op.best = Some(number);
    let text = looked_at(&mut browser, "one.html", &arms);
    assert!(text.contains("n = 1"), "{text}");
    assert_eq!(browser.eval("document.querySelectorAll('.band').length"), json!(0));
    assert_eq!(browser.eval("document.querySelectorAll('.dot').length"), json!(2));

    // Nothing reached, no ops, no arms.
    let op = &mut arms[0].runs[0].ops[0];
    *op = kgen_compare::Op { name: op.name.clone(), ..kgen_compare::Op::default() };
    assert!(looked_at(&mut browser, "unreached.html", &arms).contains("not reached"));
    arms[0].runs[0].ops.clear();
    looked_at(&mut browser, "no-ops.html", &arms);
    looked_at(&mut browser, "nothing.html", &[]);
}

#[test]
fn many_arms_with_long_names_keep_their_places() {
    let Some(mut browser) = Browser::start() else { return };
    let mut arms = Vec::new();
    for nth in 0..15 {
        let mut arm = sample::arms().swap_remove(nth % 3);
        arm.runs.truncate(1);
        arm.name =
            format!("a-model-with-a-very-long-name-{nth}, beam 4 x 3, planner, all feedback {nth}");
        let mut numbers = sample::Numbers(u64::try_from(nth).unwrap());
        for op in arm.runs.iter_mut().flat_map(|run| &mut run.ops) {
            let factor = 0.05 + 6.0 * numbers.next().powi(3);
            op.speedups.iter_mut().for_each(|speedup| speedup.long = Some(factor));
            for attempt in &mut op.attempts {
                attempt.source = None;
                attempt.feedback = None;
                attempt.spend.usd *= 1.0 + f64::from(u32::try_from(nth).unwrap());
            }
        }
        // Some arms were not asked for every op, and some ran on another GPU.
        if nth % 5 == 1 {
            arm.runs.iter_mut().for_each(|run| run.ops.truncate(10));
        }
        if nth % 5 == 2 {
            let ops = arm.runs.iter_mut().flat_map(|run| &mut run.ops);
            ops.for_each(|op| op.gpu = Some("NVIDIA RTX PRO 6000 Blackwell Workstation".into()));
        }
        arms.push(arm);
    }
    let text = looked_at(&mut browser, "many.html", &arms);
    assert!(text.contains("15 arms on 24 ops") && text.contains("Drawn are the 12 arms of 15"));
    let found = "['#curve-0 .line', '#curve-0 .band', '#curve-0 .whisker', '#strip-0 .name']
        .map(found => document.querySelectorAll(found).length)";
    assert_eq!(browser.eval(found), json!([12, 0, 12, 12]));
}

#[test]
fn sources_that_cannot_be_compared_are_shown_whole() {
    let mut arms = sample::arms();
    arms.truncate(1);
    let attempts = &mut arms[0].runs[0].ops[0].attempts;
    attempts[1].source = Some("line\n".repeat(1001));
    attempts[2].source = None;
    attempts[2].feedback = None;
    attempts[3].source = attempts[0].source.clone();
    attempts[3].parents = vec![1, 2];
    let html = html::page(&arms, &compare(&arms));
    for said in ["Attempt 2: source, 1001 lines", "Attempt 4: changes to attempt 1 (+0 −0)"] {
        assert!(html.contains(said), "{said}");
    }
    assert!(html.contains("the same source"));
}
