//! The child side: a synchronous process that judges one job after the other.

mod channel;
mod judge;
mod serve;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

pub use judge::{Half, Judge};

use channel::{Input, Output};

use super::protocol::{FailureCause, Hello, Message, PROTOCOL, Role, Setup};

/// Runs a worker until the parent closes its standard input.
///
/// The role on the command line is for people who look at the list of processes; the setup line
/// decides.
#[must_use]
pub fn main(_role: Role) -> ExitCode {
    let Ok(mut output) = Output::take_over_stdout() else { return ExitCode::FAILURE };
    let input = Input::watch_stdin();
    match start(&input) {
        Ok(Some((mut judge, hello))) => {
            input.rest();
            if output.send(&Message::Hello { hello }).is_err() {
                return ExitCode::FAILURE;
            }
            serve::serve(&input, &mut output, judge.as_mut())
        }
        // The parent went away before it said anything.
        Ok(None) => ExitCode::SUCCESS,
        Err(message) => {
            // Nobody listens: the exit code says it too.
            let cause = FailureCause::Machine;
            drop(output.send(&Message::Failed { message, cause, side_broken: false }));
            ExitCode::FAILURE
        }
    }
}

type Started = (Box<dyn Judge>, Hello);

fn start(input: &Input) -> Result<Option<Started>, String> {
    let Some(line) = input.next_job() else { return Ok(None) };
    let setup: Setup = serde_json::from_slice(&line)
        .map_err(|error| format!("the setup cannot be read: {error}"))?;
    if setup.protocol != PROTOCOL {
        return Err(format!(
            "the parent speaks protocol {} and this worker (kgen {}) speaks {PROTOCOL}",
            setup.protocol,
            env!("CARGO_PKG_VERSION"),
        ));
    }
    judge::open(&setup).map(Some)
}
