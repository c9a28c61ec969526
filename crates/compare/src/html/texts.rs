//! Sources and feedback, as many as the page has room for: those of the best attempts first, then
//! of what they were made from, then the rest. What was not even read counts as left out.

use std::collections::HashMap;

use super::{context::Context, diff, markup::Markup};
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

/// What is shown of the attempts that have a source or feedback.
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
            let made = if left == 0 { None } else { Some(made(op, &op.attempts[place.attempt])) };
            match made.filter(|made| made.len() <= left) {
                Some(made) => {
                    left -= made.len();
                    texts.shown.insert(place, made);
                }
                // What comes after is worth less, however short it is.
                None => {
                    left = 0;
                    texts.left_out += 1;
                }
            }
        }
        texts
    }

    /// What is shown of an attempt.
    pub(crate) fn get(&self, place: &AttemptKey<'a>) -> Option<&Markup> {
        self.shown.get(place)
    }

    /// Attempts whose texts are not shown.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }
}

/// 0 for the best attempt, 1 for what it was made from, 2 for others.
fn worth(op: &Op, attempt: &Attempt) -> u8 {
    let best = op.best_attempt();
    match best {
        Some(best) if best.number == attempt.number => 0,
        Some(best) if best.parents.contains(&attempt.number) => 1,
        _ => 2,
    }
}

/// Writes the source of an attempt, as a difference where it has a parent, and the feedback.
fn made(op: &Op, attempt: &Attempt) -> Markup {
    let mut markup = Markup::default();
    markup.raw("<details class=\"texts\"><summary>Attempt ").text(attempt.number).raw(": ");
    let mut body = Markup::default();
    if let Some(source) = &attempt.source {
        let parent = attempt
            .parents
            .iter()
            .find_map(|number| Some((number, op.attempt(*number)?.source.as_deref()?)));
        let difference = parent.and_then(|(number, old)| {
            diff::difference(old, source).map(|(block, changed)| (number, block, changed))
        });
        if let Some((number, block, changed)) = difference {
            markup.raw("changes to attempt ").text(number).raw(" (+").text(changed.added);
            markup.raw(" −").text(changed.removed).raw(")");
            body.append(&block);
            if op.best == Some(attempt.number) {
                body.raw("<details><summary>Whole source</summary>");
                diff::whole(&mut body, "source", source);
                body.raw("</details>");
            }
        } else {
            markup.raw("source, ").text(source.lines().count()).raw(" lines");
            diff::whole(&mut body, "source", source);
        }
    }
    if let Some(feedback) = &attempt.feedback {
        markup.raw(if attempt.source.is_some() { ", and feedback" } else { "feedback" });
        body.raw("<h5>What the model was told</h5>");
        diff::whole(&mut body, "feedback", feedback);
    }
    markup.raw("</summary>").append(&body).raw("</details>\n");
    markup
}
