//! Text of runs is text: nothing in a name, a source or feedback becomes a part of the page.

use kgen_compare::{Arm, compare, html};
use serde_json::json;

use crate::{browser::Browser, sample, write};

const HOSTILE: &str = "</script></style></title><img src=x onerror=\"window.hit=1\">\
    <script>window.hit=1</script>'\" onmouseover='window.hit=1' \u{202e}\0 --> ]]> &lt;b&gt;";

/// Arms all of whose texts are hostile.
fn arms() -> Vec<Arm> {
    let mut arms = sample::arms();
    poison(&mut arms);
    arms
}

/// Makes all texts of arms hostile.
pub(crate) fn poison(arms: &mut [Arm]) {
    for arm in arms {
        arm.name = format!("{} {HOSTILE}", arm.name);
        arm.facts.push((HOSTILE.to_owned(), format!("{} {HOSTILE}", arm.name)));
        for run in &mut arm.runs {
            run.id.push_str(HOSTILE);
            run.facts.push((HOSTILE.to_owned(), HOSTILE.to_owned()));
            run.device.push_str(HOSTILE);
            run.baselines = run.baselines.iter().map(|name| name.clone() + HOSTILE).collect();
            for op in &mut run.ops {
                op.name.push_str(HOSTILE);
                op.gpu = Some(HOSTILE.to_owned());
                for case in &mut op.timed {
                    case.args.push_str(HOSTILE);
                    for baseline in &mut case.baselines {
                        baseline.name.push_str(HOSTILE);
                    }
                }
                for speedup in &mut op.speedups {
                    speedup.baseline.push_str(HOSTILE);
                }
                for attempt in &mut op.attempts {
                    attempt.purpose = HOSTILE.to_owned();
                    attempt.verdict.push_str(HOSTILE);
                    attempt.change = Some(HOSTILE.to_owned());
                    attempt.source = attempt.source.take().map(|source| source + HOSTILE);
                    attempt.feedback = Some(HOSTILE.to_owned());
                    for speedup in &mut attempt.speedups {
                        speedup.baseline.push_str(HOSTILE);
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_hostile_gets_through() {
    let arms = arms();
    check(&html::page(&arms, &compare(&arms)));
}

/// Looks for hostile texts that have become a part of a page.
pub(crate) fn check(html: &str) {
    for markup in ["<img", "<b>hit", "\0", "\u{202e}", "onerror=\"", "<script>window"] {
        assert!(!html.contains(markup), "{markup:?} is in the page");
    }
    // The one end of the script and of the style are the page's own.
    for end in ["</script>", "</style>"] {
        assert_eq!(html.matches(end).count(), 1, "{end}");
    }
}

#[test]
fn nothing_hostile_runs() {
    let page = write("hostile.html", &arms());
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page, 390, "");
    browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
    assert_eq!(browser.eval("window.hit ?? null"), json!(null));
    assert_eq!(browser.eval("document.images.length + document.scripts.length"), json!(1));
    let handlers = "[...document.querySelectorAll('*')].filter(element =>
        element.getAttributeNames().some(name => name.startsWith('on'))).length";
    assert_eq!(browser.eval(handlers), json!(0));
    assert_eq!(browser.eval("document.scrollingElement.scrollWidth"), json!(390));
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    // It is shown as text.
    let title = browser.eval("document.querySelector('.legend dd').textContent");
    assert!(title.as_str().unwrap().contains("</script></style></title><img src=x"), "{title}");
}
