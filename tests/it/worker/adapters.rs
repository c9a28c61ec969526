//! Adapters beside a pool's gpu workers, made of shell.

use std::{fs, path::PathBuf};

use kgen_process::Spec;
use kgen_record::{
    Adapter, BaselineRequest, EvalRequest, Implementation, L2, Profile, TimingRequest, Verdict,
};
use kgen_settings::DeviceChoice;
use kgen_worker::{Pool, PoolConfig};

use super::{
    fake::{Fake, stop},
    gpus::{HELLO, Heard, gpu_request},
};

/// Workers that note their jobs; one that is called `broken` says that Candle's adapter does not answer.
const ARMS: &str = "*'\"kind\":\"cpu\"'*) program code;;
    *'\"kind\":\"gpu\"'*) read -r code; echo \"$job\" >> $dir/jobs;
        case $job in *broken*) finished | sed 's/\"broken\":\\[\\]/\"broken\":[\"candle\"]/';;
        *) finished;; esac;;";

fn fake() -> Fake {
    Fake::with_preamble(&format!("echo $role $gpu >> $dir/setups; {HELLO}"), ARMS)
}

/// A program that greets as the adapter of `library`, and ends when its input does.
fn adapter(fake: &Fake, library: &str) -> PathBuf {
    let dir = fake.path().display();
    let facts = format!(
        r#"{{"protocol":1,"ready":{{"library":"{library}","version":"0.1","device":"fake","uuid":"GPU-0"}}}}"#
    );
    let script = format!(
        "#!/bin/sh\necho $$ >> {dir}/pids; echo $1 $3 $4 >> {dir}/started\necho '{facts}'\ncat > /dev/null\n"
    );
    // A child writes it: a file that this process has open for writing while another test forks is busy.
    let spec = Spec::new("/bin/sh", fake.path()).args(["-c", "cat > adapter; chmod +x adapter"]);
    assert!(kgen_process::run(&spec.stdin(script)).unwrap().status.is_success());
    fake.path().join("adapter")
}

fn config(fake: &Fake, adapters: &[(Adapter, PathBuf)]) -> PoolConfig {
    let mut config = fake.config(DeviceChoice::Cuda(0));
    config.sandbox = false;
    config.sides.adapters = adapters.iter().cloned().collect();
    config
}

/// A kernel that is timed against an adapter's op.
fn against(source: &str, library: Adapter) -> EvalRequest {
    let implementation = Implementation::Adapter { library };
    let baselines = vec![BaselineRequest { name: library.name().to_owned(), implementation }];
    let timing = Some(TimingRequest {
        baselines,
        profile: Profile::Screen,
        l2: L2::Cold,
        graph: false,
        do_bench: false,
        max_s: None,
        side_by_side: None,
    });
    EvalRequest { timing, ..gpu_request(source) }
}

fn lines(fake: &Fake, file: &str) -> Vec<String> {
    let text = fs::read_to_string(fake.path().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn passes(pool: &Pool, request: EvalRequest) {
    assert_eq!(pool.evaluate(request).await.unwrap().verdict, Verdict::Passed);
}

#[tokio::test]
async fn an_adapter_is_started_when_it_is_needed_and_replaced_when_it_does_not_answer() {
    let fake = fake();
    let candle = adapter(&fake, "candle");
    let heard = Heard::default();
    let pool =
        Pool::start(heard.listen(config(&fake, &[(Adapter::Candle, candle)]))).await.unwrap();
    passes(&pool, gpu_request("x")).await;
    assert!(lines(&fake, "started").is_empty(), "nobody needed it");
    passes(&pool, against("x", Adapter::Candle)).await;
    passes(&pool, against("x", Adapter::Candle)).await;
    assert_eq!(lines(&fake, "started"), ["--socket --device cuda:0"]);
    let job = lines(&fake, "jobs").pop().unwrap();
    assert!(job.contains(r#""sides":{"candle":{"state":"ready","socket":"/"#), "{job}");
    passes(&pool, against("broken", Adapter::Candle)).await;
    passes(&pool, against("x", Adapter::Candle)).await;
    assert_eq!(lines(&fake, "started").len(), 2);
    let warnings = heard.warnings();
    assert_eq!(warnings, ["kgen-candle of cuda:0 is started anew: it did not answer"]);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn one_that_is_missing_or_another_program_is_named_with_what_to_do() {
    let fake = fake();
    let burn = adapter(&fake, "candle");
    let heard = Heard::default();
    let mut config = heard.listen(config(&fake, &[(Adapter::Burn, burn)]));
    config.sides.adapters.insert(Adapter::Candle, "/no/such/kgen-candle".into());
    let pool = Pool::start(config).await.unwrap();
    passes(&pool, against("x", Adapter::Candle)).await;
    let job = lines(&fake, "jobs").pop().unwrap();
    assert!(job.contains("there is no file /no/such/kgen-candle"), "{job}");
    passes(&pool, against("x", Adapter::Burn)).await;
    let job = lines(&fake, "jobs").pop().unwrap();
    assert!(job.contains("it is not kgen-burn"), "{job}");
    assert_eq!(heard.warnings().len(), 2);
    stop(pool, &fake).await;
}
