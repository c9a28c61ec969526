//! Hands the version of Candle, as the lock file has it, to the program.

use std::{fs, path::Path};

fn main() {
    let lock = Path::new("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(lock).unwrap_or_default();
    let version = version(&text, "kgen-candle", "candle-core").unwrap_or("of unknown version");
    println!("cargo::rustc-env=CANDLE_VERSION={version}");
}

/// Returns the version of a package that another one depends on. The lock file may hold several, and names
/// the version in the list of dependencies then.
fn version<'t>(lock: &'t str, dependent: &str, package: &str) -> Option<&'t str> {
    let entry =
        |name: &str| lock.split("\n\n").find(|entry| entry.contains(&format!("name = \"{name}\"")));
    let mut dependencies = entry(dependent)?.lines().map(|line| line.trim_matches([' ', '"', ',']));
    let dependency = dependencies.find(|line| line.split(' ').next() == Some(package))?;
    let alone = || entry(package)?.split_once("version = \"")?.1.split('"').next();
    dependency.split(' ').nth(1).or_else(alone)
}
