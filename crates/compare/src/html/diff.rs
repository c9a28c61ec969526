//! Sources as differences to the attempt they were made from.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Lines above which a source is shown whole and cut: finding a difference takes time that grows with
/// the product of lines and changes.
const MOST_LINES: usize = 1000;

/// Bytes of one text that are shown.
const MOST_BYTES: usize = 48 * 1024;

/// The size of a difference, in lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// Returns the difference of two sources as a block; `None` where one is too long to compare.
pub(crate) fn difference(old: &str, new: &str) -> Option<(Markup, Changed)> {
    let too_long = |text: &str| MOST_BYTES < text.len() || MOST_LINES < text.lines().count();
    if too_long(old) || too_long(new) {
        return None;
    }
    let diff = TextDiff::from_lines(old, new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let changed = Changed { added: count(ChangeTag::Insert), removed: count(ChangeTag::Delete) };
    let block = html! {
        pre.diff {
            @for group in diff.grouped_ops(CONTEXT) {
                span.hunk { "@ line " (group.first().map_or(0, |op| op.new_range().start) + 1) }
                "\n"
                @for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                    @let line = change.value().trim_end_matches(['\r', '\n']);
                    @match change.tag() {
                        ChangeTag::Equal => { "  " (line) },
                        ChangeTag::Insert => ins { "+ " (line) },
                        ChangeTag::Delete => del { "− " (line) },
                    }
                    "\n"
                }
            }
            @if changed == (Changed { added: 0, removed: 0 }) { "the same source\n" }
        }
    };
    Some((block, changed))
}

/// A text as a block, cut where it is too long, which is said.
pub(crate) fn whole(class: &str, text: &str) -> Markup {
    let shown = &text[..text.floor_char_boundary(MOST_BYTES)];
    html! {
        pre class=(class) { (shown) }
        @if shown.len() < text.len() {
            p.note { (text.len() - shown.len()) " more bytes are not shown." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> (String, Changed) {
        let (markup, changed) = difference(old, new).unwrap();
        (markup.into_string(), changed)
    }

    #[test]
    fn changes_stand_between_the_lines_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
        let (html, changed) = shown(old, &old.replace('e', "<E>"));
        assert_eq!(
            html,
            "<pre class=\"diff\"><span class=\"hunk\">@ line 2</span>\n  b\n  c\n  d\n\
             <del>− e</del>\n<ins>+ &lt;E&gt;</ins>\n  f\n  g\n  h\n</pre>"
        );
        assert_eq!(changed, Changed { added: 1, removed: 1 });
    }

    #[test]
    fn equal_sources_are_said_to_be_equal() {
        let (html, changed) = shown("a\n", "a\n");
        assert!(html.contains("the same source"));
        assert_eq!(changed, Changed { added: 0, removed: 0 });
    }

    #[test]
    fn an_end_without_a_newline_does_not_swallow_the_next_line() {
        let (html, _) = shown("a", "b\n");
        assert!(html.contains("<del>− a</del>\n<ins>+ b</ins>\n"), "{html}");
    }

    #[test]
    fn long_texts_are_cut_and_not_compared() {
        let long = "é\n".repeat(MOST_BYTES);
        assert!(difference(&long, "a").is_none());
        let html = whole("source", &long).into_string();
        assert!(html.len() < MOST_BYTES + 200);
        assert!(html.contains(&format!("{} more bytes", long.len() - MOST_BYTES)), "{html:.200}");
    }
}
