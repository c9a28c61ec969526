//! Findings of profilers about a right kernel.

use kgen_profile::summary::{Topic, topic};
use kgen_record::{Evaluation, FeedbackKind};

use super::Section;
use crate::text::{fence, inline};

/// Characters of a line that are quoted.
const WIDTH: usize = 240;

/// Quotes the findings of compute-sanitizer: no speed makes up for them.
pub(super) fn mistakes(evaluation: &Evaluation) -> Option<Section> {
    evaluation.profile.as_ref().filter(|profile| profile.suspicious)?;
    let title = "compute-sanitizer found mistakes in this kernel although its outputs are right; \
                 mend them first";
    let text = match lines(evaluation, Topic::Sanitizer) {
        Some(lines) => format!("{title}:\n\n{}", fence("text", &lines)),
        None => format!("{title}."),
    };
    Some(Section::new(FeedbackKind::Sanitizer, text))
}

/// Quotes the counters and where the warps waited.
pub(super) fn section(evaluation: &Evaluation) -> Option<Section> {
    let lines = lines(evaluation, Topic::Counters)?;
    Some(Section::new(FeedbackKind::Profile, format!("Profile:\n\n{}", fence("text", &lines))))
}

/// Returns the lines of a topic; times and machine code come from their own records.
fn lines(evaluation: &Evaluation, of: Topic) -> Option<String> {
    let profile = evaluation.profile.as_ref()?;
    let lines = profile.summary.iter().filter(|line| topic(line) == of);
    let lines: Vec<String> = lines.map(|line| inline(line, WIDTH)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns the limit of the longest launch and the first rule that fired, in the profiler's words.
pub(super) fn verdict(evaluation: &Evaluation) -> Option<String> {
    let profile = evaluation.profile.as_ref()?;
    let after = |start: &str| profile.summary.iter().find_map(|line| line.strip_prefix(start));
    let limit = inline(after("limited by: ")?, 120);
    let rule = after("-> ").map(|rule| format!("; {}", inline(rule, WIDTH)));
    Some(format!("{limit}{}", rule.unwrap_or_default()))
}
