//! Every form that lines of a log have, and what becomes of it.

use super::*;

/// A call beside those of a form that has none to judge.
const BESIDE: &str = "\nOperator: aten.abs.default\ncnt: 1, ((T([1], f32),), {})\n";

/// Words the outcome of a log as `forms.txt` does.
fn outcome(text: &str) -> String {
    let loaded = match from_log("calls.txt", text) {
        Ok(loaded) => loaded,
        Err(error) => return format!("error {error}"),
    };
    if let Some(error) = loaded.errors.first() {
        return format!("error {error}");
    }
    if let Some(row) = loaded.unjudged.first() {
        return format!("unknown {} x{}", row.op, row.calls);
    }
    if loaded.free > 0 {
        return format!("free x{}", loaded.free);
    }
    let [op] = loaded.suite.ops() else { return format!("ops {:?}", loaded.suite.ops()) };
    match loaded.suite.cases(op, None, 0).unwrap().as_slice() {
        [case] => format!("{op} {} x{}", case.id, case.count.unwrap_or(0)),
        cases => format!("{} cases of {op}", cases.len()),
    }
}

#[test]
fn every_form_of_a_line_is_read_or_refused_with_its_reason() {
    let lines = include_str!("forms.txt").lines().filter(|line| !line.starts_with('#'));
    let mut wrong = Vec::new();
    for line in lines {
        let (form, wanted) = line.split_once(" =>").unwrap();
        let mut text = form.to_owned();
        for (written, meant) in [("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\u", "\u{feff}")] {
            text = text.replace(written, meant);
        }
        if wanted.starts_with(" free") || wanted.starts_with(" unknown") {
            text.push_str(BESIDE);
        }
        let (got, wanted) = (outcome(&text), wanted.trim());
        let right = match wanted.split_once(' ') {
            Some(("error", piece)) => got.starts_with("error ") && got.contains(piece),
            Some(("unknown", _)) => got.starts_with(&format!("{wanted} x")),
            None => got.starts_with(wanted),
            _ => got == wanted,
        };
        if !right {
            wrong.push(format!("{form}\n  wanted {wanted}\n  got    {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
