//! Prompts: the contract of an op, the task, and feedback about the last kernel.
//!
//! A prompt is rendered from Handlebars templates (`prompts/`), which are part of the binary and can
//! be replaced one by one from a folder. A template that asks for something that does not exist is
//! an error. Feedback about an attempt can be switched off by kind ([`feedback`]), and a
//! prompt has a limit of tokens, within which details are given up in a fixed order. Everything that a candidate may have written (source, messages that quote it, names) goes
//! between fences that it cannot close. Seeds and drawn shapes never get into a prompt.

mod cases;
mod context;
mod detail;
mod device;
mod examples;
mod feedback;
mod history;
mod plan;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod view;

pub use context::{BestAttempt, Branch, HistoryEntry, LastAttempt, PromptContext, Situation};
pub use feedback::feedback;
pub use plan::{Analysis, change};
pub use template::{Error, Prompts, Rendered, TEMPLATES};
