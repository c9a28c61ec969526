//! LLM providers: wire formats, transport, retry, limits.
//!
//! One logical [`Call`] goes in, one [`ReplyRecord`] or a typed [`Error`] comes out. The request is
//! handed to a [`CallLog`] before it is sent and the reply before it is returned, so that a run
//! killed at any instant knows the questions and the answers. Nothing here writes files,
//! prints, reads the environment or stores a key. The wire formats are pure functions in `wire`.

mod budget;
mod cache;
mod call;
mod check;
mod client;
mod command;
mod config;
mod connect;
mod error;
mod gate;
mod http;
mod local;
mod log;
mod price;
mod rate;
mod redact;
mod retry;
pub mod size;
mod stop;
mod wire;

pub use budget::{Budget, BudgetCaps, BudgetError, Charged, Worst};
pub use cache::{CacheAccess, CachedReply, CachedRequest, ReplyCache};
pub use call::{Cached, Call, CallKey, Finish, Replayed, Turn, Usage};
pub use client::Client;
pub use command::{COMMAND_PRESETS, CommandAccess, CommandOutput, CommandPreset, command_preset};
pub use config::{
    Access, DEFAULT_ANTHROPIC_VERSION, HttpAccess, MailboxAccess, PRESETS, Preset, ProviderConfig,
    Reasoning, RetryPolicy, Thinking, preset,
};
pub use connect::{auto_provider, from_settings};
pub use error::{Error, Scope};
pub use gate::RateLimits;
pub use log::{
    CallLog, FailureRecord, LogError, RecordedReply, Recording, ReplyRecord, RequestRecord,
    ResponseRecord, RetryEvent, prompt_hash,
};
pub use price::{PRICE_TABLE, Pricer};
pub use wire::{WIRES, Wire};
