//! Findings and compiler messages, quoted between fences.

use std::borrow::Cow;

use kgen_record::{
    CaseResult, Diagnostic, Evaluation, Fault, Finding, RelatedAccess, Severity, SourceSpan,
    Verdict,
};

use super::{Section, failures, kind_of};
use crate::text::{fence, first_lines, inline, without_numbers};

/// Most compiler messages that are quoted.
const MAX_ERRORS: usize = 8;

/// Most findings of a stage that are quoted.
const MAX_FINDINGS: usize = 4;

/// Most findings that get one line each.
const MAX_BRIEF: usize = 6;

/// Returns the compiler's errors.
pub(super) fn errors(evaluation: &Evaluation) -> impl Iterator<Item = &Diagnostic> {
    let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
    evaluation.diagnostics.iter().filter(is_error)
}

/// Returns the findings of the stage that ended the evaluation.
pub(super) fn sections(evaluation: &Evaluation, kernel: &str) -> Vec<Section> {
    let kind = kind_of(evaluation.verdict);
    let findings = evaluation.findings.iter().take(MAX_FINDINGS);
    let mut sections: Vec<_> =
        findings.map(|finding| Section::new(kind, quote(finding, kernel))).collect();
    if evaluation.verdict == Verdict::CompileError {
        sections.push(Section::new(kind, compiler(evaluation)));
    }
    sections
}

fn compiler(evaluation: &Evaluation) -> String {
    let n_errors = errors(evaluation).count();
    let mut lines: Vec<String> = Vec::new();
    let mut n_shown = 0;
    for diagnostic in &evaluation.diagnostics {
        match diagnostic.severity {
            Severity::Error if n_shown == MAX_ERRORS => break,
            Severity::Error => n_shown += 1,
            // A note explains the error before it.
            Severity::Note if 0 < n_shown => {}
            Severity::Note | Severity::Warning => continue,
        }
        lines.push(message(diagnostic));
    }
    if n_shown < n_errors {
        lines.push(format!("... {} more errors", n_errors - n_shown));
    }
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "The compiler says (lines count from the first line of your code block):\n\n{}",
        fence("text", &first_lines(&lines.join("\n"), 48))
    )
}

fn message(diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = diagnostic.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let text = format!("{place}{severity}: {}", first_lines(&diagnostic.message, 6));
    match (&diagnostic.source_line, diagnostic.line) {
        (Some(source), Some(line)) => format!("{text}\n{line:>5} | {}", source.trim_end()),
        (Some(_), None) | (None, _) => text,
    }
}

/// Returns the findings about a case; of a drawn one without its sizes.
pub(super) fn of_case(case: &CaseResult) -> Cow<'_, [Finding]> {
    if !failures::is_drawn(case) {
        return Cow::Borrowed(&case.findings);
    }
    case.findings.iter().map(without_sizes).collect()
}

fn without_sizes(finding: &Finding) -> Finding {
    let mut finding = finding.clone();
    if let Some(fault) = &mut finding.fault {
        finding.message = without_numbers(&finding.message);
        fault.message = without_numbers(&fault.message);
        (fault.block, fault.element, fault.buffer_elements) = (None, None, None);
        (fault.n_threads, fault.elements) = (1, None);
        if let Some(other) = &mut fault.other {
            other.what = without_numbers(&other.what);
            other.by = None;
        }
    }
    finding
}

/// Quotes a finding with its place, its fault and its hint.
pub(super) fn quote(finding: &Finding, kernel: &str) -> String {
    let mut lines = vec![first_lines(&finding.message, 12)];
    if let Some(span) = &finding.span {
        lines.push(place(span, kernel));
    }
    if let Some(fault) = &finding.fault {
        lines.extend(fault_lines(fault, finding, kernel));
    }
    if let Some(hint) = &finding.hint {
        lines.push(format!("hint: {hint}"));
    }
    fence("text", &first_lines(&lines.join("\n"), 24))
}

fn place(span: &SourceSpan, kernel: &str) -> String {
    let text = if span.text.is_empty() { line_of(kernel, span.line) } else { Some(&*span.text) };
    let line = format!("{:>5} | {}", span.line, text.unwrap_or_default().trim_end());
    match usize::try_from(span.column) {
        Ok(column) if 0 < column => format!("{line}\n      | {}^", " ".repeat(column - 1)),
        Ok(_) | Err(_) => line,
    }
}

/// Returns a line of the kernel file, counted from 1.
fn line_of(kernel: &str, line: u32) -> Option<&str> {
    kernel.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)
}

fn fault_lines(fault: &Fault, finding: &Finding, kernel: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if !finding.message.contains(&fault.message) {
        lines.push(first_lines(&fault.message, 12));
    }
    // The message has most facts already.
    let said = |word: &str| fault.message.contains(word);
    let dims = |of: [u32; 3]| format!("({}, {}, {})", of[0], of[1], of[2]);
    let mut facts = vec![format!("in kernel {}", inline(&fault.kernel, 60))];
    let block = fault.block.filter(|_| !said("block"));
    facts.extend(block.map(|block| format!("block {}", dims(block))));
    let thread = fault.thread.filter(|_| !said("thread"));
    facts.extend(thread.map(|thread| format!("thread {}", dims(thread))));
    if let (Some(buffer), Some(element), false) = (&fault.buffer, fault.element, said("element")) {
        let of = fault.buffer_elements.map(|n| format!(" of {n}")).unwrap_or_default();
        facts.push(format!("element {element}{of} in {}", inline(buffer, 60)));
    }
    if 1 < fault.n_threads {
        facts.push(format!("{} such accesses in all", fault.n_threads));
        let range = fault.elements.filter(|(low, high)| low != high);
        facts.extend(range.map(|(low, high)| format!("elements {low} to {high}")));
    }
    lines.push(facts.join(", "));
    if let (Some(line), None) = (fault.line, &finding.span) {
        let text = line_of(kernel, line);
        lines.extend(text.map(|text| format!("{line:>5} | {}", text.trim_end())));
    }
    lines.extend(fault.instruction.as_ref().map(|text| format!("PTX: {}", inline(text, 160))));
    if let Some(other) = &fault.other {
        lines.extend(other_place(other, kernel));
    }
    lines
}

/// Names the other place that a fault is about, with its line of the kernel file.
fn other_place(other: &RelatedAccess, kernel: &str) -> Vec<String> {
    let at = other.line.map(|line| format!(" at line {line}")).unwrap_or_default();
    let by = other.by.map_or_else(String::new, |([bx, by, bz], [x, y, z])| {
        format!(" by block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})")
    });
    let mut lines = vec![format!("the other place: {}{at}{by}", inline(&other.what, 80))];
    let text = other.line.and_then(|line| Some((line, line_of(kernel, line)?)));
    lines.extend(text.map(|(line, text)| format!("{line:>5} | {}", text.trim_end())));
    lines
}

/// Lists findings beyond the first one, one line each; nothing where there are none.
pub(super) fn brief(findings: &[Finding]) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for finding in findings {
        // The message names its line where there is one.
        let kind = finding.fault.as_ref().map(|fault| format!("{}: ", fault.kind));
        let line = kind.unwrap_or_default() + &inline(&finding.message, 200);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let n_left_out = lines.len().saturating_sub(MAX_BRIEF);
    lines.truncate(MAX_BRIEF);
    if 0 < n_left_out {
        lines.push(format!("... {n_left_out} more"));
    }
    (!lines.is_empty()).then(|| fence("text", &lines.join("\n")))
}
