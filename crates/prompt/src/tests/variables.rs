//! All variables of templates are documented, and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::{Analysis, Branch, detail::Detail, examples::EXAMPLES, template, view};

/// Lists the paths of the leaves of a value; `[]` stands for any element.
fn leaves(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(&path, value, found);
            }
        }
        Value::Array(items) => {
            assert!(!items.is_empty(), "{path} is empty, so its elements are not known");
            items.iter().for_each(|item| leaves(&format!("{path}[]"), item, found));
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn the_documented_variables_are_those_that_there_are() {
    let evaluation = timed();
    let history = vec![HistoryEntry::new(1, &evaluation); 40];
    let plan =
        Analysis { bottleneck: String::new(), evidence: String::new(), change: String::new() };
    let branch = Branch { number: 1, of: 2, taken: vec![String::new()] };
    let situation = Situation {
        turn: Turn::Code,
        history: &history,
        parent: Some(LastAttempt { past: &history[0], kernel: Some(KERNEL), feedback: "" }),
        best: Some(BestAttempt { number: 2, kernel: KERNEL, speedup: evaluation.speedup() }),
        plan: Some(&plan),
        branch: Some(&branch),
    };
    let examples: Vec<(String, String)> =
        EXAMPLES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let view = with_context(|_, context| {
        let context = PromptContext { libraries: true, ..*context };
        let view = view::view(&context, &situation, &Detail::FULL, &examples);
        serde_json::to_value(view).unwrap()
    });
    let mut there_are = BTreeSet::new();
    leaves("", &view, &mut there_are);
    there_are.retain(|path| !path.starts_with("feedback."));
    there_are.insert("feedback.KIND".to_owned());
    let readme = include_str!("../../../../prompts/README.md");
    let (_, table) = readme.split_once("## Variables").unwrap();
    let (table, _) = table.split_once("## Length").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
    assert_eq!(documented, there_are);
}

#[test]
fn the_documented_files_are_those_that_there_are() {
    let readme = include_str!("../../../../prompts/README.md");
    for (name, _) in template::TEMPLATES {
        let row = match name.split_once('/') {
            None => format!("| `{name}.hbs` |"),
            Some(("arch", _)) => "| `arch/sm_*.hbs` |".to_owned(),
            Some((folder, _)) => format!("| `{folder}/*.hbs` |"),
        };
        assert!(readme.contains(&row), "{row}");
    }
}
