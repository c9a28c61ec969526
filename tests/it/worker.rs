//! The worker pool against processes that behave badly in every way they can.
//!
//! The workers here are shell scripts that speak the protocol; the kernel text of a request drives
//! their behaviour.

mod adapters;
mod fake;
mod gpu;
mod gpus;
mod python;
mod real;
mod real_gpu;
mod sandbox;
mod stress;

use std::time::{Duration, Instant};

use fake::{Fake, request, stop};
use kgen_record::{CaseOutcome, Level, Stage, Verdict};
use kgen_settings::DeviceChoice;
use kgen_worker::{Error, Pool};

/// Judges `kernel` with one fake cpu worker, then a good kernel, which must pass.
async fn judge(body: &str, kernel: &str) -> (kgen_record::Evaluation, Fake) {
    let fake = Fake::new(body);
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    let bad = pool.evaluate(request(kernel)).await.unwrap();
    let good = pool.evaluate(request("good")).await.unwrap();
    assert_eq!(good.verdict, Verdict::Passed);
    pool.shutdown().await;
    fake.assert_nothing_lives();
    (bad, fake)
}

#[tokio::test]
async fn one_process_judges_one_kernel_after_the_other() {
    let (evaluation, fake) = judge("", "fine").await;
    assert_eq!((evaluation.verdict, evaluation.seed), (Verdict::Passed, 7));
    assert_eq!(fake.n_started(), 1);
}

#[tokio::test]
async fn a_death_in_a_case_is_a_verdict_that_keeps_what_was_found() {
    for (how, what) in [
        ("kill -SEGV $$", "the worker was killed by SIGSEGV in stage emulate, case `c1`"),
        ("exit 3", "the worker exited with code 3 in stage emulate, case `c1`"),
        ("setsid sleep 5 & exit 4", "the worker exited with code 4 in stage emulate, case `c1`"),
        ("exec 1>&-; sleep 0.2; kill -ABRT $$", "was killed by SIGABRT in stage emulate"),
        ("echo '{\"kind\":'; wait_for_ever", "memory is corrupt"),
        ("head -c 100000 /dev/zero | tr '\\0' x; echo; wait_for_ever", "memory is corrupt"),
    ] {
        let body =
            format!("*bad*) stage guard; stage emulate; case_done 0; case_started 1; {how};;");
        let (evaluation, fake) = judge(&body, "bad").await;
        assert_eq!(evaluation.verdict, Verdict::Crashed, "{how}");
        assert_eq!((evaluation.stage, evaluation.level), (Stage::Emulate, Level::Emu), "{how}");
        let finding = &evaluation.findings[0].message;
        assert!(finding.contains(what), "{how}: {finding}");
        let outcomes: Vec<_> = evaluation.cases.iter().map(|case| case.outcome.clone()).collect();
        assert_eq!(outcomes[0], CaseOutcome::Judged(Verdict::Passed), "{how}");
        assert_eq!(outcomes[1], CaseOutcome::Judged(Verdict::Crashed), "{how}");
        assert!(matches!(outcomes[2], CaseOutcome::Skipped { .. }), "{how}");
        assert_eq!(evaluation.nvrtc.as_deref(), Some("13.0"), "{how}");
        // The first process, one that judges once more, and one that was begun ahead.
        assert_eq!(fake.n_started(), 3, "{how}");
    }
}

#[tokio::test]
async fn a_death_that_does_not_happen_again_is_not_the_kernels() {
    let body = "*once*) stage emulate; case_started 1
        if [ ! -e $dir/died ]; then touch $dir/died; kill -KILL $$; fi; finished;;";
    let (evaluation, fake) = judge(body, "once").await;
    assert_eq!(evaluation.verdict, Verdict::Passed);
    assert!(fake.path().join("died").exists());
}

#[tokio::test]
async fn time_of_kgens_own_work_is_not_charged_to_the_kernel() {
    for how in ["stage emulate; case_started 2", "stage guard"] {
        let (evaluation, _) = judge(&format!("*bad*) {how}; wait_for_ever;;"), "bad").await;
        assert_eq!(evaluation.verdict, Verdict::Unsupported, "{how}");
        let finding = &evaluation.findings[0].message;
        assert!(finding.contains("not the kernel's fault"), "{how}: {finding}");
    }
}

#[tokio::test]
async fn a_stage_that_never_ends_is_timed_out_even_when_the_worker_is_deaf() {
    for (how, stage) in [
        ("stage compile; wait_for_ever", Stage::Compile),
        ("stage time; case_started 2; wait_for_ever", Stage::Time),
        ("trap '' TERM; stage time; case_started 2; wait_for_ever", Stage::Time),
        ("(trap '' TERM; exec sleep 1000) & stage compile; wait_for_ever", Stage::Compile),
        ("stage compile; cat /dev/zero >&2", Stage::Compile),
    ] {
        let (evaluation, _) = judge(&format!("*bad*) {how};;"), "bad").await;
        assert_eq!((evaluation.verdict, evaluation.stage), (Verdict::TimedOut, stage), "{how}");
        let finding = &evaluation.findings[0].message;
        assert!(finding.contains(&format!("in stage {}", stage.name())), "{how}: {finding}");
        let outcome = evaluation.cases[2].outcome.clone();
        let in_case = stage == Stage::Time;
        assert_eq!(outcome == CaseOutcome::Judged(Verdict::TimedOut), in_case, "{how}");
    }
}

#[tokio::test]
async fn a_flood_on_standard_error_neither_blocks_nor_counts() {
    let flood = "head -c 30000000 /dev/zero >&2";
    let (evaluation, fake) =
        judge(&format!("*flood*) stage guard; {flood}; finished;;"), "flood").await;
    assert_eq!(evaluation.verdict, Verdict::Passed);
    assert_eq!(fake.n_started(), 1);
}

#[tokio::test]
async fn kgens_own_panic_is_never_the_kernels_fault() {
    let panic =
        r#"echo '{"kind":"failed","message":"index out of bounds","cause":"panic","broken":[]}'"#;
    let (evaluation, _) = judge(&format!("*bad*) stage emulate; {panic};;"), "bad").await;
    assert_eq!(evaluation.verdict, Verdict::Unsupported);
    assert!(evaluation.findings[0].message.contains("index out of bounds"));
}

#[tokio::test]
async fn a_failure_of_the_machine_is_an_error() {
    let failed =
        r#"echo '{"kind":"failed","message":"no NVRTC any more","cause":"machine","broken":[]}'"#;
    let fake = Fake::new(&format!("*bad*) stage compile; {failed};;"));
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    let error = pool.evaluate(request("bad")).await.unwrap_err();
    assert_eq!(error.to_string(), "a cpu worker failed: no NVRTC any more");
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_failure_of_the_op_is_an_error_at_once() {
    let failed =
        r#"echo '{"kind":"failed","message":"no such function","cause":"op","broken":[]}'"#;
    let fake = Fake::new(&format!("*bad*) stage compile; {failed};;"));
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    let before = fake.n_started();
    let error = pool.evaluate(request("bad")).await.unwrap_err();
    assert_eq!(error.to_string(), "no such function");
    assert_eq!(fake.n_started(), before, "no second worker tried");
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_worker_that_died_while_idle_is_replaced_without_a_verdict() {
    let fake = Fake::new("*last*) finished; exit 0;;");
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    for _ in 0..3 {
        assert_eq!(pool.evaluate(request("last")).await.unwrap().verdict, Verdict::Passed);
    }
    assert!(fake.n_started() >= 3);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn what_leads_to_no_hello_is_said_once_and_clearly() {
    let hello = r#"{"kind":"hello","hello":{"protocol":99,"news":[]}}"#;
    for (preamble, expected) in [
        (
            "echo libnope.so: not found >&2; exit 127",
            "it exited with code 127 before it was ready; it said: libnope.so: not found",
        ),
        ("kill -BUS $$", "it was killed by SIGBUS before it was ready"),
        ("exec 1>&-; exec sleep 1000", "it closed its pipe before it was ready"),
        ("echo Welcome to host; exec sleep 1000", "instead of a hello it said \"Welcome to host\""),
        ("exec sleep 1000", "it was not ready after 3 s"),
        (
            r#"echo '{"kind":"failed","message":"no NVRTC","cause":"machine","broken":[]}'"#,
            "failed to start a cpu worker: no NVRTC",
        ),
        (&format!("echo '{hello}'; exec sleep 1000"), "speaks protocol 99, this kgen speaks 6"),
    ] {
        let fake = Fake::with_preamble(preamble, "");
        let begin = Instant::now();
        let mut config = fake.config(DeviceChoice::Emu);
        config.start_limit = Duration::from_secs(3);
        let error = Pool::start(config).await.err().unwrap();
        let text = error.to_string();
        assert!(text.contains(expected), "{preamble}: {text}");
        assert!(begin.elapsed() < Duration::from_secs(60), "{preamble}");
        fake.assert_nothing_lives();
    }
    let mut config = Fake::new("").config(DeviceChoice::Emu);
    config.exe = "/no/such/kgen".into();
    let text = Pool::start(config).await.err().unwrap().to_string();
    assert!(text.contains("failed to start `/no/such/kgen`: No such file"), "{text}");
}

#[tokio::test]
async fn a_shutdown_ends_what_runs_and_what_waits() {
    let fake = Fake::new("*bad*) stage emulate; touch $dir/begun; sleep 1000 & wait_for_ever;;");
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    let (running, waiting, ()) =
        tokio::join!(pool.evaluate(request("bad")), pool.evaluate(request("good")), async {
            fake.wait_for("begun").await;
            pool.shutdown().await;
        });
    assert!(matches!(running, Err(Error::ShutDown)), "{running:?}");
    assert!(matches!(waiting, Err(Error::ShutDown)), "{waiting:?}");
    assert!(matches!(pool.evaluate(request("good")).await, Err(Error::ShutDown)));
    fake.assert_nothing_lives();
}

#[tokio::test]
async fn an_evaluation_that_is_dropped_takes_its_worker_with_it() {
    let fake = Fake::new("*bad*) stage emulate; touch $dir/begun; wait_for_ever;;");
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    tokio::select! {
        result = pool.evaluate(request("bad")) => panic!("{result:?}"),
        () = fake.wait_for("begun") => {}
    }
    assert_eq!(pool.evaluate(request("good")).await.unwrap().verdict, Verdict::Passed);
    assert_eq!(fake.n_started(), 2);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_dropped_pool_leaves_no_process() {
    let fake = Fake::new("");
    let pool = Pool::start(fake.config(DeviceChoice::Emu)).await.unwrap();
    drop(pool);
    fake.assert_nothing_lives();
}
