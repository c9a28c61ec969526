//! System calls, by seccomp.

use std::collections::BTreeMap;

use nix::{errno::Errno, libc};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};

use super::{Policy, Processes, Sockets};

/// Other processes, the kernel's own state, and parts of the kernel with a long record of holes: nothing
/// behind a wall has a use for them.
const NEVER: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_personality,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_mknodat,
    libc::SYS_acct,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Memory, messages and semaphores that all processes of a user share.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Modes, owners, times and attributes of files, anywhere.
const MODES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Not in every version of the C library's list.
const SYS_FCHMODAT2: i64 = 452;

/// Calls about a thread of any process, the first argument, or the calling one, 0. Drivers name their own.
const OF_ANY_PROCESS: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

const FORKS: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// The kinds of namespaces that a clone could make.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests that type into a terminal.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// The bit of calls with pointers of 32 bits, which are other numbers for the same calls.
const X32: u32 = 0x4000_0000;

/// A filter of system calls, ready to be installed.
#[derive(Debug)]
pub(super) struct Filter(BpfProgram);

impl Filter {
    /// Compiles the filter of a policy.
    pub(super) fn new(policy: &Policy) -> Result<Self, String> {
        let rules = rules(policy).map_err(|error| error.to_string())?;
        let arch = std::env::consts::ARCH.try_into();
        let arch = arch.map_err(|error: seccompiler::BackendError| error.to_string())?;
        let refused = SeccompAction::Errno(Errno::EPERM as u32);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
        let program = filter.and_then(BpfProgram::try_from).map_err(|error| error.to_string())?;
        Ok(Self(prelude().into_iter().chain(program).collect()))
    }

    /// Installs it for all threads of this process, by system calls alone; returns an error number, or 0.
    pub(super) fn install(&self) -> i32 {
        #[repr(C)]
        struct Program {
            length: u16,
            filter: *const sock_filter,
        }
        let Ok(length) = u16::try_from(self.0.len()) else { return Errno::E2BIG as i32 };
        let program = Program { length, filter: self.0.as_ptr() };
        // Refusals go to the system's log where that can be asked for. Older kernels would slow the process
        // down, as if the filter were there to run foreign code beside secrets in one memory.
        let all = libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        let mut error = 0;
        for flags in [all | libc::SECCOMP_FILTER_FLAG_LOG, all] {
            // SAFETY: the call reads a filter with its length; both live while it runs.
            let status = unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    flags,
                    &raw const program,
                )
            };
            match status {
                0 => return 0,
                // The number of a thread that could not be taken along.
                1.. => return Errno::ESRCH as i32,
                _ => error = Errno::last_raw(),
            }
        }
        error
    }
}

/// Returns instructions in front of the compiled ones. `clone3` has its flags in memory, where no filter
/// sees them: it is said not to exist, and the C library takes `clone`. Numbers of x32 are refused.
fn prelude() -> Vec<sock_filter> {
    // BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_K with BPF_JEQ and BPF_JGE, BPF_RET | BPF_K.
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    // Its number on every architecture.
    const CLONE3: u32 = 435;
    let refuse = |errno: Errno| libc::SECCOMP_RET_ERRNO | errno as u32;
    vec![
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: EQUAL, jt: 0, jf: 1, k: CLONE3 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse(Errno::ENOSYS) },
        sock_filter { code: AT_LEAST, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse(Errno::ENOSYS) },
    ]
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(policy: &Policy) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let mut refuse = |calls: &[i64]| rules.extend(calls.iter().map(|call| (*call, Vec::new())));
    refuse(NEVER);
    if !policy.may_share {
        refuse(SHARED);
    }
    if !policy.may_change_modes {
        refuse(MODES);
    }
    match policy.processes {
        Processes::None => refuse(&[libc::SYS_execve, libc::SYS_execveat]),
        // A file in memory has no path that a rule of files could be about.
        Processes::Become(_) | Processes::Of(_) => {
            refuse(&[libc::SYS_execveat, libc::SYS_memfd_create]);
        }
        Processes::Any => {}
    }
    if policy.sockets == Sockets::None {
        refuse(&[libc::SYS_socket]);
    }
    let forks = matches!(policy.processes, Processes::Of(_) | Processes::Any);
    if !forks {
        refuse(FORKS);
    }
    let when = |argument, length, is, value| {
        SeccompRule::new(vec![SeccompCondition::new(argument, length, is, value)?])
    };
    let bit = |flag: libc::c_int| u64::from(flag.cast_unsigned());
    let mut clones = Vec::new();
    if !forks {
        clones.push(when(0, Len::Qword, Is::MaskedEq(bit(libc::CLONE_THREAD)), 0)?);
    }
    for flag in NAMESPACES.map(bit) {
        clones.push(when(0, Len::Qword, Is::MaskedEq(flag), flag)?);
    }
    rules.insert(libc::SYS_clone, clones);
    // Limits and priorities of kgen itself: whoever has the same user may change them.
    rules.insert(libc::SYS_prlimit64, vec![when(0, Len::Dword, Is::Ne, 0)?]);
    rules.insert(libc::SYS_setpriority, vec![when(1, Len::Dword, Is::Ne, 0)?]);
    if !policy.may_share {
        for call in OF_ANY_PROCESS {
            rules.insert(*call, vec![when(0, Len::Dword, Is::Ne, 0)?]);
        }
    }
    // A pair has nobody else at its end.
    let other = when(0, Len::Dword, Is::Ne, bit(libc::AF_UNIX))?;
    rules.insert(libc::SYS_socketpair, vec![other]);
    if policy.sockets == Sockets::Unix {
        let other = when(0, Len::Dword, Is::Ne, bit(libc::AF_UNIX))?;
        rules.insert(libc::SYS_socket, vec![other]);
    }
    if !policy.may_change_modes {
        // Without a path it is about an open file, which landlock let through.
        rules.insert(libc::SYS_utimensat, vec![when(1, Len::Qword, Is::Ne, 0)?]);
    }
    let types = [TIOCSTI, TIOCLINUX].map(|request| when(1, Len::Dword, Is::Eq, request));
    rules.insert(libc::SYS_ioctl, types.into_iter().collect::<Result<_, _>>()?);
    Ok(rules)
}
