//! A launched process and the node at its other end: started, given jobs, ended.

use std::{borrow::Cow, ffi::OsString, io, path::Path, sync::Arc, time::Duration};

use kgen_process::{Child, DEVICE_ENV, LAUNCH_ENV, Scratch, Spec};
use kgen_record::Evaluation;
use tokio::{
    fs::File,
    io::AsyncWriteExt as _,
    process::{ChildStdin, ChildStdout},
    sync::{
        mpsc::{self, error::TryRecvError},
        watch,
    },
    time::{Instant, timeout, timeout_at},
};

use super::{
    bundle::Bundle,
    protocol::{ALIVE_EVERY, GREETING, GpuHalf, NodeJob, NodeMessage, NodeSetup, SILENCE_LIMIT},
};
use crate::{
    Error,
    pool::{
        Notices, Observer,
        drain::Drain,
        half::Half,
        job::HalfJob,
        lines::Lines,
        link::{LINE_LIMIT, excerpt, json_line, pipes},
    },
    protocol::Hello,
};

/// Lines that may come before the greeting: what a login shell prints.
const MAX_BANNER: usize = 1000;

/// Bytes of the process's standard error that are kept.
const STDERR_CAP: usize = 16 << 10;

/// Time that a node has to end by itself once its input is closed.
const OWN_END_LIMIT: Duration = Duration::from_secs(8);

/// Time that the launched process has to react to SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// How connections of one kind are made.
#[derive(Debug)]
pub(super) struct Launcher {
    /// The command in front of the shell, and its arguments.
    pub(super) prefix: Vec<OsString>,
    pub(super) bundle: Arc<Bundle>,
    pub(super) setup: NodeSetup,
    /// Time until a node must be ready.
    pub(super) wait: Duration,
    pub(super) notices: Notices,
}

/// Why a node does not start.
#[derive(Debug)]
pub(super) enum LaunchError {
    /// Another try may fare better.
    Again(Error),
    /// Another try would end alike, or take as long.
    Final(Error),
}

impl From<Error> for LaunchError {
    fn from(error: Error) -> Self {
        Self::Again(error)
    }
}

/// Why a node did not finish a job.
#[derive(Debug)]
pub(super) enum NodeError {
    /// It is gone, or of no use any more; says nothing about the candidate.
    Lost(String),
    /// The op cannot be judged, wherever.
    Op(Error),
}

/// A node that is ready. Dropping it kills the launched process.
#[derive(Debug)]
pub(super) struct Connection {
    child: Child,
    /// Lines for the node.
    outbox: mpsc::Sender<Vec<u8>>,
    inbox: mpsc::Receiver<Received>,
    stderr: Drain,
    pub(super) hello: Hello,
    /// Name of the node.
    pub(super) host: String,
    notices: Notices,
    _scratch: Scratch,
}

/// A message other than that the node is alive.
#[derive(Debug)]
enum Received {
    Message(Box<NodeMessage>),
    Finished {
        evaluation: Box<Evaluation>,
        program: Option<Vec<u8>>,
    },
    /// There will be no further one.
    End(String),
}

impl Launcher {
    /// Launches a worker and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Why it does not start, with the end of the launched process's standard error.
    pub(super) async fn connect(
        &self,
        closing: &mut watch::Receiver<bool>,
    ) -> Result<Connection, LaunchError> {
        let role = self.setup.role;
        let fail = |reason: String| Error::Start { role, reason };
        let scratch =
            Scratch::new("launch", None).map_err(|error| Error::Scratch(error.to_string()))?;
        let mut child = kgen_process::spawn(&self.spec(scratch.path()))
            .map_err(|error| LaunchError::Final(Error::start(role, &error)))?;
        let (mut stdin, stdout, stderr) =
            pipes(&mut child).map_err(|error| fail(error.to_string()))?;
        let mut stderr = Drain::new(stderr, STDERR_CAP);
        let mut lines = Lines::new(stdout, LINE_LIMIT);
        let deadline = Instant::now() + self.wait;
        let start = async {
            self.bring_up(&mut stdin, &mut lines).await?;
            // It ends with the pipe, or with the connection.
            let (outbox, letters) = mpsc::channel(1);
            tokio::spawn(write(stdin, letters));
            let (hello, host) = self.ready(&mut lines).await?;
            Ok((outbox, hello, host))
        };
        let ready = tokio::select! {
            ready = timeout_at(deadline, start) => ready,
            // A command that waits in a queue takes its job out of it when it is asked to end.
            _ = closing.wait_for(|closing| *closing) => Ok(Err("kgen ends".to_owned())),
        };
        let is_over = ready.is_err();
        let reason = match ready {
            Ok(Ok((outbox, hello, host))) => {
                let (sender, inbox) = mpsc::channel(16);
                tokio::spawn(read(lines, sender));
                let notices = self.notices.clone();
                let _scratch = scratch;
                return Ok(Connection {
                    child,
                    outbox,
                    inbox,
                    stderr,
                    hello,
                    host,
                    notices,
                    _scratch,
                });
            }
            Ok(Err(reason)) => reason,
            Err(_) => format!("it was not ready after {} s", self.wait.as_secs_f64()),
        };
        drop(child.stop(GRACE).await);
        stderr.ended(GRACE).await;
        let said = stderr.text();
        let said = if said.is_empty() { said } else { format!("; it said: {said}") };
        let error = fail(format!("`{}`: {reason}{said}", self.name()));
        Err(if is_over { LaunchError::Final(error) } else { LaunchError::Again(error) })
    }

    /// Returns the prefix for people.
    pub(super) fn name(&self) -> String {
        let words: Vec<_> = self.prefix.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    fn spec(&self, dir: &Path) -> Spec {
        let (program, args) = self.prefix.split_first().expect("a prefix has a word");
        // A relative path is one from here, and the process works elsewhere.
        let program = match Path::new(program) {
            path if 1 < path.components().count() => std::path::absolute(path),
            path => Ok(path.to_owned()),
        };
        let mut spec = Spec::new(program.unwrap_or_default(), dir);
        // srun takes its job out of the queue then.
        spec.asked_to_end = true;
        spec.args(args).args(["sh"]).inherit(DEVICE_ENV).inherit(LAUNCH_ENV)
    }

    /// Brings the other side up, from its shell to kgen.
    async fn bring_up(
        &self,
        stdin: &mut ChildStdin,
        lines: &mut Lines<ChildStdout>,
    ) -> Result<(), String> {
        // A process that is gone says why on its standard error.
        drop(stdin.write_all(self.bundle.bootstrap().as_bytes()).await);
        let needs_bundle = self.greeting(lines).await?;
        if needs_bundle {
            let failed = |error: io::Error| format!("kgen could not be sent: {error}");
            let (path, len) = self.bundle.archive().await.map_err(failed)?;
            stdin.write_all(format!("{len}\n").as_bytes()).await.map_err(failed)?;
            let mut file = File::open(path).await.map_err(failed)?;
            tokio::io::copy(&mut file, stdin).await.map_err(failed)?;
            stdin.flush().await.map_err(failed)?;
        }
        drop(stdin.write_all(&json_line(&self.setup)).await);
        Ok(())
    }

    /// Waits until the node's worker is ready.
    async fn ready(&self, lines: &mut Lines<ChildStdout>) -> Result<(Hello, String), String> {
        loop {
            match next_message(lines).await? {
                NodeMessage::Ready { hello, host } => return Ok((*hello, host)),
                NodeMessage::Refused { message } => return Err(message),
                NodeMessage::Notice { notice } => self.notices.pass_on(notice),
                NodeMessage::Alive => {}
                other => return Err(format!("instead of being ready it said {other:?}")),
            }
        }
    }

    /// Waits for the shell's greeting; returns whether it needs the bundle.
    async fn greeting(&self, lines: &mut Lines<ChildStdout>) -> Result<bool, String> {
        for _ in 0..MAX_BANNER {
            // A job may wait in a queue for hours.
            let line = read_line(lines.next().await)?;
            let line = String::from_utf8_lossy(&line);
            let words: Vec<&str> = line.split_whitespace().collect();
            let [GREETING, state, system, machine] = words[..] else { continue };
            let ours = (std::env::consts::OS, std::env::consts::ARCH);
            if !system.eq_ignore_ascii_case(ours.0) || machine != ours.1 {
                let (os, arch) = ours;
                return Err(format!("it is {system} {machine}, and this kgen is for {os} {arch}"));
            }
            return Ok(state == "need");
        }
        Err("there is no shell at its other end".to_owned())
    }
}

impl Connection {
    /// Has the node do half an evaluation.
    pub(super) async fn run(
        &mut self,
        job: &HalfJob<'_>,
        observer: Observer<'_>,
    ) -> Result<Half, NodeError> {
        // A node that is gone closes the inbox, whether it got the job or not.
        for line in [json_line(&message(job)), job.program().to_owned()] {
            if !line.is_empty() {
                drop(self.outbox.send(line).await);
            }
        }
        loop {
            let received = self.inbox.recv().await;
            match received {
                Some(Received::Finished { evaluation, program }) => {
                    return Ok(Half { evaluation: *evaluation, program });
                }
                Some(Received::End(reason)) => return Err(NodeError::Lost(reason)),
                None => return Err(NodeError::Lost("its connection closed".to_owned())),
                Some(Received::Message(message)) => match *message {
                    NodeMessage::Stage { stage } => observer(stage),
                    NodeMessage::Notice { notice } => self.notices.pass_on(notice),
                    NodeMessage::Failed { error: error @ Error::Op { .. } } => {
                        return Err(NodeError::Op(error));
                    }
                    NodeMessage::Failed { error } => {
                        return Err(NodeError::Lost(error.to_string()));
                    }
                    other => return Err(NodeError::Lost(format!("it said {other:?}"))),
                },
            }
        }
    }

    /// Returns whether the node is gone, as far as is known without asking it.
    pub(super) fn is_gone(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) | Ok(Received::End(_)) => return true,
                Ok(Received::Message(message)) => {
                    if let NodeMessage::Notice { notice } = *message {
                        self.notices.pass_on(notice);
                    }
                }
                Ok(Received::Finished { .. }) => {}
            }
        }
    }

    /// Returns the end of what the launched process said on its standard error, as the end of a sentence.
    pub(super) fn said(&self) -> String {
        self.stderr.last_line()
    }

    /// Lets the node end by itself, and ends the launched process if it does not.
    pub(super) async fn end(self) {
        let Self { child, outbox, .. } = self;
        drop(outbox);
        if timeout(OWN_END_LIMIT, child.wait()).await.is_err()
            && let Err(error) = child.stop(GRACE).await
        {
            tracing::warn!(%error, "a launched process does not end");
        }
    }
}

fn message<'a>(job: &HalfJob<'a>) -> NodeJob<'a> {
    match *job {
        HalfJob::Cpu { request, .. } => {
            NodeJob { request: Box::new(Cow::Borrowed(request)), gpu: None }
        }
        HalfJob::Gpu { request, evaluation, usage, .. } => {
            let evaluation = Box::new(Cow::Borrowed(evaluation));
            let gpu = Some(GpuHalf { evaluation, usage });
            NodeJob { request: Box::new(Cow::Borrowed(request)), gpu }
        }
    }
}

/// Reads all messages, so that a node never waits for a reader, until it is gone.
async fn read(mut lines: Lines<ChildStdout>, sender: mpsc::Sender<Received>) {
    loop {
        let received = match next_received(&mut lines).await {
            Ok(None) => continue,
            Ok(Some(received)) => received,
            Err(reason) => Received::End(reason),
        };
        let is_end = matches!(received, Received::End(_));
        if sender.send(received).await.is_err() || is_end {
            return;
        }
    }
}

/// Reads a message; `None` is that the node is alive.
async fn next_received(lines: &mut Lines<ChildStdout>) -> Result<Option<Received>, String> {
    Ok(match next_message(lines).await? {
        NodeMessage::Alive => None,
        NodeMessage::Finished { evaluation, program } => {
            let program = if program { Some(next_line(lines).await?) } else { None };
            Some(Received::Finished { evaluation, program })
        }
        message => Some(Received::Message(Box::new(message))),
    })
}

async fn next_message(lines: &mut Lines<ChildStdout>) -> Result<NodeMessage, String> {
    let line = next_line(lines).await?;
    serde_json::from_slice(&line)
        .map_err(|_| format!("it sent an unreadable line: {}", excerpt(&line)))
}

async fn next_line(lines: &mut Lines<ChildStdout>) -> Result<Vec<u8>, String> {
    read_line(lines.next_within(SILENCE_LIMIT).await)
}

fn read_line(line: io::Result<Option<Vec<u8>>>) -> Result<Vec<u8>, String> {
    match line {
        Ok(Some(line)) => Ok(line),
        Ok(None) => Err("its connection closed".to_owned()),
        Err(error) => Err(format!("its connection broke: {error}")),
    }
}

/// Writes lines, and empty ones where there are none, so that a node whose launcher died ends itself: not every
/// command closes the node's input then.
async fn write(mut stdin: ChildStdin, mut letters: mpsc::Receiver<Vec<u8>>) {
    loop {
        let line = match timeout(ALIVE_EVERY, letters.recv()).await {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(_) => vec![b'\n'],
        };
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}
