//! A second process that does one kind of job for a worker which may start no process itself.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsRawFd as _, FromRawFd as _},
    sync::{Mutex, PoisonError},
};

use nix::{
    fcntl::OFlag,
    libc,
    sys::{prctl, signal::Signal},
    unistd::{ForkResult, fork, getpid, getppid, pipe2},
};

/// Bytes of a job or an answer at most.
const MAX_BYTES: u64 = 1 << 30;

/// The worker's end.
#[derive(Debug)]
pub struct Server {
    pipes: Mutex<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    jobs: File,
    answers: File,
}

impl Server {
    /// Forks a process that answers jobs until this value, or the process that has it, is gone; `make` is
    /// called there, once. No descriptor is passed on but standard error.
    ///
    /// # Errors
    ///
    /// When there is no process or no pipe, and when this process has more than one thread: a fork has
    /// only the thread that made it, and locks of the others stay locked.
    pub fn start<A: FnMut(Vec<u8>) -> Vec<u8>>(make: impl FnOnce() -> A) -> io::Result<Self> {
        if 1 < std::fs::read_dir("/proc/self/task")?.count() {
            return Err(io::Error::other("there are other threads"));
        }
        let (its_jobs, jobs) = pipe2(OFlag::O_CLOEXEC)?;
        let (answers, its_answers) = pipe2(OFlag::O_CLOEXEC)?;
        let parent = getpid();
        // SAFETY: this process has one thread, so that the child is a whole one.
        match unsafe { fork() }? {
            ForkResult::Parent { .. } => {
                let pipes = Pipes { jobs: jobs.into(), answers: answers.into() };
                Ok(Self { pipes: Mutex::new(pipes) })
            }
            ForkResult::Child => {
                let end = |code| -> ! {
                    // SAFETY: ends the process without the handlers of the one that it is a copy of.
                    unsafe { libc::_exit(code) }
                };
                if prctl::set_pdeathsig(Signal::SIGKILL).is_err() || getppid() != parent {
                    end(1);
                }
                // SAFETY: system calls on descriptors; those that lose theirs are never used again, as
                // this process does not return from here. Copies would keep the worker's pipes open.
                let mut files = unsafe {
                    libc::dup2(its_jobs.as_raw_fd(), 0);
                    libc::dup2(its_answers.as_raw_fd(), 1);
                    libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
                    Pipes { jobs: File::from_raw_fd(0), answers: File::from_raw_fd(1) }
                };
                std::mem::forget((its_jobs, its_answers, jobs, answers));
                end(i32::from(serve(&mut files, make()).is_err()));
            }
        }
    }

    /// Has a job done.
    ///
    /// # Errors
    ///
    /// When the process is gone.
    pub fn ask(&self, job: &[u8]) -> io::Result<Vec<u8>> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut pipes.jobs, job)?;
        receive(&mut pipes.answers)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

fn serve(files: &mut Pipes, mut answer: impl FnMut(Vec<u8>) -> Vec<u8>) -> io::Result<()> {
    while let Some(job) = receive(&mut files.jobs)? {
        send(&mut files.answers, &answer(job))?;
    }
    Ok(())
}

fn send(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(&(bytes.len() as u64).to_ne_bytes())?;
    file.write_all(bytes)
}

fn receive(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match file.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u64::from_ne_bytes(length);
    if MAX_BYTES < length {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
