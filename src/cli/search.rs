//! Notes on the settings of a search before it begins.

use kgen_record::Strategy;
use kgen_settings::Settings;
use kgen_store::Run;
use serde_json::Value;

use super::ui::Ui;

/// Says where `run.max_attempts` leaves a search shorter than its own settings say.
pub(super) fn warn_cut(ui: &Ui, settings: &Settings) {
    if let Some((planned, flags)) = cut(settings) {
        ui.warn(&format!(
            "{flags} ask for {planned} attempts per op; run.max_attempts = {} cuts the search short \
             (--max-attempts {planned} lets it come to its end)",
            settings.run.max_attempts
        ));
    }
}

/// Returns the attempts that the search asks for, where there may be fewer.
fn cut(settings: &Settings) -> Option<(u32, &'static str)> {
    let search = &settings.search;
    let (planned, flags) = match search.strategy {
        Strategy::Repair => return None,
        Strategy::BestOf => (search.samples, "the samples of best-of"),
        Strategy::Beam => {
            (search.width.saturating_mul(search.depth), "the branches and rounds of beam")
        }
    };
    (settings.run.max_attempts < planned).then_some((planned, flags))
}

/// Says by name which settings of a recording are not those of its replay.
pub(super) fn warn_differing(ui: &Ui, settings: &Settings, name: &str, recording: &Run) {
    // One whose settings this kgen does not know has replies all the same.
    let Ok(then) = serde_json::from_value::<Settings>(recording.info().settings.clone()) else {
        return;
    };
    let mut paths = search_paths(&then, settings);
    paths.extend(["feedback.kinds", "run.max_attempts", "run.seed"]);
    let differing = differences(&then, settings, &paths);
    if !differing.is_empty() {
        ui.warn(&format!(
            "the recording `{name}` was made with other settings, which a replay does not take over: {}",
            differing.join(", ")
        ));
    }
}

/// Returns the changed settings of a search, in words: numbers of attempts stand for places
/// in the search that they were made in.
pub(super) fn search_changes(then: &Settings, now: &Settings) -> Vec<String> {
    differences(then, now, &search_paths(then, now))
}

/// Returns the settings that decide which places a search has.
fn search_paths(then: &Settings, now: &Settings) -> Vec<&'static str> {
    let any = |strategy| [then, now].iter().any(|of| of.search.strategy == strategy);
    let mut paths = vec!["search.strategy", "search.planner"];
    if any(Strategy::BestOf) {
        paths.push("search.samples");
    }
    if any(Strategy::Beam) {
        paths.extend(["search.width", "search.depth"]);
    }
    paths
}

fn differences(then: &Settings, now: &Settings, paths: &[&str]) -> Vec<String> {
    let [then, now] =
        [then, now].map(|of| serde_json::to_value(of).expect("settings are plain data"));
    let mut differing = Vec::new();
    for path in paths {
        let pointer = format!("/{}", path.replace('.', "/"));
        let [was, is] = [&then, &now].map(|of| of.pointer(&pointer).map_or_else(none, words));
        if was != is {
            differing.push(format!("{path} ({was} there, {is} here)"));
        }
    }
    differing
}

fn none() -> String {
    "none".to_owned()
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => none(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_settings::{Overrides, resolve_with};

    fn settings(change: impl Fn(&mut Settings)) -> Settings {
        let mut settings = resolve_with(None, &|_| None, &Overrides::default()).unwrap().settings;
        change(&mut settings);
        settings
    }

    #[test]
    fn the_defaults_of_every_strategy_fit_into_the_attempts_there_are() {
        for strategy in [Strategy::Repair, Strategy::BestOf, Strategy::Beam] {
            assert_eq!(cut(&settings(|of| of.search.strategy = strategy)), None, "{strategy:?}");
        }
        let many = settings(|of| {
            (of.search.strategy, of.search.samples) = (Strategy::BestOf, 9);
        });
        assert_eq!(cut(&many).map(|(planned, _)| planned), Some(9));
    }

    #[test]
    fn what_a_search_does_not_use_is_no_change_of_it() {
        let was = settings(|_| {});
        assert!(search_changes(&was, &settings(|of| of.search.width = 9)).is_empty());
        let now = settings(|of| {
            (of.search.strategy, of.search.width) = (Strategy::Beam, 9);
            (of.run.max_attempts, of.search.planner) = (90, true);
        });
        assert_eq!(
            search_changes(&was, &now),
            [
                "search.strategy (repair there, beam here)",
                "search.planner (false there, true here)",
                "search.width (2 there, 9 here)",
            ]
        );
    }
}
