//! The guard in front of NVRTC.
//!
//! Comments are blanked first and NVRTC is given the blanked text, so a comment that this code
//! and NVRTC would end at different places hides nothing. In the rest every `#` counts,
//! wherever it stands; that is stricter than the language and needs no understanding of it. Words are
//! looked for in logical lines, and so are the pieces that macros could paste them from.

use kgen_record::{Finding, SourceSpan};

use super::{
    super::{cutlass, prelude},
    words::{self, Spliced},
};

/// Largest source that is compiled, in bytes.
const MAX_SOURCE_BYTES: usize = 1 << 20;

/// Headers of the CUDA toolkit that device code has a use for.
const CUDA_HEADERS: [&str; 25] = [
    "cooperative_groups.h",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_bf16.h",
    "cuda_bf16.hpp",
    "cuda_fp16.h",
    "cuda_fp16.hpp",
    "cuda_fp4.h",
    "cuda_fp6.h",
    "cuda_fp8.h",
    "cuda_occupancy.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "cuComplex.h",
    "device_atomic_functions.h",
    "math_constants.h",
    "mma.h",
    "sm_20_intrinsics.h",
    "sm_30_intrinsics.h",
    "sm_32_intrinsics.h",
    "sm_35_intrinsics.h",
    "sm_60_atomic_functions.h",
    "sm_61_intrinsics.h",
    "vector_functions.h",
    "nv/target",
];

/// Folders of the CUDA toolkit and of CCCL whose headers may be included.
const CUDA_FOLDERS: [&str; 6] =
    ["cooperative_groups/", "cub/block/", "cub/thread/", "cub/warp/", "cuda/", "cub/util_"];

/// Refuses a kernel file that must not reach NVRTC.
///
/// `cutlass`: whether it may include headers of CUTLASS.
///
/// # Errors
///
/// The finding names the refused words, their place, and a replacement.
pub fn guard_source(source: &str, cutlass: bool) -> Result<(), Box<Finding>> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(Box::new(Finding::new(format!(
            "the kernel file has {} bytes; at most {MAX_SOURCE_BYTES} are compiled",
            source.len()
        ))));
    }
    let code = blank_comments(source)?;
    let logical = Spliced::new(&code);
    refuse_characters(source, &code, &logical)?;
    let leading = prelude::leading_includes(&code).count();
    for (index, (at, directive)) in hashes(&code).into_iter().enumerate() {
        let place = Place { cutlass, leading: index < leading };
        check_directive(&directive, place).map_err(|refusal| refusal.finding(source, at))?;
    }
    words::refuse_words(source, &logical)
}

/// Where an include stands, and in which file.
#[derive(Clone, Copy)]
struct Place {
    /// Headers of CUTLASS may be included.
    cutlass: bool,
    /// Only includes stand before it.
    leading: bool,
}

/// Why a piece of source is refused.
struct Refusal {
    message: String,
    hint: &'static str,
}

impl Refusal {
    fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), hint }
    }

    fn finding(self, source: &str, at: usize) -> Box<Finding> {
        finding_at(source, at, self.message, self.hint)
    }
}

/// Makes a finding at a byte offset of the source.
pub(super) fn finding_at(source: &str, at: usize, message: String, hint: &str) -> Box<Finding> {
    let before = &source.as_bytes()[..at.min(source.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
    let span = SourceSpan {
        line: u32::try_from(line + 1).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(0),
        text: source.lines().nth(line).unwrap_or_default().to_owned(),
    };
    let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
    Box::new(Finding { message, span: Some(span), hint, fault: None })
}

/// Replaces every byte of a comment with a blank; lines and columns stay.
///
/// # Errors
///
/// A finding when a comment never ends.
pub(crate) fn blank_comments(source: &str) -> Result<String, Box<Finding>> {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                let end = line_comment_end(bytes, at);
                blank(&mut out[at..end]);
                end
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let rest = &bytes[at + 2..];
                let Some(len) = rest.windows(2).position(|pair| pair == b"*/") else {
                    let message = "this comment never ends".to_owned();
                    return Err(finding_at(source, at, message, "close it with `*/`"));
                };
                blank(&mut out[at..at + 2 + len + 2]);
                at + 2 + len + 2
            }
            b'"' | b'\'' => literal_end(bytes, at),
            byte if byte.is_ascii_digit() => number_end(bytes, at),
            byte if is_word(byte) => {
                let end = word_end(bytes, at);
                let raw = matches!(&bytes[at..end], b"R" | b"LR" | b"uR" | b"UR" | b"u8R");
                if raw && bytes.get(end) == Some(&b'"') { raw_literal_end(bytes, end) } else { end }
            }
            _ => at + 1,
        };
        at = end;
    }
    // Only whole comments were replaced, and a comment begins and ends with ASCII.
    Ok(String::from_utf8(out).expect("blanking keeps UTF-8 whole"))
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    let len = bytes[start..].iter().take_while(|byte| is_word(**byte)).count();
    start + len
}

/// Returns the end of a preprocessing number, digit separators included.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        let separator = *byte == b'\'' && bytes.get(at + 1).is_some_and(|next| is_word(*next));
        if !(is_word(*byte) || *byte == b'.' || separator) {
            break;
        }
        at += 1;
    }
    at
}

/// Returns the end of a line comment; a backslash before the line's end continues it.
fn line_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != b'\n' {
        let crlf = bytes[at + 1..].starts_with(b"\r\n");
        at += match bytes[at] {
            b'\\' if crlf => 3,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => 2,
            _ => 1,
        };
    }
    at.min(bytes.len())
}

/// Returns the end of a string or character literal; it ends with its line at the latest.
fn literal_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'\n' {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == bytes[start] => return at + 1,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

/// Returns the end of a raw string whose quote is at `quote`; a malformed one ends at once.
fn raw_literal_end(bytes: &[u8], quote: usize) -> usize {
    let rest = &bytes[quote + 1..];
    let Some(len) = rest.iter().take(17).position(|byte| *byte == b'(') else {
        return quote + 1;
    };
    let close = [b")", &rest[..len], b"\""].concat();
    let body = &rest[len + 1..];
    let found = body.windows(close.len()).position(|window| window == close);
    found.map_or(bytes.len(), |found| quote + 1 + len + 1 + found + close.len())
}

/// Refuses spellings that exist only to hide words.
fn refuse_characters(source: &str, code: &str, logical: &Spliced) -> Result<(), Box<Finding>> {
    if let Some(at) = source.find('\0') {
        let message = "the kernel file holds a NUL byte".to_owned();
        return Err(finding_at(source, at, message, ""));
    }
    let trigraph =
        ["??=", "??/"].iter().find_map(|spelling| Some((code.find(spelling)?, *spelling)));
    if let Some((at, spelling)) = trigraph {
        let message = format!("the trigraph `{spelling}` is not accepted");
        return Err(finding_at(source, at, message, "write the plain character"));
    }
    if let Some(at) = logical.digraph() {
        let message = "the digraph `%:` is not accepted".to_owned();
        return Err(finding_at(source, at, message, "write the plain character"));
    }
    Ok(())
}

/// A `#` and the rest of its logical line.
struct Directive {
    /// Nothing but blanks stands before it on its line.
    first: bool,
    /// The text after it, line continuations removed.
    rest: String,
}

/// Returns every `#` of the code with its offset.
fn hashes(code: &str) -> Vec<(usize, Directive)> {
    code.match_indices('#')
        .map(|(at, _)| {
            let line_start = code[..at].rfind('\n').map_or(0, |end| end + 1);
            let first = code[line_start..at].trim().is_empty();
            (at, Directive { first, rest: logical_line(&code[at + 1..]) })
        })
        .collect()
}

/// Returns the text up to the end of the logical line. Blanks between a backslash and the end of
/// its line are taken for a continuation too, whatever the compiler thinks of it.
fn logical_line(text: &str) -> String {
    let mut line = String::new();
    for part in text.split('\n') {
        let Some(continued) = part.trim_end().strip_suffix('\\') else {
            line.push_str(part);
            break;
        };
        line.push_str(continued);
    }
    line
}

fn check_directive(directive: &Directive, place: Place) -> Result<(), Refusal> {
    const PLAIN: &str = "write the directive in the plain way, on one line";
    let rest = directive.rest.trim_start();
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    match word.as_str() {
        "include" => check_include(rest[word.len()..].trim(), place),
        "include_next" | "import" | "embed" | "include_alias" => {
            Err(Refusal::new(format!("`#{word}` is not accepted"), "use `#include <...>`"))
        }
        "line" | "ident" | "sccs" if directive.first => Err(Refusal::new(
            format!("`#{word}` is not accepted: it would falsify the lines of messages"),
            "remove it",
        )),
        "" if directive.first && rest.starts_with(['/', '\\']) => {
            Err(Refusal::new("a hidden preprocessor directive is not accepted", PLAIN))
        }
        word if directive.first && word.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(Refusal::new("a line marker is not accepted", "remove it"))
        }
        _ => Ok(()),
    }
}

/// Checks the operand of `#include`.
fn check_include(argument: &str, place: Place) -> Result<(), Refusal> {
    let name = argument
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .or_else(|| argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')));
    let Some(name) = name else {
        return Err(Refusal::new(
            "an include must name its header as `<header>` and nothing else",
            "macros and text after the name are not accepted",
        ));
    };
    if is_plain_path(name) && cutlass::is_header(name) {
        return check_cutlass(name, place);
    }
    if is_allowed_header(name) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(Refusal::new(format!("the header `{shown}` is not available"), header_hint(name)))
}

/// Checks an include of a header of CUTLASS.
fn check_cutlass(name: &str, place: Place) -> Result<(), Refusal> {
    let unavailable = |hint| {
        let shown: String = name.chars().take(80).collect();
        Err(Refusal::new(format!("the header `{shown}` is not available"), hint))
    };
    if !place.cutlass {
        return unavailable(
            "`--cutlass` allows the headers of CUTLASS and CuTe; without it use <mma.h>, \
             <kg/hopper.cuh> or inline PTX",
        );
    }
    if cutlass::is_host_only(name) {
        return unavailable(
            "this one is for host code, and kgen launches the kernel by its plan: use the headers of \
             cute/, such as <cute/tensor.hpp>, and those of cutlass/ for device code",
        );
    }
    // They include headers by names that are macros, which a macro of the file could change.
    if !place.leading {
        return Err(Refusal::new(
            format!("`{name}` is included behind other code"),
            "headers of CUTLASS stand at the top of the file, before everything but other includes",
        ));
    }
    Ok(())
}

/// Whether a name is a path below a folder of headers, without detours.
fn is_plain_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    plain && !name.contains("..") && !name.contains("//") && !name.starts_with('/')
}

/// Whether a header may be included.
fn is_allowed_header(name: &str) -> bool {
    is_plain_path(name)
        && (prelude::has_header(name)
            || CUDA_HEADERS.contains(&name)
            || CUDA_FOLDERS.iter().any(|folder| name.starts_with(folder)))
}

fn header_hint(name: &str) -> &'static str {
    if ["torch/", "ATen/", "c10/", "pybind11/", "Python.h"].iter().any(|p| name.starts_with(p)) {
        "write device code only: kgen allocates the tensors and launches the kernel by its plan"
    } else if name.starts_with("cub/") {
        "of CUB only the headers of cub/block, cub/warp and cub/thread (or <cub/cub.cuh>) are available"
    } else if name.starts_with("cublas") || name.starts_with("cudnn") || name.starts_with("curand")
    {
        "libraries are not available: write the kernel itself"
    } else {
        "available are CUDA's device headers (cuda_fp16.h, cuda_bf16.h, mma.h, \
         cooperative_groups.h, ...), cuda/std/*, cub/block/*, cub/warp/*, and the common C and C++ \
         headers such as <cstdint> and <cmath>"
    }
}

#[cfg(test)]
mod tests;
