//! The attempts to get out. Each returns `Ok` where it succeeded, and does no harm then.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    net::{TcpStream, UdpSocket},
    os::{
        fd::{AsRawFd as _, FromRawFd as _},
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{FileExt as _, PermissionsExt as _, symlink},
            net::{SocketAddr, UnixStream},
        },
    },
    path::{Path, PathBuf},
};

use nix::{errno::Errno, libc, sys::memfd, unistd::getppid};

/// The scene, as a prisoner knows it.
pub(super) struct Told {
    pub(super) own: PathBuf,
    other: PathBuf,
    root: PathBuf,
    pub(super) toolchain: PathBuf,
    port: u16,
    socket: PathBuf,
    hidden: String,
    sibling: i32,
    secret_at: u64,
}

impl Told {
    pub(super) fn read(next: &mut dyn FnMut() -> String, is_alone: bool) -> Self {
        let number = |text: String| text.parse::<u64>().unwrap_or(0);
        let small = |number: u64| i32::try_from(number).unwrap();
        Self {
            own: next().into(),
            other: next().into(),
            root: next().into(),
            toolchain: next().into(),
            port: u16::try_from(number(next())).unwrap(),
            socket: next().into(),
            hidden: next(),
            sibling: if is_alone { 0 } else { small(number(next())) },
            secret_at: if is_alone { 0 } else { number(next()) },
        }
    }
}

/// The walls that hold an attempt back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walls {
    /// Those of every process.
    All,
    /// As `All`; without a wall some systems refuse it too, to all but root.
    Privileges,
    /// Those of workers: Python reads and starts what it likes.
    Workers,
    /// Those of cpu workers: a driver needs it.
    Cpu,
}

impl Walls {
    pub(super) fn gpu_is_open(self) -> bool {
        self == Self::Cpu
    }

    pub(super) fn python_is_open(self) -> bool {
        matches!(self, Self::Workers | Self::Cpu)
    }
}

pub(super) struct Attempt {
    pub(super) name: &'static str,
    pub(super) walls: Walls,
    pub(super) act: fn(&Told) -> io::Result<()>,
}

const fn attempt(name: &'static str, walls: Walls, act: fn(&Told) -> io::Result<()>) -> Attempt {
    Attempt { name, walls, act }
}

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("read /etc/passwd", Walls::Workers, |_| read("/etc/passwd".as_ref())),
    attempt("list /", Walls::Workers, |_| fs::read_dir("/").map(drop)),
    attempt("list the folder around its own", Walls::Workers, |told| {
        fs::read_dir(&told.root).map(drop)
    }),
    attempt("read another worker's folder", Walls::Workers, |told| {
        read(&told.other.join("secret"))
    }),
    attempt("read by a link", Walls::Workers, |told| {
        let link = told.own.join("link");
        drop(fs::remove_file(&link));
        symlink("/etc/passwd", &link)?;
        read(&link)
    }),
    attempt("read by dots", Walls::Workers, |told| fs::read_dir(told.own.join("../..")).map(drop)),
    attempt("read the parent's variables", Walls::All, |_| {
        read(Path::new(&format!("/proc/{}/environ", getppid())))
    }),
    attempt("write beside its folder", Walls::All, |told| {
        File::create(told.root.join("beside")).map(drop)
    }),
    attempt("write into another worker's folder", Walls::All, |told| {
        File::create(told.other.join("planted")).map(drop)
    }),
    attempt("write by a link", Walls::All, |told| {
        let link = told.own.join("folder");
        drop(fs::remove_file(&link));
        symlink(&told.root, &link)?;
        File::create(link.join("by-link")).map(drop)
    }),
    attempt("move a file out", Walls::All, |told| {
        fs::write(told.own.join("mine"), "x")?;
        fs::rename(told.own.join("mine"), told.root.join("moved"))
    }),
    attempt("link a file out", Walls::All, |told| {
        fs::write(told.own.join("mine"), "x")?;
        drop(fs::remove_file(told.root.join("linked")));
        fs::hard_link(told.own.join("mine"), told.root.join("linked"))
    }),
    attempt("write into the toolchain", Walls::All, |told| {
        let file = told.toolchain.join("libnvrtc.so");
        OpenOptions::new().append(true).open(file).map(drop)
    }),
    attempt("cut a file of the toolchain", Walls::All, |told| {
        let path = CString::new(told.toolchain.join("libnvrtc.so").to_str().unwrap()).unwrap();
        // SAFETY: a path that ends in a null byte.
        check(unsafe { libc::truncate(path.as_ptr(), 7) }.into())
    }),
    attempt("change the mode of a file", Walls::Workers, |told| {
        let mode = fs::Permissions::from_mode(0o644);
        fs::set_permissions(told.toolchain.join("libnvrtc.so"), mode)
    }),
    attempt("write in /dev/shm", Walls::All, |_| plant("/dev/shm")),
    attempt("write in /tmp", Walls::All, |_| plant("/tmp")),
    attempt("write in /var/tmp", Walls::All, |_| plant("/var/tmp")),
    attempt("change its score for want of memory", Walls::Cpu, |_| {
        fs::write("/proc/self/oom_score_adj", "0")
    }),
    attempt("connect by TCP", Walls::All, |told| {
        TcpStream::connect(("127.0.0.1", told.port)).map(drop)
    }),
    attempt("send by UDP", Walls::All, |_| {
        UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", "127.0.0.1:9").map(drop)
    }),
    attempt("connect to a socket by its path", Walls::Cpu, |told| {
        UnixStream::connect(&told.socket).map(drop)
    }),
    attempt("connect to a hidden socket", Walls::Cpu, |told| {
        UnixStream::connect_addr(&SocketAddr::from_abstract_name(&told.hidden)?).map(drop)
    }),
    attempt("fork", Walls::Workers, |_| {
        bomb(|| {
            // SAFETY: the child does nothing but end.
            i64::from(unsafe { libc::fork() })
        })
    }),
    attempt("clone", Walls::Workers, |_| {
        bomb(|| {
            // SAFETY: as a fork, whose child does nothing but end.
            unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) }
        })
    }),
    attempt("clone into a user namespace", Walls::Privileges, |_| {
        bomb(|| {
            let flags = libc::SIGCHLD | libc::CLONE_NEWUSER;
            // SAFETY: as a fork, whose child does nothing but end.
            unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) }
        })
    }),
    attempt("run a shell", Walls::Workers, |_| execute(c"/bin/sh")),
    attempt("run a script of its own", Walls::Workers, |told| {
        let path = told.own.join("script");
        // Made with its mode: one cannot be given later.
        let mut file = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(
            file.create(true).truncate(true).write(true),
            0o755,
        );
        file.open(&path)?.write_all(b"#!/bin/sh\nexit 0\n")?;
        execute(&CString::new(path.to_str().unwrap()).unwrap())
    }),
    attempt("run itself", Walls::Workers, |_| execute(c"/proc/self/exe")),
    attempt("run a file in memory", Walls::Workers, |_| {
        let file = memfd::memfd_create(c"program", memfd::MFdFlags::empty())?;
        File::from(file.try_clone()?).write_all(b"#!/bin/true\n")?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        execute(&CString::new(path).unwrap())
    }),
    attempt("trace a sibling", Walls::Privileges, |told| {
        // SAFETY: attaches without stopping, and lets go at once.
        check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, told.sibling, 0, 0) })?;
        stop_and_let_go(told.sibling)
    }),
    attempt("read a sibling's memory by its file", Walls::Privileges, |told| {
        let mut bytes = [0; 6];
        let memory = File::open(format!("/proc/{}/mem", told.sibling))?;
        memory.read_exact_at(&mut bytes, told.secret_at)
    }),
    attempt("read a sibling's memory by a call", Walls::Privileges, |told| {
        let mut bytes = [0_u8; 6];
        let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 6 };
        let there = libc::iovec { iov_base: told.secret_at as *mut _, iov_len: 6 };
        // SAFETY: the kernel writes six bytes into this frame.
        let n = unsafe { libc::process_vm_readv(told.sibling, &here, 1, &there, 1, 0) };
        check(if n == 6 { 0 } else { -1 })
    }),
    attempt("read a sibling's variables", Walls::Privileges, |told| {
        read(Path::new(&format!("/proc/{}/environ", told.sibling)))
    }),
    attempt("take a sibling's descriptor", Walls::Privileges, |told| {
        // SAFETY: system calls on numbers.
        unsafe {
            let of = libc::syscall(libc::SYS_pidfd_open, told.sibling, 0);
            check(of.min(0))?;
            check(libc::syscall(libc::SYS_pidfd_getfd, of, 0, 0).min(0))
        }
    }),
    attempt("signal a sibling", Walls::All, |told| {
        // SAFETY: asks whether a signal could be sent.
        check(unsafe { libc::kill(told.sibling, 0) }.into())
    }),
    attempt("signal the parent", Walls::All, |_| {
        // SAFETY: asks whether a signal could be sent.
        check(unsafe { libc::kill(getppid().as_raw(), 0) }.into())
    }),
    attempt("limit the parent", Walls::All, |_| {
        // SAFETY: asks for a limit and changes none.
        let status = unsafe {
            let mut limit: libc::rlimit64 = std::mem::zeroed();
            let number = libc::RLIMIT_NOFILE;
            libc::prlimit64(getppid().as_raw(), number, std::ptr::null(), &raw mut limit)
        };
        check(status.into())
    }),
    attempt("slow the parent down", Walls::Privileges, |_| {
        // SAFETY: gives the parent the priority that it has.
        check(
            unsafe { libc::setpriority(libc::PRIO_PROCESS, getppid().as_raw().cast_unsigned(), 0) }
                .into(),
        )
    }),
    attempt("make a file without end", Walls::Workers, |told| {
        // SAFETY: the signal of the limit becomes an error.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let file = File::create(told.own.join("large"))?;
        let made = file.set_len(65 << 30);
        drop(fs::remove_file(told.own.join("large")));
        made
    }),
    attempt("share memory", Walls::Cpu, |_| {
        // SAFETY: a segment that is marked for removal at once.
        unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, 4096, 0o600);
            check(i64::from(id).min(0))?;
            check(libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()).into())
        }
    }),
    attempt("ask for a personality", Walls::Privileges, |_| {
        call(libc::SYS_personality, [0xffff_ffff, 0, 0])
    }),
    attempt("make a ring", Walls::Privileges, |_| call(libc::SYS_io_uring_setup, [0, 0, 0])),
    attempt("enter a namespace", Walls::Privileges, |_| call(libc::SYS_setns, [-1, 0, 0])),
    attempt("leave namespaces", Walls::Privileges, |_| call(libc::SYS_unshare, [0, 0, 0])),
    attempt("load a kernel's program", Walls::Privileges, |_| call(libc::SYS_bpf, [-1, 0, 0])),
    attempt("count events", Walls::Privileges, |_| call(libc::SYS_perf_event_open, [0, 0, -1])),
    attempt("catch faults", Walls::Privileges, |_| call(libc::SYS_userfaultfd, [-1, 0, 0])),
    attempt("read a key", Walls::Privileges, |_| call(libc::SYS_keyctl, [-1, 0, 0])),
    attempt("mount", Walls::Privileges, |_| call(libc::SYS_mount, [0, 0, 0])),
    attempt("unmount", Walls::Privileges, |_| call(libc::SYS_umount2, [0, 0, 0])),
    attempt("turn the root", Walls::Privileges, |_| call(libc::SYS_pivot_root, [0, 0, 0])),
    attempt("change the root", Walls::Privileges, |_| call(libc::SYS_chroot, [0, 0, 0])),
    attempt("load a module", Walls::Privileges, |_| call(libc::SYS_finit_module, [-1, 0, 0])),
    attempt("load a kernel", Walls::Privileges, |_| call(libc::SYS_kexec_load, [0, 0, 0])),
    attempt("open by a handle", Walls::Privileges, |_| {
        call(libc::SYS_open_by_handle_at, [-1, 0, 0])
    }),
    attempt("make a device", Walls::Privileges, |_| call(libc::SYS_mknodat, [-1, 0, 0])),
    attempt("restart the machine", Walls::Privileges, |_| call(libc::SYS_reboot, [0, 0, 0])),
    attempt("set the clock", Walls::Privileges, |_| call(libc::SYS_settimeofday, [1, 0, 0])),
    attempt("type into a terminal", Walls::Privileges, |_| call(libc::SYS_ioctl, [-1, 0x5412, 0])),
];

fn check(status: libc::c_long) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn read(path: &Path) -> io::Result<()> {
    File::open(path)?.read_exact(&mut [0; 1])
}

fn plant(folder: &str) -> io::Result<()> {
    tempfile::Builder::new().prefix("kgen-escape-").tempfile_in(folder).map(drop)
}

/// Forks as often as it can, up to a number that harms nobody.
fn bomb(fork: impl Fn() -> libc::c_long) -> io::Result<()> {
    let mut made = Err(io::ErrorKind::PermissionDenied.into());
    for _ in 0..20 {
        match fork() {
            // SAFETY: ends the child at once.
            0 => unsafe { libc::_exit(0) },
            child if 0 < child => {
                // SAFETY: waits for a child of this process.
                unsafe { libc::waitpid(i32::try_from(child).unwrap(), std::ptr::null_mut(), 0) };
                made = Ok(());
            }
            _ => {}
        }
    }
    made
}

/// Tries to become another program, in a child where there can be one.
fn execute(path: &std::ffi::CStr) -> io::Result<()> {
    let args = [path.as_ptr(), c"--help".as_ptr(), std::ptr::null()];
    let become_it = || {
        // SAFETY: paths and lists that end as they must.
        unsafe { libc::execv(path.as_ptr(), args.as_ptr()) };
        io::Error::last_os_error()
    };
    // SAFETY: the child closes its streams, becomes another program or ends.
    match unsafe { libc::fork() } {
        -1 => Err(become_it()),
        0 => {
            // SAFETY: as above.
            unsafe {
                libc::syscall(libc::SYS_close_range, 0, 2, 0);
                drop(become_it());
                libc::_exit(99)
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: waits for a child of this process.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            let refused = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 99;
            if refused { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
        }
    }
}

/// Stops a traced process and lets go of it.
fn stop_and_let_go(process: libc::pid_t) -> io::Result<()> {
    // SAFETY: system calls on a process that this one traces.
    unsafe {
        check(libc::ptrace(libc::PTRACE_INTERRUPT, process, 0, 0))?;
        libc::waitpid(process, std::ptr::null_mut(), libc::__WALL);
        check(libc::ptrace(libc::PTRACE_DETACH, process, 0, 0))
    }
}

/// Makes a call with arguments that mean nothing: whether it is refused is all that counts.
fn call(number: libc::c_long, [a, b, c]: [i64; 3]) -> io::Result<()> {
    // SAFETY: no pointer among the arguments is one that the kernel could read or write.
    let status = unsafe { libc::syscall(number, a, b, c, -1, 0) };
    if status < 0 && Errno::last() == Errno::EPERM {
        return Err(Errno::EPERM.into());
    }
    if 0 <= status && [libc::SYS_userfaultfd, libc::SYS_io_uring_setup].contains(&number) {
        // SAFETY: a descriptor that was just made.
        drop(unsafe { File::from_raw_fd(i32::try_from(status).unwrap()) });
    }
    Ok(())
}

/// Does what a worker must be able to; says what did not work.
pub(super) fn needs(told: &Told, say: &dyn Fn(&str)) {
    let works = |name: &str, done: io::Result<()>| {
        if let Err(error) = done {
            say(&format!("{name}: {error}"));
        }
    };
    let file = told.own.join("file");
    works("write", fs::write(&file, "text"));
    works("read", read(&file));
    works("rename", fs::rename(&file, told.own.join("renamed")));
    works("make a folder", fs::create_dir(told.own.join("deep")));
    works("remove", fs::remove_file(told.own.join("renamed")));
    works("a scratch file", tempfile::tempfile_in(&told.own).map(drop));
    works(
        "a time",
        File::create(&file).and_then(|file| file.set_modified(std::time::SystemTime::now())),
    );
    works("the toolchain", read(&told.toolchain.join("libnvrtc.so")));
    works("its status", read("/proc/self/status".as_ref()));
    works("random numbers", read("/dev/urandom".as_ref()));
    works("/dev/null", fs::write("/dev/null", "x"));
    works(
        "a thread",
        std::thread::Builder::new().spawn(|| ()).map(|thread| thread.join().unwrap()),
    );
    works("cores", std::thread::available_parallelism().map(drop));
    let memory =
        memfd::memfd_create(c"alias", memfd::MFdFlags::MFD_CLOEXEC).map_err(io::Error::from);
    works(
        "memory by its path",
        memory.and_then(|file| File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).map(drop)),
    );
}
