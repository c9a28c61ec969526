//! A reader's steps: follows a link to an op, opens an attempt, filters, sorts; with and without
//! scripts, with a keyboard.

use serde_json::json;

use crate::{browser::Browser, sample, write};

/// Whether an op's attempts can be seen.
const SEEN: &str = "document.querySelector('#op-3 table').checkVisibility()";

#[test]
fn an_op_opens_down_to_its_differences_and_feedback() {
    let page = write("drill.html", &sample::arms());
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, 390, "");
    assert_eq!(browser.eval(SEEN), json!(false));
    browser.eval("document.querySelector('a[href=\"#op-3\"]').click()");
    browser.eval("new Promise(done => setTimeout(done, 50))");
    assert_eq!(browser.eval(SEEN), json!(true));
    let found = browser.eval(
        "(() => { const texts = document.querySelectorAll('#op-3 details.texts')[1];
            texts.querySelector('summary').click();
            return ['ins', 'del', 'pre.feedback'].map(one => [...texts.querySelectorAll(one)]
                .map(found => found.checkVisibility() && found.innerText)); })()",
    );
    assert_eq!(
        found[0][0],
        "+ launch(\"conv2d\", grid=cdiv(n, block * 4), block=block, args=[x, out, n])"
    );
    assert_eq!(
        found[1][0],
        "− launch(\"conv2d\", grid=cdiv(n, block * 2), block=block, args=[x, out, n])"
    );
    assert_eq!(found[0].as_array().unwrap().len(), found[1].as_array().unwrap().len());
    assert!(found[2][0].as_str().unwrap().contains("Case 3 of 8"), "{found}");
    assert_eq!(browser.eval("document.scrollingElement.scrollWidth"), json!(390));
}

#[test]
fn without_scripts_everything_is_there() {
    let page = write("plain.html", &sample::arms());
    let Some(mut browser) = Browser::start() else { return };
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(&page, 1280, "#op-3");
    // The browser itself opens the target of a link.
    assert_eq!(browser.eval(SEEN), json!(true));
    assert_eq!(browser.eval("document.querySelectorAll('th button').length"), json!(0));
    assert_eq!(browser.eval("document.getElementById('filter').checkVisibility()"), json!(false));
}

#[test]
fn ops_are_filtered_and_sorted() {
    let page = write("sort.html", &sample::arms());
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, 1280, "");
    browser.eval(
        "(() => { const input = document.querySelector('#filter input');
            input.value = ' NORM '; input.dispatchEvent(new Event('input')); })()",
    );
    let seen = "[...document.querySelectorAll('table.ops tbody tr, details.op')]
        .filter(one => one.checkVisibility()).map(one => one.dataset.op ?? one.cells[0].innerText)";
    let names = ["batch_norm", "layer_norm", "rms_norm"];
    assert_eq!(browser.eval(seen), json!([names, names].concat()));
    assert_eq!(browser.eval("document.querySelector('#filter output').value"), json!("3 of 24"));

    let column = "[...document.querySelectorAll('table.ops tbody tr')]
        .map(row => +row.cells[1].dataset.v)";
    let sorted = |browser: &mut Browser| {
        let values = browser.eval(column);
        values.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let click = "document.querySelectorAll('table.ops th button')[1].click()";
    browser.eval(click);
    assert!(sorted(&mut browser).is_sorted_by(|a, b| a >= b));
    browser.eval(click);
    assert!(sorted(&mut browser).is_sorted());
    let state = "document.querySelectorAll('table.ops thead th')[1].ariaSort";
    assert_eq!(browser.eval(state), json!("ascending"));
    assert!(browser.complaints().is_empty());
}

#[test]
fn it_prints_light_and_whole() {
    let page = write("print.html", &sample::arms());
    let Some(mut browser) = Browser::start() else { return };
    browser.prefer("dark", "print");
    browser.open(&page, 1280, "");
    let paper = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.eval(paper), json!("rgb(255, 255, 255)"));
    let cut = "getComputedStyle(document.querySelector('.wide')).overflowX";
    assert_eq!(browser.eval(cut), json!("visible"));
}
