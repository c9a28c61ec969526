//! The Python processes of a pool's GPUs, made of shell.

use std::{fs, time::Duration};

use kgen_process::Spec;
use kgen_record::{EvalRequest, Implementation, PythonKind, Verdict};
use kgen_settings::DeviceChoice;
use kgen_worker::{Pool, PoolConfig};

use super::{
    fake::{Fake, stop},
    gpus::{HELLO, Heard, gpu_request},
};

/// Workers that note the settings of the Python process.
const ARMS: &str = "*'\"kind\":\"cpu\"'*) program code;;
    *'\"kind\":\"gpu\"'*) read -r code; echo \"$gpu $job\" >> $dir/jobs; DO;;";

/// The first message of a Python process; its UUID is that of the first GPU.
const FACTS: &str = r#"{"protocol":1,"ready":{"python":"3.12.3","torch":"2.11.0","device":"fake GPU",
    "uuid":"GPU-'${device#cuda:}'","settings":{"matmul_tf32":false,"cudnn_tf32":false,
    "f16_reduced_reduction":true,"bf16_reduced_reduction":true,"matmul_precision":"highest",
    "deterministic":false}}}"#;

/// An interpreter that answers the question for its packages, and does `greet` as the process; it
/// ends when its input does.
fn interpreter(fake: &Fake, packages: &str, greet: &str) -> PoolConfig {
    let dir = fake.path().display();
    let facts = FACTS.replace('\n', "");
    let script = format!(
        "#!/bin/sh
if [ \"$1\" = -c ]; then echo '{packages}'; exit; fi
dir={dir}; socket=$4; device=$6
echo $$ >> $dir/pids; echo $$ $device >> $dir/pythons
ready() {{ echo '{facts}'; touch $dir/ready.$device; }}
{greet}
cat > /dev/null
"
    );
    // A child writes it: a file that this process has open for writing while another test forks is
    // busy.
    let spec = Spec::new("/bin/sh", fake.path()).args(["-c", "cat > python; chmod +x python"]);
    assert!(kgen_process::run(&spec.stdin(script)).unwrap().status.is_success());
    let mut config = fake.config("cuda:0,cuda:1".parse().unwrap());
    // It keeps its log in the folder of the test.
    config.sandbox = false;
    config.sides.python = Some(fake.path().join("python"));
    config
}

const WITH_TORCH: &str = r#"{"python":"3.12.3","torch":"2.11.0","triton":null,"flag_gems":null}"#;

fn fake(gpu: &str) -> Fake {
    let preamble = format!("echo $role $gpu \"$setup\" >> $dir/setups; {HELLO}");
    Fake::with_preamble(&preamble, &ARMS.replace("DO", gpu))
}

fn aten(source: &str) -> EvalRequest {
    let (kind, source) = (PythonKind::Aten, Some(source.to_owned()));
    let candidate = Implementation::Python { kind, source, entry: None };
    EvalRequest { candidate, ..gpu_request("") }
}

fn lines(fake: &Fake, file: &str) -> Vec<String> {
    let text = fs::read_to_string(fake.path().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn passes(pool: &Pool, request: EvalRequest) {
    assert_eq!(pool.evaluate(request).await.unwrap().verdict, Verdict::Passed);
}

#[tokio::test]
async fn a_process_per_gpu_is_started_when_it_is_needed_and_outlives_the_workers() {
    let fake = fake("case $job in *bad*) stage execute; kill -SEGV $$;; esac; finished");
    let config = interpreter(&fake, WITH_TORCH, "ready");
    let pool = Pool::start(config).await.unwrap();
    passes(&pool, gpu_request("x")).await;
    assert!(lines(&fake, "pythons").is_empty(), "nobody needed it");
    passes(&pool, aten("x")).await;
    fake.wait_for("ready.cuda:0").await;
    fake.wait_for("ready.cuda:1").await;
    // Both workers die, so that the next job needs a new one.
    for _ in 0..2 {
        assert_eq!(pool.evaluate(aten("bad")).await.unwrap().verdict, Verdict::Crashed);
    }
    passes(&pool, aten("x")).await;
    let mut pythons = lines(&fake, "pythons");
    pythons.sort_by_key(|line| line.split_once(' ').unwrap().1.to_owned());
    let devices: Vec<_> = pythons.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(devices, ["cuda:0", "cuda:1"]);
    let jobs = lines(&fake, "jobs");
    assert!(jobs[0].contains(r#""sides":{}"#), "{}", jobs[0]);
    assert!(jobs[0].contains(r#""side_pids":[]"#), "{}", jobs[0]);
    let pid_of = |gpu: &str| {
        let started = pythons.iter().find(|line| line.ends_with(&format!("cuda:{gpu}"))).unwrap();
        format!(r#""side_pids":[{}]"#, started.split_once(' ').unwrap().0)
    };
    for job in &jobs[1..] {
        assert!(job.contains(r#""state":"ready","socket":"/"#), "{job}");
        assert!(job.contains(&format!(r#""uuid":"GPU-{}""#, &job[..1])), "{job}");
        assert!(job.contains(&pid_of(&job[..1])), "{job}");
    }
    // Whoever comes after a worker that died hears of the process that was there before.
    let setups = lines(&fake, "setups");
    let mut on_gpus = setups.iter().filter_map(|line| line.strip_prefix("gpu "));
    for first in on_gpus.by_ref().take(2) {
        assert!(first.contains(r#""side_pids":[]"#), "{first}");
    }
    let restarted = on_gpus.next().unwrap();
    assert!(restarted.contains(&pid_of(&restarted[..1])), "{restarted}");
    // A job that does not need it hears of it all the same: it is on the GPU.
    passes(&pool, gpu_request("x")).await;
    let last = lines(&fake, "jobs").pop().unwrap();
    assert!(last.contains(r#""sides":{}"#) && last.contains(&pid_of(&last[..1])));
    stop(pool, &fake).await;
}

#[tokio::test]
async fn one_that_died_or_hung_is_replaced_until_it_fails_three_times_in_a_row() {
    // The first job after each start finds it dead; whatever is called `broken` says that it hangs.
    let gpu =
        "case $job in *broken*) finished | sed 's/\"broken\":\\[\\]/\"broken\":[\"python\"]/';;
        *) finished;; esac";
    let fake = fake(gpu);
    let heard = Heard::default();
    let config = heard.listen(interpreter(&fake, WITH_TORCH, "ready"));
    let pool = Pool::start(PoolConfig { device: DeviceChoice::Cuda(0), ..config }).await.unwrap();
    for request in ["broken", "broken", "fine", "broken", "broken", "fine"] {
        passes(&pool, aten(request)).await;
    }
    assert_eq!(lines(&fake, "pythons").len(), 5, "a job that goes well forgives");
    let pid = lines(&fake, "pythons").pop().unwrap();
    let pid = pid.split_once(' ').unwrap().0;
    let kill = Spec::new("/bin/sh", fake.path()).args(["-c", &format!("kill -9 {pid}")]);
    assert!(kgen_process::run(&kill).unwrap().status.is_success());
    for request in ["broken", "broken", "broken", "fine"] {
        passes(&pool, aten(request)).await;
    }
    assert_eq!(lines(&fake, "pythons").len(), 7);
    let last = lines(&fake, "jobs").pop().unwrap();
    let reason = "the Python process ended 3 times in a row: it did not answer";
    assert!(
        last.contains(&format!(
            r#""sides":{{"python":{{"state":"unavailable","reason":"{reason}"}}}}"#
        )),
        "{last}"
    );
    let warnings = heard.warnings();
    assert_eq!(warnings.len(), 4 + 3, "{warnings:?}");
    assert!(warnings[4].contains("started anew: it was killed by SIGKILL"), "{warnings:?}");
    assert_eq!(warnings[6], reason);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_worker_that_sits_out_its_wait_says_that_the_process_hangs() {
    let waiting = r#"{"kind":"progress","progress":{"kind":"waiting","limit_s":0.3}}"#;
    let gpu =
        format!("case $job in *bad*) stage time; echo '{waiting}'; wait_for_ever;; esac; finished");
    let fake = fake(&gpu);
    let config = interpreter(&fake, WITH_TORCH, "ready");
    let pool = Pool::start(PoolConfig { device: DeviceChoice::Cuda(0), ..config }).await.unwrap();
    let evaluation = pool.evaluate(aten("bad")).await.unwrap();
    assert_eq!(evaluation.verdict, Verdict::TimedOut);
    passes(&pool, aten("x")).await;
    assert_eq!(lines(&fake, "pythons").len(), 2);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn what_is_missing_reaches_the_job_in_one_line_and_is_tried_once() {
    let no_torch = WITH_TORCH.replace("\"2.11.0\"", "null");
    let error = r#"echo '{"protocol":1,"error":{"kind":"no_cuda","message":"this torch has no CUDA"}}'; exit 3"#;
    let elsewhere = "device=cuda:7; ready";
    let silent = "echo ModuleNotFoundError >&2; exit 1";
    for (packages, greet, n_started, expected) in [
        (no_torch.as_str(), "ready", 0, "has no torch; install the package torch"),
        (WITH_TORCH, error, 1, "this torch has no CUDA"),
        (WITH_TORCH, elsewhere, 1, "it sees GPU-7, not GPU-0"),
        (WITH_TORCH, "echo Welcome", 1, "instead of a greeting it said"),
        (
            WITH_TORCH,
            silent,
            3,
            "exited with code 1 before it was ready; it said: ModuleNotFoundError",
        ),
        (WITH_TORCH, "sleep 1000", 3, "was not ready after 1 s"),
    ] {
        let fake = fake("finished");
        let heard = Heard::default();
        let mut config = heard.listen(interpreter(&fake, packages, greet));
        config.device = DeviceChoice::Cuda(0);
        config.sides.start_limit = Duration::from_secs(1);
        let pool = Pool::start(config).await.unwrap();
        for _ in 0..2 {
            passes(&pool, aten("x")).await;
        }
        let jobs = lines(&fake, "jobs");
        assert!(jobs[1].contains(r#""state":"unavailable""#), "{}", jobs[1]);
        assert!(jobs[1].contains(expected), "{expected}: {}", jobs[1]);
        assert_eq!(lines(&fake, "pythons").len(), n_started, "{expected}");
        let warnings = heard.warnings();
        assert!(warnings.last().unwrap().contains(expected), "{warnings:?}");
        stop(pool, &fake).await;
    }
}

#[tokio::test]
async fn one_that_never_gets_ready_holds_up_no_other_gpu_and_no_shutdown() {
    let fake = fake("finished");
    let config = interpreter(&fake, WITH_TORCH, "[ $device = cuda:0 ] || sleep 1000; ready");
    let pool = Pool::start(config).await.unwrap();
    passes(&pool, aten("x")).await;
    passes(&pool, aten("y")).await;
    assert!(lines(&fake, "jobs").iter().all(|job| job.contains(r#""uuid":"GPU-0""#)));
    stop(pool, &fake).await;
}
