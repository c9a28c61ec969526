//! The compiler's log, understood: diagnostics and resources.
//!
//! Of the text around a message only lines of the kernel file itself are kept, taken from kgen's
//! own copy: whatever file a message is about, none of its text passes through here.

use kgen_record::{Diagnostic, Resources, Severity};

/// Most diagnostics that are kept.
const MAX_DIAGNOSTICS: usize = 40;

/// The contents of a log.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Messages about the kernel file and the headers it includes.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Messages about name expressions, which NVRTC compiles behind the source.
    pub(super) names: Vec<String>,
    /// Resources of each kernel under its entry name.
    pub(super) resources: Vec<Resources>,
    /// The assembler speaks of a function that is no kernel.
    in_helper: bool,
}

/// Reads a log.
///
/// `source`: the kernel file; `folders`: folders whose headers may be named.
pub(super) fn read(log: &str, source: &str, folders: &[String]) -> Log {
    let mut read = Log::default();
    let source_lines: Vec<&str> = source.lines().collect();
    let lines: Vec<&str> = log.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if line.starts_with("ptxas") {
            read_assembler_line(line, &mut read);
        } else if let Some(head) = head_of(line) {
            let len = lines[at..].iter().take_while(|line| belongs_to_message(line)).count();
            let message = whole_message(&head, &lines[at..at + len], folders);
            at += len;
            keep(&head, message, &source_lines, folders, &mut read);
        }
    }
    read.diagnostics.truncate(MAX_DIAGNOSTICS);
    read
}

/// Stands for the file of a message about the end of the kernel file.
const END: &str = "at the end of the file";

/// First line of a compiler message.
struct Head<'a> {
    file: &'a str,
    line: Option<u32>,
    severity: Severity,
    message: &'a str,
}

/// Reads `k.cu(3): error: text`, `k.cu(3): warning #177-D: text`, `Command-line error: text` and
/// `At end of source: error: text`.
fn head_of(line: &str) -> Option<Head<'_>> {
    if let Some(message) = line.strip_prefix("At end of source: error: ") {
        return Some(Head { file: END, line: None, severity: Severity::Error, message });
    }
    if let Some(message) = line.strip_prefix("Command-line error: ") {
        return Some(Head { file: "", line: None, severity: Severity::Error, message });
    }
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let (place, rest) = line.split_once("): ")?;
    let (file, number) = place.rsplit_once('(')?;
    let file = file.strip_prefix(super::PROGRAM_FOLDER).unwrap_or(file);
    let kinds = [
        ("catastrophic error", Severity::Error),
        ("internal error", Severity::Error),
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("note", Severity::Note),
        ("remark", Severity::Note),
    ];
    kinds.into_iter().find_map(|(kind, severity)| {
        let rest = rest.strip_prefix(kind)?;
        let (number_of_kind, message) = rest.split_once(": ")?;
        let known = number_of_kind.is_empty() || number_of_kind.starts_with(" #");
        known.then_some(Head { file, line: number.parse().ok(), severity, message })
    })
}

fn belongs_to_message(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty()
}

/// Joins a message with its continuation lines, leaving out the echo of source and its caret.
fn whole_message(head: &Head<'_>, rest: &[&str], folders: &[String]) -> String {
    let caret = rest.iter().position(|line| line.trim() == "^");
    let echo = caret.and_then(|caret| caret.checked_sub(1));
    let mut message = head.message.trim().to_owned();
    for (index, line) in rest.iter().enumerate() {
        if Some(index) != echo && Some(index) != caret {
            message.push('\n');
            message.push_str(line.trim());
        }
    }
    // An echo without a caret looks like a continuation.
    if caret.is_none() && head.file != super::PROGRAM && !head.file.is_empty() {
        message.truncate(head.message.trim().len());
    }
    folders.iter().fold(message, |text, folder| text.replace(folder.as_str(), ""))
}

fn keep(head: &Head<'_>, message: String, source: &[&str], folders: &[String], log: &mut Log) {
    if head.file == "__nv_name_map" {
        log.names.push(message);
        return;
    }
    let own = head.file == super::PROGRAM;
    let known = head.file.is_empty()
        || head.file == END
        || super::prelude::has_header(head.file)
        || head.file == super::prelude::PRELUDE
        || folders.iter().any(|folder| head.file.starts_with(folder.as_str()));
    // Warnings about a header are not the kernel's business.
    if !own && (!known || head.severity != Severity::Error) {
        return;
    }
    let line = head.line.filter(|_| own);
    let index = line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
    let source_line = index.and_then(|index| source.get(index)).map(|text| (*text).to_owned());
    let message = if own || head.file.is_empty() {
        message
    } else if head.file == END {
        format!("{END}: {message}")
    } else {
        let file = head.file.rsplit('/').next().unwrap_or_default();
        format!("in {file}: {message}")
    };
    log.diagnostics.push(Diagnostic { line, severity: head.severity, message, source_line });
}

/// Reads one line of the assembler: resources, or a message without a place in the kernel file.
fn read_assembler_line(line: &str, log: &mut Log) {
    if let Some(kernel) = between(line, "Compiling entry function '", "'") {
        log.resources.push(Resources { kernel: kernel.to_owned(), ..Resources::default() });
        log.in_helper = false;
        return;
    }
    if let Some((_, function)) = line.split_once("Function properties for ") {
        log.in_helper = log.resources.last().is_none_or(|last| last.kernel != function.trim());
        return;
    }
    if let Some(resources) = log.resources.last_mut().filter(|_| !log.in_helper) {
        let number = |marker| number_before(line, marker);
        resources.stack_bytes = number(" bytes stack frame").unwrap_or(resources.stack_bytes);
        resources.spill_stores = number(" bytes spill stores").unwrap_or(resources.spill_stores);
        resources.spill_loads = number(" bytes spill loads").unwrap_or(resources.spill_loads);
        resources.registers = number(" registers").unwrap_or(resources.registers);
        resources.smem_bytes = number(" bytes smem").unwrap_or(resources.smem_bytes);
    }
    let kinds = [("fatal", Severity::Error), ("error", Severity::Error)];
    for (kind, severity) in kinds {
        let Some((head, message)) = line.split_once(':') else { return };
        if head.trim_end().ends_with(kind) && !message.contains("aborted due to errors") {
            let message = format!("assembler: {}", message.trim());
            log.diagnostics.push(Diagnostic { line: None, severity, message, source_line: None });
            return;
        }
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(inside, _)| inside)
}

/// Returns the number that stands right before a marker.
fn number_before(text: &str, marker: &str) -> Option<u32> {
    let head = text.split_once(marker)?.0;
    let digits = head.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests;
