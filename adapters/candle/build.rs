//! Hands the version of Candle, as the lock file has it, to the program.

use std::{fs, path::Path};

fn main() {
    let lock = Path::new("../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(lock).unwrap_or_default();
    let behind = text.split_once("name = \"candle-core\"\nversion = \"");
    let version = behind
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("of unknown version", |(version, _)| version);
    println!("cargo::rustc-env=CANDLE_VERSION={version}");
}
