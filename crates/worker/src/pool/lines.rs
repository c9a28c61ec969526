//! Lines of a worker, with a limit on their length.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Reads lines that are at most `limit` bytes long.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns the lines of a pipe.
    pub(super) fn new(pipe: R, limit: usize) -> Self {
        Self { reader: BufReader::with_capacity(64 << 10, pipe), limit, line: Vec::new() }
    }

    /// Reads the next line, its end not included; `None` at the end of the stream.
    ///
    /// A call that was cancelled may be repeated: no byte is lost. A line without an end counts as
    /// none: its writer died over it.
    ///
    /// # Errors
    ///
    /// Those of the pipe, and `InvalidData` for a line beyond the limit.
    pub(super) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let (n_used, is_whole) = match buffer.iter().position(|&byte| byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            };
            self.line.extend_from_slice(&buffer[..n_used - usize::from(is_whole)]);
            self.reader.consume(n_used);
            if self.line.len() > self.limit {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end"));
            }
            if is_whole {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_split_capped_and_dropped_when_torn() {
        let mut lines = Lines::new(&b"one\n\ntwo\ntorn"[..], 3);
        for expected in ["one", "", "two"] {
            assert_eq!(lines.next().await.unwrap().unwrap(), expected.as_bytes());
        }
        assert_eq!(Lines::new(&b"torn"[..], 100).next().await.unwrap(), None);
        assert!(Lines::new(&b"long\n"[..], 3).next().await.is_err());
        assert!(lines.next().await.is_err(), "the torn line is beyond the limit too");
    }
}
