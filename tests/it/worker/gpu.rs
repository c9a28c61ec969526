//! Pools with a GPU's worker.

use kgen_record::{CaseOutcome, EvalRequest, L2, Level, Profile, Stage, TimingRequest, Verdict};
use kgen_settings::DeviceChoice;
use kgen_worker::{Error, Pool};

use super::fake::{Fake, request, stop};

fn gpu_request(kernel: &str) -> EvalRequest {
    EvalRequest { on_gpu: true, ..request(kernel) }
}

/// The arms of a worker that compiles on the cpu and does `gpu` with the program.
fn arms(gpu: &str) -> String {
    format!(
        "*'\"kind\":\"cpu\"'*'\"on_gpu\":true'*) program code;;
         *'\"kind\":\"gpu\"'*) read -r code; echo \"$code\" >> $dir/code; {gpu};;"
    )
}

#[tokio::test]
async fn the_program_goes_through_the_parent_unread() {
    let fake = Fake::new(&arms("stage execute; finished"));
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    assert!(pool.has_gpu());
    assert_eq!(pool.target().name, "fake GPU");
    let evaluation = pool.evaluate(gpu_request("good")).await.unwrap();
    assert_eq!(evaluation.verdict, Verdict::Passed);
    let code = std::fs::read_to_string(fake.path().join("code")).unwrap();
    assert_eq!(code, "{\"program\":\"code\"}\n");
    // A request for the emulator does not touch the GPU.
    assert_eq!(pool.evaluate(request("good")).await.unwrap().verdict, Verdict::Passed);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn what_is_timed_for_a_claim_is_judged_three_times() {
    let fake =
        Fake::new(&arms("stage execute; case $job in *bad*) kill -SEGV $$;; esac; finished"));
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    let judged = |kernel: &'static str, profile| {
        let timing = Some(TimingRequest {
            baselines: Vec::new(),
            profile,
            l2: L2::Cold,
            graph: false,
            do_bench: false,
            max_s: None,
            side_by_side: None,
        });
        let request = EvalRequest { timing, ..gpu_request(kernel) };
        async { pool.evaluate_across(request, &|_| {}).await.unwrap().verdict }
    };
    let n_judged = || std::fs::read_to_string(fake.path().join("code")).unwrap().lines().count();
    assert_eq!(judged("good", Profile::Screen).await, Verdict::Passed);
    assert_eq!(n_judged(), 1);
    assert_eq!(judged("good", Profile::Final).await, Verdict::Passed);
    assert_eq!(n_judged(), 1 + 3);
    // One that fails has nothing to claim.
    assert_eq!(judged("bad", Profile::Final).await, Verdict::Crashed);
    // Its worker died twice.
    assert_eq!(n_judged(), 1 + 3 + 2);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_large_program_passes() {
    let body = "*'\"kind\":\"cpu\"'*) cat $dir/finished.program; head -c 3000000 /dev/zero | tr '\\0' x; echo;;
         *) read -r code; echo ${#code} > $dir/length; finished;;";
    let fake = Fake::new(body);
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    assert_eq!(pool.evaluate(gpu_request("good")).await.unwrap().verdict, Verdict::Passed);
    assert_eq!(std::fs::read_to_string(fake.path().join("length")).unwrap(), "3000000\n");
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_kernel_that_fails_on_the_cpu_never_reaches_the_gpu() {
    let fake = Fake::new("*'\"kind\":\"gpu\"'*) touch $dir/touched; finished;;");
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    assert_eq!(pool.evaluate(gpu_request("good")).await.unwrap().verdict, Verdict::Passed);
    assert!(!fake.path().join("touched").exists());
    stop(pool, &fake).await;
}

#[tokio::test]
async fn compiling_one_candidate_overlaps_timing_another() {
    // The GPU waits for the second candidate to be compiled: without overlap it would wait until
    // its deadline.
    let body = "*'\"kind\":\"cpu\"'*second*) touch $dir/compiled; program code;;
         *'\"kind\":\"cpu\"'*) program code;;
         *first*) read -r code; stage time; touch $dir/timing;
           while [ ! -e $dir/compiled ]; do sleep 0.02; done; finished;;
         *) read -r code; finished;;";
    let fake = Fake::new(body);
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    let (first, second) = tokio::join!(pool.evaluate(gpu_request("first")), async {
        fake.wait_for("timing").await;
        pool.evaluate(gpu_request("second")).await
    });
    assert_eq!(first.unwrap().verdict, Verdict::Passed);
    assert_eq!(second.unwrap().verdict, Verdict::Passed);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_gpu_that_hangs_or_dies_gets_a_fresh_worker() {
    let hang = "stage time; case_done 0; case_started 1; wait_for_ever";
    let death = "stage execute; case_started 1; kill -SEGV $$";
    for (how, verdict, stage, n_started) in
        [(hang, Verdict::TimedOut, Stage::Time, 3), (death, Verdict::Crashed, Stage::Execute, 4)]
    {
        let body = format!(
            "*'\"kind\":\"cpu\"'*) program code;;
             *bad*) read -r code; {how};;
             *) read -r code; finished;;"
        );
        let fake = Fake::new(&body);
        let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
        let evaluation = pool.evaluate(gpu_request("bad")).await.unwrap();
        assert_eq!((evaluation.verdict, evaluation.stage), (verdict, stage));
        assert_eq!(evaluation.level, Level::EmuCuda);
        assert_eq!(evaluation.cases[1].outcome, CaseOutcome::Judged(verdict));
        let good = pool.evaluate(gpu_request("good")).await.unwrap();
        assert_eq!(good.verdict, Verdict::Passed);
        assert_eq!(fake.n_started(), n_started);
        stop(pool, &fake).await;
    }
}

#[tokio::test]
async fn a_gpu_that_does_not_come_back_is_given_up_and_the_emulator_goes_on() {
    let preamble = "if [ $role = gpu ] && [ -e $dir/broken ]; then echo Xid 79 >&2; exit 1; fi
        cat $dir/hello.$role";
    let body = arms("touch $dir/broken; stage execute; kill -SEGV $$");
    let fake = Fake::with_preamble(preamble, &body);
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    for _ in 0..2 {
        let error = pool.evaluate(gpu_request("bad")).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Quarantined { device: 0, .. }), "{text}");
        assert!(text.contains("GPU 0 is no longer used") && text.contains("Xid 79"), "{text}");
    }
    assert_eq!(pool.evaluate(request("good")).await.unwrap().verdict, Verdict::Passed);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn a_worker_that_retires_is_replaced() {
    let retire = "sed 's/\"retire\":false/\"retire\":true/' $dir/finished; exit 0";
    let fake = Fake::new(&arms(retire));
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    for _ in 0..2 {
        let evaluation = pool.evaluate(gpu_request("bad")).await.unwrap();
        assert_eq!(evaluation.verdict, Verdict::Passed);
    }
    assert_eq!(fake.n_started(), 3);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn what_is_claimed_is_measured_by_a_process_that_judged_nothing_before() {
    let fake = Fake::new(&arms("finished"));
    let pool = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.unwrap();
    let mut last = gpu_request("good");
    last.timing.as_mut().unwrap().profile = kgen_record::Profile::Final;
    pool.evaluate(last.clone()).await.unwrap();
    assert_eq!(fake.n_started(), 2, "the first worker of the GPU had judged nothing");
    for request in [gpu_request("good"), last] {
        assert_eq!(pool.evaluate(request).await.unwrap().verdict, Verdict::Passed);
    }
    assert_eq!(fake.n_started(), 3);
    stop(pool, &fake).await;
}

#[tokio::test]
async fn without_a_gpu_auto_takes_the_emulator_and_a_number_is_an_error() {
    let preamble = r#"if [ $role = gpu ]; then
          echo '{"kind":"failed","message":"no libcuda.so","cause":"machine","broken":[]}'; exit 1; fi
        cat $dir/hello.$role"#;
    let fake = Fake::with_preamble(preamble, "");
    let pool = Pool::start(fake.config(DeviceChoice::Auto)).await.unwrap();
    assert!(!pool.has_gpu());
    assert!(pool.gpu_refusal().unwrap().to_string().contains("no libcuda.so"));
    assert!(matches!(pool.evaluate(gpu_request("x")).await, Err(Error::NoGpu)));
    assert_eq!(pool.evaluate(request("good")).await.unwrap().verdict, Verdict::Passed);
    stop(pool, &fake).await;
    let error = Pool::start(fake.config(DeviceChoice::Cuda(0))).await.err().unwrap();
    assert_eq!(error.to_string(), "failed to start a gpu worker: no libcuda.so");
    fake.assert_nothing_lives();
}
