//! Text of a reply besides its code: the plan of an analysis turn, and the change of a code turn.
//!
//! Both are labelled lines. Models wrap them in lists, bold type or JSON; the label and the text behind
//! its colon count.

use serde::{Deserialize, Serialize};

use super::text::inline;

/// Characters of a line that are kept.
const MAX_LINE: usize = 400;

/// Characters of a change that are kept: it becomes a cell of the history.
const MAX_CHANGE: usize = 160;

/// The result of an analysis turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// The obstacle to a right kernel, or to a faster one.
    pub bottleneck: String,
    /// The facts that show it; may be empty.
    pub evidence: String,
    /// The one change to make.
    pub change: String,
}

impl Analysis {
    /// Reads a plan from a reply: its lines `Bottleneck:`, `Evidence:` and `Change:`, the last of
    /// each. `None` where it names no bottleneck or no change.
    #[must_use]
    pub fn parse(reply: &str) -> Option<Self> {
        let [bottleneck, evidence, change] = ["bottleneck", "evidence", "change"]
            .map(|label| labelled(reply.lines(), label, MAX_LINE).unwrap_or_default());
        (!bottleneck.is_empty() && !change.is_empty()).then_some(Self {
            bottleneck,
            evidence,
            change,
        })
    }
}

/// Returns the change that a reply with code names: its last line `Change:` outside of code.
#[must_use]
pub fn change(reply: &str) -> Option<String> {
    let mut fence = 0;
    let prose = reply.lines().filter(|line| {
        let ticks = line.trim_start().chars().take_while(|c| *c == '`').count();
        let was_inside = 0 < fence;
        if was_inside && fence <= ticks {
            fence = 0;
        } else if !was_inside && 3 <= ticks {
            fence = ticks;
        }
        !was_inside && ticks < 3
    });
    labelled(prose, "change", MAX_CHANGE)
}

/// Returns the text behind the last such label, with the lines below up to a blank one or the next
/// label; `None` where nothing does.
fn labelled<'a>(lines: impl Iterator<Item = &'a str>, label: &str, max: usize) -> Option<String> {
    let mut found: Option<String> = None;
    let mut text: Option<String> = None;
    for line in lines {
        let bare = line.trim();
        if let Some((name, value)) = split(bare) {
            found = text.take().filter(|text| !text.is_empty()).or(found);
            text = name.eq_ignore_ascii_case(label).then(|| value.to_owned());
        } else if bare.is_empty() || bare.starts_with("```") {
            // A value may begin in the line after its label, even behind a blank one.
            if text.as_ref().is_some_and(|text| !text.is_empty()) {
                found = text.take();
            }
        } else if let Some(text) = &mut text {
            *text = format!("{text} {bare}");
        }
    }
    let found = text.filter(|text| !text.is_empty()).or(found)?;
    let plain = found.replace("**", "");
    let plain = inline(plain.trim_matches(['"', ',', '{', '}', '*', '_', ' ']), max);
    (!plain.is_empty()).then_some(plain)
}

/// Splits a line into one of the labels and the text behind its colon.
fn split(line: &str) -> Option<(&str, &str)> {
    let decoration = |c: char| c.is_ascii_digit() || " \t*_#>-+.)(\"'{".contains(c);
    let line = line.trim_start_matches(decoration);
    let names = ["bottleneck", "evidence", "change"];
    let name = names.into_iter().find_map(|name| {
        let head = line.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then_some(head)
    })?;
    let rest = line[name.len()..].trim_start_matches(['*', '_', '"', '\'', ' ', '`']);
    let value = rest.strip_prefix(':')?;
    Some((name, value.trim_start_matches(['*', '_', ' ', '"']).trim_end()))
}

#[cfg(test)]
mod tests {
    use super::{Analysis, change};

    fn plan(bottleneck: &str, evidence: &str, change: &str) -> Option<Analysis> {
        let [bottleneck, evidence, change] = [bottleneck, evidence, change].map(str::to_owned);
        Some(Analysis { bottleneck, evidence, change })
    }

    #[test]
    fn plans_are_read_from_what_models_write() {
        let expected = plan("few bytes in flight", "38 % of the floor", "16-byte loads");
        for reply in [
            "Bottleneck: few bytes in flight\nEvidence: 38 % of the floor\nChange: 16-byte loads",
            "Let me see.\n\n**Bottleneck:** few bytes in flight\n\n**Evidence**: 38 % of the floor\n\n\
             **Change:** 16-byte loads\n\nDone.",
            "1. bottleneck: few bytes\n   in flight\n2. evidence: 38 % of the floor\n\
             3. CHANGE:\n16-byte loads\n",
            "```\n- Bottleneck: few bytes in flight\n- Evidence: 38 % of the floor\n\
             - Change: 16-byte loads\n```",
            "{\n  \"bottleneck\": \"few bytes in flight\",\n  \"evidence\": \"38 % of the floor\",\n  \
             \"change\": \"16-byte loads\"\n}",
            "Change: none yet\nBottleneck: ?\n\nNo:\nBottleneck: few bytes in flight\n\
             Evidence: 38 % of the floor\nChange: 16-byte loads",
        ] {
            assert_eq!(Analysis::parse(reply), expected, "{reply}");
        }
        assert_eq!(Analysis::parse("Bottleneck: a\nChange: b"), plan("a", "", "b"));
        for reply in ["", "Bottleneck: a", "Change: b", "Bottleneck:\n\nChange: b", "A change: x"] {
            assert_eq!(Analysis::parse(reply), None, "{reply}");
        }
    }

    #[test]
    fn a_change_is_one_line_outside_of_code() {
        let code = "```cuda\n// Change: not this\n```\n";
        let reply = format!("Change: first idea\n\nChange: a | `b`\n\n{code}");
        assert_eq!(change(&reply).unwrap(), "a | b");
        assert_eq!(change(code), None);
        assert_eq!(change("````md\nChange: x\n```\nChange: y\n````\n"), None);
        assert_eq!(change(&format!("Change: {}", "x".repeat(999))).unwrap().len(), 163);
        assert_eq!(change("Exchange: no\nI change: no"), None);
    }
}
