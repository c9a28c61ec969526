//! A folder with two small ops, and kgen in it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::server::{Answer, Server, chat};

/// Time that everything has that should happen at once: the machine may be busy.
const SOON: Duration = Duration::from_secs(60);

/// Returns the op file of `name`, which computes `out = factor * x` in one case of five elements.
fn op_file(name: &str, factor: u32) -> String {
    format!(
        "format = 1\nname = \"{name}\"\nsemantics = \"out = {factor} * x\"\ndtypes = [\"f32\"]\n\
         [tensors]\nx = \"[n]\"\n[outputs]\nout = \"the result\"\n[reference]\n\
         graph = \"out = mul(x, other={factor})\"\n[[cases]]\nn = 5\ndistributions = [\"normal\"]\n"
    )
}

/// Returns a reply with a kernel that multiplies by a factor.
pub(crate) fn reply(factor: u32) -> String {
    format!(
        "Here it is.\n\n```cuda\n/*@plan\nlaunch(\"k\", grid=1, block=32, args=[x, out, x.numel])\n@*/\n\
         extern \"C\" __global__ void k(const float* x, float* y, long long n) {{\n\
         \x20 if (threadIdx.x < n) y[threadIdx.x] = {factor} * x[threadIdx.x];\n}}\n```\n"
    )
}

/// Returns the right reply to the prompt of either op.
pub(crate) fn right(prompt: &str) -> Vec<u8> {
    chat(&reply(if prompt.contains("thrice") { 3 } else { 2 }))
}

/// A finished or killed command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    /// Returns all that was printed.
    pub(crate) fn said(&self) -> String {
        format!("{}\n{}", self.out, self.err)
    }
}

pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) env: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("twice.toml", &op_file("twice", 2));
        write("thrice.toml", &op_file("thrice", 3));
        write(
            "two.toml",
            "format = 1\nname = \"two\"\n[[ops]]\nop_file = \"twice.toml\"\n[[ops]]\n\
             op_file = \"thrice.toml\"\n",
        );
        Self { folder, env: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn run_folder(&self) -> PathBuf {
        self.path().join("generated_kernels/r")
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_kgen"), args)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the test signals kgen, so it must have its process"
    )]
    fn program(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(name);
        let (out, err) = (self.path().join("out"), self.path().join("err"));
        command.current_dir(self.path()).args(args).env_clear();
        command.env("HOME", self.path()).env("KGEN_CACHE_DIR", cache());
        command.env("KGEN_DEVICE_DEVICE", "emu").env("KGEN_DEVICE_JOBS", "1");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        for (name, value) in std::env::vars_os() {
            if ["PATH", "LD_LIBRARY_PATH", "KGEN_NVRTC"].iter().any(|kept| name == *kept) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::null());
        command.stdout(fs::File::create(out).unwrap()).stderr(fs::File::create(err).unwrap());
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running<'_> {
        Running { bench: self, child: self.command(args).spawn().unwrap() }
    }

    /// Starts a command as `nohup` does.
    pub(crate) fn start_without_hangup(&self, args: &[&str]) -> Running<'_> {
        let script = "trap '' HUP; exec \"$0\" \"$@\"";
        let args = [&["-c", script, env!("CARGO_BIN_EXE_kgen")], args].concat();
        Running { bench: self, child: self.program("sh", &args).spawn().unwrap() }
    }

    /// Runs a command to its end.
    pub(crate) fn kgen(&self, args: &[&str]) -> Outcome {
        self.start(args).end()
    }

    /// Returns the arguments that ask a server about the suite of both ops, or about one op.
    pub(crate) fn generate(server: &Server, ops: &str) -> Vec<String> {
        Self::generate_at(&server.url(), ops)
    }

    /// Returns the same for a server of which only the address is known.
    pub(crate) fn generate_at(url: &str, ops: &str) -> Vec<String> {
        let fixed = ["generate", "--provider", "vllm", "--llm-model", "m", "--suite", "two.toml"];
        let rest = ["--ops", ops, "--run-id", "r", "--max-attempts", "1", "--base-url"];
        let mut args: Vec<String> = fixed.iter().chain(&rest).map(|&arg| arg.to_owned()).collect();
        args.push(url.to_owned());
        args
    }

    /// Continues the run against a server that answers well, and solves it with one request.
    pub(crate) fn is_solved_by_one_request(&self, what: &str) {
        let server = Server::start(|_, prompt| Answer::Bytes(right(prompt)));
        let resumed = self.resume(&server);
        assert_eq!((resumed.code, server.n_requests()), (Some(0), 1), "{what}: {}", resumed.said());
    }

    /// Runs `kgen resume` against a server.
    pub(crate) fn resume(&self, server: &Server) -> Outcome {
        self.kgen(&["resume", "r", "--base-url", &server.url()])
    }
}

/// Returns the folder that NVRTC is installed into, once for all tests.
fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let cache = kgen_settings::env::cache_home().unwrap();
        assert_cmd::Command::new(env!("CARGO_BIN_EXE_kgen")).arg("setup").assert().success();
        cache
    })
}

/// A command at work; dropping it kills it.
pub(crate) struct Running<'a> {
    bench: &'a Bench,
    child: Child,
}

impl Running<'_> {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Waits until something holds, while kgen is at work.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn() -> bool) {
        let begin = Instant::now();
        while !holds() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && begin.elapsed() < SOON, "{what}: {ended:?} {}", self.said());
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn said(&self) -> String {
        let read = |name| fs::read(self.bench.path().join(name)).unwrap();
        String::from_utf8_lossy(&[read("out"), read("err")].concat()).into_owned()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Outcome {
        let begin = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(begin.elapsed() < SOON, "it does not end: {}", self.said());
            thread::sleep(Duration::from_millis(5));
        };
        let read = |name| {
            String::from_utf8_lossy(&fs::read(self.bench.path().join(name)).unwrap()).into_owned()
        };
        Outcome { code, out: read("out"), err: read("err") }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns arguments as those who call commands want them.
pub(crate) fn strs(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}
