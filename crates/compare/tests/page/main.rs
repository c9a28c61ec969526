//! The pages of a comparison and of a run: as text, and opened in a real headless Chromium.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod browser;
mod hostile;
mod look;
mod numbers;
mod odd;
mod run;
mod sample;
mod size;
mod use_it;

use std::path::PathBuf;

use kgen_compare::{Arm, compare, html};

/// Writes the page of some arms where a browser can open it.
fn write(name: &str, arms: &[Arm]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, html::page(arms, &compare(arms))).unwrap();
    path
}
