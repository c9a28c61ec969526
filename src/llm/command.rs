//! A program that plays the model: prompt on its standard input, reply on its standard output.

use std::{path::PathBuf, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use super::{Call, Error, local::local_record, log::ReplyRecord, redact::Redactor};
use crate::process::{self, NETWORK_ENV, Output, Spec};

/// How a command is run.
#[derive(Debug, Clone)]
pub struct CommandAccess {
    /// Program and arguments. `{model}` stands for the model and `{system}` for the system prompt;
    /// where no argument takes the system prompt it goes to standard input before the prompt.
    pub argv: Vec<String>,
    /// JSON pointer to the text in the output, for example `/result`; `None` takes all of it.
    pub reply_pointer: Option<String>,
    /// A variable with a key that the command gets; no other key reaches it.
    pub key: Option<(String, SecretString)>,
    /// Time for one reply; then the whole process group is killed.
    pub deadline: Duration,
}

/// Runs the command for one call, in an empty folder of its own.
pub(super) async fn command(
    provider: &str,
    access: &CommandAccess,
    model: &str,
    call: &Call,
) -> Result<ReplyRecord, Error> {
    let start = Instant::now();
    let failed = |message: String| Error::Command { provider: provider.to_owned(), message };
    let dir = tempfile::tempdir()
        .map_err(|source| Error::Io { provider: provider.to_owned(), source })?;
    let spec = spec(access, model, call, dir.path().to_owned())
        .ok_or_else(|| failed("no program is configured".to_owned()))?;
    let redactor = Redactor::new(access.key.iter().map(|(_, key)| key.clone()));
    let output = process::run_async(&spec).await.map_err(|error| match &error {
        // No other call would start either.
        process::Error::Start { .. } | process::Error::Folder { .. } => {
            Error::Config { provider: provider.to_owned(), message: chain(&error) }
        }
        process::Error::Keeper(_) | process::Error::Undead { .. } => failed(chain(&error)),
    })?;
    let text = read(access, &output).map_err(|message| failed(redactor.clean(message)))?;
    Ok(local_record(call, model, redactor.clean(text), start))
}

fn spec(access: &CommandAccess, model: &str, call: &Call, dir: PathBuf) -> Option<Spec> {
    let (program, args) = access.argv.split_first()?;
    let takes_system = args.iter().any(|arg| arg.contains("{system}"));
    let args = args.iter().map(|arg| match arg.as_str() {
        // Not replaced twice: a prompt may hold braces itself.
        arg if arg.contains("{system}") => arg.replace("{system}", &call.system),
        arg => arg.replace("{model}", model),
    });
    let stdin = match takes_system || call.system.is_empty() {
        true => call.prompt.clone(),
        false => format!("{}\n\n{}", call.system, call.prompt),
    };
    // A path would be looked up in the command's own folder.
    let program = match program.contains('/') {
        true => std::path::absolute(program).unwrap_or_else(|_| program.into()),
        false => program.into(),
    };
    let spec = Spec::new(program, dir)
        .args(args)
        .inherit(NETWORK_ENV)
        .stdin(stdin)
        .deadline(access.deadline);
    Some(match &access.key {
        Some((name, key)) => spec.env(name, key.expose_secret()),
        None => spec,
    })
}

fn read(access: &CommandAccess, output: &Output) -> Result<String, String> {
    if output.timed_out {
        return Err(format!("no reply within {} s", access.deadline.as_secs_f64()));
    }
    if !output.status.is_success() {
        return Err(format!("it {}: {}", output.status, last_lines(&output.stderr_text())));
    }
    if output.stdout_truncated {
        return Err("its output is too long".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some(pointer) = &access.reply_pointer else { return Ok(text) };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| format!("its output is not JSON ({error})"))?;
    match value.pointer(pointer).and_then(Value::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("its output has no text at `{pointer}`")),
    }
}

fn last_lines(text: &str) -> String {
    const LINES: usize = 5;
    let lines: Vec<_> = text.lines().collect();
    if lines.is_empty() {
        return "nothing on its standard error".to_owned();
    }
    lines[lines.len().saturating_sub(LINES)..].join(" | ")
}

fn chain(error: &process::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
