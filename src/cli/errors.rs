//! Errors of commands: a kind that decides the exit code, the chain of causes, hints.

use kgen_ops::suite;
use std::error;

use super::exit_codes::Exit;

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

    /// Returns the causes, from the failure inward, without those that the message before repeats.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut shown = self.source.to_string();
        let mut cause = self.source.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat their cause in their own message.
            if !shown.contains(&text) {
                causes.push(text.trim_end().to_owned());
            }
            shown = text;
            cause = error.source();
        }
        causes
    }

    /// Returns the lines for standard error: the failure, its causes, the ways out.
    #[must_use]
    pub fn render(&self) -> String {
        let mut lines = vec![format!("error: {}", self.source.to_string().trim_end())];
        lines.extend(self.causes().iter().map(|cause| format!("caused by: {cause}")));
        if !self.hints.is_empty() {
            lines.push(String::new());
            lines.extend(self.hints.iter().map(|hint| format!("hint: {hint}")));
        }
        lines.join("\n")
    }
}

impl From<clap::Error> for CommandError {
    /// Takes the message and the tips out of the text that clap would print.
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.split("\n\n").map(str::trim);
        let first = parts.next().unwrap_or_default();
        let mut usage = Self::usage(first.strip_prefix("error: ").unwrap_or(first));
        let tips = parts.flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("tip: "));
        usage.hints.extend(tips.map(str::to_owned));
        usage
    }
}

impl From<kgen_settings::Error> for CommandError {
    fn from(error: kgen_settings::Error) -> Self {
        let hint = error.hint();
        let from_flag = matches!(&error, kgen_settings::Error::BadValue { origin, .. } if origin.starts_with("flag"));
        let kind = if from_flag { Exit::Usage } else { Exit::Config };
        Self::new(kind, error).maybe_hint(hint)
    }
}

impl From<kgen_baseline::Error> for CommandError {
    fn from(error: kgen_baseline::Error) -> Self {
        let exit = match &error {
            kgen_baseline::Error::Unknown { .. } => Exit::Usage,
            kgen_baseline::Error::Folder(_) => Exit::Config,
        };
        Self::new(exit, error)
    }
}

impl From<kgen_baseline::python::PythonNotFoundError> for CommandError {
    fn from(error: kgen_baseline::python::PythonNotFoundError) -> Self {
        Self::new(Exit::Device, error).hint("`kgen doctor` says what works on this machine")
    }
}

impl From<kgen_store::Error> for CommandError {
    fn from(error: kgen_store::Error) -> Self {
        let hint = error.hint();
        Self::new(Exit::Config, error).maybe_hint(hint)
    }
}

impl From<suite::Error> for CommandError {
    fn from(error: suite::Error) -> Self {
        let (kind, hint) = match &error {
            suite::Error::Unknown { .. } | suite::Error::NotInSuite { .. } => (
                Exit::Usage,
                Some(
                    "`kgen list suites` and `kgen list ops` show the names; --op-file takes the op of a file",
                ),
            ),
            suite::Error::Format { .. }
            | suite::Error::Read { .. }
            | suite::Error::Toml { .. }
            | suite::Error::Op { .. }
            | suite::Error::Entry { .. }
            | suite::Error::NoLog { .. }
            | suite::Error::Log { .. }
            | suite::Error::Call { .. }
            | suite::Error::Ops { .. }
            | suite::Error::Case { .. } => (Exit::Config, None),
        };
        Self::new(kind, error).maybe_hint(hint.map(str::to_owned))
    }
}

impl From<kgen_prompt::Error> for CommandError {
    fn from(error: kgen_prompt::Error) -> Self {
        let hint = match &error {
            kgen_prompt::Error::TooLong { .. } => {
                "--prompt-tokens sets the limit; a model's `context_tokens` lowers it"
            }
            kgen_prompt::Error::Read { .. }
            | kgen_prompt::Error::Unknown { .. }
            | kgen_prompt::Error::Empty { .. }
            | kgen_prompt::Error::Template { .. }
            | kgen_prompt::Error::Render { .. } => {
                "--prompts-dir names the folder of the templates; without it kgen has its own"
            }
        };
        Self::new(Exit::Config, error).hint(hint)
    }
}

impl From<kgen_agent::Error> for CommandError {
    fn from(error: kgen_agent::Error) -> Self {
        match error {
            kgen_agent::Error::Llm(error) => error.into(),
            kgen_agent::Error::Store(error) => error.into(),
            kgen_agent::Error::RunInputs { .. } => Self::new(Exit::Config, error),
            kgen_agent::Error::Judge { ref source, .. }
                if matches!(source.downcast_ref(), Some(kgen_worker::Error::Op { .. })) =>
            {
                Self::new(Exit::Config, error)
            }
            kgen_agent::Error::Judge { .. }
            | kgen_agent::Error::Entropy(_)
            | kgen_agent::Error::Panicked(_) => Self::new(Exit::Device, error),
        }
    }
}

impl From<kgen_llm::Error> for CommandError {
    fn from(error: kgen_llm::Error) -> Self {
        let (kind, hint) = llm_kind(&error);
        Self::new(kind, error).maybe_hint(hint.map(str::to_owned))
    }
}

fn llm_kind(error: &kgen_llm::Error) -> (Exit, Option<&'static str>) {
    match error {
        kgen_llm::Error::NoKey { .. } => {
            (Exit::Llm, Some("--provider mailbox and --provider replay work without a key"))
        }
        kgen_llm::Error::Auth { .. } => {
            (Exit::Llm, Some("correct the key: nothing that was stored is lost"))
        }
        kgen_llm::Error::Spent { .. } => {
            (Exit::Llm, Some("wait until there is quota again, or raise the limit at the provider"))
        }
        kgen_llm::Error::Config { .. } => (Exit::Config, None),
        kgen_llm::Error::Budget { .. } => (Exit::Budget, Some("a higher cap allows more")),
        kgen_llm::Error::Rejected { .. } | kgen_llm::Error::UnknownModel { .. } => {
            (Exit::Llm, Some("is the model's name right? --llm-model sets it"))
        }
        kgen_llm::Error::ContextWindow { .. } | kgen_llm::Error::PromptTooLong { .. } => (
            Exit::Llm,
            Some(
                "--prompt-tokens N shortens prompts, llm.max_tokens replies; context_tokens in \
                 [models.\"NAME\"] says what the model holds",
            ),
        ),
        kgen_llm::Error::NotCached { .. } => {
            (Exit::Llm, Some("--llm-cache auto asks for what is not kept, and keeps it"))
        }
        kgen_llm::Error::Unavailable { .. } => {
            (Exit::Llm, Some("check the network and --base-url"))
        }
        kgen_llm::Error::AwaitingReply { .. } => (Exit::AwaitingReplies, None),
        kgen_llm::Error::Log { .. } | kgen_llm::Error::Read { .. } => (Exit::Config, None),
        kgen_llm::Error::RateLimited { .. } => {
            (Exit::Llm, Some("llm.max_wait_s in config.toml lets kgen wait longer"))
        }
        kgen_llm::Error::Stopped => (Exit::Interrupted, None),
        kgen_llm::Error::Garbage { .. }
        | kgen_llm::Error::Refused { .. }
        | kgen_llm::Error::Filtered
        | kgen_llm::Error::LengthWithoutText { .. }
        | kgen_llm::Error::EmptyReply
        | kgen_llm::Error::EndOfRecording { .. }
        | kgen_llm::Error::Command { .. }
        | kgen_llm::Error::Setup(_)
        | kgen_llm::Error::Io { .. } => (Exit::Llm, None),
    }
}

/// Returns an error and its causes in one line.
pub(crate) fn one_line(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
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
