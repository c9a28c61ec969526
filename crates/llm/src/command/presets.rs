//! Command-line agents that kgen knows how to call.

use std::time::Duration;

use kgen_settings::Effort;
use secrecy::SecretString;

use super::{CommandAccess, CommandOutput};

/// A command-line agent that kgen knows by name. It uses the account that it is logged in with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandPreset {
    pub name: &'static str,
    /// Program and arguments, as in [`CommandAccess::argv`].
    pub argv: &'static [&'static str],
    /// JSON pointer to the text.
    pub reply_pointer: Option<&'static str>,
    /// File that holds the text.
    pub reply_file: Option<&'static str>,
    /// JSON pointer to its tokens.
    pub usage_pointer: Option<&'static str>,
    /// JSON pointer to its cost.
    pub cost_pointer: Option<&'static str>,
}

/// An agent that prints its reply and nothing else.
const PLAIN: CommandPreset = CommandPreset {
    name: "",
    argv: &[],
    reply_pointer: None,
    reply_file: None,
    usage_pointer: None,
    cost_pointer: None,
};

/// The agents: no tools, no files of the user's, nothing kept of the conversation, as far as each can.
pub const COMMAND_PRESETS: [CommandPreset; 4] = [
    CommandPreset {
        name: "claude-cli",
        argv: &[
            "claude",
            "-p",
            "--output-format",
            "json",
            "--tools",
            "",
            "--strict-mcp-config",
            "--no-session-persistence",
            "--setting-sources",
            "",
            "--model",
            "{model}",
            "--effort",
            "{effort}",
            "--system-prompt",
            "{system}",
        ],
        reply_pointer: Some("/result"),
        usage_pointer: Some("/usage"),
        cost_pointer: Some("/total_cost_usd"),
        ..PLAIN
    },
    CommandPreset {
        name: "codex-cli",
        argv: &[
            "codex",
            "exec",
            "-",
            "--json",
            "--ephemeral",
            "--skip-git-repo-check",
            "--ignore-user-config",
            "-s",
            "read-only",
            "-m",
            "{model}",
            "-c",
            "model_reasoning_effort=\"{effort}\"",
            "-o",
            "last.txt",
        ],
        reply_file: Some("last.txt"),
        usage_pointer: Some("/usage"),
        ..PLAIN
    },
    CommandPreset {
        name: "llm-cli",
        argv: &["llm", "--no-stream", "-m", "{model}", "-s", "{system}"],
        ..PLAIN
    },
    CommandPreset { name: "ollama-cli", argv: &["ollama", "run", "{model}"], ..PLAIN },
];

/// Returns the agent of that name.
#[must_use]
pub fn command_preset(name: &str) -> Option<&'static CommandPreset> {
    COMMAND_PRESETS.iter().find(|preset| preset.name == name)
}

impl CommandPreset {
    /// Returns the access it stands for.
    #[must_use]
    pub fn access(
        &self,
        effort: Option<Effort>,
        key: Option<(String, SecretString)>,
        deadline: Duration,
    ) -> CommandAccess {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        CommandAccess {
            argv: self.argv.iter().map(|&arg| arg.to_owned()).collect(),
            effort,
            output: CommandOutput {
                reply_pointer: owned(self.reply_pointer),
                reply_file: owned(self.reply_file),
                usage_pointer: owned(self.usage_pointer),
                cost_pointer: owned(self.cost_pointer),
            },
            key,
            deadline,
        }
    }
}
