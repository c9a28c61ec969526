//! Reports that cannot be read.

/// Why a file is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It has no bytes, or blanks alone.
    #[error("it is empty")]
    Empty,
    /// It is no report of a known tool.
    #[error(
        "it is no known report: kgen reads the .sqlite export of nsys, the CSV of `ncu --page raw --csv`, the \
         text of `perf script` or `perf stat -x`, a trace of torch.profiler and an XML export of xctrace"
    )]
    Unknown,
    /// It is a report of a tool in a form that has to be exported first.
    #[error("{form} has to be exported first: {command}")]
    NotExported {
        /// The form.
        form: &'static str,
        /// The command that exports it.
        command: &'static str,
    },
    /// It begins like a report and is not one.
    #[error("it is no readable {form}: {reason}")]
    Malformed {
        /// The form.
        form: &'static str,
        /// The reader's reason.
        reason: String,
    },
    /// It has none of the tables that matter.
    #[error("{0}")]
    NoTable(String),
}

impl ReadError {
    pub(crate) fn malformed(form: &'static str, reason: impl ToString) -> Self {
        Self::Malformed { form, reason: reason.to_string() }
    }
}
