//! A program that plays the model: prompt on its standard input, reply on its standard output.

mod output;
mod presets;

use std::{path::PathBuf, time::Duration};

use kgen_process::{NETWORK_ENV, Scratch, Spec};
use kgen_settings::Effort;
use secrecy::{ExposeSecret, SecretString};

use super::{Call, Error, Usage, log::ResponseRecord, redact::Redactor};

pub use presets::{COMMAND_PRESETS, CommandPreset, command_preset};

/// How a command is run.
#[derive(Debug, Clone)]
pub struct CommandAccess {
    /// Program and arguments. `{model}`, `{effort}` and `{system}` in an argument stand for the model,
    /// the effort and the system prompt; an argument whose value is not set is left out, with the flag
    /// before it. Where no argument takes the system prompt it goes to standard input before the
    /// prompt.
    pub argv: Vec<String>,
    /// How hard the model is to think.
    pub effort: Option<Effort>,
    /// Where the reply is.
    pub output: CommandOutput,
    /// A variable with a key that the command gets; no other key reaches it.
    pub key: Option<(String, SecretString)>,
    /// Time for one reply; then the whole process group is killed.
    pub deadline: Duration,
}

/// Where a command leaves its reply and its other output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOutput {
    /// JSON pointer to the text in the output, for example `/result`; `None` takes all of it.
    pub reply_pointer: Option<String>,
    /// File in its folder that holds the text instead.
    pub reply_file: Option<String>,
    /// JSON pointer to its tokens.
    pub usage_pointer: Option<String>,
    /// JSON pointer to its cost in US dollars.
    pub cost_pointer: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    pub(super) argv: Vec<String>,
    pub(super) stdin: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) usage: Usage,
}

/// Fills in program, arguments and standard input; `None` where no program is configured.
pub(super) fn prepare(access: &CommandAccess, model: &str, call: &Call) -> Option<Prepared> {
    let values = [
        ("{model}", model),
        ("{effort}", access.effort.map_or("", Effort::name)),
        ("{system}", call.system.as_str()),
    ];
    let mut argv: Vec<String> = Vec::new();
    for arg in &access.argv {
        let found = values.iter().find(|(name, _)| arg.contains(name));
        match found {
            None => argv.push(arg.clone()),
            Some((_, "")) => {
                if argv.len() > 1 && argv.last().is_some_and(|flag| flag.starts_with('-')) {
                    argv.pop();
                }
            }
            // Not replaced twice: a prompt may hold braces itself.
            Some((name, value)) => argv.push(arg.replace(name, value)),
        }
    }
    let takes_system = access.argv.iter().any(|arg| arg.contains("{system}"));
    let stdin = match takes_system || call.system.is_empty() {
        true => call.prompt.clone(),
        false => format!("{}\n\n{}", call.system, call.prompt),
    };
    (!argv.is_empty()).then_some(Prepared { argv, stdin })
}

/// Runs the command for one call, in an empty folder of its own; returns its result and what it
/// wrote.
pub(super) async fn run(
    provider: &str,
    access: &CommandAccess,
    prepared: &Prepared,
) -> (Result<Answer, Error>, Option<ResponseRecord>) {
    let failed = |message: String| Error::Command { provider: provider.to_owned(), message };
    let dir = match Scratch::new("command", None) {
        Ok(dir) => dir,
        Err(source) => return (Err(Error::Io { provider: provider.to_owned(), source }), None),
    };
    let redactor = Redactor::new(access.key.iter().map(|(_, key)| key.clone()));
    let output = match kgen_process::run_async(&spec(access, prepared, dir.path().to_owned())).await
    {
        Ok(output) => output,
        Err(error) => {
            let message = chain(&error);
            let error = match error {
                // No other call would start either.
                kgen_process::Error::Start { .. } | kgen_process::Error::Folder { .. } => {
                    Error::Config { provider: provider.to_owned(), message }
                }
                kgen_process::Error::Keeper(_) | kgen_process::Error::Undead { .. } => {
                    failed(message)
                }
            };
            return (Err(error), None);
        }
    };
    let file = access.output.reply_file.as_ref().map(|name| dir.path().join(name));
    // A file that is not there is distinguished from one that is empty below.
    let file = file.map(|path| std::fs::read_to_string(path).ok());
    let answer = output::read(access, &output, file);
    let answer = answer.map_err(|message| failed(redactor.clean(message)));
    let answer = answer.map(|answer| Answer { text: redactor.clean(answer.text), ..answer });
    let body = redactor.clean_bytes(output.stdout);
    (answer, Some(ResponseRecord { body, ..ResponseRecord::default() }))
}

fn spec(access: &CommandAccess, prepared: &Prepared, dir: PathBuf) -> Spec {
    let (program, args) = match prepared.argv.split_first() {
        Some((program, args)) => (program.as_str(), args),
        None => ("", &[][..]),
    };
    // A path would be looked up in the command's own folder.
    let program = match program.contains('/') {
        true => std::path::absolute(program).unwrap_or_else(|_| program.into()),
        false => program.into(),
    };
    let spec = Spec::new(program, dir)
        .args(args)
        .inherit(NETWORK_ENV)
        .stdin(prepared.stdin.clone())
        .deadline(access.deadline);
    match &access.key {
        Some((name, key)) => spec.env(name, key.expose_secret()),
        None => spec,
    }
}

fn chain(error: &kgen_process::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallKey, Turn};
    use kgen_record::{AttemptId, OpKey};

    fn prepared(preset: &str, model: &str, effort: Option<Effort>, system: &str) -> Prepared {
        let preset = command_preset(preset).unwrap();
        let attempt = AttemptId { op: OpKey("relu".to_owned()), number: 1 };
        let call = Call {
            key: CallKey { attempt, call: 1 },
            system: system.to_owned(),
            prompt: "write {model}".to_owned(),
            max_tokens: 1,
            turn: Turn::Code,
            sample: 1,
            temperature: None,
        };
        prepare(&preset.access(effort, None, Duration::ZERO), model, &call).unwrap()
    }

    #[test]
    fn the_agents_are_called_exactly_so() {
        let high = Some(Effort::High);
        let lines = COMMAND_PRESETS.iter().map(|preset| {
            let all = prepared(preset.name, "m", high, "be {model}");
            let none = prepared(preset.name, "m", None, "");
            format!("{:?} < {:?}\n{:?}", all.argv, all.stdin, none.argv)
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
        ["claude", "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--no-session-persistence", "--setting-sources", "", "--model", "m", "--effort", "high", "--system-prompt", "be {model}"] < "write {model}"
        ["claude", "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--no-session-persistence", "--setting-sources", "", "--model", "m"]
        ["codex", "exec", "-", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config", "-s", "read-only", "-m", "m", "-c", "model_reasoning_effort=\"high\"", "-o", "last.txt"] < "be {model}\n\nwrite {model}"
        ["codex", "exec", "-", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config", "-s", "read-only", "-m", "m", "-o", "last.txt"]
        ["llm", "--no-stream", "-m", "m", "-s", "be {model}"] < "write {model}"
        ["llm", "--no-stream", "-m", "m"]
        ["ollama", "run", "m"] < "be {model}\n\nwrite {model}"
        ["ollama", "run", "m"]
        "#);
    }

    #[test]
    fn what_is_not_set_goes_with_its_flag() {
        assert_eq!(prepared("llm-cli", "", None, "").argv, ["llm", "--no-stream"]);
        assert_eq!(prepared("ollama-cli", "", None, "").argv, ["ollama", "run"]);
    }
}
