//! Lines of a worker, with a limit on their length.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    time::{Instant, timeout_at},
};

/// Reads lines that are at most `limit` bytes long.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    /// When bytes came last.
    heard: Instant,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns the lines of a pipe.
    pub(super) fn new(pipe: R, limit: usize) -> Self {
        let reader = BufReader::with_capacity(64 << 10, pipe);
        Self { reader, limit, line: Vec::new(), heard: Instant::now() }
    }

    /// Reads the next line as [`Self::next`] does, if there is no pause of `limit` in front of it or in it.
    ///
    /// # Errors
    ///
    /// Those of [`Self::next`], and `TimedOut` after such a pause.
    pub(super) async fn next_within(&mut self, limit: Duration) -> io::Result<Option<Vec<u8>>> {
        let began = Instant::now();
        loop {
            let last = self.heard.max(began);
            match timeout_at(last + limit, self.next()).await {
                Ok(line) => return line,
                Err(_) if self.heard <= last => {
                    let text = format!("nothing was heard for {} s", limit.as_secs_f64());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Err(_) => {}
            }
        }
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
            self.heard = Instant::now();
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
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn a_line_may_take_long_but_not_pause() {
        let (mut writer, reader) = tokio::io::duplex(64);
        let mut lines = Lines::new(reader, 100);
        let limit = Duration::from_millis(400);
        let slow = async {
            for byte in b"slowly\n" {
                tokio::time::sleep(limit / 4).await;
                writer.write_all(&[*byte]).await.unwrap();
            }
        };
        let (line, ()) = tokio::join!(lines.next_within(limit), slow);
        assert_eq!(line.unwrap().unwrap(), b"slowly");
        let silent = lines.next_within(limit).await.unwrap_err();
        assert_eq!(silent.kind(), io::ErrorKind::TimedOut);
    }

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
