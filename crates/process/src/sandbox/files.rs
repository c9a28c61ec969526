//! Files, signals and the network, by landlock.

use std::{
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use nix::libc;

use super::{Policy, Sockets};

/// The first ABI that has all that is asked for below.
const WANTED: [(u32, &str); 5] = [
    (2, "landlock of links"),
    (3, "landlock of truncation"),
    (4, "landlock of TCP"),
    (5, "landlock of devices"),
    (6, "landlock of signals"),
];

/// Returns the version of landlock that the kernel has; 0 is none.
pub(super) fn abi() -> u32 {
    // SAFETY: asks for a number; the pointer is null and its length 0, as the call wants it for that.
    let abi = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, 1_u32)
    };
    u32::try_from(abi).unwrap_or(0)
}

/// Returns the parts of landlock that came after an ABI.
pub(super) fn missing(abi: u32) -> Vec<String> {
    let later = WANTED.iter().filter(|(since, _)| abi < *since);
    later.map(|(since, part)| format!("{part} (the kernel has ABI {abi}, not {since})")).collect()
}

/// Makes the rules of a policy; paths that do not exist are left out.
pub(super) fn ruleset(policy: &Policy, abi: u32) -> Result<OwnedFd, String> {
    if abi == 0 {
        return Err("the kernel has none".to_owned());
    }
    let made = rules(policy).map_err(|error| error.to_string())?;
    Option::<OwnedFd>::from(made).ok_or_else(|| "the kernel has none".to_owned())
}

fn rules(policy: &Policy) -> Result<RulesetCreated, RulesetError> {
    let handled = AccessFs::from_all(ABI::V5) | AccessFs::ResolveUnix;
    let mut ruleset = Ruleset::default()
        .handle_access(handled)?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::Signal)?;
    if policy.sockets == Sockets::None {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    let mut made = ruleset.create()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let programs = policy.programs();
    let execute = if programs.is_none() { read | AccessFs::Execute } else { read };
    for path in policy.read.iter().chain(&own_process()) {
        made = allow(made, path, execute)?;
    }
    for program in programs.into_iter().flatten() {
        made = allow(made, &program, AccessFs::ReadFile | AccessFs::Execute)?;
    }
    let device = read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for path in &policy.devices {
        made = allow(made, path, device)?;
    }
    for path in &policy.socket_folders {
        made = allow(made, path, AccessFs::ResolveUnix.into())?;
    }
    let no_files =
        AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev | AccessFs::Execute;
    for path in &policy.write {
        made = allow(made, path, handled & !no_files)?;
    }
    Ok(made)
}

fn allow(
    made: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(at) = PathFd::new(path) else { return Ok(made) };
    let of_files = AccessFs::from_file(ABI::V5);
    let access = if path.is_dir() { access } else { access & of_files };
    made.add_rule(PathBeneath::new(at, access))
}

/// Returns the folder of this process below `/proc`, and holds on to it: a rule is about an inode, and that
/// of a process folder is made anew when the kernel has forgotten it.
fn own_process() -> Option<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{}", std::process::id()));
    std::mem::forget(PathFd::new(&folder).ok()?);
    Some(folder)
}

/// Lets the process that this thread is of write to its own files in `/proc`, by system calls alone; the
/// rules may have been made by its parent. Returns 0 where that worked.
pub(super) fn allow_own_process(ruleset: &OwnedFd, abi: u32) -> libc::c_long {
    #[repr(C, packed)]
    struct PathBeneathAttribute {
        allowed: u64,
        parent: i32,
    }
    const RULE_PATH_BENEATH: u32 = 1;
    const WRITE_FILE: u64 = 1 << 1;
    const TRUNCATE: u64 = 1 << 14;
    let allowed = if abi < 3 { WRITE_FILE } else { WRITE_FILE | TRUNCATE };
    // SAFETY: the path ends in a zero, and the structure lives while the call reads it. The descriptor is
    // left open: the rule is about an inode that the kernel would forget.
    unsafe {
        let parent = libc::open(c"/proc/self".as_ptr(), libc::O_PATH);
        if parent < 0 {
            return parent.into();
        }
        let attribute = PathBeneathAttribute { allowed, parent };
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            RULE_PATH_BENEATH,
            &raw const attribute,
            0_u32,
        )
    }
}

/// Puts this thread under the rules; 0 where that worked.
pub(super) fn restrict(ruleset: &OwnedFd) -> libc::c_long {
    // SAFETY: a system call on a descriptor that is open as long as the reference lives.
    unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) }
}
