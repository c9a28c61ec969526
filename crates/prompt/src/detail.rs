//! The level of detail of a prompt, and the order in which details are left out.

use super::{PromptContext, Situation, examples, feedback, text::counted, view};

/// Sizes of the parts of a prompt that may shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detail {
    /// Rows of the history; older attempts are counted.
    pub(super) rows: usize,
    /// Bytes of the best kernel's source, where that is not the parent; 0 only names it.
    pub(super) best: usize,
    /// Bytes of the parent's feedback; the sections behind are the less useful ones.
    pub(super) feedback: usize,
    /// Lines that a group of cases has.
    pub(super) case_lines: usize,
    /// Whether there are notes about the op's family and the device.
    pub(super) notes: bool,
    /// Worked examples.
    pub(super) examples: usize,
    /// Bytes of the parent's source.
    pub(super) source: usize,
}

impl Detail {
    /// Everything that is of use.
    pub(super) const FULL: Self = Self {
        rows: 32,
        best: 48_000,
        feedback: usize::MAX,
        case_lines: 16,
        notes: true,
        examples: 3,
        source: 48_000,
    };

    /// Less and less, in the order in which details are given up: old rows of the history, the
    /// code of the best kernel, the end of the feedback, cases, notes, examples, the rest of the
    /// history, the tail of the parent's source. The contract, the op, the verdict with the first
    /// section of its feedback and the head of the source stay.
    pub(super) fn steps() -> impl Iterator<Item = Self> {
        let steps: [fn(&mut Self); 16] = [
            |detail| detail.rows = 16,
            |detail| detail.rows = 8,
            |detail| detail.rows = 4,
            |detail| detail.best = 6_000,
            |detail| detail.best = 0,
            |detail| detail.feedback = 3_000,
            |detail| detail.feedback = 1_200,
            |detail| detail.case_lines = 4,
            |detail| detail.case_lines = 1,
            |detail| detail.notes = false,
            |detail| detail.examples = 2,
            |detail| detail.examples = 1,
            |detail| detail.examples = 0,
            |detail| detail.rows = 1,
            |detail| detail.source = 8_000,
            |detail| detail.source = 2_000,
        ];
        let mut detail = Self::FULL;
        let less = steps.into_iter().map(move |step| {
            step(&mut detail);
            detail
        });
        std::iter::once(Self::FULL).chain(less)
    }

    /// Names the parts that a prompt of this detail lacks.
    pub(super) fn left_out(
        &self,
        context: &PromptContext<'_>,
        situation: &Situation<'_>,
    ) -> Vec<String> {
        let mut left_out = Vec::new();
        let n_rows = situation.history.len().saturating_sub(self.rows);
        if 0 < n_rows {
            left_out.push(format!("{} of the history", counted(n_rows, "oldest row")));
        }
        let parent = situation.parent.map(|parent| parent.past.number);
        if let Some(best) = situation.best.filter(|best| Some(best.number) != parent)
            && self.best < best.kernel.len()
        {
            let part = if self.best == 0 { "the source" } else { "the end of the source" };
            left_out.push(format!("{part} of attempt {}, the best one", best.number));
        }
        if let Some(parent) = situation.parent {
            let n_blocks = feedback::n_left_out(parent.feedback, self.feedback);
            if 0 < n_blocks {
                left_out.push(format!("the last {} of the feedback", counted(n_blocks, "part")));
            }
        }
        if self.case_lines < Self::FULL.case_lines {
            left_out.push(format!("cases beyond {} of a kind", self.case_lines));
        }
        if !self.notes {
            left_out.push("the notes about this kind of op and this device".to_owned());
        }
        let n_examples = examples::names(view::principal(context.op), context.target)
            .len()
            .saturating_sub(self.examples);
        if 0 < n_examples {
            left_out.push(counted(n_examples, "worked example"));
        }
        if let Some(parent) = situation.parent
            && parent.kernel.is_some_and(|kernel| self.source < kernel.len())
        {
            left_out.push(format!("the end of the source of attempt {}", parent.past.number));
        }
        left_out
    }
}
