//! An evaluation in at most 8 KB, for a first look.
//!
//! The whole of it, with every case and every timing sample, is in `.samples.json`.

use std::io::{self, Write};

use kgen_record::{
    BaselineTiming, CaseResult, Diagnostic, Evaluation, Finding, Flag, LaunchFacts, Level,
    LibraryUse, Mode, Precision, PythonFacts, Resources, Speedup, Stage, StageTime, Target,
    TimeVerdict, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;

use super::Counts;

/// Largest size of `.eval.json`.
pub const EVAL_LIMIT_BYTES: usize = 8192;

/// `<op>_attempt_<n>.eval.json`: an [`Evaluation`] in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEvaluation {
    /// The op's name in kgen.
    pub op: String,
    /// The verdict over all cases.
    pub verdict: Verdict,
    /// Where it was reached.
    pub level: Level,
    /// The stage that decided it.
    pub stage: Stage,
    pub counts: Counts,
    /// One entry per baseline that was measured, the primary one first.
    pub speedups: Vec<Speedup>,
    pub precision: Precision,
    /// Whether the plan calls libraries; `None` where there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_use: Option<LibraryUse>,
    /// Seed of the inputs.
    pub seed: u64,
    pub nvrtc: Option<String>,
    pub target: Target,
    /// The Python process, where something ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Box<PythonFacts>>,
    /// Wall time of each stage that ran.
    pub stage_times: Vec<StageTime>,
    pub findings: Vec<Finding>,
    /// Messages of the compiler, the first ones.
    pub diagnostics: Vec<Diagnostic>,
    /// Resources of the compiled kernels.
    pub resources: Vec<Resources>,
    /// The first cases that failed.
    pub failed: Vec<CaseResult>,
    /// Times of the first timed cases.
    pub timings: Vec<StoredTiming>,
    /// Whether anything was left out or shortened to fit.
    pub shortened: bool,
}

/// Times of one case in short, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTiming {
    pub case: String,
    /// Median of the candidate.
    pub candidate_us: f64,
    /// How near that is to the limit of the hardware, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_of_floor: Option<f64>,
    /// How the times were taken.
    pub mode: Mode,
    pub baselines: Vec<StoredBaseline>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// One baseline of one case in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredBaseline {
    pub name: String,
    /// Its median, in microseconds; `None` is "not measured".
    pub median_us: Option<f64>,
    /// Its time over the candidate's, with the 99 % interval.
    pub speedup: Option<(f64, [f64; 2])>,
    pub verdict: Option<TimeVerdict>,
}

/// How much is kept of the parts that have no bound of their own.
struct Detail {
    n_items: usize,
    n_differences: usize,
    n_chars: usize,
}

/// From generous to almost nothing; the last one fits whatever the evaluation holds.
const DETAILS: [Detail; 6] = [
    Detail { n_items: 64, n_differences: 8, n_chars: 4096 },
    Detail { n_items: 16, n_differences: 4, n_chars: 1024 },
    Detail { n_items: 8, n_differences: 3, n_chars: 512 },
    Detail { n_items: 4, n_differences: 2, n_chars: 256 },
    Detail { n_items: 2, n_differences: 1, n_chars: 128 },
    Detail { n_items: 0, n_differences: 0, n_chars: 64 },
];

/// Shortens an evaluation until its text has at most [`EVAL_LIMIT_BYTES`]; returns both.
#[must_use]
pub fn summarise(evaluation: &Evaluation) -> (StoredEvaluation, String) {
    let mut shortest = None;
    for detail in &DETAILS {
        let stored = shorten(evaluation, detail);
        let text = to_text(&stored);
        if text.len() <= EVAL_LIMIT_BYTES {
            return (stored, text);
        }
        shortest = Some((stored, text));
    }
    shortest.expect("there is at least one level of detail")
}

fn shorten(evaluation: &Evaluation, detail: &Detail) -> StoredEvaluation {
    let mut shortener = Shortener { detail, shortened: false };
    let findings = shortener.list(&evaluation.findings, Shortener::finding);
    let diagnostics = shortener.list(&evaluation.diagnostics, Shortener::diagnostic);
    let resources = shortener.list(&evaluation.resources, |this, resources: &Resources| {
        let launches = resources.launches.iter().take(1).cloned();
        let launches = launches
            .map(|launch| LaunchFacts { args: this.text(&launch.args), ..launch })
            .collect();
        Resources {
            kernel: this.text(&resources.kernel),
            launches,
            sass: None,
            ..resources.clone()
        }
    });
    let failed: Vec<_> = evaluation.failed().cloned().collect();
    let failed = shortener.list(&failed, Shortener::case);
    let timings = shortener.list(&evaluation.timings, |this, timing| StoredTiming {
        case: this.text(&timing.case),
        candidate_us: timing.candidate.median_us,
        percent_of_floor: timing.percent_of_floor(),
        mode: timing.mode,
        baselines: timing.baselines.iter().map(|baseline| this.baseline(baseline)).collect(),
        flags: timing.flags.clone(),
    });
    StoredEvaluation {
        op: shortener.text(&evaluation.op),
        verdict: evaluation.verdict,
        level: evaluation.level,
        stage: evaluation.stage,
        counts: Counts::of(evaluation),
        speedups: evaluation.speedups.clone(),
        precision: evaluation.precision,
        library_use: evaluation.library_use,
        seed: evaluation.seed,
        nvrtc: evaluation.nvrtc.as_deref().map(|version| shortener.text(version)),
        target: evaluation.target.clone(),
        python: evaluation.python.clone(),
        stage_times: evaluation.stage_times.clone(),
        findings,
        diagnostics,
        resources,
        failed,
        timings,
        shortened: shortener.shortened,
    }
}

struct Shortener<'a> {
    detail: &'a Detail,
    shortened: bool,
}

impl Shortener<'_> {
    fn baseline(&mut self, baseline: &BaselineTiming) -> StoredBaseline {
        let comparison = baseline.comparison.as_ref();
        StoredBaseline {
            name: self.text(&baseline.name),
            median_us: baseline.timing.as_ref().map(|timing| timing.median_us),
            speedup: comparison.map(|comparison| (comparison.speedup, comparison.ci)),
            verdict: comparison.map(|comparison| comparison.verdict),
        }
    }

    fn list<T, U>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T) -> U) -> Vec<U> {
        self.shortened |= items.len() > self.detail.n_items;
        items.iter().take(self.detail.n_items).map(|item| each(self, item)).collect()
    }

    fn text(&mut self, text: &str) -> String {
        let Some((end, _)) = text.char_indices().nth(self.detail.n_chars) else {
            return text.to_owned();
        };
        self.shortened = true;
        format!("{}...", &text[..end])
    }

    fn optional(&mut self, text: Option<&String>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    fn finding(&mut self, finding: &Finding) -> Finding {
        let mut short = finding.clone();
        short.message = self.text(&finding.message);
        short.hint = self.optional(finding.hint.as_ref());
        if let Some(span) = &mut short.span {
            span.text = self.text(&span.text);
        }
        if let Some(fault) = &mut short.fault {
            fault.message = self.text(&fault.message);
            fault.kernel = self.text(&fault.kernel);
            fault.instruction = self.optional(fault.instruction.as_ref());
            fault.buffer = self.optional(fault.buffer.as_ref());
            if let Some(other) = &mut fault.other {
                other.what = self.text(&other.what);
                other.instruction = self.text(&other.instruction);
            }
        }
        short
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) -> Diagnostic {
        Diagnostic {
            message: self.text(&diagnostic.message),
            source_line: self.optional(diagnostic.source_line.as_ref()),
            ..diagnostic.clone()
        }
    }

    fn case(&mut self, case: &CaseResult) -> CaseResult {
        let mut short = case.clone();
        short.args = self.text(&case.args);
        short.findings = self.list(&case.findings, Self::finding);
        // Tables of numbers are in the samples.
        self.shortened |= !case.counters.is_empty();
        short.counters.clear();
        if let Some(mismatch) = &mut short.mismatch {
            self.shortened |= mismatch.first.len() > self.detail.n_differences;
            mismatch.first.truncate(self.detail.n_differences);
            mismatch.rule = self.text(&mismatch.rule);
            mismatch.pattern = self.optional(mismatch.pattern.as_ref());
        }
        short
    }
}

/// JSON with one line per field and one per element of a list, which people can read and which
/// stays small.
fn to_text(stored: &StoredEvaluation) -> String {
    let mut text = Vec::with_capacity(EVAL_LIMIT_BYTES);
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Lines::default());
    stored.serialize(&mut serializer).expect("an evaluation is plain data");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Breaks the lines of the object itself and of the lists in it; deeper ones stay on their line.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// Whether the list in the object has an element.
    has_element: bool,
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth == 2 {
            self.has_element = false;
        }
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        let breaks = self.depth == 1 && self.has_element;
        writer.write_all(if breaks { b"\n  ]" } else { b"]" })
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.depth == 2 {
            self.has_element = true;
            writer.write_all(b"\n    ")?;
        }
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.depth == 1 { writer.write_all(b"\n  ") } else { Ok(()) }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.depth == 1 { b": " } else { b":" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::evaluation;
    use kgen_record::{CaseTiming, Comparison, Severity, Timing};

    fn check(evaluation: &Evaluation, shortened: bool) {
        let (stored, text) = summarise(evaluation);
        assert!(text.len() <= EVAL_LIMIT_BYTES, "{} bytes", text.len());
        assert_eq!(stored.shortened, shortened);
        let back: StoredEvaluation = serde_json::from_str(&text).unwrap();
        assert_eq!(back.counts, Counts::of(evaluation));
        assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&stored).unwrap());
        assert_eq!(text, by_hand(&stored));
    }

    /// The same text by way of a value.
    fn by_hand(stored: &StoredEvaluation) -> String {
        let value = serde_json::to_value(stored).unwrap();
        let lines = value.as_object().unwrap().iter().map(|(name, value)| match value {
            serde_json::Value::Array(items) if !items.is_empty() => {
                let items: Vec<_> = items.iter().map(|item| format!("    {item}")).collect();
                format!("  \"{name}\": [\n{}\n  ]", items.join(",\n"))
            }
            value => format!("  \"{name}\": {value}"),
        });
        format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n"))
    }

    #[test]
    fn small_evaluations_are_kept_whole_and_large_ones_fit() {
        check(&evaluation(Verdict::Passed, 36, 0), false);
        check(&evaluation(Verdict::WrongOutput, 36, 1), false);
        check(&evaluation(Verdict::WrongOutput, 5000, 4000), true);

        let mut verbose = evaluation(Verdict::CompileError, 0, 0);
        verbose.diagnostics = vec![
            Diagnostic {
                line: Some(3),
                severity: Severity::Error,
                message: "ü\"\n".repeat(100_000),
                source_line: Some("x".repeat(100_000)),
            };
            300
        ];
        check(&verbose, true);

        let timing = Timing::of(vec![1.0; 999]).unwrap();
        let mut timed = evaluation(Verdict::Passed, 36, 0);
        timed.timings = vec![
            CaseTiming {
                case: "f32[4096,4096]/normal".to_owned(),
                args: "self=f32[4096,4096]".to_owned(),
                count: None,
                candidate: timing.clone(),
                mode: Mode::Cold,
                baselines: vec![BaselineTiming {
                    name: "builtin".to_owned(),
                    timing: Some(timing),
                    candidate: None,
                    comparison: Comparison::of(&[[1.1, 1.0, 1.0, 1.2]; 32]),
                    overhead_dominated: false,
                    note: None,
                    flags: Vec::new(),
                    verdict: None,
                    usage: kgen_record::Usage::default(),
                }],
                bytes: 1.0,
                flops: 1.0,
                peak_bytes: 1,
                floor_us: 1.0,
                roofline: None,
                flags: Vec::new(),
                do_bench: None,
                params: Vec::new(),
                usage: kgen_record::Usage::default(),
            };
            24
        ];
        check(&timed, false);
    }
}
