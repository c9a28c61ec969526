//! Workers made of shell.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use kgen_compile::Toolchain;
use kgen_eval::Progress;
use kgen_record::{
    Arg, ArgValue, Case, CaseClass, CaseOutcome, CaseResult, DType, EvalRequest, Evaluation, Gen,
    Implementation, InputDistribution, L2, Level, Limits, Profile, Stage, Target, TensorArg,
    TensorSpec, TimingRequest, Verdict, testing,
};
use kgen_settings::DeviceChoice;
use kgen_worker::{
    Pool, PoolConfig,
    protocol::{Hello, Message, PROTOCOL},
};

/// A generous limit for things that happen at once: the machine may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A folder with a script that is a worker.
pub(crate) struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    /// Returns a worker that passes every job but those whose line matches a pattern in `body`,
    /// which holds arms of a shell `case`.
    pub(crate) fn new(body: &str) -> Self {
        Self::with_preamble("cat $dir/hello.$role", body)
    }

    /// Returns a worker that does `preamble` instead of saying hello.
    pub(crate) fn with_preamble(preamble: &str, body: &str) -> Self {
        let fake = Self { dir: tempfile::tempdir().unwrap() };
        let dir = fake.path().display();
        let script = format!(
            r#"dir={dir}; role=$2
echo $$ >> $dir/pids; echo $role >> $dir/roles
stage() {{ cat $dir/stage.$1; }}
case_started() {{ cat $dir/started.$1; }}
case_done() {{ cat $dir/done.$1; }}
finished() {{ seed=${{job##*'"seed":'}}; sed "s/4242/${{seed%%,*}}/" $dir/finished; }}
program() {{ seed=${{job##*'"seed":'}}; sed "s/4242/${{seed%%,*}}/" $dir/finished.program; echo "{{\"program\":\"$1\"}}"; }}
wait_for_ever() {{ while :; do sleep 1000; done; }}
read -r setup; gpu=${{setup##*'"device":'}}; gpu=${{gpu%%[!0-9]*}}
{preamble}
while read -r job; do
  case "$job" in
    {body}
    *) finished;;
  esac
done
"#
        );
        fs::write(fake.path().join("worker.sh"), script).unwrap();
        fake.write_messages();
        fake
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write_messages(&self) {
        let write = |name: &str, message: &Message| {
            let text = serde_json::to_string(message).unwrap();
            fs::write(self.path().join(name), text + "\n").unwrap();
        };
        let hello = |target: Option<Target>, nvrtc: Option<String>| Message::Hello {
            hello: Box::new(Hello {
                protocol: PROTOCOL,
                kgen: "fake".to_owned(),
                target,
                nvrtc,
                session: None,
                sandbox: Some(Default::default()),
            }),
        };
        write("hello.cpu", &hello(None, Some("13.0".to_owned())));
        write("hello.gpu", &hello(Some(gpu(0)), None));
        for index in 0..4 {
            write(&format!("hello.gpu{index}"), &hello(Some(gpu(index)), None));
        }
        let progress = |progress| Message::Progress { progress };
        for stage in [Stage::Guard, Stage::Compile, Stage::Emulate, Stage::Execute, Stage::Time] {
            let name = format!("stage.{}", stage.name());
            write(&name, &progress(Progress::Stage { stage }));
        }
        for (index, case) in passed().cases.into_iter().enumerate() {
            write(&format!("started.{index}"), &progress(Progress::CaseStarted { index }));
            let result = Box::new(case);
            write(&format!("done.{index}"), &progress(Progress::CaseDone { index, result }));
        }
        for (name, program) in [("finished", false), ("finished.program", true)] {
            let evaluation = Box::new(passed());
            write(
                name,
                &Message::Finished { evaluation, program, retire: false, broken: Vec::new() },
            );
        }
    }

    /// Returns a pool of one such worker per role.
    pub(crate) fn config(&self, device: DeviceChoice) -> PoolConfig {
        let toolchain = Toolchain {
            nvrtc: PathBuf::from("/none"),
            include_dirs: Vec::new(),
            version: (13, 0),
            found_by: "a test".to_owned(),
            complete: true,
            cutlass: None,
        };
        let mut config = PoolConfig::new(toolchain, device, Target::h100_class(), 1);
        config.exe = "/bin/sh".into();
        config.args = vec![self.path().join("worker.sh").into()];
        config.grace = Duration::from_millis(200);
        config.gpu_restart_waits = vec![Duration::ZERO; 2];
        config.start_limit = SOON;
        config
    }

    /// Returns how many processes were started.
    pub(crate) fn n_started(&self) -> usize {
        self.pids().len()
    }

    fn pids(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.path().join("pids")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// Waits until a script has made a file.
    pub(crate) async fn wait_for(&self, file: &str) {
        let begin = Instant::now();
        while !self.path().join(file).exists() {
            assert!(begin.elapsed() < SOON, "{file} was not made");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Panics if a process of any worker's group is still there.
    pub(crate) fn assert_nothing_lives(&self) {
        let begin = Instant::now();
        for leader in self.pids() {
            while group_lives(leader) {
                assert!(begin.elapsed() < SOON, "group {leader} lives");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Returns the target of a GPU; all but number 3 are of the same kind.
fn gpu(index: u32) -> Target {
    let target = Target::h100_class();
    Target {
        name: "fake GPU".to_owned(),
        uuid: Some(format!("GPU-{index}")),
        sm_count: if index == 3 { 7 } else { target.sm_count },
        ..target
    }
}

/// Returns whether a process group has a member that is no zombie: where no init process reaps
/// orphans, killed ones stay for ever.
fn group_lives(group: i32) -> bool {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| {
            let rest = stat.rsplit_once(')')?.1.to_owned();
            let mut fields = rest.split_whitespace();
            Some((fields.next()?.to_owned(), fields.nth(1)?.to_owned()))
        })
        .any(|(state, member_of)| state != "Z" && member_of == group.to_string())
}

/// Shuts a pool down and checks that nothing is left.
pub(crate) async fn stop(pool: Pool, fake: &Fake) {
    pool.shutdown().await;
    fake.assert_nothing_lives();
}

/// Returns a request whose kernel is `kernel`, with short limits and seed 7.
pub(crate) fn request(kernel: &str) -> EvalRequest {
    EvalRequest {
        seed: 7,
        limits: Limits { compile_s: 0.2, case_s: 0.2, own_s: 0.4, ..Limits::default() },
        timing: Some(TimingRequest {
            baselines: Vec::new(),
            profile: Profile::Screen,
            l2: L2::Cold,
            graph: false,
            do_bench: false,
            max_s: Some(0.2),
            side_by_side: None,
        }),
        ..testing::request(
            "relu",
            Implementation::kernel(kernel),
            ["c0", "c1", "c2"].map(case).to_vec(),
        )
    }
}

fn case(id: &str) -> Case {
    let spec = TensorSpec::contiguous(DType::F32, &[4]);
    let tensor = TensorArg { spec, generator: Gen::HeavyTail };
    Case {
        id: id.to_owned(),
        op: "relu".to_owned(),
        count: None,
        dtype: DType::F32,
        class: CaseClass::Edge,
        distribution: InputDistribution::Normal,
        names_ignored: false,
        in_place: false,
        args: vec![Arg { name: "self".to_owned(), value: ArgValue::Tensor(tensor) }],
    }
}

/// Returns an evaluation of [`request`] in which everything passed; its seed is 4242.
fn passed() -> Evaluation {
    let request = request("");
    let cases = request.cases.iter().map(|case| CaseResult {
        case: case.id.clone(),
        dtype: case.dtype,
        class: case.class,
        distribution: case.distribution,
        args: String::new(),
        outcome: CaseOutcome::Judged(Verdict::Passed),
        level: Level::Emu,
        findings: Vec::new(),
        mismatch: None,
        max_abs_error: None,
        max_rel_error: None,
        worst_ratio: None,
        other_rules: None,
        counters: Vec::new(),
        full_size: None,
    });
    Evaluation {
        op: request.op.clone(),
        verdict: Verdict::Passed,
        level: Level::Emu,
        stage: Stage::Done,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: cases.collect(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: request.target.clone(),
        seed: 4242,
        nvrtc: Some("13.0".to_owned()),
        precision: Default::default(),
        library_use: None,
        python: None,
        adapters: Vec::new(),
        coverage: None,
        stage_times: Vec::new(),
        profile: None,
        sandbox: Default::default(),
    }
}
