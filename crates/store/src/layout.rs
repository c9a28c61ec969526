//! Names of the files of a run.

use std::path::{Path, PathBuf};

use kgen_record::{AttemptId, Implementation, OpKey};

pub(super) const RUN_JSON: &str = "run.json";
/// `run.json` as it was when the run began.
pub(super) const RUN_COPY: &str = "run.json.bak";
pub(super) const INDEX: &str = "index.jsonl";
pub(super) const LOCK: &str = "run.lock";
pub(super) const METADATA: &str = "metadata.json";

/// Files that a report writes at the top of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopFile {
    /// `README.md`: the run described for people.
    Readme,
    /// `OVERALL_SUMMARY.txt`: totals.
    OverallSummary,
    /// `full_results.json`: every case of every op's best attempt.
    FullResults,
    /// `operator_summary.csv`: one row per op.
    OperatorSummary,
    /// `failed_tests.json`: the cases that failed.
    FailedTests,
}

impl TopFile {
    /// Returns the file's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Readme => "README.md",
            Self::OverallSummary => "OVERALL_SUMMARY.txt",
            Self::FullResults => "full_results.json",
            Self::OperatorSummary => "operator_summary.csv",
            Self::FailedTests => "failed_tests.json",
        }
    }
}

/// Files of an attempt, one per stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageFile {
    /// `.json`: the attempt's record, written when it is over.
    Record,
    /// `.cu`: the kernel file.
    Kernel,
    /// `.py`: the Python module, where that was judged.
    Module,
    /// `.eval.json`: the evaluation in short.
    Eval,
    /// `.samples.json`: the evaluation whole, raw timing samples included.
    Samples,
    /// `.log`: messages of the compiler and output of the kernel.
    Log,
    /// `.feedback.md`: the part of the next prompt about it.
    Feedback,
    /// `.confirm.json`: the winner judged again with fresh seeds.
    Confirm,
    /// `.confirm.samples.json`: the times of each of these evaluations, raw samples included.
    ConfirmSamples,
    /// `.profile.json`: output of profilers, with the summary.
    Profile,
}

impl StageFile {
    pub const ALL: [Self; 10] = [
        Self::Record,
        Self::Kernel,
        Self::Module,
        Self::Eval,
        Self::Samples,
        Self::Log,
        Self::Feedback,
        Self::Confirm,
        Self::ConfirmSamples,
        Self::Profile,
    ];

    /// Returns the file that holds the text of an implementation; `None` where it has none.
    #[must_use]
    pub fn of(implementation: &Implementation) -> Option<Self> {
        match implementation {
            Implementation::Kernel { .. } => Some(Self::Kernel),
            Implementation::Python { source, .. } => source.is_some().then_some(Self::Module),
            Implementation::Library { .. } | Implementation::Adapter { .. } => None,
        }
    }

    /// Returns the rest after `<op>_attempt_<n>` in the file's name.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Record => ".json",
            Self::Kernel => ".cu",
            Self::Module => ".py",
            Self::Eval => ".eval.json",
            Self::Samples => ".samples.json",
            Self::Log => ".log",
            Self::Feedback => ".feedback.md",
            Self::Confirm => ".confirm.json",
            Self::ConfirmSamples => ".confirm.samples.json",
            Self::Profile => ".profile.json",
        }
    }
}

/// Files of one call of an LLM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallFile {
    /// `.request.json`: the exact request, on disk before it is sent.
    Request,
    /// `.request.md`: the same for people.
    RequestText,
    /// `.reply.json`: usage, ids, timing.
    Reply,
    /// `.reply.md`: the text.
    ReplyText,
    /// `.response.raw`: the response, byte for byte.
    Response,
    /// `.failure.json`: the call ended without a reply.
    Failure,
    /// `.lost.json`: the call was in flight when kgen ended.
    Lost,
}

impl CallFile {
    pub const ALL: [Self; 7] = [
        Self::Request,
        Self::RequestText,
        Self::Reply,
        Self::ReplyText,
        Self::Response,
        Self::Failure,
        Self::Lost,
    ];

    /// Returns the rest after `<op>_attempt_<n>.call_<m>` in the file's name.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Request => ".request.json",
            Self::RequestText => ".request.md",
            Self::Reply => ".reply.json",
            Self::ReplyText => ".reply.md",
            Self::Response => ".response.raw",
            Self::Failure => ".failure.json",
            Self::Lost => ".lost.json",
        }
    }
}

/// A file of an attempt, parsed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AttemptFile {
    Stage(StageFile),
    Call(u32, CallFile),
}

pub(super) fn stage_path(run: &Path, attempt: &AttemptId, file: StageFile) -> PathBuf {
    run.join(&attempt.op.0).join(format!("{attempt}{}", file.suffix()))
}

pub(super) fn call_path(run: &Path, attempt: &AttemptId, call: u32, file: CallFile) -> PathBuf {
    run.join(&attempt.op.0).join(format!("{attempt}.call_{call}{}", file.suffix()))
}

/// Takes a file's name in an op's folder apart: the attempt's number and the kind of the file.
pub(super) fn parse(op: &OpKey, name: &str) -> Option<(u32, AttemptFile)> {
    let rest = name.strip_prefix(&op.0)?.strip_prefix("_attempt_")?;
    let (number, suffix) = rest.split_at(rest.find('.')?);
    let number = number.parse().ok()?;
    if let Some(call) = suffix.strip_prefix(".call_") {
        let (call, suffix) = call.split_at(call.find('.')?);
        let file = CallFile::ALL.into_iter().find(|file| file.suffix() == suffix)?;
        return Some((number, AttemptFile::Call(call.parse().ok()?, file)));
    }
    let file = StageFile::ALL.into_iter().find(|file| file.suffix() == suffix)?;
    Some((number, AttemptFile::Stage(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        let op = OpKey("sum__dim_IntList".to_owned());
        let attempt = AttemptId { op: op.clone(), number: 12 };
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        for file in StageFile::ALL {
            let name = name(stage_path(Path::new("r"), &attempt, file));
            assert_eq!(parse(&op, &name), Some((12, AttemptFile::Stage(file))), "{name}");
        }
        for file in CallFile::ALL {
            let name = name(call_path(Path::new("r"), &attempt, 3, file));
            assert_eq!(parse(&op, &name), Some((12, AttemptFile::Call(3, file))), "{name}");
        }
    }

    #[test]
    fn foreign_names_are_not_ours() {
        let op = OpKey("relu".to_owned());
        for name in [
            "relu.cu",
            "metadata.json",
            "relu_attempt_x.cu",
            "relu_attempt_1.cu.orig",
            "relu_attempt_1",
            "add_attempt_1.cu",
            "relu_attempt_1.call_1.json",
        ] {
            assert_eq!(parse(&op, name), None, "{name}");
        }
    }
}
