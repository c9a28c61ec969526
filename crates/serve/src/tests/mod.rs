//! The service with a judge of the tests' own, over real connections.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod fake;
mod faults;
mod http;
mod jobs;
