//! Prompts: what a model is told about an op, and about what its last kernel did.
//!
//! A prompt is rendered from Handlebars templates, which are part of the binary and can be
//! replaced one by one from a folder. A template that asks for something that does not exist is an
//! error. Everything that a candidate may have written (source, messages that quote it, names) goes
//! between fences that it cannot close. Seeds and drawn shapes never get into a prompt.

mod cases;
mod context;
mod feedback;
mod template;
#[cfg(test)]
mod tests;
mod text;

pub use context::{BestAttempt, LastAttempt, Past, PromptContext};
pub use feedback::feedback;
pub use template::{Error, Prompts, Rendered, TEMPLATES};
