//! A process behind the policy of each kind of worker tries to get out; without the wall it does get out.
//!
//! The prisoner is this very test program, which reads its part from standard input. It enters the wall on its
//! only thread.

mod attempts;

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::{
        fd::FromRawFd as _,
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    path::Path,
    sync::Arc,
};

use attempts::{ATTEMPTS, Attempt, Walls};
use nix::{
    libc,
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork},
};

use super::{Namespaces, Places, Policy, Wall, user_namespace};
use crate::{Child, Scratch, Spec, spawn};

/// The lines that a prisoner reads, and the files and sockets that they name.
struct Scene {
    _root: tempfile::TempDir,
    own: Scratch,
    other: Scratch,
    lines: Vec<String>,
    _tcp: TcpListener,
    _sockets: [UnixListener; 2],
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let scratch = || Scratch::new("worker", Some(root.path())).unwrap();
        let (own, other) = (scratch(), scratch());
        fs::write(other.path().join("secret"), "secret").unwrap();
        let toolchain = root.path().join("toolchain");
        fs::create_dir(&toolchain).unwrap();
        fs::write(toolchain.join("libnvrtc.so"), "library").unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = root.path().join("socket");
        let name = format!("kgen-test-{}", root.path().display());
        let hidden = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets =
            [UnixListener::bind(&path).unwrap(), UnixListener::bind_addr(&hidden).unwrap()];
        let text = |path: &Path| path.display().to_string();
        let lines = vec![
            text(own.path()),
            text(other.path()),
            text(root.path()),
            text(&toolchain),
            tcp.local_addr().unwrap().port().to_string(),
            text(&path),
            name,
        ];
        Self { _root: root, own, other, lines, _tcp: tcp, _sockets: sockets }
    }
}

/// Opens a file as a careless program would that starts kgen.
fn without_cloexec(path: &Path) -> File {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends in a null byte, and a descriptor that nobody else has.
    unsafe { File::from_raw_fd(libc::open(path.as_ptr(), libc::O_RDONLY)) }
}

/// Starts a prisoner, and returns it with what it prints.
fn prisoner(
    kind: &str,
    dir: &Path,
    lines: &[String],
    namespaces: Option<Namespaces>,
) -> (Child, impl Iterator<Item = String> + use<>) {
    let args =
        ["sandbox::tests::prison", "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let mut spec = Spec::new(std::env::current_exe().unwrap(), dir).args(args);
    spec.namespaces = namespaces;
    let mut child = spawn(&spec).unwrap();
    let text = format!("{kind}\n{}\n", lines.join("\n"));
    child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said = said.filter_map(|line| Some(line.split_once("PRISONER ")?.1.to_owned()));
    (child, said)
}

/// Lets a prisoner try everything beside a sibling of its kind; returns those attempts that succeeded.
fn escapes(kind: &str) -> Vec<String> {
    let scene = Scene::new();
    let allowed = Namespaces::where_allowed().filter(|_| kind == "cpu");
    let (sibling, mut said) =
        prisoner(&format!("sibling-{kind}"), scene.other.path(), &scene.lines, allowed.clone());
    let line = said.next().unwrap();
    let (process, address) = line.split_once(' ').unwrap();
    let told = [scene.lines.clone(), vec![process.to_owned(), address.to_owned()]].concat();
    let (child, said) = prisoner(kind, scene.own.path(), &told, allowed);
    let said: Vec<String> = said.collect();
    assert!(
        child.wait_timeout(std::time::Duration::from_secs(30)).unwrap().is_success(),
        "{said:?}"
    );
    assert_eq!(said.last().map(String::as_str), Some("end"), "{said:?}");
    assert_eq!(sibling.status(), None, "it was killed");
    said.iter().filter_map(|line| Some(line.strip_prefix("escaped ")?.to_owned())).collect()
}

fn expected(free: impl Fn(&Attempt) -> bool) -> Vec<String> {
    ATTEMPTS.iter().filter(|attempt| free(attempt)).map(|attempt| attempt.name.to_owned()).collect()
}

#[test]
fn a_cpu_worker_does_not_get_out() {
    assert_eq!(escapes("cpu"), Vec::<String>::new());
}

#[test]
fn a_gpu_worker_does_not_get_out_but_by_sockets_of_the_machine() {
    assert_eq!(escapes("gpu"), expected(|attempt| attempt.walls.gpu_is_open()));
}

#[test]
fn a_python_process_writes_nowhere_else_and_has_no_network() {
    assert_eq!(escapes("python"), expected(|attempt| attempt.walls.python_is_open()));
}

#[test]
fn without_the_wall_every_attempt_succeeds() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let is_free = nix::unistd::geteuid().is_root() && status.contains("Seccomp:\t0");
    let possible = expected(|attempt| is_free || attempt.walls != Walls::Privileges);
    let found = escapes("none");
    let missing: Vec<_> = possible.iter().filter(|name| !found.contains(name)).collect();
    assert!(missing.is_empty(), "refused without a wall: {missing:?}");
}

#[test]
fn what_a_worker_needs_goes_on_working() {
    let scene = Scene::new();
    let (child, said) = prisoner("works", scene.own.path(), &scene.lines, None);
    let said: Vec<String> = said.collect();
    assert_eq!(said, ["end"], "{said:?}");
    assert!(child.wait_timeout(std::time::Duration::from_secs(30)).unwrap().is_success());
}

#[test]
fn a_worker_has_namespaces_of_its_own_where_the_system_allows_them() {
    let Some(namespaces) = Namespaces::where_allowed() else { return };
    let dir = tempfile::tempdir().unwrap();
    let here = user_namespace().unwrap().display().to_string();
    for (namespaces, differs) in [(Some(namespaces), true), (None, false)] {
        let (_child, mut said) = prisoner("namespace", dir.path(), &[], namespaces);
        assert_eq!(said.next().unwrap() != here, differs);
    }
}

#[test]
fn programs_of_a_server_run_and_no_others() {
    let scene = Scene::new();
    let (_child, said) = prisoner("server", scene.own.path(), &scene.lines, None);
    let said: Vec<String> = said.collect();
    assert_eq!(said, ["echo: ran", "sh: refused", "end"]);
}

#[test]
fn descriptors_of_a_careless_parent_are_closed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret"), "secret").unwrap();
    let open = without_cloexec(&dir.path().join("secret"));
    let list = ["-c", "for file in /proc/$$/fd/*; do readlink $file; done"];
    let output = crate::run(&Spec::new("/bin/sh", dir.path()).args(list)).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("/dev/null") && !said.contains("secret"), "{said}");
    drop(open);
}

#[test]
fn a_thread_that_was_there_before_is_reported() {
    let scene = Scene::new();
    let (_child, said) = prisoner("thread", scene.own.path(), &scene.lines, None);
    let said: Vec<String> = said.collect();
    assert_eq!(said, ["files of 1 threads started before", "end"]);
}

#[test]
fn a_kernel_without_landlock_is_named() {
    let mut wall = Wall::new(&Policy::default());
    wall.abi = 0;
    wall.ruleset = super::files::ruleset(&Policy::default(), 0);
    assert_eq!(wall.missing(), ["landlock (the kernel has none)"]);
    let old = super::files::missing(4);
    assert_eq!(old.len(), 2);
    assert_eq!(old[1], "landlock of signals (the kernel has ABI 4, not 6)");
}

/// The policy of a kind of process in a scene; `None` is no wall.
fn policy(kind: &str, own: &Path, toolchain: &Path) -> Option<Policy> {
    let exe = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let places = Places {
        read: vec![toolchain.to_owned(), exe],
        write: vec![own.to_owned()],
        ..Places::default()
    };
    match kind {
        "cpu" | "works" | "thread" => Some(Policy::cpu_worker(&places, false)),
        "gpu" => Some(Policy::gpu_worker(&places)),
        "python" => Some(Policy::python(vec![own.to_owned()])),
        _ => None,
    }
}

/// Not a test: the prisoner of the others, in a copy of this process that has one thread.
#[test]
#[ignore = "a part of other tests"]
fn prison() {
    // SAFETY: the other thread of the test program waits for this one and holds no lock.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let code = i32::from(std::panic::catch_unwind(sit).is_err());
            // SAFETY: ends the copy without the handlers of the test program.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
        }
    }
}

fn sit() {
    let mut input = std::io::stdin().lines();
    let mut next = || input.next().transpose().unwrap().unwrap_or_default();
    let kind = next();
    let say = |text: &str| println!("PRISONER {text}");
    if kind == "namespace" {
        return say(&user_namespace().unwrap().display().to_string());
    }
    let is_alone = kind.starts_with("sibling") || ["works", "server", "thread"].contains(&&*kind);
    let scene = attempts::Told::read(&mut next, is_alone);
    let plain = kind.trim_start_matches("sibling-");
    if kind == "server" {
        return server(&scene, &say);
    }
    let thread = (kind == "thread").then(|| std::thread::spawn(std::thread::park));
    let report =
        policy(plain, &scene.own, &scene.toolchain).map(|policy| Wall::new(&policy).enter());
    if let Some(report) = &report
        && kind != "thread"
    {
        assert_eq!(report.missing, Vec::<String>::new());
        assert_eq!(report.held.len(), 4, "{report:?}");
    }
    match kind.as_str() {
        "works" => attempts::needs(&scene, &say),
        "thread" => report.unwrap().missing.iter().for_each(|part| say(part)),
        _ if kind.starts_with("sibling") => {
            let secret = std::hint::black_box(*b"secret");
            say(&format!("{} {}", std::process::id(), secret.as_ptr().addr()));
            drop(next());
            return;
        }
        _ => {
            for attempt in ATTEMPTS {
                if (attempt.act)(&scene).is_ok() {
                    say(&format!("escaped {}", attempt.name));
                }
            }
        }
    }
    drop(thread);
    say("end");
}

fn server(scene: &attempts::Told, say: &dyn Fn(&str)) {
    let echo = fs::canonicalize("/bin/echo").unwrap();
    let places = Places {
        read: vec![scene.toolchain.clone()],
        write: vec![scene.own.clone()],
        ..Places::default()
    };
    let own = scene.own.clone();
    let server = super::Server::start(move || {
        let program = Arc::new(Wall::new(&Policy::program(&places, vec![echo.clone()])));
        let report = Wall::new(&Policy::server(&places, vec![echo])).enter();
        assert_eq!(report.missing, Vec::<String>::new());
        move |job| {
            let mut spec = Spec::new(String::from_utf8(job).unwrap(), &own).args(["-c", ":"]);
            spec.wall = Some(Arc::clone(&program));
            let ran = crate::run(&spec).is_ok_and(|output| output.status.is_success());
            if ran { b"ran".to_vec() } else { b"refused".to_vec() }
        }
    });
    let server = server.unwrap();
    for (name, path) in [("echo", "/bin/echo"), ("sh", "/bin/sh")] {
        let answer = server.ask(path.as_bytes()).unwrap();
        say(&format!("{name}: {}", String::from_utf8(answer).unwrap()));
    }
    say("end");
}
