//! Whatever bytes a log holds: no panic, and a mistake names a line of the text.

#![no_main]

use kgen_ops::log::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let n_lines = text.lines().count();
    assert!(parse(text).errors.iter().all(|error| (1..=n_lines).contains(&error.line)));
});
