//! Why a request is refused.

use serde::Serialize;

/// Longest detail that is sent, in bytes.
const DETAIL_LIMIT: usize = 2048;

/// The kind of reason, as the protocol has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request itself is wrong.
    BadRequest,
    /// The library has no such function, or not for these arguments.
    Unsupported,
    /// The library failed.
    Raised,
    /// The outputs are not those announced.
    WrongOutputs,
    /// The device has no memory left.
    OutOfMemory,
    /// The device is beyond use: the program ends behind this reply.
    GpuLost,
}

/// A request that is refused; the program goes on, but for [`Kind::GpuLost`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub kind: Kind,
    /// One line.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Refusal {
    /// Returns a refusal whose message is the first line of `text`, and whose detail is the rest of it.
    #[must_use]
    pub fn new(kind: Kind, text: impl std::fmt::Display) -> Self {
        let text = text.to_string();
        let (message, detail) = match text.trim().split_once('\n') {
            Some((first, rest)) => (first.trim_end().to_owned(), Some(shortened(rest.trim()))),
            None => (text.trim().to_owned(), None),
        };
        Self { kind, message, detail }
    }

    /// Returns a refusal of a failure that the library reports, of which only the text says what it is.
    #[must_use]
    pub fn of_library(kind: Kind, text: impl std::fmt::Display) -> Self {
        let text = text.to_string();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let kind = if says(&["OUT_OF_MEMORY", "out of memory"]) {
            Kind::OutOfMemory
        } else if says(&[
            "ILLEGAL_ADDRESS",
            "LAUNCH_FAILED",
            "ILLEGAL_INSTRUCTION",
            "MISALIGNED_ADDRESS",
        ]) {
            Kind::GpuLost
        } else {
            kind
        };
        Self::new(kind, text)
    }
}

fn shortened(text: &str) -> String {
    let mut start = text.len().saturating_sub(DETAIL_LIMIT);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

/// Returns the refusal of something that the library does not have.
#[must_use]
pub fn unsupported(text: impl std::fmt::Display) -> Refusal {
    Refusal::new(Kind::Unsupported, text)
}

pub(crate) fn bad(text: impl std::fmt::Display) -> Refusal {
    Refusal::new(Kind::BadRequest, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_and_the_rest_is_detail() {
        let refusal = Refusal::new(Kind::Raised, "no\n at line 1\n at line 2");
        let json = serde_json::to_value(&refusal).unwrap();
        assert_eq!(json["kind"], "raised");
        assert_eq!(json["message"], "no");
        assert_eq!(json["detail"], "at line 1\n at line 2");
        let lost = Refusal::of_library(Kind::Raised, "DriverError(CUDA_ERROR_ILLEGAL_ADDRESS)");
        assert_eq!(lost.kind, Kind::GpuLost);
        assert_eq!(
            Refusal::of_library(Kind::Raised, "CUDA_ERROR_OUT_OF_MEMORY").kind,
            Kind::OutOfMemory
        );
    }
}
