//! Buffers that keep a bounded part of an unbounded stream.

use std::collections::VecDeque;

/// The first bytes of a stream.
#[derive(Debug, Clone)]
pub struct Head {
    kept: Vec<u8>,
    cap: usize,
    total: u64,
}

impl Head {
    /// Returns an empty buffer that will keep at most `cap` bytes.
    #[must_use]
    pub const fn new(cap: usize) -> Self {
        Self { kept: Vec::new(), cap, total: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.cap - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns whether bytes were dropped.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// Returns the bytes kept.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.kept
    }

    /// Returns the bytes kept.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.kept
    }
}

/// The last bytes of a stream.
#[derive(Debug, Clone)]
pub struct Tail {
    kept: VecDeque<u8>,
    cap: usize,
    total: u64,
}

impl Tail {
    /// Returns an empty buffer that will keep at most `cap` bytes.
    #[must_use]
    pub const fn new(cap: usize) -> Self {
        Self { kept: VecDeque::new(), cap, total: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.cap)..];
        let surplus = (self.kept.len() + bytes.len()).saturating_sub(self.cap);
        self.kept.drain(..surplus);
        self.kept.extend(bytes);
    }

    /// Returns whether bytes were dropped.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// Returns the bytes kept, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let (front, back) = self.kept.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }

    /// Returns the bytes kept.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.kept.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_keeps_the_beginning_and_a_tail_the_end() {
        let chunks: [&[u8]; 4] = [b"ab", b"cde", b"", b"fghi"];
        for cap in 0..12 {
            let (mut head, mut tail) = (Head::new(cap), Tail::new(cap));
            for chunk in chunks {
                head.push(chunk);
                tail.push(chunk);
            }
            let kept = cap.min(9);
            assert_eq!(head.bytes(), &b"abcdefghi"[..kept], "cap {cap}");
            assert_eq!(head.is_truncated(), cap < 9);
            assert_eq!(tail.is_truncated(), cap < 9);
            assert_eq!(tail.text().as_bytes(), &b"abcdefghi"[9 - kept..], "cap {cap}");
            assert_eq!(tail.into_bytes(), &b"abcdefghi"[9 - kept..], "cap {cap}");
        }
    }
}
