//! Many evaluations with every kind of end, over two workers.

use futures_util::future::join_all;
use kgen_record::{EvalRequest, Verdict};
use kgen_settings::DeviceChoice;
use kgen_worker::Pool;

use super::fake::{Fake, request, stop};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_evaluations_end_with_the_right_verdicts() {
    let fake = Fake::new(
        "*segv*) stage emulate; case_started 0; kill -SEGV $$;;
         *hang*) stage compile; wait_for_ever;;
         *garbage*) stage guard; echo garbage; wait_for_ever;;
         *orphan*) stage emulate; sleep 1000 & exit 9;;",
    );
    let mut config = fake.config(DeviceChoice::Emu);
    config.cpu_jobs = 2;
    let pool = Pool::start(config).await.unwrap();
    let kinds = [
        ("good", Verdict::Passed),
        ("segv", Verdict::Crashed),
        ("good", Verdict::Passed),
        ("hang", Verdict::TimedOut),
        ("garbage", Verdict::Crashed),
        ("good", Verdict::Passed),
        ("orphan", Verdict::Crashed),
        ("good", Verdict::Passed),
    ];
    let evaluations = (0..40).map(|index| {
        let (kernel, verdict) = kinds[index % kinds.len()];
        let seed = 1000 + index as u64;
        let request = EvalRequest { seed, ..request(kernel) };
        let pool = &pool;
        async move { (index, seed, verdict, pool.evaluate(request).await.unwrap()) }
    });
    for (index, seed, verdict, evaluation) in join_all(evaluations).await {
        assert_eq!(evaluation.verdict, verdict, "evaluation {index}");
        assert_eq!(evaluation.seed, seed, "evaluation {index} got another one's answer");
    }
    // One hangs, and three die, each twice.
    let n_ended_by_force = 40 / kinds.len() * (1 + 2 * 3);
    assert!(fake.n_started() <= 2 + n_ended_by_force, "{} processes", fake.n_started());
    stop(pool, &fake).await;
}
