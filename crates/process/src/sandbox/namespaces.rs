//! Own user, network and IPC namespaces of a child, where the system allows them.

use std::{fs, path::PathBuf, sync::OnceLock};

use nix::{
    errno::Errno,
    libc,
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork, getegid, geteuid},
};

/// The maps of a user namespace in which the user is the same as outside.
#[derive(Debug, Clone)]
pub struct Namespaces {
    users: Vec<u8>,
    groups: Vec<u8>,
}

impl Namespaces {
    /// Returns the namespaces of children; `None` where the system forbids them.
    #[must_use]
    pub fn where_allowed() -> Option<Self> {
        static ALLOWED: OnceLock<bool> = OnceLock::new();
        let (uid, gid) = (geteuid(), getegid());
        let namespaces = Self {
            users: format!("{uid} {uid} 1").into_bytes(),
            groups: format!("{gid} {gid} 1").into_bytes(),
        };
        ALLOWED.get_or_init(|| namespaces.can_be_entered()).then_some(namespaces)
    }

    /// Tries it in a process that ends at once: a user namespace without maps cannot be left again.
    fn can_be_entered(&self) -> bool {
        // SAFETY: the child makes only system calls, neither allocates nor locks, and never returns.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                let code = i32::from(self.enter().is_err());
                // SAFETY: ends the process without running a handler.
                unsafe { libc::_exit(code) }
            }
            Ok(ForkResult::Parent { child }) => loop {
                match waitpid(child, None) {
                    Err(Errno::EINTR) => {}
                    ended => break ended == Ok(WaitStatus::Exited(child, 0)),
                }
            },
            Err(_) => false,
        }
    }

    /// Enters them, by system calls alone.
    pub(crate) fn enter(&self) -> nix::Result<()> {
        let kinds = libc::CLONE_NEWUSER | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
        // SAFETY: a system call on a number.
        Errno::result(unsafe { libc::unshare(kinds) })?;
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", &self.users)?;
        write(c"/proc/self/gid_map", &self.groups)
    }
}

fn write(path: &std::ffi::CStr, text: &[u8]) -> nix::Result<()> {
    // SAFETY: system calls on a path that ends in a null byte, on bytes with their length, and on a
    // descriptor that only this function has.
    unsafe {
        let file = Errno::result(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let written = Errno::result(libc::write(file, text.as_ptr().cast(), text.len()));
        libc::close(file);
        written.map(drop)
    }
}

/// Returns the name of this process' user namespace.
#[must_use]
pub fn user_namespace() -> Option<PathBuf> {
    fs::read_link("/proc/self/ns/user").ok()
}
