//! Faults from outside: providers that fail, signals, killed processes, damaged files.
//!
//! Each case is a run of kgen on ops of one case each against a scripted server.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod damage;
mod endings;
mod refused;
mod replies;
mod screen;
mod server;
mod waits;
