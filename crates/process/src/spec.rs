//! A command to start, and its limits.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use nix::{
    libc,
    sys::{
        prctl,
        resource::{Resource, getrlimit, setrlimit},
        signal::Signal,
    },
    unistd::{getpid, getppid},
};

use super::{
    environment::{SYSTEM_ENV, inherited},
    sandbox::{Namespaces, Wall},
};

/// A program with its arguments, environment and limits.
///
/// `deadline`, `grace`, `stdin` and the caps matter to [`super::run`] only; whoever talks to a
/// [`super::Child`] sets those limits itself.
#[derive(Clone)]
pub struct Spec {
    /// The program; a bare name is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments, the program's name not among them.
    pub args: Vec<OsString>,
    /// Its working folder, usually a scratch folder.
    pub dir: PathBuf,
    /// Lists of variables that pass from kgen's own environment; see [`super::SYSTEM_ENV`].
    pub inherit: Vec<&'static [&'static str]>,
    /// Variables given by the caller, which win over inherited ones.
    pub env: Vec<(OsString, OsString)>,
    /// Limit of the address space, in bytes.
    pub memory_bytes: Option<u64>,
    /// Standard input of the child; `None` is `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// Time until it is asked to end.
    pub deadline: Duration,
    /// Time it has for that until it is killed.
    pub grace: Duration,
    /// Bytes of standard output that are kept; the first ones.
    pub stdout_cap: usize,
    /// Bytes of standard error that are kept; the last ones.
    pub stderr_cap: usize,
    /// Whether it is asked to end, by SIGTERM, before it is killed when kgen dies: it may hold things elsewhere.
    pub asked_to_end: bool,
    /// User, network and IPC namespaces of its own.
    pub namespaces: Option<Namespaces>,
    /// The wall that it is behind from its first instruction.
    pub wall: Option<Arc<Wall>>,
}

impl Spec {
    /// Returns a program without arguments, with [`SYSTEM_ENV`], a deadline of 10 minutes and caps
    /// of 16 MiB (output) and 64 KiB (error).
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, dir: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            dir: dir.into(),
            inherit: vec![SYSTEM_ENV],
            env: Vec::new(),
            memory_bytes: None,
            stdin: None,
            deadline: Duration::from_secs(600),
            grace: Duration::from_secs(2),
            stdout_cap: 16 << 20,
            stderr_cap: 64 << 10,
            asked_to_end: false,
            namespaces: None,
            wall: None,
        }
    }

    /// Appends arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the child's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Lets further variables of kgen's own environment pass.
    #[must_use]
    pub fn inherit(mut self, patterns: &'static [&'static str]) -> Self {
        self.inherit.push(patterns);
        self
    }

    /// Sets the standard input of the child.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets the time until the child is asked to end.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the child's working folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Builds the command; `stdin` says whether standard input is a pipe.
    pub(super) fn command(&self, stdin: Stdio) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this is where children come from")]
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(&self.dir)
            .env_clear()
            .envs(inherited(&self.inherit))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let memory_bytes = self.memory_bytes;
        let death_signal = if self.asked_to_end { Signal::SIGTERM } else { Signal::SIGKILL };
        let (namespaces, wall) = (self.namespaces.clone(), self.wall.clone());
        let parent = getpid();
        let limit = move || {
            keep_no_file();
            // A change of user namespace takes the signal of the parent's death away, so it comes first.
            if let Some(namespaces) = &namespaces {
                namespaces.enter()?;
            }
            if let Some(bytes) = memory_bytes {
                // Where the limit that kgen runs under is lower already, it stands.
                let (_, hard) = getrlimit(Resource::RLIMIT_AS)?;
                let bytes = bytes.min(hard);
                setrlimit(Resource::RLIMIT_AS, bytes, bytes)?;
            }
            setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
            prctl::set_pdeathsig(death_signal)?;
            // kgen may have died between the fork and the line above: then no signal comes.
            if getppid() != parent {
                return Err(nix::errno::Errno::ESRCH.into());
            }
            wall.as_ref().map_or(Ok(()), |wall| wall.set_up_for_exec())
        };
        // SAFETY: the closure runs between fork and exec and makes only system calls that are
        // async-signal-safe (close_range, unshare, open, write, close, getrlimit, setrlimit, prctl, getppid,
        // capset, landlock_restrict_self, seccomp); it neither allocates nor locks, and the errors it
        // returns are plain error numbers.
        unsafe { command.pre_exec(limit) };
        command
    }
}

/// Has every descriptor but the three streams closed on exec: kgen's own are, but it may have been started
/// with others open.
fn keep_no_file() {
    // SAFETY: a system call on numbers. Kernels without it close nothing.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

impl fmt::Debug for Spec {
    /// Prints the names of the variables, never their values: they may be keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Spec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("dir", &self.dir)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}
