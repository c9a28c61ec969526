use std::{borrow::Cow, cell::RefCell, io, process::ExitCode, rc::Rc};

use kgen_baseline::side::Sides;
use kgen_eval::Progress;
use kgen_process::Access;
use kgen_record::{
    EvalRequest, Evaluation, Implementation, Level, Stage, Target, Verdict, testing,
};

use super::{
    channel::{Input, Output},
    judge::{Failure, Half, Judge},
    serve::serve,
};
use crate::protocol::{Job, Message};

/// A judge that follows the commands in the kernel text.
#[derive(Default)]
struct Scripted {
    /// The processes beside it that it has heard of.
    side_pids: Vec<u32>,
}

impl Scripted {
    fn judge(
        request: &EvalRequest,
        program: Option<String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        progress(Progress::Stage { stage: Stage::Compile });
        match request.source() {
            "panic" => panic!("index out of bounds"),
            "fail" => Err("no device".to_owned().into()),
            kernel => Ok(Half {
                evaluation: evaluation(),
                program,
                retire: kernel == "retire",
                broken: Vec::new(),
            }),
        }
    }
}

impl Judge for Scripted {
    fn cpu(
        &mut self,
        request: &EvalRequest,
        _sides: &Sides,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        let program = request.on_gpu.then(|| r#"{"code":1}"#.to_owned());
        Self::judge(request, program, progress)
    }

    fn set_side_pids(&mut self, side_pids: &[u32]) {
        self.side_pids = side_pids.to_vec();
    }

    fn gpu(
        &mut self,
        request: &EvalRequest,
        _evaluation: Evaluation,
        program: &[u8],
        _sides: &Sides,
        _usage: Access,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Half, Failure> {
        assert_eq!(program, b"{\"code\":1}\n");
        assert_eq!(self.side_pids, [41]);
        Self::judge(request, None, progress)
    }
}

fn evaluation() -> Evaluation {
    Evaluation {
        op: "relu".to_owned(),
        verdict: Verdict::Passed,
        level: Level::Emu,
        stage: Stage::Done,
        findings: Vec::new(),
        diagnostics: Vec::new(),
        resources: Vec::new(),
        cases: Vec::new(),
        timings: Vec::new(),
        speedups: Vec::new(),
        target: Target::h100_class(),
        seed: 1,
        nvrtc: None,
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

fn request(kernel: &str, on_gpu: bool) -> EvalRequest {
    EvalRequest { on_gpu, ..testing::request("relu", Implementation::kernel(kernel), Vec::new()) }
}

fn job(kernel: &str, on_gpu: bool) -> String {
    let request = Box::new(Cow::Owned(request(kernel, on_gpu)));
    serde_json::to_string(&Job::Cpu { request, sides: Box::default() }).unwrap()
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serves the lines and returns the output, one short word per line.
fn serve_lines(lines: &[String]) -> (Vec<String>, ExitCode) {
    let said = Shared::default();
    let code = serve(
        &Input::from_lines(&lines.join("\n")),
        &mut Output::new(said.clone()),
        &mut Scripted::default(),
    );
    let text = String::from_utf8(said.0.take()).unwrap();
    let words = text.lines().map(|line| match serde_json::from_str(line) {
        Ok(Message::Progress { .. }) => "progress".to_owned(),
        Ok(Message::Finished { program, .. }) => format!("finished {program}"),
        Ok(Message::Failed { message, cause, .. }) => format!("failed {cause:?} {message}"),
        Ok(Message::Hello { .. }) => "hello".to_owned(),
        Err(_) => line.to_owned(),
    });
    (words.collect(), code)
}

#[test]
fn jobs_are_served_in_order_until_the_input_ends() {
    let evaluation = Box::new(Cow::Owned(evaluation()));
    let request = Box::new(Cow::Owned(request("good", true)));
    let gpu = serde_json::to_string(&Job::Gpu {
        request,
        evaluation,
        sides: Box::new(Cow::Owned(Sides::default())),
        side_pids: vec![41],
        usage: Access::Shared,
    })
    .unwrap();
    let lines = [
        job("good", false),
        job("good", true),
        gpu,
        r#"{"code":1}"#.to_owned(),
        job("good", false),
    ];
    let (said, code) = serve_lines(&lines);
    let expected = [
        "progress",
        "finished false",
        "progress",
        "finished true",
        r#"{"code":1}"#,
        "progress",
        "finished false",
        "progress",
        "finished false",
    ];
    assert_eq!(said, expected);
    assert_eq!(code, ExitCode::SUCCESS);
}

#[test]
fn a_failure_is_reported_and_the_next_job_is_served() {
    let (said, _) = serve_lines(&[job("fail", false), "{}".to_owned(), job("good", false)]);
    assert_eq!(said[..2], ["progress", "failed Machine no device"]);
    assert!(said[2].starts_with("failed Machine the job cannot be read: "), "{said:?}");
    assert_eq!(said[3..], ["progress", "finished false"]);
}

#[test]
fn nothing_is_served_after_a_panic_or_a_lost_device() {
    let (said, _) = serve_lines(&[job("panic", false), job("good", false)]);
    assert_eq!(said, ["progress", "failed Panic index out of bounds"]);
    let (said, _) = serve_lines(&[job("retire", false), job("good", false)]);
    assert_eq!(said, ["progress", "finished false"]);
}
