//! The child side: a synchronous process that judges one job after the other.

mod channel;
mod judge;
mod sandbox;
mod serve;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

pub use judge::{Half, Judge};

use channel::{Input, Output, first_line};

use super::protocol::{FailureCause, Hello, Message, PROTOCOL, Role, Setup};

/// Runs a worker until the parent closes its standard input.
///
/// The role on the command line is for people who look at the list of processes; the setup line
/// decides.
#[must_use]
pub fn main(_role: Role) -> ExitCode {
    let Ok(mut output) = Output::take_over_stdout() else { return ExitCode::FAILURE };
    // The parent may go away before it says anything.
    let Some(line) = first_line() else { return ExitCode::SUCCESS };
    match start(&line) {
        Ok((mut judge, hello, input)) => {
            input.rest();
            if output.send(&Message::Hello { hello: Box::new(hello) }).is_err() {
                return ExitCode::FAILURE;
            }
            serve::serve(&input, &mut output, judge.as_mut())
        }
        Err(message) => {
            // Nobody listens: the exit code says it too.
            let cause = FailureCause::Machine;
            drop(output.send(&Message::Failed { message, cause, broken: Vec::new() }));
            ExitCode::FAILURE
        }
    }
}

type Started = (Box<dyn Judge>, Hello, Input);

/// Puts the worker behind its walls, while it has one thread and has loaded nothing, and opens its judge.
fn start(line: &[u8]) -> Result<Started, String> {
    let setup: Setup = serde_json::from_slice(line)
        .map_err(|error| format!("the setup cannot be read: {error}"))?;
    if setup.protocol != PROTOCOL {
        return Err(format!(
            "the parent speaks protocol {} and this worker (kgen {}) speaks {PROTOCOL}",
            setup.protocol,
            env!("CARGO_PKG_VERSION"),
        ));
    }
    let sandbox::Entered { report, disassembler } = sandbox::enter(&setup);
    let input = Input::watch_stdin();
    let (judge, hello) = judge::open(&setup, disassembler)?;
    Ok((judge, Hello { sandbox: report, ..hello }, input))
}
