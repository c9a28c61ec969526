//! A process that outlives kgen for an instant and kills the process groups that it leaves behind.
//!
//! `PR_SET_PDEATHSIG` ends a child when kgen is killed, but not the child's own children: the shell of a
//! command goes, and the agent that it started goes on, and goes on costing money. The reaper reads from a
//! pipe which groups there are. Nobody but kgen holds the other end, so the pipe ends with it.

use std::{
    fs::File,
    io::Write as _,
    os::fd::{AsRawFd as _, OwnedFd},
    sync::{Mutex, OnceLock, PoisonError},
};

use nix::{
    fcntl::OFlag,
    libc,
    unistd::{ForkResult, Pid, fork, pipe2},
};

/// Groups at most; more are left to their leaders' own signal. The reaper has the small stack of the thread
/// that forked it.
const MAX_GROUPS: usize = 1024;

/// The writing end of the pipe; `None` where there is no reaper.
static PIPE: OnceLock<Option<Mutex<File>>> = OnceLock::new();

/// Set in the number of a group that is asked to end and killed [`GRACE_S`] later. Numbers of processes are
/// smaller.
const ASKED: i32 = 1 << 30;

/// Seconds between asking a group to end and killing it.
const GRACE_S: u32 = 2;

/// Notes a group that is to end with kgen; `is_asked`: by SIGTERM first.
pub(super) fn add(group: Pid, is_asked: bool) {
    send(number(group, is_asked));
}

/// Notes that a group is gone; its leader must not have been reaped yet, or its number may be another's.
pub(super) fn remove(group: Pid, is_asked: bool) {
    send(-number(group, is_asked));
}

const fn number(group: Pid, is_asked: bool) -> i32 {
    group.as_raw() | if is_asked { ASKED } else { 0 }
}

fn send(number: i32) {
    if let Some(pipe) = PIPE.get_or_init(start) {
        let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a reaper children still get their own signal.
        drop(pipe.write_all(&number.to_ne_bytes()));
    }
}

fn start() -> Option<Mutex<File>> {
    let (reading, writing) = pipe2(OFlag::O_CLOEXEC).ok()?;
    // SAFETY: the child calls nothing but async-signal-safe functions, neither allocates nor locks, and never
    // returns.
    match unsafe { fork() }.ok()? {
        ForkResult::Child => watch(&reading),
        ForkResult::Parent { .. } => Some(Mutex::new(File::from(writing))),
    }
}

/// Reads groups until the pipe ends, kills those that are left, and exits.
fn watch(reading: &OwnedFd) -> ! {
    let mut groups = [0i32; MAX_GROUPS];
    let pipe = reading.as_raw_fd();
    // SAFETY: system calls on numbers, a buffer of this frame and descriptors that only this process has.
    unsafe {
        // A signal from the terminal goes to kgen, which decides.
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"kgen-reaper".as_ptr());
        // Copies of kgen's files would keep pipes open and locks held.
        libc::dup2(pipe, 0);
        libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0);
        let mut bytes = [0u8; 4];
        let mut n_read = 0;
        loop {
            let rest = bytes.len() - n_read;
            match libc::read(0, bytes.as_mut_ptr().add(n_read).cast(), rest) {
                0 => break,
                n if n < 0 && *libc::__errno_location() == libc::EINTR => continue,
                n if n < 0 => break,
                n => n_read += n.cast_unsigned(),
            }
            if n_read == bytes.len() {
                n_read = 0;
                let number = i32::from_ne_bytes(bytes);
                let wanted = if 0 < number { 0 } else { -number };
                if let Some(place) = groups.iter_mut().find(|group| **group == wanted) {
                    *place = number.max(0);
                }
            }
        }
        let mut wait = 0;
        for group in &groups {
            if *group & ASKED != 0 {
                libc::kill(-(*group & !ASKED), libc::SIGTERM);
                wait = GRACE_S;
            } else if *group != 0 {
                libc::kill(-*group, libc::SIGKILL);
            }
        }
        libc::sleep(wait);
        for group in &groups {
            if *group & ASKED != 0 {
                libc::kill(-(*group & !ASKED), libc::SIGKILL);
            }
        }
        libc::_exit(0)
    }
}
