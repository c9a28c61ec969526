//! One file per command.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod bench;
pub(crate) mod eval;
pub(crate) mod experiment;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod node;
pub(crate) mod profile;
pub(crate) mod rehearse;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod selftest;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod worker;
