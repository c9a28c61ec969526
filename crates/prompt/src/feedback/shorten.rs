//! A written feedback, cut from its end, where the least useful parts stand.

/// Splits a Markdown text at blank lines that are not inside a fence.
fn blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let (mut start, mut at, mut fence) = (0, 0, 0);
    for line in text.split_inclusive('\n') {
        let ticks = line.trim_start().chars().take_while(|c| *c == '`').count();
        if 0 < fence && fence <= ticks {
            fence = 0;
        } else if fence == 0 && 3 <= ticks {
            fence = ticks;
        }
        if fence == 0 && line.trim().is_empty() {
            blocks.push(text[start..at].trim_end());
            start = at + line.len();
        }
        at += line.len();
    }
    blocks.push(text[start..].trim_end());
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Blocks that are always kept: the verdict and the first block.
const KEPT: usize = 2;

/// Returns how many blocks do not fit into so many bytes.
pub(crate) fn n_left_out(text: &str, max: usize) -> usize {
    let blocks = blocks(text);
    let mut bytes = 0;
    let fits = blocks.iter().enumerate().take_while(|(index, block)| {
        bytes += block.len() + 2;
        *index < KEPT || bytes <= max
    });
    blocks.len() - fits.count()
}

/// Keeps the first blocks of a feedback, as many as fit into so many bytes, and the first two in
/// any case.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    let n_left_out = n_left_out(text, max);
    if n_left_out == 0 {
        return text.trim_end().to_owned();
    }
    let blocks = blocks(text);
    let kept = blocks[..blocks.len() - n_left_out].join("\n\n");
    format!("{kept}\n\n(the rest of this is left out for length)")
}

#[cfg(test)]
mod tests {
    use super::{n_left_out, shorten};

    #[test]
    fn the_end_goes_first_and_no_fence_is_torn() {
        let text = "## Verdict\n\nfirst\n\n```text\na\n\nb\n```\n\nlast\n";
        assert_eq!(shorten(text, usize::MAX), text.trim_end());
        assert_eq!(n_left_out(text, 40), 1);
        let note = "(the rest of this is left out for length)";
        let expected = format!("## Verdict\n\nfirst\n\n```text\na\n\nb\n```\n\n{note}");
        assert_eq!(shorten(text, 40), expected);
        assert_eq!(shorten(text, 0), format!("## Verdict\n\nfirst\n\n{note}"));
    }
}
