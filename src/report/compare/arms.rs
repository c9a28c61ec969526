//! Which runs are samples of one arm, and the names of arms.

use std::collections::BTreeMap;

use kgen_compare as data;
use kgen_record::FeedbackSet;
use kgen_settings::Settings;
use kgen_store::{Run, RunInfo};
use serde_json::Value;

use super::load::{Detail, load};

/// How runs are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// Runs with equal settings except the seed, on GPUs of one name, are samples of one arm.
    Settings,
    /// Each run is an arm.
    Runs,
}

/// Settings of the place and speed of a run, not of its task.
const CIRCUMSTANCES: [&str; 22] = [
    "run.output_dir",
    "run.seed",
    "run.max_concurrent_ops",
    "run.kernels_dir",
    "llm.provider",
    "llm.model",
    "llm.key_env",
    "llm.concurrency",
    "llm.connect_timeout_s",
    "llm.idle_timeout_s",
    "llm.total_timeout_s",
    "llm.retries",
    "llm.mailbox_wait_s",
    "llm.prompt_cache",
    "llm.cache",
    "llm.cache_dir",
    "llm.requests_per_minute",
    "llm.tokens_per_minute",
    "device.device",
    "device.jobs",
    "suite.ops",
    "suite.keep_going",
];

/// Sections of the same kind.
const CIRCUMSTANTIAL: [&str; 5] = ["budget", "nvrtc", "python", "providers", "models"];

/// Names of settings that are shorter than their paths; the first ones of an arm.
const SHORT: [(&str, &str); 6] = [
    ("backend", "backend"),
    ("provider", "provider"),
    ("model", "model"),
    ("search.strategy", "strategy"),
    ("feedback.kinds", "feedback"),
    ("search.planner", "planner"),
];

/// Settings whose value says enough without their name.
const SPEAKING: [&str; 5] = ["backend", "provider", "model", "strategy", "device"];

/// Reads runs and groups them into arms, in the order of their first runs.
///
/// # Errors
///
/// When a run cannot be read.
pub fn arms(
    runs: &[Run],
    grouping: Grouping,
    detail: Detail,
) -> Result<Vec<data::Arm>, kgen_store::Error> {
    let mut arms: Vec<data::Arm> = Vec::new();
    for run in runs {
        let facts = facts(run.info());
        let loaded = load(run, detail)?;
        let same = arms.iter_mut().find(|arm| arm.facts == facts);
        match same.filter(|_| grouping == Grouping::Settings) {
            Some(arm) => arm.runs.push(loaded),
            None => arms.push(data::Arm { name: String::new(), facts, runs: vec![loaded] }),
        }
    }
    disambiguate_names(&mut arms);
    let differing = differing(&arms.iter().map(|arm| &arm.facts[..]).collect::<Vec<_>>());
    let name = |arm: &data::Arm| match grouping {
        Grouping::Runs => arm.runs[0].id.clone(),
        Grouping::Settings => name(&arm.facts, &differing),
    };
    let mut names: Vec<String> = arms.iter().map(name).collect();
    number(&mut names);
    for (arm, name) in arms.iter_mut().zip(names) {
        arm.name = name;
        arm.facts.sort_by_key(|(fact, _)| !differing.contains(fact));
    }
    Ok(arms)
}

/// Makes sure that runs have different IDs: those of one ID are distinguished by their folders.
fn disambiguate_names(arms: &mut [data::Arm]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut runs: Vec<&mut data::Run> = arms.iter_mut().flat_map(|arm| &mut arm.runs).collect();
    for run in &runs {
        *counts.entry(run.id.clone()).or_default() += 1;
    }
    for run in runs.iter_mut().filter(|run| counts[&run.id] > 1) {
        let folder = run.facts.iter().find(|(name, _)| name == "folder");
        if let Some((_, folder)) = folder {
            run.id.clone_from(folder);
        }
    }
}

/// Reads one run, to be shown alone: an arm by its name, with its texts.
///
/// # Errors
///
/// When the run cannot be read.
pub fn alone(run: &Run) -> Result<data::Arm, kgen_store::Error> {
    let loaded = load(run, Detail::Texts)?;
    Ok(data::Arm { name: loaded.id.clone(), facts: facts(run.info()), runs: vec![loaded] })
}

/// The task of a run, by name: the short names first, then settings by their paths.
fn facts(info: &RunInfo) -> Vec<(String, String)> {
    // A run of an earlier kgen has the settings that this one would have had.
    let settings = serde_json::from_value::<Settings>(info.settings.clone()).ok();
    let settings = settings.and_then(|settings| serde_json::to_value(settings).ok());
    let mut found = BTreeMap::new();
    flatten("", settings.as_ref().unwrap_or(&info.settings), &mut found);
    found.retain(|path, _| {
        let section = path.split('.').next().unwrap_or_default();
        !CIRCUMSTANCES.contains(&path.as_str()) && !CIRCUMSTANTIAL.contains(&section)
    });
    found.insert("backend".to_owned(), info.backend.clone());
    let mut put = |name: &str, value: Option<&String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.insert(name.to_owned(), value.clone());
        }
    };
    put("provider", info.provider.as_ref());
    put("model", info.model.as_ref());
    put("replay of", info.replay_of.as_ref());
    let on_emulator = info.device.name == "emu";
    let device = if on_emulator { "emu".to_owned() } else { info.device.target.name.clone() };
    put("device", Some(&device));
    let mut facts = Vec::new();
    for (path, name) in SHORT {
        let value = found.remove(path);
        facts.extend(value.map(|value| (name.to_owned(), value)));
    }
    facts.extend(found);
    facts
}

pub(super) fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, found);
            }
            return;
        }
        Value::Null => return,
        value if path == "feedback.kinds" => {
            let set = serde_json::from_value::<FeedbackSet>(value.clone());
            set.map_or_else(|_| value.to_string(), |set| set.to_string())
        }
        Value::Array(items) => {
            let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            items.iter().map(text).collect::<Vec<_>>().join(",")
        }
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    found.insert(path.to_owned(), text);
}

/// Names of the facts that are not the same in all arms, in the order of the first.
fn differing(arms: &[&[(String, String)]]) -> Vec<String> {
    let value = |arm: &[(String, String)], name: &str| {
        arm.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let mut names: Vec<String> = Vec::new();
    for (name, _) in arms.iter().copied().flatten() {
        let first = value(arms[0], name);
        if !names.contains(name) && arms.iter().any(|arm| value(arm, name) != first) {
            names.push(name.clone());
        }
    }
    names
}

/// Names an arm by its distinguishing settings; where there are none, by its model or backend.
fn name(facts: &[(String, String)], differing: &[String]) -> String {
    let find = |wanted: &str| facts.iter().find(|(name, _)| name == wanted);
    let part = |name: &String| {
        let (_, value) = find(name)?;
        // A setting that only one strategy has comes with it.
        Some(if SPEAKING.contains(&name.as_str()) {
            value.clone()
        } else {
            let short = name.rsplit('.').next().unwrap_or(name);
            format!("{short} {value}")
        })
    };
    let parts: Vec<String> = differing.iter().filter_map(part).collect();
    if !parts.is_empty() {
        return parts.join(", ");
    }
    let whole = find("model").or_else(|| find("provider")).or_else(|| find("backend"));
    whole.map_or_else(|| "all".to_owned(), |(_, value)| value.clone())
}

/// Numbers names that are there several times.
fn number(names: &mut [String]) {
    let all = names.to_vec();
    for (at, name) in names.iter_mut().enumerate() {
        let before = all[..at].iter().filter(|other| *other == name).count();
        if before > 0 {
            *name = format!("{name} ({})", before + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn arms_are_named_by_what_sets_them_apart() {
        let one = facts_of(&[("model", "m"), ("strategy", "repair"), ("feedback", "all")]);
        let two = facts_of(&[("model", "m"), ("strategy", "beam"), ("search.width", "3")]);
        let differing = differing(&[&one, &two]);
        assert_eq!(differing, ["strategy", "feedback", "search.width"]);
        assert_eq!(name(&one, &differing), "repair, feedback all");
        assert_eq!(name(&two, &differing), "beam, width 3");
        assert_eq!(name(&one, &[]), "m");
        let mut names = ["a", "b", "a"].map(str::to_owned);
        number(&mut names);
        assert_eq!(names, ["a", "b", "a (2)"]);
    }

    #[test]
    fn sets_of_feedback_have_their_short_names() {
        let mut found = BTreeMap::new();
        let kinds: Vec<&str> = kgen_record::FeedbackKind::ALL.iter().map(|k| k.name()).collect();
        flatten("", &serde_json::json!({"feedback": {"kinds": kinds}, "a": null}), &mut found);
        assert_eq!(found["feedback.kinds"], "all");
        assert_eq!(found.len(), 1);
    }
}
