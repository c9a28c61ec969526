//! Limits of resources, and capabilities.

use nix::{
    libc,
    sys::resource::{Resource, getrlimit, setrlimit},
};

use super::{Capabilities, Policy};

/// Limits of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    file_bytes: Option<u64>,
    files: Option<u64>,
}

impl Limits {
    pub(super) const fn of(policy: &Policy) -> Self {
        Self { file_bytes: policy.max_file_bytes, files: policy.max_files }
    }

    /// Sets them by system calls alone; lower ones that stand already are kept.
    pub(super) fn set(&self) {
        let wanted = [
            (Resource::RLIMIT_CORE, Some(0)),
            (Resource::RLIMIT_FSIZE, self.file_bytes),
            (Resource::RLIMIT_NOFILE, self.files),
        ];
        for (resource, limit) in wanted {
            if let (Some(limit), Ok((_, hard))) = (limit, getrlimit(resource)) {
                let limit = limit.min(hard);
                // A limit that may not exceed the hard one is never refused.
                _ = setrlimit(resource, limit, limit);
            }
        }
    }
}

/// Version of the structures below.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_DAC_READ_SEARCH`, `CAP_FOWNER`, `CAP_FSETID`.
const OF_FILES: u32 = 0x1f;

/// Gives capabilities up, by system calls alone: those of root, and those in a user namespace of its own.
pub(super) fn keep_capabilities(kept: Capabilities) {
    let mask = match kept {
        Capabilities::OfFiles => OF_FILES,
        Capabilities::None => 0,
    };
    let header = Header { version: CAPABILITY_VERSION, pid: 0 };
    // Effective, permitted and inheritable ones, the first 32 and the others.
    let mut sets = [0_u32; 6];
    // SAFETY: the calls read a header, and write and read two sets, all of which live in this frame.
    unsafe {
        libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr());
        sets = [sets[0] & mask, sets[1] & mask, 0, 0, 0, 0];
        libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr());
    }
}
