//! All mutants on a GPU, in child processes: a mutant may fault, which takes its process's context
//! with it, or hang.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{BufRead as _, BufReader, Read as _},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use kgen_process::{DEVICE_ENV, SELF_EXE, Spec};

use super::{
    Error,
    mutant::{MutantEffect, MutantRun},
};

/// Children at once: starting one takes longer than most mutants.
const CHILDREN: usize = 8;

/// Time that a child has until its first mutant begins.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Time that a mutant has, compiling included, until it counts as hanging.
const MUTANT_LIMIT: Duration = Duration::from_secs(10);

/// A line of a child's standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// It begins with a mutant.
    Begin(String),
    /// It is done with a mutant.
    End(MutantRun),
}

impl Line {
    /// The line as text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Begin(id) => format!("begin {id}"),
            Self::End(run) => {
                format!("end {}", serde_json::to_string(run).expect("plain data is JSON"))
            }
        }
    }

    /// Reads a line; `None` where it says nothing about a mutant.
    fn read(text: &str) -> Option<Self> {
        match text.split_once(' ')? {
            ("begin", id) => Some(Self::Begin(id.to_owned())),
            ("end", run) => Some(Self::End(serde_json::from_str(run).ok()?)),
            _ => None,
        }
    }
}

/// Runs mutants in children, started with `args` and ids, and returns what a GPU makes of each, in the order of `ids`.
pub(super) fn classify(
    ids: &[String],
    args: &[OsString],
    done: &(dyn Fn(&MutantRun) + Sync),
) -> Result<Vec<MutantRun>, Error> {
    let runs = Mutex::new(Vec::new());
    let keep = |run: MutantRun| {
        done(&run);
        runs.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    };
    thread::scope(|scope| {
        let share = ids.len().div_ceil(CHILDREN).max(1);
        let work = |ids: &[String]| {
            let mut rest: VecDeque<String> = ids.iter().cloned().collect();
            while !rest.is_empty() {
                serve(args, &mut rest, &keep)?;
            }
            Ok(())
        };
        let workers: Vec<_> = ids.chunks(share).map(|ids| scope.spawn(move || work(ids))).collect();
        let ends = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ends.collect::<Result<(), Error>>()
    })?;
    let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
    runs.sort_by_key(|run| ids.iter().position(|id| *id == run.id));
    Ok(runs)
}

/// Starts a child for the mutants that are left and takes off those it was done with, the one that
/// ended it among them.
fn serve(
    args: &[OsString],
    rest: &mut VecDeque<String>,
    keep: &dyn Fn(MutantRun),
) -> Result<(), Error> {
    let ids = rest.iter().cloned().collect::<Vec<_>>().join(",");
    let spec = Spec::new(SELF_EXE, ".").args(args).args([ids]).inherit(DEVICE_ENV);
    let mut process = kgen_process::spawn(&spec)?;
    // Nothing is said to it.
    drop(process.stdin.take());
    let stdout = process.stdout.take().expect("its streams are pipes");
    let mut stderr = process.stderr.take().expect("its streams are pipes");
    let complaint = thread::spawn(move || {
        let mut text = Vec::new();
        // An unreadable complaint is an empty one.
        drop(stderr.read_to_end(&mut text));
        String::from_utf8_lossy(&text).trim().to_owned()
    });
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        // The receiver is gone when the child is killed.
        lines.filter_map(|line| Line::read(&line)).all(|line| sender.send(line).is_ok())
    });
    let mut current: Option<String> = None;
    let n_before = rest.len();
    loop {
        let limit = if current.is_some() { MUTANT_LIMIT } else { START_LIMIT };
        match lines.recv_timeout(limit) {
            Ok(Line::Begin(id)) => current = Some(id),
            Ok(Line::End(run)) => {
                rest.retain(|id| *id != run.id);
                current = None;
                keep(run);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                process.stop_blocking(Duration::ZERO)?;
                end_by(current, "it does not end", rest, keep);
                break;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = process.stop_blocking(Duration::from_secs(2))?;
                end_by(current, &format!("its process {status}"), rest, keep);
                break;
            }
        }
    }
    if rest.len() == n_before {
        return Err(Error::Idle(complaint.join().unwrap_or_default()));
    }
    Ok(())
}

/// Notes the mutant that its process did not survive.
fn end_by(
    current: Option<String>,
    what: &str,
    rest: &mut VecDeque<String>,
    keep: &dyn Fn(MutantRun),
) {
    if let Some(id) = current {
        rest.retain(|other| *other != id);
        keep(MutantRun::new(&id, MutantEffect::Changed, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let run =
            MutantRun::new("softmax.off_by_one.1", MutantEffect::Changed, "seed 1:\n  `y`[3]");
        assert_eq!(run.detail, "seed 1: `y`[3]");
        for line in [Line::Begin(run.id.clone()), Line::End(run)] {
            assert_eq!(Line::read(&line.text()), Some(line));
        }
        assert_eq!(Line::read("========= COMPUTE-SANITIZER"), None);
    }
}
