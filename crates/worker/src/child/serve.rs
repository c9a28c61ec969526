//! The loop of a worker: job in, progress and result out.

use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use kgen_baseline::side::Sidecar;
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
            Err((Failure { message, cause }, broken)) => (
                output.send(&Message::Failed { message, cause, broken }),
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
    let Half { evaluation, program, retire, broken } = half;
    let evaluation = Box::new(evaluation);
    let finished = Message::Finished { evaluation, program: program.is_some(), retire, broken };
    output.send(&finished)?;
    match program {
        Some(program) => output.send_line(|line| {
            line.extend_from_slice(program.as_bytes());
            Ok(())
        }),
        None => Ok(()),
    }
}

/// Judges one job; a failure stands beside the processes that must be replaced.
fn judge_line(
    line: &[u8],
    input: &Input,
    output: &mut Output,
    judge: &mut dyn Judge,
) -> Result<Half, (Failure, Vec<Sidecar>)> {
    let unreadable = |message: String| (Failure::from(message), Vec::new());
    let job = serde_json::from_slice(line)
        .map_err(|error| unreadable(format!("the job cannot be read: {error}")))?;
    // When the parent is gone the watchdog ends this process; nothing else is to be done then.
    let mut report = |progress: Progress| drop(output.send(&Message::Progress { progress }));
    let (judged, sides) = match job {
        Job::Cpu { request, sides } => {
            let judged =
                catch_unwind(AssertUnwindSafe(|| judge.cpu(&request, &sides, &mut report)));
            (judged, sides)
        }
        Job::Gpu { request, evaluation, sides, side_pids, usage } => {
            let program = input.next_line();
            let program = program.ok_or_else(|| unreadable("the program is missing".to_owned()))?;
            let judged = catch_unwind(AssertUnwindSafe(|| {
                judge.set_side_pids(&side_pids);
                judge.gpu(&request, evaluation.into_owned(), &program, &sides, usage, &mut report)
            }));
            (judged, sides)
        }
    };
    let broken = sides.broken();
    match judged {
        Ok(result) => result.map_err(|failure| (failure, broken)),
        Err(panic) => {
            let message = panic_text(panic.as_ref()).to_owned();
            Err((Failure { message, cause: FailureCause::Panic }, broken))
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
