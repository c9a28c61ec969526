//! Exit codes, as the README documents them.

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

/// How a command that ran to its end ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// All asked-for ops are solved or passed.
    Ok,
    /// It finished, and something is not solved or did not pass.
    NotSolved,
    /// The command line is wrong.
    Usage,
    /// A configuration, input or run file is missing, wrong or cannot be written.
    Config,
    /// The LLM cannot be reached, refuses the key or has no quota left.
    Llm,
    /// The device, its driver, NVRTC or a worker failed.
    Device,
    /// Prompts await replies in the mailbox.
    AwaitingReplies,
    /// The run's own limit on LLM calls is reached.
    Budget,
    /// SIGINT.
    Interrupted,
    /// SIGTERM or SIGHUP.
    Terminated,
}

impl Exit {
    /// All exit codes, in order.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::NotSolved,
        Self::Usage,
        Self::Config,
        Self::Llm,
        Self::Device,
        Self::AwaitingReplies,
        Self::Budget,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Returns the number that the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::NotSolved => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::Llm => 4,
            Self::Device => 5,
            Self::AwaitingReplies => 6,
            Self::Budget => 7,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Returns its meaning, as in `kgen --help`.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "all asked-for ops solved or passed",
            Self::NotSolved => "finished, something not",
            Self::Usage => "usage",
            Self::Config => "configuration or input file",
            Self::Llm => "LLM",
            Self::Device => "device or toolchain",
            Self::AwaitingReplies => "prompts await replies",
            Self::Budget => "budget reached",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Returns the exit codes as the help text shows them.
#[must_use]
pub fn help() -> String {
    let lines: Vec<_> =
        Exit::ALL.iter().map(|exit| format!("  {:>3}  {}", exit.code(), exit.meaning())).collect();
    format!("Exit codes:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_numbers_are_those_that_scripts_rely_on() {
        let codes = Exit::ALL.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 130, 143]);
    }
}
