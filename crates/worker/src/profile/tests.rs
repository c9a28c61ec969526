//! Profiling with scripts in place of NVIDIA's tools; their output was recorded from the real ones.

use std::{fs, path::PathBuf};

use kgen_eval::{BoundLaunch, Variant};
use kgen_ops::suite;
use kgen_process::testing::program;
use kgen_record::{
    CaseClass, Implementation, Level, ResolvedPlan, Stage as EvalStage, Verdict, testing,
};

use super::{sanitizer::understand, *};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../profile/fixtures/", $name))
    };
}

/// A machine with tools that are scripts, and kgen's cache.
struct Machine {
    tools: TempDir,
    cache: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine =
            Self { tools: tempfile::tempdir().unwrap(), cache: tempfile::tempdir().unwrap() };
        for (name, text) in [
            ("raw.csv", fixture!("ncu-softmax_rows-raw.csv")),
            ("details.csv", fixture!("ncu-softmax_rows-details.csv")),
            ("source.csv", fixture!("ncu-softmax_rows-source.csv")),
            ("clean.xml", fixture!("sanitizer-memcheck-add_f32.xml")),
            ("clean.txt", fixture!("sanitizer-memcheck-add_f32.txt")),
            ("race.xml", fixture!("sanitizer-racecheck-race_shared.xml")),
            ("race.txt", fixture!("sanitizer-racecheck-race_shared.txt")),
        ] {
            fs::write(machine.tools.path().join(name), text).unwrap();
        }
        machine
    }

    fn script(&self, name: &str, text: &str) -> &Self {
        let tools = self.tools.path().display();
        let text = format!("#!/bin/sh\ncd {tools}\necho \"$@\" >> {name}.calls\n{text}\n");
        program(self.tools.path(), name, &text);
        self
    }

    /// A `ncu` that works; `first` is done before it profiles.
    fn ncu(&self, first: &str) -> &Self {
        let text = format!(
            "case \"$*\" in\n*--version*) echo 'Version 2025.3.1.0 (build 1)' ;;\n\
             *'--page raw'*) cat raw.csv ;;\n*'--page details'*) cat details.csv ;;\n\
             *'--page source'*) cat source.csv ;;\n*) {first}\necho '==PROF== Report: r' ;;\nesac"
        );
        self.script("ncu", &text)
    }

    fn sanitizer(&self, racecheck: &str) -> &Self {
        // Its own folder is not the one the files go to: that is the working folder.
        let tools = self.tools.path().display();
        let text = format!(
            "#!/bin/sh\nset -- \"$2\"\nwhat=clean\ntest \"$1\" = racecheck && what={racecheck}\n\
             cp {tools}/$what.xml $1.xml\ncp {tools}/$what.txt $1.txt\n"
        );
        program(self.tools.path(), "compute-sanitizer", &text);
        self
    }

    fn profilers(&self) -> Profilers {
        let folder = self.tools.path().to_owned();
        let find = move |name: &str| Some(folder.join(name)).filter(|path: &PathBuf| path.exists());
        Profilers::with(Box::new(find), Some(self.cache.path()))
    }

    fn calls(&self, name: &str) -> String {
        fs::read_to_string(self.tools.path().join(format!("{name}.calls"))).unwrap_or_default()
    }

    fn n_profiled(&self) -> usize {
        self.calls("ncu").lines().filter(|line| line.contains("--metrics")).count()
    }

    fn profile(&self, retry: bool) -> KernelProfile {
        let mut cases = suite::load("smoke").unwrap().cases("softmax", None, 1).unwrap();
        cases.retain(|case| case.class == CaseClass::Realistic);
        cases.truncate(1);
        let wanted = ProfileRequest { case: 0, sanitized: vec![0], retry };
        let request = EvalRequest {
            profile: Some(wanted.clone()),
            on_gpu: true,
            ..testing::request(
                "softmax",
                Implementation::kernel("// 1\n// 2\n// 3\n// 4\nsum += x[i];"),
                cases,
            )
        };
        let evaluation = Evaluation {
            verdict: Verdict::Passed,
            level: Level::EmuCuda,
            stage: EvalStage::Done,
            ..kgen_eval::unbegun(&request, Verdict::Passed)
        };
        let bound = BoundLaunch { entry: "softmax_rows".to_owned(), args: Vec::new() };
        let program = Program {
            variants: vec![Variant {
                types: Vec::new(),
                defines: Vec::new(),
                cubin: vec![1, 2, 3],
                ptx: String::new(),
            }],
            cases: vec![CaseProgram {
                case: 0,
                variant: 0,
                plan: ResolvedPlan::default(),
                bound: vec![Some(bound)],
            }],
            tunings: Vec::new(),
            copy: None,
            baselines: Vec::new(),
            full_size: None,
            refused: Vec::new(),
            reference: None,
        };
        let job = Job {
            request: &request,
            wanted: &wanted,
            evaluation: &evaluation,
            program: &program,
            device: 0,
        };
        profile(&job, &self.profilers())
    }
}

fn says(profile: &KernelProfile, text: &str) -> bool {
    profile.summary.iter().any(|line| line.contains(text))
}

#[test]
fn a_kernel_is_counted_and_sanitized() {
    let machine = Machine::new();
    machine.ncu("").sanitizer("clean");
    let profile = machine.profile(false);
    for text in [
        "profile of softmax(",
        "ncu 2025.3.1.0, compute capability 9.0",
        "kernel softmax_rows: grid 4096, block 256",
        "compute-sanitizer finds nothing: memcheck, racecheck, initcheck, synccheck",
    ] {
        assert!(says(&profile, text), "{text}: {:#?}", profile.summary);
    }
    assert!(!profile.suspicious);
    let names: Vec<&str> = profile.raw.iter().map(|raw| raw.name.as_str()).collect();
    for name in ["ncu-raw.csv", "ncu-source.csv", "sanitizer-racecheck.xml"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let calls = machine.calls("ncu");
    let profiled = calls.lines().find(|line| line.contains("--metrics")).unwrap();
    for text in [
        "--clock-control none",
        "--launch-count 1",
        "regex:^(softmax_rows)$",
        "gpu__time_duration.sum",
        "rehearse",
    ] {
        assert!(profiled.contains(text), "{text}: {profiled}");
    }
}

#[test]
fn findings_of_the_sanitizer_are_reported() {
    let machine = Machine::new();
    machine.sanitizer("race");
    let profile = machine.profile(false);
    assert!(profile.suspicious);
    assert!(says(&profile, "racecheck: Race condition: write in race_shared at cap.cu:13"));
    assert!(says(&profile, "ncu did not run: `ncu` is not installed"));
}

#[test]
fn a_refusal_is_one_line_and_is_remembered_until_it_is_tried_again() {
    let machine = Machine::new();
    machine.ncu("echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1");
    for _ in 0..2 {
        let profile = machine.profile(false);
        let denied = profile.summary.iter().filter(|line| line.contains("only administrators"));
        assert_eq!(denied.count(), 1, "{:#?}", profile.summary);
    }
    assert_eq!(machine.n_profiled(), 1);
    // The driver was loaded anew and lets everybody: the same tool now works.
    let changed = machine.tools.path().join("ncu").metadata().unwrap().modified().unwrap();
    machine.ncu("");
    let file = fs::File::options().write(true).open(machine.tools.path().join("ncu")).unwrap();
    file.set_modified(changed).unwrap();
    drop(file);
    assert!(says(&machine.profile(false), "only administrators"));
    assert!(says(&machine.profile(true), "kernel softmax_rows"));
    assert!(says(&machine.profile(false), "kernel softmax_rows"));
}

#[test]
fn a_metric_that_the_tool_does_not_know_is_left_out() {
    let machine = Machine::new();
    machine.ncu(
        "case \"$*\" in *dram__bytes_read.sum*) echo '==ERROR== Failed to find metric \
         dram__bytes_read.sum'; exit 1;; esac",
    );
    assert!(says(&machine.profile(false), "kernel softmax_rows"));
    assert_eq!(machine.n_profiled(), 2);
    assert!(says(&machine.profile(false), "kernel softmax_rows"));
    assert_eq!(machine.n_profiled(), 3, "the next time it is not asked for at all");
}

#[test]
fn a_sanitizer_that_fails_finds_nothing() {
    let clean = fixture!("sanitizer-memcheck-add_f32.txt");
    let xml = fixture!("sanitizer-memcheck-add_f32.xml");
    assert_eq!(understand(xml, clean, ""), Ok(Vec::new()));
    assert_eq!(understand("", "", "no GPU\n"), Err("no GPU".to_owned()));
    assert!(understand(xml, "========= Internal Sanitizer Error: 3\n", "").is_err());
    let found = understand("<broken", fixture!("sanitizer-memcheck-oob.txt"), "");
    assert_eq!(
        found.unwrap()[0].place.line,
        Some(11),
        "the text is read where the XML is not whole"
    );
}

#[test]
fn cases_are_chosen_without_telling_drawn_ones() {
    let cases = suite::load("smoke").unwrap().cases("softmax", None, 1).unwrap();
    let chosen = ProfileRequest::of(&cases).unwrap();
    assert_eq!(cases[chosen.case].class, CaseClass::Realistic);
    assert!(!chosen.sanitized.is_empty() && chosen.sanitized.len() <= 16);
    for index in chosen.sanitized {
        assert!(!matches!(cases[index].class, CaseClass::Drawn | CaseClass::Realistic));
    }
    assert_eq!(ProfileRequest::of(&[]), None);
}

#[test]
fn a_rehearsal_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("broken.json"), "{").unwrap();
    assert!(rehearse(&folder.path().join("broken.json")).is_err());
    assert!(rehearse(Path::new("/nowhere/at/all.json")).unwrap_err().contains("/nowhere"));
}
