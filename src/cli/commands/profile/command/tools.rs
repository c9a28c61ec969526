//! The tools that profile commands: where they are, how they are called, how to get and permit them.

use std::{
    ffi::OsString,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use kgen_compile::find_tool;
use kgen_profile::{perf, report::Tool, xctrace};

/// Runs a command and keeps its exit code in a file, whatever the tool does with it, behind a file that says when
/// it began.
const WRAPPER: &str =
    r#"file=$1; shift; : >"$file.begun"; "$@"; code=$?; echo $code >"$file"; exit $code"#;

/// File of the exit code in the folder of a profile.
pub(super) const EXIT_CODE: &str = "exit_code";

/// File whose time is that of the command's beginning, as the time of [`EXIT_CODE`] is that of its end.
pub(super) const BEGUN: &str = "exit_code.begun";

/// File of [`TORCH_TRACE`] in the folder of a profile.
pub(super) const TORCH_TRACER: &str = "torch_trace.py";

/// The program that runs a Python program under `torch.profiler`.
pub(super) const TORCH_TRACE: &str = include_str!("../../../../../python/profile/torch_trace.py");

/// File of the version of PyTorch in the folder of a profile.
pub(super) const TORCH_VERSION: &str = "torch_version";

/// File whose time is that of the end of a program below [`TORCH_TRACE`], which then writes its trace.
pub(super) const TORCH_ENDED: &str = "torch_ended";

/// Samples per second; not a round number, or samples fall on what a timer does.
const SAMPLES_PER_SECOND: &str = "499";

/// Returns the seconds between SIGINT and SIGKILL where `timeout` ends the command: `torch.profiler` writes its trace inside
/// of it, which takes minutes where it is large.
pub(super) const fn grace_s(tool: Tool) -> u64 {
    match tool {
        Tool::Torch => 300,
        Tool::Nsys | Tool::Ncu | Tool::Perf | Tool::Xctrace => 10,
    }
}

/// Folders of NVIDIA's packages, newest last.
const NSIGHT: [(&str, &str); 4] = [
    ("ncu", "/opt/nvidia/nsight-compute/*/ncu"),
    ("ncu", "/usr/local/cuda-*/bin/ncu"),
    ("nsys", "/opt/nvidia/nsight-systems/*/bin/nsys"),
    ("nsys", "/opt/nvidia/nsight-systems/*/target-linux-x64/nsys"),
];

/// Returns the tool that suits the machine.
pub(super) fn of_machine() -> Tool {
    if cfg!(target_os = "macos") {
        Tool::Xctrace
    } else if Path::new("/dev/nvidia0").exists() && find(Tool::Nsys).is_some() {
        Tool::Nsys
    } else {
        Tool::Perf
    }
}

/// Finds a tool's program. `torch` has none: it is a module of the command's own Python.
pub(super) fn find(tool: Tool) -> Option<PathBuf> {
    let name = if tool == Tool::Xctrace { "xcrun" } else { tool.name() };
    let newest = |pattern: &str| glob::glob(pattern).ok()?.filter_map(Result::ok).last();
    find_tool(name).or_else(|| {
        let patterns = NSIGHT.iter().filter(|(own, _)| *own == name);
        patterns.filter_map(|(_, pattern)| newest(pattern)).next_back()
    })
}

/// Says how to get a tool.
pub(super) const fn how_to_get(tool: Tool) -> &'static str {
    match tool {
        Tool::Perf => {
            "install it: `apt install linux-perf` on Debian, `linux-tools-common linux-tools-$(uname -r)` on \
             Ubuntu, `dnf install perf` on Fedora"
        }
        Tool::Nsys => {
            "install NVIDIA's package nsight-systems (`apt install nsight-systems` from the CUDA repository); a \
             CUDA toolkit has it in its bin folder"
        }
        Tool::Ncu => {
            "install NVIDIA's package nsight-compute (`apt install nsight-compute-13-0`, or of your CUDA \
             version); a CUDA toolkit has it in its bin folder"
        }
        Tool::Xctrace => {
            "it comes with Xcode, on macOS alone; `kgen profile --read FILE.xml` reads its exports anywhere"
        }
        Tool::Torch => "`pip install torch` into the Python that the command starts",
    }
}

/// Texts by which tools say that they are not permitted, each with how to permit it.
const REFUSALS: [(&str, &str); 4] = [
    (
        "perf_event_paranoid",
        "`sysctl kernel.perf_event_paranoid=1` as root permits it; a container needs --cap-add=PERFMON",
    ),
    (
        "No permission to enable",
        "`sysctl kernel.perf_event_paranoid=1` as root permits it; a container needs --cap-add=PERFMON",
    ),
    (
        "ERR_NVGPUCTRPERM",
        "run as root, in a container with --cap-add=SYS_ADMIN, or load the driver with \
         NVreg_RestrictProfilingToAdminUsers=0",
    ),
    (
        "Operation not permitted",
        "run as root, or in a container with --cap-add=SYS_ADMIN --cap-add=PERFMON --security-opt seccomp=unconfined",
    ),
];

/// Says how to permit a tool, where its messages say that it is not.
pub(super) fn how_to_permit(messages: &str) -> Option<&'static str> {
    REFUSALS.iter().find(|(text, _)| messages.contains(text)).map(|(_, remedy)| *remedy)
}

/// A recording to make.
pub(super) struct Recording<'a> {
    pub(super) tool: Tool,
    /// The tool's program.
    pub(super) program: &'a Path,
    /// Folder of the profile, an absolute path.
    pub(super) out: &'a Path,
    pub(super) command: &'a [OsString],
    /// Seconds after which the command is ended, and the `timeout` of coreutils that does it: the tool is then none
    /// the wiser, and its report whole.
    pub(super) timeout: Option<(&'a Path, f64)>,
    /// Launches of kernels after which ncu profiles no more.
    pub(super) launches: Option<NonZeroU32>,
}

impl Recording<'_> {
    /// Returns the file of the raw report.
    pub(super) fn file(&self) -> PathBuf {
        let name = match self.tool {
            Tool::Nsys => "report.nsys-rep",
            Tool::Ncu => "report.ncu-rep",
            Tool::Perf => "perf.data",
            Tool::Xctrace => "report.trace",
            Tool::Torch => "trace.json.gz",
        };
        self.out.join(name)
    }

    /// Returns the program to start and its arguments.
    ///
    /// # Errors
    ///
    /// In one sentence, where the tool cannot profile such a command.
    pub(super) fn words(&self) -> Result<Vec<OsString>, String> {
        let file = || OsString::from(self.file());
        let own = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let tool: Vec<OsString> = match self.tool {
            Tool::Perf => {
                let stat = self.out.join("stat.csv");
                let record = ["record", "-q", "-B", "-N", "-g", "-F", SAMPLES_PER_SECOND, "-o"];
                let events = perf::EVENTS.join(",");
                // Counters inside of the samples: perf's own work is in neither.
                [
                    vec![self.program.into()],
                    own(&record),
                    vec![file(), "--".into(), self.program.into()],
                    own(&["stat", "-x", ";", "-e", &events, "-o"]),
                    vec![stat.into(), "--".into()],
                ]
                .concat()
            }
            Tool::Nsys => {
                let flags = ["profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none"];
                let target = own(&["--force-overwrite=true", "-o"]);
                [vec![self.program.into()], own(&flags), target, vec![file()]].concat()
            }
            Tool::Ncu => {
                let flags = ["-f", "--target-processes", "all", "--clock-control", "none"];
                let count = self.launches.map(|n| format!("--launch-count={n}").into());
                let set = own(&["--set", "basic", "--section", "WarpStateStats", "-o"]);
                let count = Vec::from_iter(count);
                [vec![self.program.into()], own(&flags), count, set, vec![file()]].concat()
            }
            Tool::Xctrace => {
                let record = ["xctrace", "record", "--template", "Metal System Trace", "--output"];
                let launch = own(&["--target-stdout", "-", "--launch", "--"]);
                let whole = [vec![self.program.into()], own(&record), vec![file()], launch];
                // It watches the process that it starts, and no child of that.
                return Ok([&whole.concat(), self.command].concat());
            }
            Tool::Torch => Vec::new(),
        };
        let command = match self.tool {
            Tool::Torch => torch(self.command, &self.out.join(TORCH_TRACER), &self.file())?,
            _ => self.command.to_vec(),
        };
        Ok([tool, self.wrapper(), command].concat())
    }

    /// Returns the words between the tool and the command.
    fn wrapper(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["sh", "-c", WRAPPER, "kgen"].into_iter().map(OsString::from).collect();
        words.push(self.out.join(EXIT_CODE).into());
        if self.tool == Tool::Perf {
            // Python names its functions to perf, from 3.12 on.
            words.extend(["env", "PYTHONPERFSUPPORT=1"].map(OsString::from));
        }
        if let Some((program, seconds)) = self.timeout {
            words.push(program.into());
            words.extend(["--foreground", "-s", "INT", "-k"].map(OsString::from));
            words
                .extend([grace_s(self.tool).to_string(), format!("{seconds:.3}s")].map(Into::into));
        }
        words
    }
}

/// Options of Python that take the next word.
const WITH_VALUE: [&str; 3] = ["-W", "-X", "--check-hash-based-pycs"];

/// Puts the tracing program between a Python with its options and its program.
fn torch(command: &[OsString], tracer: &Path, trace: &Path) -> Result<Vec<OsString>, String> {
    let name = command.first().map(PathBuf::from);
    let name =
        name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    if !name.is_some_and(|name| name.starts_with("python") || name.starts_with("pypy")) {
        return Err(
            "--tool torch takes a Python program: kgen profile --tool torch -- python FILE.py"
                .to_owned(),
        );
    }
    let mut at = 1;
    while let Some(word) = command.get(at).map(|word| word.to_string_lossy()) {
        if !word.starts_with('-') || ["-", "-m", "-c"].contains(&&*word) {
            break;
        }
        at += if WITH_VALUE.contains(&&*word) { 2 } else { 1 };
    }
    if command.len() <= at || command[at] == *"-" {
        return Err(
            "--tool torch needs a program, `-m MODULE` or `-c CODE` behind the Python".to_owned()
        );
    }
    let (python, program) = command.split_at(at);
    Ok([python, &[tracer.into(), trace.into()], program].concat())
}

/// A command that turns a raw report into text or a database, and the file that it makes: itself, or kgen of its
/// output.
pub(super) struct Export {
    pub(super) args: Vec<OsString>,
    pub(super) file: &'static str,
    pub(super) is_of_output: bool,
    /// Whether the profile is worth something without it.
    pub(super) is_optional: bool,
}

/// Returns the exports of a raw report, the one with the data first.
pub(super) fn exports(tool: Tool, raw: &Path, out: &Path) -> Vec<Export> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let export = |args, file| Export { args, file, is_of_output: true, is_optional: false };
    let raw = raw.as_os_str().to_owned();
    match tool {
        Tool::Perf => {
            let fields = words(&["-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso"]);
            vec![export([words(&["script", "-i"]), vec![raw], fields].concat(), "perf.txt")]
        }
        Tool::Nsys => {
            let target = out.join("report.sqlite").into_os_string();
            let flags = words(&["export", "--type", "sqlite", "--force-overwrite", "true", "-o"]);
            let args = [flags, vec![target, raw]].concat();
            vec![Export { is_of_output: false, ..export(args, "report.sqlite") }]
        }
        Tool::Ncu => {
            let page = |name| {
                let flags = words(&["--page", name, "--csv", "--print-units", "base"]);
                [words(&["--import"]), vec![raw.clone()], flags].concat()
            };
            let details = Export { is_optional: true, ..export(page("details"), "details.csv") };
            vec![export(page("raw"), "raw.csv"), details]
        }
        Tool::Xctrace => {
            let target = out.join("report.xml").into_os_string();
            let from = [words(&["xctrace", "export", "--input"]), vec![raw]].concat();
            let args =
                [from, words(&["--output"]), vec![target], words(&["--xpath", xctrace::XPATH])];
            vec![Export { is_of_output: false, ..export(args.concat(), "report.xml") }]
        }
        Tool::Torch => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn line(tool: Tool, command: &str, timeout: Option<(&Path, f64)>) -> Result<String, String> {
        let command = words(command);
        let (program, out) = (Path::new("/bin/tool"), Path::new("/out"));
        let launches = NonZeroU32::new(3);
        let recording = Recording { tool, program, out, command: &command, timeout, launches };
        let words = recording.words()?;
        Ok(words.join(OsString::from(" ").as_os_str()).into_string().unwrap().replace(WRAPPER, "W"))
    }

    #[test]
    fn a_command_is_started_below_its_tool() {
        let perf = line(Tool::Perf, "a -b", None).unwrap();
        assert!(perf.starts_with("/bin/tool record ") && perf.contains(" -- /bin/tool stat -x ; "));
        assert!(
            perf.ends_with(" -- sh -c W kgen /out/exit_code env PYTHONPERFSUPPORT=1 a -b"),
            "{perf}"
        );
        let timeout = Some((Path::new("/bin/timeout"), 1.5));
        let nsys = line(Tool::Nsys, "a", timeout).unwrap();
        assert!(
            nsys.ends_with("/out/exit_code /bin/timeout --foreground -s INT -k 10 1.500s a"),
            "{nsys}"
        );
        let ncu = line(Tool::Ncu, "a", None).unwrap();
        assert!(ncu.contains(" --launch-count=3 ") && !nsys.contains("launch-count"), "{ncu}");
        let xctrace = line(Tool::Xctrace, "a -b", None).unwrap();
        assert!(xctrace.ends_with("--launch -- a -b"), "{xctrace}");
    }

    #[test]
    fn pythons_options_stay_before_the_tracer() {
        let torch = |command: &str| line(Tool::Torch, command, None);
        let tracer = "/out/torch_trace.py /out/trace.json.gz";
        for (command, python, program) in [
            ("python train.py -x", "python", "train.py -x"),
            ("/v/bin/python3.12 -u -X dev -m pkg a", "/v/bin/python3.12 -u -X dev", "-m pkg a"),
            ("python -c pass", "python", "-c pass"),
        ] {
            let expected = format!("sh -c W kgen /out/exit_code {python} {tracer} {program}");
            assert_eq!(torch(command).unwrap(), expected);
        }
        for command in ["./train", "python", "python -u", "python -"] {
            assert!(torch(command).is_err(), "{command}");
        }
    }

    #[test]
    fn refusals_are_known_by_their_words() {
        let remedy =
            how_to_permit("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission");
        assert!(remedy.unwrap().contains("RestrictProfilingToAdminUsers"));
        let paranoid = "Consider adjusting /proc/sys/kernel/perf_event_paranoid setting";
        assert!(how_to_permit(paranoid).unwrap().contains("sysctl"));
        assert_eq!(how_to_permit("file not found"), None);
    }
}
