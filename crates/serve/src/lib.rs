//! Evaluations over HTTP: a durable queue of jobs before a [`Judge`].
//!
//! A request is resolved into a [`Spec`], whose hash is the job's id, and stored before it is accepted.
//! Runners take jobs in order and store their results. This crate knows neither how kernels are judged nor
//! where; the contract is `docs/serve.md`.

mod error;
mod http;
mod job;
mod judge;
mod metrics;
mod openapi;
mod request;
mod result;
mod runner;
mod service;
mod store;
#[cfg(test)]
mod tests;

pub use error::{ApiError, ErrorKind};
pub use http::{Limits, bind, serve};
pub use judge::{
    Facts, Failure, FailureKind, Judge, Judged, OpEntry, ProblemEntry, Prompt, PromptQuery,
};
pub use openapi::document as openapi;
pub use request::{EvaluateRequest, JobLevel, Problem, Spec};
pub use service::{Config, Service};
pub use store::Error as StoreError;
