//! Walls around a process: files (landlock), system calls (seccomp), privileges, namespaces, limits.
//!
//! A [`Policy`] is plain data. [`Wall`] is a policy made ready: setting it up takes no memory and no lock, so
//! that it can be done between fork and exec too. Walls cannot be taken down again, and everything that the
//! process starts is behind them. Whatever the kernel lacks is named in the [`Report`] and left out.

mod calls;
mod files;
mod limits;
mod namespaces;
mod policy;
mod server;

#[cfg(test)]
mod tests;

use std::{io, os::fd::OwnedFd};

use nix::libc;
use serde::{Deserialize, Serialize};

pub use namespaces::{Namespaces, user_namespace};
pub use policy::{Capabilities, Places, Policy, Processes, Sockets};
pub use server::Server;

/// The parts of a sandbox, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Those that hold.
    pub held: Vec<String>,
    /// Those that do not, with the reasons.
    pub missing: Vec<String>,
}

impl Report {
    fn note(&mut self, part: &str, held: Result<(), String>) {
        match held {
            Ok(()) => self.held.push(part.to_owned()),
            Err(why) => self.missing.push(format!("{part} ({why})")),
        }
    }
}

/// A policy made ready.
#[derive(Debug)]
pub struct Wall {
    ruleset: Result<OwnedFd, String>,
    abi: u32,
    filter: Result<calls::Filter, String>,
    limits: limits::Limits,
    capabilities: Capabilities,
    hides_memory: bool,
    names_threads: bool,
    gaps: Vec<String>,
}

/// The errors of setting a wall up, 0 where a part holds.
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    privileges: i32,
    files: i32,
    calls: i32,
}

impl Wall {
    /// Makes a policy ready.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let abi = files::abi();
        Self {
            ruleset: files::ruleset(policy, abi),
            abi,
            filter: calls::Filter::new(policy),
            limits: limits::Limits::of(policy),
            capabilities: policy.capabilities,
            hides_memory: policy.hide_memory,
            names_threads: policy.name_threads,
            gaps: policy.gaps(),
        }
    }

    /// Puts this process behind the wall; threads that run already are left outside of it as far as files
    /// go, and the report says so.
    #[must_use]
    pub fn enter(self) -> Report {
        let n_threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        let errors = self.set_up();
        let held = |ready: Result<(), &String>, error: i32| match (ready, error) {
            (Err(why), _) => Err(why.clone()),
            (Ok(()), 0) => Ok(()),
            (Ok(()), error) => Err(io::Error::from_raw_os_error(error).to_string()),
        };
        let mut report = Report::default();
        let files = held(self.ruleset.as_ref().map(drop), errors.files);
        if files.is_ok() {
            report.note(&format!("landlock (ABI {})", self.abi), Ok(()));
            for part in files::missing(self.abi) {
                report.missing.push(part);
            }
        } else {
            report.note("landlock", files);
        }
        report.note("seccomp", held(self.filter.as_ref().map(drop), errors.calls));
        report.note("no_new_privs", held(Ok(()), errors.privileges));
        report.held.push("limits".to_owned());
        report.missing.extend(self.gaps);
        if 1 < n_threads {
            report.missing.push(format!("files of {} threads started before", n_threads - 1));
        }
        report
    }

    /// Sets the wall up by system calls alone.
    fn set_up(&self) -> Errors {
        self.limits.set();
        limits::keep_capabilities(self.capabilities);
        let error =
            |status: libc::c_long| if status == 0 { 0 } else { nix::errno::Errno::last_raw() };
        let mut errors = Errors::default();
        // SAFETY: system calls on numbers, on a descriptor of this value and on a filter that it owns.
        unsafe {
            errors.privileges = error(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into());
            if let Ok(ruleset) = &self.ruleset {
                if self.names_threads {
                    errors.files = error(files::allow_own_process(ruleset, self.abi));
                }
                if errors.files == 0 {
                    errors.files = error(files::restrict(ruleset));
                }
            }
            if self.hides_memory {
                libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
            }
        }
        if let Ok(filter) = &self.filter {
            errors.calls = filter.install();
        }
        errors
    }

    /// Sets the wall up between fork and exec; whoever starts the program asked for it, so that a part that
    /// fails is an error.
    pub(crate) fn set_up_for_exec(&self) -> io::Result<()> {
        let errors = self.set_up();
        let failed =
            [errors.privileges, errors.files, errors.calls].into_iter().find(|error| *error != 0);
        failed.map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
    }

    /// Returns the parts that the system does not have.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let files = match &self.ruleset {
            Ok(_) => files::missing(self.abi),
            Err(why) => vec![format!("landlock ({why})")],
        };
        let calls = self.filter.as_ref().err().map(|why| format!("seccomp ({why})"));
        files.into_iter().chain(calls).chain(self.gaps.iter().cloned()).collect()
    }
}
