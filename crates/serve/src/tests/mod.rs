//! The service with a judge of the tests' own, over real connections.

mod client;
mod fake;
mod faults;
mod http;
mod jobs;
