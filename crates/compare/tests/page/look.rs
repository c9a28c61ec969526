//! How the page looks: nothing beyond the window, nothing asked of the network, every drawing drawn.

use serde_json::json;

use crate::{
    browser::{BAD_TEXTS, Browser},
    sample, write,
};

/// Elements that reach beyond the window and do not lie in a box that scrolls.
pub(crate) const TOO_WIDE: &str =
    "[...document.querySelectorAll('main *, header *')].filter(element =>
    !element.closest('.wide, pre') && innerWidth + 1 < element.getBoundingClientRect().right)
    .map(element => element.outerHTML.slice(0, 80))";

#[test]
fn it_fits_wide_and_narrow_windows_and_asks_for_nothing() {
    let page = write("look.html", &sample::arms());
    let Some(mut browser) = Browser::start() else { return };
    for (width, scheme) in [(1280, "light"), (390, "dark"), (320, "light")] {
        browser.prefer(scheme, "screen");
        browser.open(&page, width, "");
        let scroll_width = "document.scrollingElement.scrollWidth";
        assert_eq!(browser.eval(scroll_width), json!(width));
        assert_eq!(browser.eval(BAD_TEXTS), json!([]), "{width}");
        browser.eval("document.querySelectorAll('details').forEach(one => one.open = true)");
        assert_eq!(browser.eval(scroll_width), json!(width), "with everything open");
        assert_eq!(browser.eval(TOO_WIDE), json!([]), "{width}");
        assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
        assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
    }
}

#[test]
fn drawings_have_their_marks_and_a_name() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&write("drawings.html", &sample::arms()), 1280, "");
    let drawn = browser.eval(
        "Object.fromEntries([...document.querySelectorAll('figure')].map(figure => [figure.id,
            ['.line', '.band', '.mark', '.dot', '.span', '.name']
                .map(mark => figure.querySelectorAll('svg ' + mark).length)]))",
    );
    // Per arm a line with a mark per attempt, or a dot per op; 2 baselines.
    assert_eq!(drawn["curve-0"], json!([3, 3, 15, 0, 0, 3]));
    assert_eq!(drawn["curve-1"], json!([3, 3, 15, 0, 0, 3]));
    assert_eq!(drawn["profile-1"], json!([3, 3, 15, 0, 0, 3]));
    assert_eq!(drawn["course-0"], json!([3, 3, 15, 0, 0, 3]));
    assert_eq!(drawn["price-0"], json!([0, 0, 3, 0, 0, 3]));
    for strip in ["strip-0", "strip-1"] {
        let marks = drawn[strip].as_array().unwrap();
        assert!(60 < marks[3].as_u64().unwrap() && marks[4] == 3 && marks[5] == 3, "{drawn}");
    }
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().unwrap();
    let named = |role: &str| {
        let of_role = nodes.iter().filter(|node| node["role"]["value"] == role);
        of_role.map(|node| node["name"]["value"].as_str().unwrap_or("")).collect::<Vec<_>>()
    };
    let images = named("image");
    assert_eq!(images.len(), drawn.as_object().unwrap().len());
    assert!(images.iter().all(|name| 20 < name.len()), "{images:?}");
    let tables = named("table");
    assert!(4 <= tables.len() && tables.iter().all(|name| !name.is_empty()), "{tables:?}");
    assert!(30 < named("columnheader").len() && 30 < named("rowheader").len());
}
