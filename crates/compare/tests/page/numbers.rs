//! The page has the numbers of the summary.

use kgen_compare::{Comparison, Estimate, compare};
use serde_json::{Value, json};

use crate::{browser::Browser, sample, write};

/// Values of the cells of a table's rows, and the small print beside them.
const CELLS: &str = "[...document.querySelectorAll('TABLE tbody tr')].map(row =>
    [...row.querySelectorAll('td')].map(cell => [
        cell.dataset.v ?? null,
        cell.firstChild.textContent.replaceAll('\\u202f', ' '),
        cell.querySelector('small')?.textContent ?? null]))";

fn cells(browser: &mut Browser, table: &str) -> Value {
    browser.eval(&CELLS.replace("TABLE", table))
}

/// A cell as the page must show it.
fn shown(estimate: &Estimate, show: &dyn Fn(f64) -> String, ends: &dyn Fn(f64) -> String) -> Value {
    let [low, high] = estimate.interval().unwrap();
    json!([
        estimate.value.to_string(),
        show(estimate.value),
        format!("{}–{}", ends(low), ends(high))
    ])
}

fn percent(estimate: &Estimate) -> Value {
    shown(estimate, &|v| format!("{:.1} %", 100.0 * v), &|v| format!("{:.1}", 100.0 * v))
}

/// Three significant digits, counted by hand.
fn three(value: f64) -> String {
    match value {
        v if v < 0.09995 => format!("{v:.4}"),
        v if v < 0.9995 => format!("{v:.3}"),
        v if v < 9.995 => format!("{v:.2}"),
        v => format!("{v:.1}"),
    }
}

fn overall_row(comparison: &Comparison, arm: usize) -> Value {
    let arm = &comparison.arms[arm];
    let speeds = &arm.speeds.iter().find(|speeds| speeds.baseline == "aten").unwrap().long;
    let mut row = vec![percent(arm.correct.as_ref().unwrap())];
    row.extend(speeds.fast.iter().map(|fast| percent(fast.share.as_ref().unwrap())));
    let times = |estimate: &Option<Estimate>| {
        shown(estimate.as_ref().unwrap(), &|v| format!("{}×", three(v)), &three)
    };
    row.push(times(&speeds.geomean));
    row.push(times(&speeds.median));
    let usd = |v: f64| format!("${}", three(v));
    row.push(shown(arm.cost_per_solved.as_ref().unwrap(), &usd, &usd));
    row.push(shown(arm.attempts_to_correct.as_ref().unwrap(), &three, &three));
    row.into()
}

#[test]
fn tables_hold_the_numbers_of_the_summary() {
    let arms = sample::arms();
    let comparison = compare(&arms);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&write("numbers.html", &arms), 1280, "");

    let overall = cells(&mut browser, "#overall table.sortable");
    let wanted: Vec<Value> =
        (0..comparison.arms.len()).map(|arm| overall_row(&comparison, arm)).collect();
    assert_eq!(overall, json!(wanted));

    // Both baselines beside each other, with and without the cases that overhead dominates.
    let beside = cells(&mut browser, "#overall table.grouped");
    let rows = beside.as_array().unwrap();
    assert_eq!(rows.len(), 2 * comparison.arms.len());
    for (index, arm) in comparison.arms.iter().enumerate() {
        let columns = |pick: &dyn Fn(&kgen_compare::Speeds) -> kgen_compare::Speed| {
            let speeds = arm.speeds.iter().map(pick);
            speeds
                .flat_map(|speed| {
                    let shares = speed.fast.iter().map(|fast| fast.share.unwrap().value);
                    let means = [speed.geomean, speed.median].map(|mean| mean.unwrap().value);
                    shares.chain(means).map(|value| json!(value.to_string())).collect::<Vec<_>>()
                })
                .collect::<Vec<Value>>()
        };
        for (row, wanted) in [
            (&rows[2 * index], columns(&|speeds| speeds.long.clone())),
            (&rows[2 * index + 1], columns(&|speeds| speeds.all.clone())),
        ] {
            let cells = row.as_array().unwrap();
            let values: Vec<Value> = cells[1..].iter().map(|cell| cell[0].clone()).collect();
            assert_eq!(values, wanted, "{}", arm.name);
        }
    }
}

#[test]
fn every_op_and_every_attempt_has_its_place() {
    let arms = sample::arms();
    let comparison = compare(&arms);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&write("places.html", &arms), 1280, "");
    let rows = cells(&mut browser, "table.ops");
    for (row, op) in rows.as_array().unwrap().iter().zip(&comparison.ops) {
        for (cell, wanted) in row.as_array().unwrap().iter().zip(&op.cells) {
            let wanted = wanted.as_ref().unwrap();
            let value = match wanted.speedups.first() {
                Some(speedup) => speedup.long.unwrap(),
                None => -1.0,
            };
            assert_eq!(cell[0], value.to_string(), "{}", op.op);
        }
    }
    let count = "['table.attempts tbody tr', 'details.op', 'table.ops tbody tr']
        .map(found => document.querySelectorAll(found).length)";
    assert_eq!(browser.eval(count), json!([3 * 2 * 24 * 5, 24, 24]));
    // The first attempt at the first op of the second run of the last arm, as it is written.
    let attempt = &arms[2].runs[1].ops.iter().find(|op| op.name == "addmm").unwrap().attempts[1];
    let row = browser.eval(
        "[...[...document.querySelectorAll('#op-0 table.attempts')][5].tBodies[0].rows[1].cells]
            .map(cell => cell.textContent)",
    );
    assert_eq!(row[0], "2");
    assert_eq!(row[1], "1");
    assert_eq!(row[4], "repair");
    assert_eq!(row[5], "vectorised loads of 8 bytes");
    assert!(row[6].as_str().unwrap().contains(&attempt.verdict), "{row}");
    let curves = browser.eval("document.querySelectorAll('#curves details.numbers td').length");
    assert_eq!(curves, json!(2 * 5 * 3));
}
