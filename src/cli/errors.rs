//! Errors of commands: a kind that decides the exit code, the chain of causes, hints.

use std::error;

use super::exit_codes::Exit;
use crate::{agent, baseline, llm, prompt, settings, store, suite};

#[derive(Debug)]
pub struct CommandError {
    pub kind: Exit,
    pub source: Box<dyn error::Error + Send + Sync>,
    /// Ways out, one sentence each.
    pub hints: Vec<String>,
}

impl CommandError {
    /// Returns a failure of that kind.
    pub fn new(kind: Exit, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        Self { kind, source: source.into(), hints: Vec::new() }
    }

    /// Returns a wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message.into())
    }

    /// Returns a wrong or missing file.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(Exit::Config, message.into())
    }

    /// Adds a way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a way out, if there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hints.extend(hint);
        self
    }

    /// Returns the lines for standard error: the failure, its causes, the ways out.
    #[must_use]
    pub fn render(&self) -> String {
        let mut lines = vec![format!("error: {}", self.source.to_string().trim_end())];
        let mut shown = self.source.to_string();
        let mut cause = self.source.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat their cause in their own message.
            if !shown.contains(&text) {
                lines.push(format!("caused by: {}", text.trim_end()));
            }
            shown = text;
            cause = error.source();
        }
        if !self.hints.is_empty() {
            lines.push(String::new());
            lines.extend(self.hints.iter().map(|hint| format!("hint: {hint}")));
        }
        lines.join("\n")
    }
}

impl From<settings::Error> for CommandError {
    fn from(error: settings::Error) -> Self {
        let hint = error.hint();
        let from_flag = matches!(&error, settings::Error::BadValue { origin, .. } if origin.starts_with("flag"));
        let kind = if from_flag { Exit::Usage } else { Exit::Config };
        Self::new(kind, error).maybe_hint(hint)
    }
}

impl From<baseline::Error> for CommandError {
    fn from(error: baseline::Error) -> Self {
        let exit = match &error {
            baseline::Error::Unknown { .. } => Exit::Usage,
            baseline::Error::Folder(_) => Exit::Config,
        };
        Self::new(exit, error)
    }
}

impl From<baseline::python::NotFound> for CommandError {
    fn from(error: baseline::python::NotFound) -> Self {
        Self::new(Exit::Device, error).hint("`kgen doctor` says what works on this machine")
    }
}

impl From<store::Error> for CommandError {
    fn from(error: store::Error) -> Self {
        let hint = error.hint();
        Self::new(Exit::Config, error).maybe_hint(hint)
    }
}

impl From<suite::Error> for CommandError {
    fn from(error: suite::Error) -> Self {
        let (kind, hint) = match &error {
            suite::Error::Unknown { .. } | suite::Error::NotInSuite { .. } => {
                (Exit::Usage, Some("`kgen list suites` and `kgen list ops` show the names"))
            }
            suite::Error::Format { .. }
            | suite::Error::Read { .. }
            | suite::Error::Toml { .. }
            | suite::Error::Op { .. }
            | suite::Error::Entry { .. }
            | suite::Error::Log { .. }
            | suite::Error::Call { .. }
            | suite::Error::Ops { .. }
            | suite::Error::Case { .. } => (Exit::Config, None),
        };
        Self::new(kind, error).maybe_hint(hint.map(str::to_owned))
    }
}

impl From<prompt::Error> for CommandError {
    fn from(error: prompt::Error) -> Self {
        let hint = match &error {
            prompt::Error::TooLong { .. } => {
                "--prompt-tokens sets the limit; a model's `context_tokens` lowers it"
            }
            prompt::Error::Read { .. }
            | prompt::Error::Unknown { .. }
            | prompt::Error::Empty { .. }
            | prompt::Error::Template { .. }
            | prompt::Error::Render { .. } => {
                "--prompts-dir names the folder of the templates; without it kgen has its own"
            }
        };
        Self::new(Exit::Config, error).hint(hint)
    }
}

impl From<agent::Error> for CommandError {
    fn from(error: agent::Error) -> Self {
        match error {
            agent::Error::Llm(error) => error.into(),
            agent::Error::Store(error) => error.into(),
            agent::Error::RunInputs { .. } => Self::new(Exit::Config, error),
            agent::Error::Judge { .. } | agent::Error::Entropy(_) | agent::Error::Panicked(_) => {
                Self::new(Exit::Device, error)
            }
        }
    }
}

impl From<llm::Error> for CommandError {
    fn from(error: llm::Error) -> Self {
        let (kind, hint) = llm_kind(&error);
        Self::new(kind, error).maybe_hint(hint.map(str::to_owned))
    }
}

fn llm_kind(error: &llm::Error) -> (Exit, Option<&'static str>) {
    match error {
        llm::Error::NoKey { .. } => {
            (Exit::Llm, Some("--provider mailbox and --provider replay work without a key"))
        }
        llm::Error::Auth { .. } => {
            (Exit::Llm, Some("correct the key: nothing that was stored is lost"))
        }
        llm::Error::Spent { .. } => {
            (Exit::Llm, Some("wait until there is quota again, or raise the limit at the provider"))
        }
        llm::Error::Config { .. } => (Exit::Config, None),
        llm::Error::Budget { .. } => (Exit::Budget, Some("a higher cap allows more")),
        llm::Error::Rejected { .. } | llm::Error::UnknownModel { .. } => {
            (Exit::Llm, Some("is the model's name right? --llm-model sets it"))
        }
        llm::Error::ContextWindow { .. } | llm::Error::PromptTooLong { .. } => (
            Exit::Llm,
            Some(
                "--prompt-tokens N shortens prompts, llm.max_tokens replies; context_tokens in \
                 [models.\"NAME\"] says what the model holds",
            ),
        ),
        llm::Error::NotCached { .. } => {
            (Exit::Llm, Some("--llm-cache auto asks for what is not kept, and keeps it"))
        }
        llm::Error::Unavailable { .. } => (Exit::Llm, Some("check the network and --base-url")),
        llm::Error::AwaitingReply { .. } => (Exit::AwaitingReplies, None),
        llm::Error::Log { .. } | llm::Error::Read { .. } => (Exit::Config, None),
        llm::Error::Garbage { .. }
        | llm::Error::Refused { .. }
        | llm::Error::Filtered
        | llm::Error::LengthWithoutText { .. }
        | llm::Error::EmptyReply
        | llm::Error::EndOfRecording { .. }
        | llm::Error::Command { .. }
        | llm::Error::Setup(_)
        | llm::Error::Io { .. } => (Exit::Llm, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read relu.cu")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_failure_shows_its_causes_and_its_ways_out() {
        let io = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = CommandError::new(Exit::Config, Outer(io)).hint("look at the path");
        assert_eq!(
            error.render(),
            "error: failed to read relu.cu\ncaused by: no such file\n\nhint: look at the path"
        );
    }
}
