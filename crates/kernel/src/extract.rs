//! Takes the kernel file out of a model's reply.

/// Why a reply holds no kernel file; the text asks the model for one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// Nothing was said outside the model's thoughts.
    #[error("the reply holds only thoughts and no answer: reply with one ```cuda code block")]
    OnlyThoughts,
    /// No code block at all.
    #[error(
        "the reply has no code block: reply with exactly one ```cuda block that holds the whole \
         kernel file, its `/*@plan ... @*/` comment included"
    )]
    NoCode,
    /// A code block without its closing fence.
    #[error(
        "the reply is cut off: the code block opened at line {line} of the reply never ends; send \
         the whole kernel file again, shorter if need be"
    )]
    Truncated {
        /// Line of the opening fence in the reply.
        line: usize,
    },
    /// Several code blocks could be the kernel file.
    #[error(
        "the reply has {count} different code blocks with a launch plan (lines {lines} of the \
         reply): send exactly one"
    )]
    Several {
        /// How many.
        count: usize,
        /// Lines of their opening fences.
        lines: String,
    },
    /// There is CUDA code, but no plan.
    #[error(
        "the code block at line {line} of the reply has no launch plan: put one comment \
         `/*@plan ... @*/` with at least one `launch(\"kernel\", grid=.., block=.., args=[..])` \
         into the same code block"
    )]
    NoPlan {
        /// Line of the opening fence in the reply.
        line: usize,
    },
    /// Plan and kernels are in different blocks.
    #[error(
        "the launch plan (line {plan_line} of the reply) and the kernels (line {code_line}) are in \
         different code blocks: send one code block with both"
    )]
    PlanApart {
        /// Line of the plan's block.
        plan_line: usize,
        /// Line of the kernels' block.
        code_line: usize,
    },
}

/// A fenced code block.
struct Block {
    /// Line of the opening fence in the reply, from 1.
    line: usize,
    tag: String,
    text: String,
    closed: bool,
}

impl Block {
    fn has_plan(&self) -> bool {
        self.text.contains("/*@plan")
    }

    fn has_kernel(&self) -> bool {
        self.text.contains("__global__")
    }

    /// Returns whether the tag admits CUDA C++.
    fn may_be_cuda(&self) -> bool {
        let known = ["", "cuda", "cu", "cpp", "c++", "cxx", "cc", "c", "cuda-cpp", "cuda-c++"];
        known.contains(&self.tag.as_str())
    }
}

/// Returns the kernel file of a reply.
///
/// Thoughts (`<think>`) are dropped. The one block with a plan wins, whatever its tag; equal blocks
/// count once. A reply without any fence that holds a plan is taken whole.
///
/// # Errors
///
/// When there is no such block, several different ones, or one that is cut off.
pub fn extract(reply: &str) -> Result<String, ExtractError> {
    let reply = reply.replace("\r\n", "\n");
    let answer = without_thoughts(&reply);
    if answer.trim().is_empty() && !reply.trim().is_empty() {
        return Err(ExtractError::OnlyThoughts);
    }
    let blocks = blocks(&answer);
    if blocks.is_empty() {
        let bare = answer.contains("/*@plan") && answer.contains("__global__");
        return if bare { Ok(with_newline(answer.trim())) } else { Err(ExtractError::NoCode) };
    }
    let mut plans: Vec<&Block> = Vec::new();
    for block in blocks.iter().filter(|block| block.has_plan()) {
        if plans.iter().all(|other| other.text != block.text) {
            plans.push(block);
        }
    }
    // A block that was cut off may have been meant to replace the others.
    if let Some(open) = blocks.iter().find(|block| !block.closed)
        && (plans.is_empty() || open.has_plan() || open.has_kernel())
    {
        return Err(ExtractError::Truncated { line: open.line });
    }
    match plans.as_slice() {
        [] => Err(without_plan(&blocks)),
        [only] => complete(only, &blocks),
        several => {
            // A plan shown alone beside the whole file is an explanation, not a second candidate.
            let mut whole = several.iter().filter(|block| block.has_kernel());
            match (whole.next(), whole.next()) {
                (Some(only), None) => Ok(with_newline(&only.text)),
                _ => Err(ExtractError::Several {
                    count: several.len(),
                    lines: several
                        .iter()
                        .map(|block| block.line.to_string())
                        .collect::<Vec<_>>()
                        .join(", "),
                }),
            }
        }
    }
}

/// Takes the only block with a plan, unless its kernels are elsewhere.
fn complete(block: &Block, blocks: &[Block]) -> Result<String, ExtractError> {
    if !block.has_kernel()
        && let Some(code) = blocks.iter().find(|other| other.has_kernel())
    {
        return Err(ExtractError::PlanApart { plan_line: block.line, code_line: code.line });
    }
    Ok(with_newline(&block.text))
}

fn without_plan(blocks: &[Block]) -> ExtractError {
    let kernels = blocks.iter().filter(|block| block.may_be_cuda() && block.has_kernel());
    match kernels.max_by_key(|block| block.text.len()) {
        Some(block) => ExtractError::NoPlan { line: block.line },
        None => ExtractError::NoCode,
    }
}

fn with_newline(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

/// Blanks out thoughts, keeping the newlines so that lines still count right.
fn without_thoughts(reply: &str) -> String {
    let mut text = reply.to_owned();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>")] {
        while let Some(end) = text.find(close) {
            // Without an opening tag the chat template has already emitted it.
            let start = text[..end].find(open).unwrap_or(0);
            blank(&mut text, start..end + close.len());
        }
        // Thoughts that never ended: there is no answer after them.
        if text.trim_start().starts_with(open) {
            let all = 0..text.len();
            blank(&mut text, all);
        }
    }
    text
}

fn blank(text: &mut String, range: std::ops::Range<usize>) {
    let newlines = "\n".repeat(text[range.clone()].matches('\n').count());
    text.replace_range(range, &newlines);
}

/// Splits a Markdown text into its fenced code blocks.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(char, usize, Block)> = None;
    for (index, line) in text.lines().enumerate() {
        match (&mut open, fence(line)) {
            (None, None) => {}
            (None, Some((mark, length, info))) => {
                let tag = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
                let block = Block {
                    line: index + 1,
                    tag: tag.to_ascii_lowercase(),
                    text: String::new(),
                    closed: false,
                };
                open = Some((mark, length, block));
            }
            (Some((mark, length, _)), Some((this, count, "")))
                if this == *mark && count >= *length =>
            {
                let (_, _, mut block) = open.take().expect("the arm matched an open block");
                block.closed = true;
                blocks.push(block);
            }
            (Some((_, _, block)), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
    }
    blocks.extend(open.map(|(_, _, block)| block));
    blocks
}

/// Reads a code fence: its character, its length, its info string.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let length = line.len() - info.len();
    // A line such as ```code``` is inline code.
    (length >= 3 && !info.contains(mark)).then(|| (mark, length, info.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "/*@plan\nlaunch(\"k\")\n@*/\n__global__ void k() {}\n";

    fn block(tag: &str, text: &str) -> String {
        format!("```{tag}\n{text}```\n")
    }

    #[test]
    fn the_block_with_the_plan_is_taken_whatever_surrounds_it() {
        let replies = [
            block("cuda", FILE),
            block("cpp", FILE),
            block("C++", FILE),
            block("c", FILE),
            block("", FILE),
            block("cuda title=relu.cu", FILE),
            format!("Sure.\n\n{}\nDone.", block("cuda", FILE)),
            format!("{}{}", block("python", "print(1)\n"), block("cuda", FILE)),
            format!("{}{}", block("cuda", "__global__ void old() {}\n"), block("cuda", FILE)),
            format!("{}{}", block("cuda", FILE), block("cuda", FILE)),
            format!("{}{}", block("python", "/*@plan\nx = 1\n@*/\n"), block("cuda", FILE)),
            format!("<think>\n{}\n</think>\n{}", block("cuda", "/*@plan"), block("cuda", FILE)),
            format!("thoughts ```cuda\n</think>\n{}", block("cuda", FILE)),
            format!("~~~cuda\n{FILE}~~~"),
            format!("1. so:\n    ````cuda\n{FILE}    ````\n"),
            block("cuda", FILE).replace('\n', "\r\n"),
            FILE.to_owned(),
        ];
        for reply in replies {
            assert_eq!(extract(&reply).as_deref(), Ok(FILE), "{reply}");
        }
    }

    #[test]
    fn replies_without_exactly_one_kernel_file_say_what_is_missing() {
        let other = FILE.replace('k', "j");
        let code = "__global__ void k() {}\n";
        let cases = [
            (String::new(), ExtractError::NoCode),
            ("I cannot do that.".to_owned(), ExtractError::NoCode),
            (block("python", "x = 1\n"), ExtractError::NoCode),
            (block("", "nothing\n"), ExtractError::NoCode),
            ("<think>hm".to_owned(), ExtractError::OnlyThoughts),
            ("<think>hm</think>\n".to_owned(), ExtractError::OnlyThoughts),
            (format!("x\n```cuda\n{FILE}"), ExtractError::Truncated { line: 2 }),
            (
                format!("{}```cuda\n{code}", block("cuda", FILE)),
                ExtractError::Truncated { line: 7 },
            ),
            (
                format!("{}{}", block("cuda", FILE), block("cuda", &other)),
                ExtractError::Several { count: 2, lines: "1, 7".to_owned() },
            ),
            (format!("\n{}", block("cuda", code)), ExtractError::NoPlan { line: 2 }),
            (
                format!("{}{}", block("python", "/*@plan\n@*/\n"), block("cuda", code)),
                ExtractError::PlanApart { plan_line: 1, code_line: 5 },
            ),
        ];
        for (reply, expected) in cases {
            assert_eq!(extract(&reply), Err(expected), "{reply}");
        }
    }
}
