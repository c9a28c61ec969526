//! Pools with several GPUs.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use kgen_record::{EvalRequest, Verdict};
use kgen_settings::DeviceChoice;
use kgen_worker::{Error, Notice, Notices, Pool, PoolConfig};

use super::fake::{Fake, request, stop};

/// Says the hello of its own GPU.
pub(super) const HELLO: &str =
    "if [ $role = gpu ]; then cat $dir/hello.gpu$gpu; else cat $dir/hello.cpu; fi";

/// Compiles on the cpu; runs `gpu` on a GPU, after it noted that it was there.
fn arms(gpu: &str) -> String {
    format!(
        "*'\"kind\":\"cpu\"'*) program code;;
         *) read -r code; echo $gpu >> $dir/used; {gpu};;"
    )
}

pub(super) fn gpu_request(kernel: &str) -> EvalRequest {
    EvalRequest { on_gpu: true, ..request(kernel) }
}

/// The messages of a pool to people.
#[derive(Clone, Default)]
pub(super) struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    pub(super) fn listen(&self, config: PoolConfig) -> PoolConfig {
        let heard = self.clone();
        let hear = move |notice: &Notice| heard.0.lock().unwrap().push(notice.clone());
        PoolConfig { notices: Notices::new(hear), ..config }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let heard = self.0.lock().unwrap();
        let warning = |notice: &Notice| match notice {
            Notice::Warning(text) => Some(text.clone()),
            Notice::Note(_) => None,
        };
        heard.iter().filter_map(warning).collect()
    }
}

fn device(text: &str) -> DeviceChoice {
    text.parse().unwrap()
}

#[tokio::test]
async fn several_gpus_are_used_at_once_and_each_by_one_evaluation() {
    // Each evaluation waits until the other has begun: on one GPU neither would end.
    let wait = "stage execute; touch $dir/on.$gpu
        while [ ! -e $dir/on.0 ] || [ ! -e $dir/on.2 ]; do sleep 0.02; done; finished";
    let fake = Fake::with_preamble(HELLO, &arms(wait));
    let pool = Pool::start(fake.config(device("cuda:0,cuda:2"))).await.unwrap();
    let indices: Vec<u32> = pool.gpus().iter().map(|gpu| gpu.index).collect();
    assert_eq!(indices, [0, 2]);
    assert_eq!(pool.target().uuid, None, "it is open which GPU a request will run on");
    assert_eq!(pool.split().gpu_workers, 2);
    let (one, two) = tokio::join!(pool.evaluate(gpu_request("a")), pool.evaluate(gpu_request("b")));
    assert_eq!((one.unwrap().verdict, two.unwrap().verdict), (Verdict::Passed, Verdict::Passed));
    let used = std::fs::read_to_string(fake.path().join("used")).unwrap();
    assert_eq!(used.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["0", "2"]));
    stop(pool, &fake).await;
}

#[tokio::test]
async fn an_evaluation_that_dies_names_the_gpu_it_died_on() {
    let fake = Fake::with_preamble(HELLO, &arms("stage execute; kill -SEGV $$"));
    let pool = Pool::start(fake.config(device("cuda:1,cuda:2"))).await.unwrap();
    let evaluation = pool.evaluate(gpu_request("bad")).await.unwrap();
    assert_eq!(evaluation.verdict, Verdict::Crashed);
    let used = std::fs::read_to_string(fake.path().join("used")).unwrap();
    let gpus: BTreeSet<&str> = used.lines().collect();
    assert_eq!(gpus.len(), 1, "it was judged once more on the same GPU");
    assert_eq!(evaluation.target.uuid, gpus.first().map(|gpu| format!("GPU-{gpu}")));
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_lost_gpu_is_given_up_and_its_evaluation_goes_to_another() {
    // The second start of GPU 1 fails, and its first worker dies idle.
    let preamble = format!(
        "if [ $role$gpu = gpu1 ] && [ -e $dir/broken ]; then echo Xid 79 >&2; exit 1; fi; {HELLO}"
    );
    let last = "*last*) read -r code; touch $dir/broken; finished; exit 0;;";
    let fake = Fake::with_preamble(
        &preamble,
        &arms("finished").replace("*) read", &format!("{last} *) read")),
    );
    let heard = Heard::default();
    let pool = Pool::start(heard.listen(fake.config(device("cuda:0,cuda:1")))).await.unwrap();
    // Both GPUs get one, so that the worker of GPU 1 dies.
    let (one, two) =
        tokio::join!(pool.evaluate(gpu_request("last")), pool.evaluate(gpu_request("last")));
    assert!(one.is_ok() && two.is_ok());
    for _ in 0..4 {
        let (one, two) =
            tokio::join!(pool.evaluate(gpu_request("x")), pool.evaluate(gpu_request("x")));
        assert_eq!(one.unwrap().verdict, Verdict::Passed);
        assert_eq!(two.unwrap().verdict, Verdict::Passed);
    }
    let warnings = heard.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("GPU 1 is no longer used") && warnings[0].contains("Xid 79"));
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_gpu_that_does_not_start_or_is_of_another_kind_is_left_out() {
    let preamble =
        format!("if [ $role$gpu = gpu0 ]; then echo no such GPU >&2; exit 1; fi; {HELLO}");
    let fake = Fake::with_preamble(&preamble, &arms("finished"));
    let heard = Heard::default();
    let config = heard.listen(fake.config(device("cuda:0,cuda:1,cuda:3")));
    let pool = Pool::start(config).await.unwrap();
    assert_eq!(pool.target().uuid.as_deref(), Some("GPU-1"));
    let warnings = heard.warnings();
    assert!(
        warnings[0].contains("cuda:3 is left out: kernels are planned for cuda:1"),
        "{warnings:?}"
    );
    assert!(warnings[0].contains("7 SMs"), "{warnings:?}");
    assert!(warnings[1].contains("cuda:0 is left out") && warnings[1].contains("no such GPU"));
    assert_eq!(pool.evaluate(gpu_request("x")).await.unwrap().verdict, Verdict::Passed);
    stop(pool, &fake).await;
    let fake = Fake::with_preamble("if [ $role = gpu ]; then exit 1; fi; cat $dir/hello.cpu", "");
    let error = Pool::start(fake.config(device("cuda:0,cuda:1"))).await.err().unwrap();
    assert!(matches!(error, Error::Start { .. }), "{error}");
    fake.assert_nothing_lives();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_gpu_is_ever_shared_whatever_becomes_of_its_workers() {
    // A folder can be made once only: whoever finds it there shares the GPU.
    let gpu = "mkdir $dir/busy.$gpu || touch $dir/shared; stage execute; sleep 0.02
        case $job in
            *segv*) rmdir $dir/busy.$gpu; kill -SEGV $$;;
            *hang*) stage time; case_started 0; rmdir $dir/busy.$gpu; wait_for_ever;;
        esac
        rmdir $dir/busy.$gpu; finished";
    let fake = Fake::with_preamble(HELLO, &arms(gpu));
    let mut config = fake.config(device("cuda:0,cuda:1,cuda:2"));
    config.cpu_jobs = 2;
    let pool = Pool::start(config).await.unwrap();
    let kinds = [
        ("good", Verdict::Passed),
        ("segv", Verdict::Crashed),
        ("good", Verdict::Passed),
        ("hang", Verdict::TimedOut),
        ("good", Verdict::Passed),
    ];
    let evaluations = (0..30).map(|index| {
        let (kernel, verdict) = kinds[index % kinds.len()];
        let request = EvalRequest { seed: 1000 + index as u64, ..gpu_request(kernel) };
        let pool = &pool;
        async move { (verdict, request.seed, pool.evaluate(request).await.unwrap()) }
    });
    for (verdict, seed, evaluation) in futures_util::future::join_all(evaluations).await {
        assert_eq!((evaluation.verdict, evaluation.seed), (verdict, seed));
    }
    let used = std::fs::read_to_string(fake.path().join("used")).unwrap();
    assert_eq!(used.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["0", "1", "2"]));
    assert!(!fake.path().join("shared").exists(), "two evaluations were on one GPU");
    stop(pool, &fake).await;
}
