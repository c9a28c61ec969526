//! Sources and feedback, as many as the page has room for: those of the best attempts first, then
//! of their parents, then the rest. Texts that were not even read count as left out.

use std::collections::HashMap;

use maud::{Markup, html};

use super::{context::Context, diff};
use crate::data::{Attempt, Op};

/// Bytes of sources and feedback on a page.
pub const MOST_BYTES: usize = 2 << 20;

/// Which attempt a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AttemptKey<'a> {
    pub(crate) arm: usize,
    pub(crate) run: usize,
    pub(crate) op: &'a str,
    /// Position among the op's attempts.
    pub(crate) attempt: usize,
}

/// The texts of the attempts that have a source or feedback.
#[derive(Default)]
pub(crate) struct Texts<'a> {
    shown: HashMap<AttemptKey<'a>, Markup>,
    left_out: usize,
}

impl<'a> Texts<'a> {
    /// Makes them in the order of their worth, until the page is full.
    pub(crate) fn new(context: &Context<'a>) -> Self {
        let mut texts = Self::default();
        let mut wanted: Vec<(u8, AttemptKey<'a>, &'a Op)> = Vec::new();
        for (arm, runs) in context.arms.iter().map(|arm| &arm.runs).enumerate() {
            for (run, ops) in runs.iter().map(|run| &run.ops).enumerate() {
                for op in ops {
                    for (attempt, one) in op.attempts.iter().enumerate() {
                        texts.left_out += usize::from(one.texts_left_out);
                        if one.source.is_some() || one.feedback.is_some() {
                            let place = AttemptKey { arm, run, op: &op.name, attempt };
                            wanted.push((worth(op, one), place, op));
                        }
                    }
                }
            }
        }
        wanted.sort_by_key(|(worth, place, _)| (*worth, place.run));
        let mut left = MOST_BYTES;
        for (_, place, op) in wanted {
            let attempt = &op.attempts[place.attempt];
            let whole = context.is_one_run || op.best == Some(attempt.number);
            let made = (0 < left).then(|| made(op, attempt, whole));
            match made.filter(|made| made.0.len() <= left) {
                Some(made) => {
                    left -= made.0.len();
                    texts.shown.insert(place, made);
                }
                // The next ones are worth less, however short they are.
                None => {
                    left = 0;
                    texts.left_out += 1;
                }
            }
        }
        texts
    }

    /// The texts of an attempt.
    pub(crate) fn get(&self, place: &AttemptKey<'a>) -> Option<&Markup> {
        self.shown.get(place)
    }

    /// Attempts whose texts are not shown.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }
}

/// 0 for the best attempt, 1 for its parents, 2 for others.
fn worth(op: &Op, attempt: &Attempt) -> u8 {
    let best = op.best_attempt();
    match best {
        Some(best) if best.number == attempt.number => 0,
        Some(best) if best.parents.contains(&attempt.number) => 1,
        _ => 2,
    }
}

/// The source of an attempt, as a difference where it has a parent, and `whole` too where that is asked
/// for; and the feedback.
fn made(op: &Op, attempt: &Attempt, whole: bool) -> Markup {
    let source = attempt.source.as_deref();
    let parent = |number: &u32| Some((*number, op.attempt(*number)?.source.as_deref()?));
    let parent = attempt.parents.iter().find_map(parent);
    let difference = parent.zip(source).and_then(|((number, old), source)| {
        diff::difference(old, source).map(|(block, changed)| (number, block, changed))
    });
    html! {
        details.texts {
            summary {
                "Attempt " (attempt.number) ": "
                @match (&difference, source) {
                    (Some((number, _, changed)), _) => {
                        "changes to attempt " (number)
                        " (+" (changed.added) " −" (changed.removed) ")"
                    }
                    (None, Some(source)) => { "source, " (source.lines().count()) " lines" }
                    (None, None) => {}
                }
                @if attempt.feedback.is_some() {
                    @if source.is_some() { ", and feedback" } @else { "feedback" }
                }
            }
            @if let Some((_, block, _)) = &difference { (block) }
            @if let Some(source) = source {
                @if difference.is_none() {
                    (diff::whole("source", source))
                } @else if whole {
                    details { summary { "Whole source" } (diff::whole("source", source)) }
                }
            }
            @if let Some(feedback) = &attempt.feedback {
                h5 { "What the model was told" }
                (diff::whole("feedback", feedback))
            }
        }
    }
}
