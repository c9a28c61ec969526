//! Programs that do one job and end.

use std::{io, pin::pin, process::Stdio, thread, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    Error, Head, Spec, Status, Tail,
    child::{Child, spawn_with},
};

/// Time that the pipes have to close after the leader's group is dead; a process that left the
/// group may hold them for ever.
const PIPE_LIMIT: Duration = Duration::from_secs(1);

/// The output and exit status of a program.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: Status,
    /// The first bytes of its standard output, [`Spec::stdout_cap`] at most.
    pub stdout: Vec<u8>,
    /// Whether there were more.
    pub stdout_truncated: bool,
    /// The last bytes of its standard error, [`Spec::stderr_cap`] at most.
    pub stderr: Vec<u8>,
    /// Whether it was ended because its deadline passed.
    pub timed_out: bool,
}

impl Output {
    /// Returns the standard error as text, trimmed.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).trim().to_owned()
    }
}

/// Runs a program to its end or its deadline, on this thread.
///
/// # Errors
///
/// Those of [`super::spawn`] and of [`Child::stop`].
pub fn run(spec: &Spec) -> Result<Output, Error> {
    // A thread of its own, because the caller may be inside a runtime already.
    let job = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Error::Keeper)?.block_on(run_async(spec))
    };
    thread::scope(|scope| match scope.spawn(job).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Runs a program to its end or its deadline. Dropping the future kills the program's group.
///
/// # Errors
///
/// Those of [`super::spawn`] and of [`Child::stop`].
pub async fn run_async(spec: &Spec) -> Result<Output, Error> {
    let stdin = if spec.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = spawn_with(spec, stdin)?;
    let mut stdout = Head::new(spec.stdout_cap);
    let mut stderr = Tail::new(spec.stderr_cap);
    let (status, timed_out) = {
        let (input, output, error) = pipes(&mut child).map_err(Error::Keeper)?;
        let mut pumps = pin!(async {
            tokio::join!(
                feed(input, spec.stdin.as_deref().unwrap_or_default()),
                pump(output, |bytes| stdout.push(bytes)),
                pump(error, |bytes| stderr.push(bytes)),
            )
        });
        let mut pumped = false;
        let mut end = pin!(timeout(spec.deadline, child.wait()));
        let ended = loop {
            tokio::select! {
                ended = &mut end => break ended,
                _ = &mut pumps, if !pumped => pumped = true,
            }
        };
        let result = match ended {
            Ok(status) => (status, false),
            Err(_) => (stop(&child, spec.grace, &mut pumped, &mut pumps).await?, true),
        };
        if !pumped {
            _ = timeout(PIPE_LIMIT, &mut pumps).await;
        }
        result
    };
    let stdout_truncated = stdout.is_truncated();
    Ok(Output {
        status,
        stdout: stdout.into_bytes(),
        stdout_truncated,
        stderr: stderr.into_bytes(),
        timed_out,
    })
}

/// Ends the child while its output is still read: one that is blocked on a full pipe could not
/// react to SIGTERM otherwise.
async fn stop<F: Future>(
    child: &Child,
    grace: Duration,
    pumped: &mut bool,
    pumps: &mut std::pin::Pin<&mut F>,
) -> Result<Status, Error> {
    let mut stop = pin!(child.stop(grace));
    loop {
        tokio::select! {
            status = &mut stop => return status,
            _ = &mut *pumps, if !*pumped => *pumped = true,
        }
    }
}

type Pipes = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

fn pipes(child: &mut Child) -> io::Result<Pipes> {
    Ok((
        child.stdin.take().map(ChildStdin::from_std).transpose()?,
        child.stdout.take().map(ChildStdout::from_std).transpose()?,
        child.stderr.take().map(ChildStderr::from_std).transpose()?,
    ))
}

/// Writes everything and closes the pipe; a child that does not want to read it is no error.
async fn feed(pipe: Option<ChildStdin>, bytes: &[u8]) {
    if let Some(mut pipe) = pipe {
        drop(pipe.write_all(bytes).await);
    }
}

async fn pump(pipe: Option<impl AsyncRead + Unpin>, mut keep: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 << 10];
    while let Ok(n_read) = pipe.read(&mut buffer).await {
        if n_read == 0 {
            return;
        }
        keep(&buffer[..n_read]);
    }
}
