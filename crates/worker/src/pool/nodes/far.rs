//! The other end: a node that runs one worker for the kgen that launched it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use kgen_compile::Toolchain;
use kgen_process::Scratch;
use kgen_record::Target;
use kgen_settings::DeviceChoice;
use nix::sys::prctl;
use tokio::{
    io::AsyncWriteExt as _,
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::MissedTickBehavior,
};

use super::protocol::{ALIVE_EVERY, NodeJob, NodeMessage, NodeSetup, SILENCE_LIMIT};
use crate::{
    Error,
    pool::{
        Notices,
        config::{PoolConfig, SideConfig},
        half::{self, Half},
        job::{HalfJob, Needs},
        lines::Lines,
        link::{LINE_LIMIT, json_line},
        side::Starters,
        slots::Slots,
    },
    protocol::Role,
};

/// The lines of the kgen that launched this node, until they end or a signal comes: of a job that is preempted
/// or ends, of a connection that is hung up.
struct Input {
    lines: Lines<tokio::io::Stdin>,
    signals: [Signal; 3],
}

impl Input {
    fn new() -> io::Result<Self> {
        let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
        let [terminate, hangup, interrupt] = kinds.map(signal);
        let lines = Lines::new(tokio::io::stdin(), LINE_LIMIT);
        Ok(Self { lines, signals: [terminate?, hangup?, interrupt?] })
    }

    /// Reads the next line that says something; `None` once there is none.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        let [terminate, hangup, interrupt] = &mut self.signals;
        loop {
            let line = tokio::select! {
                line = self.lines.next_within(SILENCE_LIMIT) => line.ok()??,
                _ = terminate.recv() => return None,
                _ = hangup.recv() => return None,
                _ = interrupt.recv() => return None,
            };
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

/// A message with the line that may follow it.
struct Outgoing(NodeMessage, Option<Vec<u8>>);

/// Runs a node over the standard streams until their other end closes them, or a signal comes.
///
/// `cache` is kgen's folder on this machine, `files` that of the files that were sent, which are put into
/// `place` unless another node was the first.
#[must_use]
pub fn main(cache: &Path, files: &Path, place: &Path) -> ExitCode {
    // The end of its input ends it, in good order, also where it is the very process that kgen started.
    _ = prctl::set_pdeathsig(None);
    let bundle = settle(files, place);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the node cannot start");
            return ExitCode::FAILURE;
        }
    };
    let (out, messages) = unbounded_channel();
    let writer = runtime.spawn(write(messages));
    let ended = runtime.block_on(async {
        let mut input = Input::new()?;
        serve(cache, bundle, &mut input, &out).await;
        io::Result::Ok(())
    });
    if let Err(error) = ended {
        tracing::error!(%error, "signals cannot be heard");
    }
    // A read of standard input cannot be cancelled, so nothing waits for it.
    drop(out);
    drop(runtime.block_on(async { tokio::time::timeout(Duration::from_secs(1), writer).await }));
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Puts the files where further nodes look for them, in one step; returns where they are.
fn settle<'a>(files: &'a Path, place: &'a Path) -> &'a Path {
    if files != place && fs::rename(files, place).is_err() {
        if !place.is_dir() {
            return files;
        }
        // This executable goes on without its file.
        drop(fs::remove_dir_all(files));
    }
    place
}

/// Starts the worker and has it do job after job, until the other side wants no more.
async fn serve(cache: &Path, bundle: &Path, input: &mut Input, out: &UnboundedSender<Outgoing>) {
    let Some(line) = input.next_line().await else { return };
    // Whoever no longer listens needs no message.
    let say = |message| drop(out.send(Outgoing(message, None)));
    let setup: NodeSetup = match serde_json::from_slice(&line) {
        Ok(setup) => setup,
        Err(error) => {
            let message = format!("the setup cannot be read: {error}");
            return say(NodeMessage::Refused { message });
        }
    };
    Scratch::sweep(None);
    let role = setup.role;
    let device = setup.device;
    let notices = {
        let out = out.clone();
        Notices::new(move |notice| {
            drop(out.send(Outgoing(NodeMessage::Notice { notice: notice.clone() }, None)));
        })
    };
    let config = config(cache, bundle, setup, notices);
    let launch = match role {
        Role::Cpu => config.cpu_launch(),
        Role::Gpu => config.gpu_launch(device),
    };
    let slots = Slots::new([(launch, None)], config.notices.clone());
    let starters = Starters::new(&config);
    let ready = tokio::select! {
        ready = half::ready(&slots) => ready,
        _ = input.next_line() => return slots.end().await,
    };
    match ready {
        Ok(hello) => say(NodeMessage::Ready { hello: Box::new(hello), host: host() }),
        Err(error) => {
            say(NodeMessage::Refused { message: error.to_string() });
            return slots.end().await;
        }
    }
    while let Some(line) = input.next_line().await {
        let job: NodeJob<'_> = match serde_json::from_slice(&line) {
            Ok(job) => job,
            Err(error) => {
                let message = format!("a job cannot be read: {error}");
                say(NodeMessage::Failed { error: Error::Judge { role, message } });
                break;
            }
        };
        let program = match job.gpu {
            Some(_) => match input.next_line().await {
                Some(mut program) => {
                    program.push(b'\n');
                    program
                }
                None => break,
            },
            None => Vec::new(),
        };
        let observer = |stage| say(NodeMessage::Stage { stage });
        let needs = Needs::of(&job.request);
        let half_job = half_job(&job, &needs, &program);
        let done = tokio::select! {
            done = half_job.run(&slots, &starters, &observer) => done,
            // One job at a time: this is the end of the input.
            _ = input.next_line() => break,
        };
        match done {
            Ok(Half { evaluation, program }) => {
                let evaluation = Box::new(evaluation);
                let message = NodeMessage::Finished { evaluation, program: program.is_some() };
                drop(out.send(Outgoing(message, program)));
            }
            Err(error) => say(NodeMessage::Failed { error }),
        }
    }
    slots.end().await;
}

fn half_job<'a>(job: &'a NodeJob<'_>, needs: &'a Needs, program: &'a [u8]) -> HalfJob<'a> {
    let request = &**job.request;
    match &job.gpu {
        None => HalfJob::Cpu { request, needs },
        Some(gpu) => {
            HalfJob::Gpu { request, needs, evaluation: &gpu.evaluation, program, usage: gpu.usage }
        }
    }
}

/// Returns the settings of a pool with one worker.
fn config(cache: &Path, bundle: &Path, setup: NodeSetup, notices: Notices) -> PoolConfig {
    let NodeSetup { toolchain, sandbox, profilers, cpu_memory_bytes, python, adapters, .. } = setup;
    let device = DeviceChoice::Cuda(setup.device);
    let toolchain = inside(bundle, toolchain);
    PoolConfig {
        sandbox,
        profilers,
        cpu_memory_bytes,
        cache_dir: Some(cache.join("compiled")),
        sides: SideConfig { python, adapters, ..SideConfig::default() },
        notices,
        ..PoolConfig::new(toolchain, device, Target::h100_class(), 1)
    }
}

/// Returns the compiler in the folder of the files that were sent.
fn inside(bundle: &Path, toolchain: Toolchain) -> Toolchain {
    let place = |path: PathBuf| bundle.join(path);
    Toolchain {
        nvrtc: place(toolchain.nvrtc),
        include_dirs: toolchain.include_dirs.into_iter().map(place).collect(),
        cutlass: toolchain.cutlass.map(place),
        ..toolchain
    }
}

/// Returns the name of this machine.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Writes messages, and that the node is there when there are none.
async fn write(mut messages: UnboundedReceiver<Outgoing>) {
    let mut stdout = tokio::io::stdout();
    let mut alive = tokio::time::interval(ALIVE_EVERY);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => message,
                None => return,
            },
            _ = alive.tick() => Outgoing(NodeMessage::Alive, None),
        };
        let Outgoing(message, program) = message;
        let mut line = json_line(&message);
        if let Some(mut program) = program {
            line.append(&mut program);
            line.push(b'\n');
        }
        if stdout.write_all(&line).await.is_err() || stdout.flush().await.is_err() {
            return;
        }
    }
}
