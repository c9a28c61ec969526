//! The only place that writes to the terminal.

use std::io::{self, ErrorKind, Write as _};

/// Writes `text` to standard output. A reader that has gone away is no error.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to standard error, if there is one.
pub(super) fn complain(text: &str) {
    // Where there is no standard error, the exit code has to do.
    writeln!(io::stderr(), "{text}").unwrap_or_default();
}
