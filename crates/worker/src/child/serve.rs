//! The loop of a worker: job in, progress and result out.

use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use kgen_eval::Progress;

use super::{
    channel::{Input, Output},
    judge::{Failure, Half, Judge},
};
use crate::protocol::{FailureCause, Job, Message};

/// Judges jobs until the parent closes the pipe or this process is not fit for another one.
pub(super) fn serve(input: &Input, output: &mut Output, judge: &mut dyn Judge) -> ExitCode {
    while let Some(line) = input.next_job() {
        let judged = judge_line(&line, input, output, judge);
        input.rest();
        let (sent, fit) = match judged {
            Ok(half) => {
                let retire = half.retire;
                (send_half(output, half), !retire)
            }
            Err((Failure { message, cause }, side_broken)) => (
                output.send(&Message::Failed { message, cause, side_broken }),
                cause != FailureCause::Panic,
            ),
        };
        if sent.is_err() {
            return ExitCode::FAILURE;
        }
        if !fit {
            return ExitCode::SUCCESS;
        }
    }
    ExitCode::SUCCESS
}

fn send_half(output: &mut Output, half: Half) -> io::Result<()> {
    let Half { evaluation, program, retire, side_broken } = half;
    let evaluation = Box::new(evaluation);
    let finished =
        Message::Finished { evaluation, program: program.is_some(), retire, side_broken };
    output.send(&finished)?;
    match program {
        Some(program) => output.send_line(|line| {
            line.extend_from_slice(program.as_bytes());
            Ok(())
        }),
        None => Ok(()),
    }
}

/// Judges one job; a failure stands beside whether the Python process must be replaced.
fn judge_line(
    line: &[u8],
    input: &Input,
    output: &mut Output,
    judge: &mut dyn Judge,
) -> Result<Half, (Failure, bool)> {
    let unreadable = |message: String| (Failure::from(message), false);
    let job = serde_json::from_slice(line)
        .map_err(|error| unreadable(format!("the job cannot be read: {error}")))?;
    // When the parent is gone the watchdog ends this process; nothing else is to be done then.
    let mut report = |progress: Progress| drop(output.send(&Message::Progress { progress }));
    let (judged, side) = match job {
        Job::Cpu { request, side } => {
            let judged = catch_unwind(AssertUnwindSafe(|| judge.cpu(&request, &side, &mut report)));
            (judged, side)
        }
        Job::Gpu { request, evaluation, side, python_pid, usage } => {
            let program = input.next_line();
            let program = program.ok_or_else(|| unreadable("the program is missing".to_owned()))?;
            let judged = catch_unwind(AssertUnwindSafe(|| {
                judge.set_python_pid(python_pid);
                judge.gpu(&request, evaluation.into_owned(), &program, &side, usage, &mut report)
            }));
            (judged, side)
        }
    };
    let side_broken = side.is_broken();
    match judged {
        Ok(result) => result.map_err(|failure| (failure, side_broken)),
        Err(panic) => {
            let message = panic_text(panic.as_ref()).to_owned();
            Err((Failure { message, cause: FailureCause::Panic }, side_broken))
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
