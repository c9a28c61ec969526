//! Integration tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent;
mod attacks;
mod budget;
mod cache;
mod cli;
mod compare;
mod config;
mod custom;
mod cutlass;
mod demo;
mod documents;
mod experiment;
mod export;
mod flow;
mod gpu;
mod import;
mod judge;
mod launch;
mod llm;
mod messages;
mod nvrtc;
mod profile;
mod prompt;
mod reference;
mod refusals;
mod report_page;
mod resume;
mod serve;
mod shell;
mod side;
mod store;
mod terminal;
mod tidy;
mod wire;
mod worker;
