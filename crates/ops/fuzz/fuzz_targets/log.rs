//! Whatever bytes a log holds: no panic, and a read log prints so that it parses back.

#![no_main]

use kgen_ops::log::{parse, write_log};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let log = parse(text);
    let printed = write_log(&log.calls);
    let again = parse(&printed);
    assert!(again.errors.is_empty(), "{:?}\n{printed}", again.errors);
    assert_eq!(write_log(&again.calls), printed);
});
