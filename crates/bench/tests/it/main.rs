//! Benchmarks made by hand as rows, text, pages and drawings; pages are opened in a real headless Chromium.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../compare/tests/page/browser.rs"]
mod browser;
mod look;
mod numbers;
mod page;
mod plots;
mod sample;
mod text;
