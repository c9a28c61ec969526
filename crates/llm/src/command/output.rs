//! Output of a command: its reply, its tokens, its cost.

use kgen_process::Output;
use serde_json::Value;

use super::{Answer, CommandAccess};
use crate::{Usage, wire};

/// Reads the reply; `file` is the one it was to write, where it was to write one.
pub(super) fn read(
    access: &CommandAccess,
    output: &Output,
    file: Option<Option<String>>,
) -> Result<Answer, String> {
    if output.timed_out {
        return Err(format!("no reply within {} s", access.deadline.as_secs_f64()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let values = json_values(&text);
    if !output.status.is_success() {
        let words = reported_error(&values).unwrap_or_else(|| last_lines(&output.stderr_text()));
        return Err(format!("it {}: {words}", output.status));
    }
    if output.stdout_truncated {
        return Err("its output is too long".to_owned());
    }
    // Where the output as such is the reply, an error in its last line is the model's text.
    let is_plain = file.is_none() && access.output.reply_pointer.is_none();
    if let Some(words) = reported_error(&values).filter(|_| !is_plain) {
        return Err(format!("it reports an error: {words}"));
    }
    let at = &access.output;
    let reply = match (file, &at.reply_pointer) {
        (Some(Some(text)), _) => text,
        (Some(None), _) => return Err("it did not write its reply".to_owned()),
        (None, None) => plain(&text),
        (None, Some(pointer)) => match find(&values, pointer).and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None if values.is_empty() => {
                return Err(format!("its output is not JSON: {}", wire::excerpt(&text)));
            }
            None => {
                let output = wire::excerpt(&text);
                return Err(format!("its output has no text at `{pointer}`: {output}"));
            }
        },
    };
    let pointed = |pointer: &Option<String>| find(&values, pointer.as_deref()?);
    let usage = pointed(&at.usage_pointer).map_or_else(Usage::default, wire::any_usage);
    let cost = pointed(&at.cost_pointer).and_then(Value::as_f64).filter(|cost| *cost >= 0.0);
    Ok(Answer { text: reply, usage: Usage { cost_usd: cost.or(usage.cost_usd), ..usage } })
}

/// Reads one JSON value, or one per line; lines of anything else are passed over.
fn json_values(text: &str) -> Vec<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return vec![value];
    }
    let is_object = |value: &Value| value.is_object();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(is_object).collect()
}

/// Returns the target of a pointer in the last value that has it.
fn find<'a>(values: &'a [Value], pointer: &str) -> Option<&'a Value> {
    values.iter().rev().find_map(|value| value.pointer(pointer).filter(|value| !value.is_null()))
}

/// Returns the words of an error that the last value reports, as the known agents do it.
fn reported_error(values: &[Value]) -> Option<String> {
    let last = values.last()?;
    let kind = last.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_error = last.get("is_error").and_then(Value::as_bool) == Some(true);
    if !is_error && !matches!(kind, "error" | "turn.failed") {
        return None;
    }
    let pointers = ["/result", "/error/message", "/message"];
    let words = pointers.iter().find_map(|pointer| last.pointer(pointer)?.as_str());
    Some(wire::excerpt(words.unwrap_or(&last.to_string())))
}

/// Returns the final picture of a terminal: without colours, and of a line that was written over
/// only its last text; without the dots of a spinner.
fn plain(text: &str) -> String {
    let shown = without_escapes(text);
    let mut lines: Vec<String> = Vec::new();
    for line in shown.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let last = line.rsplit('\r').next().unwrap_or_default();
        let is_spinner = |c: char| ('\u{2800}'..='\u{28ff}').contains(&c);
        if last.contains(is_spinner) && last.replace(is_spinner, "").trim().is_empty() {
            continue;
        }
        lines.push(last.trim_start_matches(is_spinner).to_owned());
    }
    lines.join("\n")
}

/// Takes out escape sequences: `ESC [ .. letter`, `ESC ] .. BEL` and `ESC` with one character.
fn without_escapes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            shown.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            Some(']') => while chars.next().is_some_and(|c| c != '\u{7}') {},
            Some(_) | None => {}
        }
    }
    shown
}

fn last_lines(text: &str) -> String {
    const LINES: usize = 5;
    let lines: Vec<_> = text.lines().collect();
    if lines.is_empty() {
        return "nothing on its standard error".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_show_is_kept() {
        for (printed, expected) in [
            ("\u{1b}[?25l\u{1b}[1mcode\u{1b}[0m\r\nmore\n", "code\nmore\n"),
            ("⠋ loading\r⠙ loading\rcode\n", "code\n"),
            ("⠋\n⠙ \ncode", "code"),
            ("\u{1b}]0;title\u{7}a = b[0];", "a = b[0];"),
        ] {
            assert_eq!(plain(printed), expected, "{printed:?}");
        }
    }

    #[test]
    fn the_last_value_that_has_it_counts() {
        let lines = "start\n{\"type\":\"a\",\"usage\":{\"input_tokens\":1}}\nnoise\n\
                     {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":9}}\n{\"type\":\"end\"}";
        let values = json_values(lines);
        assert_eq!(find(&values, "/usage/input_tokens"), Some(&Value::from(9)));
        assert_eq!(reported_error(&values), None);
        let failed = json_values("{\"type\":\"turn.failed\",\"error\":{\"message\":\"no quota\"}}");
        assert_eq!(reported_error(&failed).as_deref(), Some("no quota"));
    }
}
