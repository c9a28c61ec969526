//! A file of any tool.

use std::path::Path;

use crate::{
    ReadError, ncu, nsys, perf,
    report::{Report, Tool},
    torch, xctrace,
};

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `SQLite` export of nsys.
    NsysSqlite,
    /// Report of nsys itself.
    NsysReport,
    /// CSV of ncu.
    NcuCsv,
    /// Report of ncu itself.
    NcuReport,
    /// `perf.data`.
    PerfData,
    /// Text of `perf script` or `perf stat`.
    PerfText,
    /// Trace of `torch.profiler`.
    TorchTrace,
    /// XML export of xctrace.
    XctraceXml,
}

impl Form {
    /// Guesses the form of a file from its name and its first bytes.
    ///
    /// # Errors
    ///
    /// [`ReadError::Empty`] without bytes, [`ReadError::Unknown`] for bytes that no tool writes.
    pub fn of(name: &Path, head: &[u8]) -> Result<Self, ReadError> {
        let extension = name.extension().and_then(|name| name.to_str()).unwrap_or_default();
        let begins = |magic: &[u8]| head.starts_with(magic);
        let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
        Ok(match (extension, first) {
            (_, None) => return Err(ReadError::Empty),
            ("nsys-rep" | "qdrep", _) => Self::NsysReport,
            ("ncu-rep", _) => Self::NcuReport,
            _ if begins(b"SQLite format 3\0") => Self::NsysSqlite,
            _ if begins(b"PERFILE2") || begins(b"2ELIFREP") => Self::PerfData,
            _ if begins(&[0x1f, 0x8b]) => Self::TorchTrace,
            (_, Some(b'{' | b'[')) => Self::TorchTrace,
            (_, Some(b'<')) if !begins(b"<not ") => Self::XctraceXml,
            _ if head.contains(&0) => return Err(ReadError::Unknown),
            _ if String::from_utf8_lossy(head).contains("\"ID\",") => Self::NcuCsv,
            _ => Self::PerfText,
        })
    }

    /// Returns the tool whose form it is.
    #[must_use]
    pub const fn tool(self) -> Tool {
        match self {
            Self::NsysSqlite | Self::NsysReport => Tool::Nsys,
            Self::NcuCsv | Self::NcuReport => Tool::Ncu,
            Self::PerfData | Self::PerfText => Tool::Perf,
            Self::TorchTrace => Tool::Torch,
            Self::XctraceXml => Tool::Xctrace,
        }
    }
}

/// Reads a file of a form; `bytes` are its content, of which `SQLite` alone takes no notice.
///
/// # Errors
///
/// Those of the form's reader, [`ReadError::NotExported`] for a form that its tool has to export first.
pub fn read(form: Form, path: &Path, bytes: &[u8]) -> Result<Report, ReadError> {
    let text = || String::from_utf8_lossy(bytes);
    let unexported = |form, command| Err(ReadError::NotExported { form, command });
    match form {
        Form::NsysSqlite => nsys::report(path),
        Form::NcuCsv => ncu::report(&text(), ""),
        Form::PerfText => perf::report(&text(), &text()).ok_or(ReadError::Unknown),
        Form::TorchTrace => torch::report(bytes),
        Form::XctraceXml => xctrace::report(&text()),
        Form::NsysReport => unexported(
            "a report of nsys",
            "nsys export --type sqlite --output REPORT.sqlite REPORT.nsys-rep",
        ),
        Form::NcuReport => unexported(
            "a report of ncu",
            "ncu --import REPORT.ncu-rep --page raw --csv --print-units base > REPORT.csv",
        ),
        Form::PerfData => unexported("a recording of perf", "perf script -i perf.data > perf.txt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_known_by_their_first_bytes() {
        let form = |name: &str, head: &[u8]| Form::of(Path::new(name), head).unwrap();
        assert_eq!(form("a.sqlite", b"SQLite format 3\0..."), Form::NsysSqlite);
        assert_eq!(form("perf.data", b"PERFILE2h\0\0"), Form::PerfData);
        assert_eq!(form("a.json.gz", b"\x1f\x8b\x08"), Form::TorchTrace);
        assert_eq!(form("a", b"  {\"traceEvents\": []}"), Form::TorchTrace);
        assert_eq!(form("a.xml", b"<?xml version"), Form::XctraceXml);
        assert_eq!(form("a.csv", b"==PROF== x\n\"ID\",\"Process ID\""), Form::NcuCsv);
        assert_eq!(form("a.txt", b"sh 1 2.0: 1 cycles:"), Form::PerfText);
        assert_eq!(form("a.csv", b"<not supported>,,cycles,0,100.00,,"), Form::PerfText);
        assert_eq!(form("a.ncu-rep", b"NVR\0"), Form::NcuReport);
        assert_eq!(Form::of(Path::new("a"), b" \n"), Err(ReadError::Empty));
        assert_eq!(Form::of(Path::new("a"), b"\x7fELF\0\0"), Err(ReadError::Unknown));
    }

    #[test]
    fn files_of_other_kinds_are_refused() {
        for (name, bytes) in [
            ("notes.txt", "just text\nof two lines\n"),
            ("table.csv", "a,b,c\n1,2,3\n"),
            ("x.json", "{\"a\": 1}"),
            ("x.xml", "<html><body/></html>"),
            ("x.csv", "\"ID\",\"Kernel Name\"\n"),
            ("x.ncu-rep", "NVR"),
            ("x.nsys-rep", "NV"),
        ] {
            let path = Path::new(name);
            let read = Form::of(path, bytes.as_bytes())
                .and_then(|form| read(form, path, bytes.as_bytes()));
            let error = read.expect_err(name);
            assert!(!error.to_string().is_empty(), "{name}");
        }
    }
}
